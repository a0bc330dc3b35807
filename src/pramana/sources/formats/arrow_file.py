"""Arrow files (Feather of version 2 included). Each batch is checked in full: its offsets lead into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.columns import checked, select


def arrow_batches(path: Path, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    try:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            names = select(reader.schema.names, wanted, str(path))
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                batch.validate(full=True)
                for first in range(0, batch.num_rows, rows):
                    piece = pa.Table.from_batches([batch.slice(first, rows)]).select(names)
                    yield from checked(piece, names).to_batches()
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError):
        raise SourceError(f"The source {path} must be a readable Arrow file", "damaged data") from None
