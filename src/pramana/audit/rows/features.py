"""What a published file shows of a row besides its values: its place, its page, and how its values are written.

Each feature is a number of every row, in the order of the file. None of them knows the source.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pramana.audit.rows.pages import DataPage, data_pages
from pramana.bundle import Bundle

Numbers = NDArray[np.int64]
Features = dict[str, NDArray[np.float64]]
MOST_LINES = 50_000  # of a CSV that are looked at, its first ones
_CELL = re.compile(rb'("(?:[^"]|"")*"|[^,"]*)(,|$)')
_MARKS = (b'"', b"'", b" ", b"\r", b"0", b".", b"e", b"E", b"+", b"-", b"\t")
_LOW_BITS = (1 << 16) - 1


def places_in_file(bundle: Bundle, records: int) -> Features:
    """A row's number, the first bits of it, its part, its row group, and its page of every column as written."""
    place = np.arange(records)
    columns = {"place": place.astype(np.float64)}
    for bit in range(min(8, max(records - 1, 1).bit_length())):
        columns[f"bit {bit}"] = (place >> bit & 1).astype(np.float64)
    if bundle.certificate.output != "parquet":
        return columns
    files = [_Footer.of(path) for path in bundle.data_files]
    if len(files) > 1:
        columns |= _within("part", [file.metadata.num_rows for file in files], place)
    columns |= _within("row group", [group.num_rows for file in files for group in file.groups], place)
    pages: dict[str, list[DataPage]] = {}
    for file in files:
        for name, own in file.pages().items():
            pages.setdefault(name, []).extend(own)
    for name, own in pages.items():
        columns |= _by_page(name, own, records)
    return columns


def _within(what: str, rows: Sequence[int], place: Numbers) -> Features:
    """Which of the runs of so many rows a row is in, and where there."""
    first = np.cumsum([0, *rows])
    run_of = np.searchsorted(first, place, side="right") - 1
    return {what: run_of.astype(np.float64), f"within its {what}": (place - first[run_of]).astype(np.float64)}


@dataclass(frozen=True)
class _Footer:
    """A Parquet file, as far as its footer tells of it."""

    path: Path
    metadata: Any
    single: tuple[str, ...]

    @classmethod
    def of(cls, path: Path) -> _Footer:
        with pq.ParquetFile(path) as file:
            return cls(path, file.metadata, tuple(_single(file)))

    @property
    def groups(self) -> list[Any]:
        return [self.metadata.row_group(i) for i in range(self.metadata.num_row_groups)]

    def pages(self) -> dict[str, list[DataPage]]:
        """The pages of every column that has one value in every row, in the order of the rows."""
        pages: dict[str, list[DataPage]] = {}
        with self.path.open("rb") as content:
            for chunk in (group.column(n) for group in self.groups for n in range(group.num_columns)):
                if chunk.path_in_schema in self.single:
                    start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
                    content.seek(max(start, 0))
                    own = data_pages(content.read(chunk.total_compressed_size))
                    pages.setdefault(chunk.path_in_schema, []).extend(own)
        return pages


def _single(file: pq.ParquetFile) -> list[str]:
    """The columns that have one value in every row."""
    return [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]


def _by_page(name: str, pages: list[DataPage], records: int) -> Features:
    counts = [page.values for page in pages]
    if sum(counts) != records:  # headers that fit no rows tell of none
        return {}

    def spread(values: Collection[float]) -> NDArray[np.float64]:
        return np.repeat(np.asarray(list(values), np.float64), counts)

    return {
        f"{name}: page": spread(range(len(pages))),
        f"{name}: encoding": spread([page.encoding for page in pages]),
        f"{name}: bytes a value": spread([page.size / max(page.values, 1) for page in pages]),
        f"{name}: statistics": spread([page.statistics for page in pages]),
    }


# ---------------------------------------------------------------- how a value is written


