"""What a published file shows of a row besides its values: its place, its page, and how it is written.

Each feature is a number of every row, in the order of the file. None of them knows the source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pramana.audit.rows.pages import DataPage, data_pages
from pramana.bundle import Bundle

Numbers = NDArray[np.int64]
Features = dict[str, NDArray[np.float64]]
_MARKS = (b'"', b"'", b" ", b"\r", b"0", b"0,", b".", b"e", b"E", b"+", b"-", b"\t", b",")
_LOW_BITS = (1 << 16) - 1


def places_in_file(bundle: Bundle, records: int) -> Features:
    """A row's number, its row group and page, where it is in them, and the first bits of its number."""
    place = np.arange(records)
    columns = {"place": place.astype(np.float64)}
    if bundle.certificate.output == "parquet":
        with pq.ParquetFile(bundle.data_path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        first = np.cumsum([0, *sizes])
        group = np.searchsorted(first, place, side="right") - 1
        columns["row group"] = group.astype(np.float64)
        columns["within its row group"] = (place - first[group]).astype(np.float64)
    for bit in range(min(8, max(records - 1, 1).bit_length())):
        columns[f"bit {bit}"] = (place >> bit & 1).astype(np.float64)
    return columns


def bytes_of_lines(bundle: Bundle, records: int) -> Features | None:
    """How every row of a CSV is written: how long, its last byte, how many quotes, blanks, zeros and the like.

    None where texts have line breaks, so that lines are no rows.
    """
    lines = bundle.data_path.read_bytes().split(b"\n")[1:]
    if lines and lines[-1] == b"":
        lines.pop()
    if len(lines) != records:
        return None
    columns = {"length": np.array([len(line) for line in lines], np.float64)}
    columns["last byte"] = np.array([line[-1] if line else 0 for line in lines], np.float64)
    for mark in _MARKS:
        columns[repr(mark)] = np.array([line.count(mark) for line in lines], np.float64)
    return columns


# ---------------------------------------------------------------- Parquet


def bytes_of_pages(bundle: Bundle, records: int) -> Features | None:
    """How every row of a Parquet file is written, column by column.

    Its page with the page's encoding, size and statistics; the number of its value in the dictionary as the file
    has it; the sign and the last bits of numbers with a point, by which equal-looking ones may differ.
    """
    columns: Features = {}
    with pq.ParquetFile(bundle.data_path, pre_buffer=False) as file, bundle.data_path.open("rb") as content:
        metadata, schema = file.metadata, file.schema_arrow
        single = [name for name in schema.names if not pa.types.is_nested(schema.field(name).type)]
        if metadata.num_rows != records or not single:
            return None
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        for place in range(metadata.num_columns):
            name = groups[0].column(place).path_in_schema
            if name not in single:
                continue
            pages: list[DataPage] = []
            for group in groups:
                chunk = group.column(place)
                start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
                content.seek(max(start, 0))
                pages += data_pages(content.read(chunk.total_compressed_size))
            columns |= _by_page(name, pages, records)
        texts = [name for name in single if pa.types.is_string(schema.field(name).type)]
    with pq.ParquetFile(bundle.data_path, read_dictionary=texts, pre_buffer=False) as file:
        for name in single:
            arrays = [file.read_row_group(i, columns=[name]).column(0) for i in range(len(groups))]
            columns |= _by_value(name, [chunk for array in arrays for chunk in array.chunks])
    return columns


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


def _by_value(name: str, chunks: list[pa.Array]) -> Features:
    if not chunks:
        return {}
    kind = chunks[0].type
    if pa.types.is_dictionary(kind):
        numbers = [np.asarray(chunk.indices.fill_null(-1), np.float64) for chunk in chunks]
        return {f"{name}: number in its dictionary": np.concatenate(numbers)}
    if pa.types.is_float64(kind):
        bits = [np.asarray(chunk.fill_null(0.0), np.float64).view(np.uint64) for chunk in chunks]
        whole = np.concatenate(bits)
        return {
            f"{name}: sign": (whole >> np.uint64(63)).astype(np.float64),
            f"{name}: last bits": (whole & np.uint64(_LOW_BITS)).astype(np.float64),
        }
    return {}


# ---------------------------------------------------------------- the same values, however they are written


def values_alike(bundle: Bundle, schema: pa.Schema) -> Numbers:
    """The number of every row's combination of values; `schema` says which columns hold numbers.

    1.5 and 1.50 are one number, and a text is the same wherever a dictionary has it.
    """
    found = pa.Table.from_batches(bundle.batches())
    joint = np.zeros(found.num_rows, np.int64)
    for name in found.column_names:
        place = schema.get_field_index(name)
        numeric = place >= 0 and pa.types.is_floating(schema.field(place).type)
        codes = _codes(found.column(name), numeric)
        joint = joint * (int(codes.max(initial=0)) + 1) + codes
        joint = np.unique(joint, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return joint


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
