"""Arrow files (Feather of version 2 included). Each batch is checked in full: its offsets lead into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.columns import checked, select
from pramana.stores import AnyPath, StorePath, store_error


def arrow_batches(path: AnyPath, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    try:
        with _opened(path) as file, pa.ipc.open_file(file) as reader:
            names = select(reader.schema.names, wanted, str(path))
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                batch.validate(full=True)
                for first in range(0, batch.num_rows, rows):
                    piece = pa.Table.from_batches([batch.slice(first, rows)]).select(names)
                    yield from checked(piece, names).to_batches()
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(path, StorePath) and (told := store_error(path, error)) is not None:
            raise told from None
        raise SourceError(f"The source {path} must be a readable Arrow file", "damaged data") from None


def _opened(path: AnyPath) -> pa.NativeFile:
    return path.open() if isinstance(path, StorePath) else pa.OSFile(str(path))