def bytes_of_cells(bundle: Bundle, records: int) -> dict[str, Features] | None:
    """Column by column, what the bytes of a cell show; equal values are written alike, or tell of something else.

    None where rows have no bytes of their own.
    """
    if bundle.certificate.output == "parquet":
        return _of_parquet(bundle) or None
    return _of_lines(bundle, records)


def _of_lines(bundle: Bundle, records: int) -> dict[str, Features] | None:
    """How every cell of a CSV is written: how long, its last byte, how many quotes, blanks, zeros and the like.

    None where texts have line breaks, so that lines are no rows.
    """
    header, lines = b"", list[bytes]()
    for path in bundle.data_files:
        header, *own = path.read_bytes().split(b"\n")
        if own and own[-1] == b"":
            own.pop()
        lines += own
    if len(lines) != records:
        return None
    names = next(csv.reader([header.decode("utf-8", "replace")]), [])
    cells = [_cells(line) for line in lines[:MOST_LINES]]
    if any(len(row) != len(names) for row in cells):
        return None
    return {name: _marks([row[place] for row in cells]) for place, name in enumerate(names)}


def _cells(line: bytes) -> list[bytes]:
    """The cells of a line as they are written, quotes and all."""
    found, place = [], 0
    while (match := _CELL.match(line, place)) is not None:
        found.append(match[1])
        place = match.end()
        if not match[2]:
            break
    return found


def _marks(cells: list[bytes]) -> Features:
    columns = {"length": np.array([len(cell) for cell in cells], np.float64)}
    columns["last byte"] = np.array([cell[-1] if cell else 0 for cell in cells], np.float64)
    for mark in _MARKS:
        columns[repr(mark)] = np.array([cell.count(mark) for cell in cells], np.float64)
    return columns


def _of_parquet(bundle: Bundle) -> dict[str, Features]:
    """The number of a value in the dictionary as the file has it; the sign and the last bits of numbers with a
    point, by which equal-looking ones may differ."""
    chunks: dict[str, list[pa.Array]] = {}
    for path in bundle.data_files:
        with pq.ParquetFile(path) as file:
            single, schema = _single(file), file.schema_arrow
        texts = [name for name in single if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            for name in single:
                for i in range(file.metadata.num_row_groups):
                    chunks.setdefault(name, []).extend(file.read_row_group(i, columns=[name]).column(0).chunks)
    return {name: _by_value(own) for name, own in chunks.items()}


def _by_value(chunks: list[pa.Array]) -> Features:
    kind = chunks[0].type
    if pa.types.is_dictionary(kind):
        numbers = [np.asarray(chunk.indices.fill_null(-1), np.float64) for chunk in chunks]
        return {"number in its dictionary": np.concatenate(numbers)}
    if pa.types.is_float64(kind):
        whole = np.concatenate([np.asarray(chunk.fill_null(0.0), np.float64).view(np.uint64) for chunk in chunks])
        return {
            "sign": (whole >> np.uint64(63)).astype(np.float64),
            "last bits": (whole & np.uint64(_LOW_BITS)).astype(np.float64),
        }
    return {}


def values_of_cells(bundle: Bundle, schema: pa.Schema) -> dict[str, Numbers]:
    """Column by column the number of every row's value; `schema` says which columns hold numbers.

    1.5 and 1.50 are one number, and a text is the same wherever a dictionary has it.
    """
    found = pa.Table.from_batches(bundle.batches())
    numeric = {field.name for field in schema if pa.types.is_floating(field.type)}
    return {name: _codes(found.column(name), name in numeric) for name in found.column_names}


def _codes(column: pa.ChunkedArray, numeric: bool) -> Numbers:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if numeric or pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
        column = pa.chunked_array([pa.array(list(_plain(column, numeric)), pa.string())])
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    return np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), np.int64)


def _plain(column: pa.ChunkedArray, numeric: bool) -> Iterator[str]:
    for cell in column.to_pylist():
        try:
            yield repr(float(cell)) if numeric and cell is not None else repr(cell)
        except ValueError:
            yield repr(cell)
