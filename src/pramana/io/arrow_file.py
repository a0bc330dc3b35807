"""Arrow files (Feather of version 2 included). Each batch is checked in full: its offsets lead into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pramana.files.locations import arrow_file
from pramana.io.columns import checked, select

if TYPE_CHECKING:
    from pramana.io.exports import Export
    from pramana.io.source import Source


def batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    path = source.file
    with arrow_file(path) as file, pa.ipc.open_file(file) as reader:
        names = select(reader.schema.names, wanted, str(path))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            for first in range(0, batch.num_rows, rows):
                piece = pa.Table.from_batches([batch.slice(first, rows)]).select(names)
                yield from checked(piece, names).to_batches()


def write_copy(path: Path, form: str, export: Export) -> None:  # noqa: ARG001 - there is one form
    """The table as it is, its categories in their order; a variable's label is metadata of its field."""
    labels = {name: variable.label for name, variable in export.variables.items() if variable.label}
    fields = [f.with_metadata({"label": labels[f.name]}) if f.name in labels else f for f in export.table.schema]
    table = export.table.replace_schema_metadata(None).cast(pa.schema(fields)).unify_dictionaries()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
