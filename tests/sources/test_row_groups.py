"""A file whose row groups are encoded on several threads is the file that the library writes of the whole."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.errors import SourceError
from pramana.sources import TableWriter, write, write_table

ROWS = 3_001


def table() -> pa.Table:
    """Every kind of column that is published: codes of a domain, with and without missing ones, and raw values."""
    words = np.random.default_rng(1)
    codes = words.integers(0, 300, ROWS)
    labels = [f"label {i}" for i in range(300)]
    few = pa.DictionaryArray.from_arrays(pa.array(words.integers(0, 2, ROWS), pa.int8()), ["no", "yes"])
    many = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int16()), labels)
    gaps = pa.DictionaryArray.from_arrays(pa.array(codes % 3, pa.int8(), mask=codes % 5 == 0), ["a", "b", "c"])
    fields = [pa.field("few", few.type, nullable=False), pa.field("many", many.type), pa.field("gaps", gaps.type)]
    raw = {
        "number": pa.array(words.normal(size=ROWS)),
        "text": pa.array([None if c % 7 == 0 else "x" * (c % 40) for c in codes.tolist()]),
        "day": pa.array([date(2020, 1, 1 + c % 28) for c in codes.tolist()]),
        "whole": pa.array(codes),
        "sign": pa.array(codes % 2 == 0),
    }
    fields += [pa.field(name, column.type) for name, column in raw.items()]
    return pa.table([few, many, gaps, *raw.values()], schema=pa.schema(fields))


def in_pieces(whole: pa.Table, form: str, size: int, workers: int) -> bytes:
    sink = io.BytesIO()
    with TableWriter(sink, form, whole.schema, workers=workers) as writer:
        for first in range(0, whole.num_rows, size):
            writer.write(whole.slice(first, size))
    return sink.getvalue()


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("group", [1 << 17, 1_000, 97])  # one group, a few, and more than a byte counts
def test_the_bytes_are_those_of_one_writer(form: str, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROW_GROUP", group)
    whole, expected = table(), io.BytesIO()
    write_table(whole, expected, form)
    for size, workers in ((ROWS, 1), (500, 2), (33, 3)):
        assert in_pieces(whole, form, size, workers) == expected.getvalue()
    if form == "parquet":
        read = pq.ParquetFile(io.BytesIO(expected.getvalue()))
        assert read.num_row_groups == -(-ROWS // group)


def test_an_empty_table_is_a_file_with_no_group() -> None:
    whole, expected = table().slice(0, 0), io.BytesIO()
    with pq.ParquetWriter(expected, whole.schema, **write._PARQUET):
        pass
    assert in_pieces(whole, "parquet", 1, 2) == expected.getvalue()


def test_what_a_format_cannot_hold_is_refused_and_no_thread_is_left(tmp_path: Path) -> None:
    lists = pa.table({"a": [[1, 2], [3]]})
    with (
        pytest.raises(SourceError, match="csv can hold"),
        TableWriter(tmp_path / "x", "csv", lists.schema) as writer,
    ):
        writer.write(lists)
    assert writer._file.closed and writer._pool._shutdown
