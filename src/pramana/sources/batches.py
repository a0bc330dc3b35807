"""The rows of a source batch by batch: what a table larger than memory is read with. Same rows, same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.sources.columns import checked
from pramana.sources.files import check_kind, files_of, is_packed
from pramana.sources.parquet.parquet_file import parquet_columns, parquet_faults, parquet_folder
from pramana.stores import AnyPath, arrow_input

if TYPE_CHECKING:
    from pramana.sources.table import Source

_BYTES_A_CELL = 10  # of a column of texts that is read as a dictionary, made into codes and published
_UNPACKED = 10  # bytes of a text for each of its packed ones, about
_READ_AHEAD = 1 << 20  # bytes of a column's pages that are read at a time


def batches(source: Source, wanted: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of about `rows` rows, none of them empty; at least one record in all."""
    found = False
    for batch in _read(source, wanted, rows):
        if batch.num_rows:
            found = True
            yield batch
    if not found:
        raise SourceError("A table must have at least one record", "none")


def _read(source: Source, wanted: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    if source.kind == "database":
        from pramana.sources.databases import database

        yield from database.batches(
            source.url or "", wanted, query=source.query, table=source.table, schema=source.schema, rows=rows
        )
        return
    if source.path is None:
        source.check_engine()
        from pramana.sources.frame import from_frame

        yield from from_frame(source.frame, wanted).to_batches(rows)
        return
    check_kind(source.path, source.kind)
    if source.kind == "parquet":
        yield from _parquet(source.path, wanted, rows)
        return
    if source.kind != "csv":
        from pramana.sources.formats.foreign import foreign_batches

        yield from foreign_batches(source, wanted, rows)
        return
    from pramana.sources.csv_file import CsvReading

    for reading in CsvReading.of_files(source, source.path, wanted):
        yield from reading.batches()


def _parquet(path: AnyPath, wanted: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    with parquet_faults(path):
        if path.is_file():
            names, text = parquet_columns(path, pq.read_schema(arrow_input(path)), wanted)
            file = pq.ParquetFile(
                arrow_input(path), read_dictionary=text, pre_buffer=False, buffer_size=_READ_AHEAD
            )
            found = file.iter_batches(rows, columns=names)
        else:
            whole, names = parquet_folder(path, wanted)
            found = whole.to_batches(columns=names, batch_size=rows, batch_readahead=2, fragment_readahead=1)
        for batch in found:
            if batch.num_rows:
                yield from checked(pa.Table.from_batches([batch]), names).to_batches()


def expected_records(source: Source) -> int | None:
    """How many records a source says it has, where that costs nothing to ask; None where it does not say."""
    if source.path is None or source.kind != "parquet":
        return None
    try:
        return sum(int(pq.read_metadata(arrow_input(file)).num_rows) for file in files_of(source.path, "parquet"))
    except (OSError, ValueError):  # Arrow's errors are among them
        return None


def size_in_memory(source: Source) -> int:
    """About how many bytes reading the whole source takes; 0 where there is no telling."""
    if source.path is None:
        return 0
    try:
        files = files_of(source.path, source.kind)
        if source.kind == "parquet":
            footers = (pq.read_metadata(arrow_input(file)) for file in files)
            return sum(int(m.num_rows * m.num_columns) for m in footers) * _BYTES_A_CELL
        return sum(file.stat().st_size * (_UNPACKED if is_packed(file) else 1) for file in files)
    except (OSError, ValueError):  # Arrow's errors are among them
        return 0
