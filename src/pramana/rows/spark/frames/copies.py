"""A data frame's columns as they came, sealed, in Spark's own storage: Spark makes its rows once.

Turning Spark's rows into Arrow is what takes longest about a data frame, texts above all. So that is done once,
for columns whose values are known without their texts, and every later reading takes the copy: texts as
dictionaries, as Parquet would give them. It is sealed under a key that is forgotten with the job; what does not
fit in memory, Spark writes to its disks encrypted once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pramana.rows.spark.blocks import BLOCK
from pramana.rows.spark.frames.numbered import NumberedColumns
from pramana.rows.spark.steps import Seal, Sent

OTHER_VALUES = -1  # instead of a number of rows
_FEW = 4  # rows for each value of a column that is worth a dictionary


@dataclass(frozen=True)
class CopiedColumns:
    """Some columns of all runs, and how their copy is sealed."""

    columns: tuple[str, ...]
    seal: Seal
    numbered: NumberedColumns = field(default_factory=lambda: NumberedColumns({}))

    @property
    def plain(self) -> tuple[str, ...]:
        """The columns that Spark hands over as they are."""
        return tuple(name for name in self.columns if name not in self.numbered.values)

    def covers(self, columns: Iterable[str]) -> bool:
        return set(columns) <= set(self.columns)

    def contents(self, run: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Sent]:
        """What is kept of a run: some thousand rows at a time, with their number; or that it has other values."""
        for number, table in enumerate(_gathered(batches)):
            columns = {name: _compact(table.column(name)) for name in self.plain}
            for name, column in self.numbered.columns(table):
                if column is None:
                    yield run, OTHER_VALUES, b""
                    return
                columns[name] = column
            whole = pa.table({name: columns[name] for name in self.columns})
            yield run, whole.num_rows, self.seal.closed(run, number, _packed(whole))

    def tables(self, run: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows of a run from what was kept of it, in their order."""
        contents = (content for batch in batches for content in batch.column("content"))
        for number, content in enumerate(contents):
            plain = self.seal.opened(run, number, content.as_py())
            yield pa.ipc.open_stream(plain).read_all()


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches are small; a dictionary for each of them would cost more than it saves."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BLOCK:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts that repeat as a dictionary, with numbers as narrow as they may be."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    coded = column.dictionary_encode()
    values = coded.chunk(0).dictionary
    if len(values) * _FEW > len(column):
        return column
    width = next(kind for kind in (pa.int8(), pa.int16(), pa.int32()) if len(values) <= 1 << (kind.bit_width - 1))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(chunk.indices.cast(width), values) for chunk in coded.chunks]
    )
