"""A file whose row groups are encoded on several threads is the file that the library writes of the whole."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.errors import SourceError
from pramana.sources import TableWriter, write, write_table
from pramana.sources.parquet import code_chunks
from pramana.sources.parquet._pages import pack
from pramana.sources.parquet.group_encoder import GroupEncoder

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
    monkeypatch.setattr(write, "LINES", group)
    whole, expected = table(), io.BytesIO()
    write_table(whole, expected, form)
    for size, workers in ((ROWS, 1), (500, 2), (33, 3)):
        assert in_pieces(whole, form, size, workers) == expected.getvalue()
    if form == "parquet":
        read = pq.ParquetFile(io.BytesIO(expected.getvalue()))
        assert read.num_row_groups == -(-ROWS // group)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 128, 129, 300, 40_000])
def test_codes_are_encoded_by_our_loop_to_arrows_bytes(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of every length, values of every width, pages that end anywhere, with and without missing ones."""
    monkeypatch.setattr(write, "ROW_GROUP", 30_011)  # more than a page
    chance = np.random.default_rng(size)
    codes = np.repeat(chance.integers(0, size, 60_000), chance.choice([1, 1, 1, 2, 7, 8, 9, 20, 700], 60_000))[
        :100_000
    ]
    kind = pa.int8() if size <= 128 else pa.int16() if size <= 1 << 15 else pa.int32()
    labels = [f"{i:x}" for i in range(size)]
    gone = np.repeat(chance.random(20_000) < 0.2, 5)
    whole = pa.DictionaryArray.from_arrays(pa.array(codes, kind), labels)
    gaps = pa.DictionaryArray.from_arrays(pa.array(codes, kind, mask=gone), labels)
    none = pa.DictionaryArray.from_arrays(pa.nulls(len(codes), kind), labels)
    fields = [
        pa.field("whole", whole.type, nullable=False),
        pa.field("gaps", gaps.type),
        pa.field("none", none.type),
    ]
    columns = pa.table([whole, gaps, none], schema=pa.schema(fields))
    assert learned(columns.slice(0, 30_011)) == [True, True, True]
    expected = io.BytesIO()
    write_table(columns, expected, "parquet")
    assert in_pieces(columns, "parquet", 33_333, 2) == expected.getvalue()


def learned(first: pa.Table) -> list[bool]:
    groups = GroupEncoder(first.schema, write._PARQUET)
    groups.first(first)
    return [form is not None for form in groups._forms]


def test_columns_of_other_kinds_and_of_another_dictionary_stay_with_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert learned(table()) == [True] * 3 + [False] * 5
    assert learned(pa.table({"few": table()["few"], "several": [{"a": 1, "b": 2}] * ROWS})) == []
    monkeypatch.setattr(write, "ROW_GROUP", 100)
    pieces = [
        pa.table([pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50, pa.int8()), labels)], names=["a"])
        for labels in (["x", "y"], ["x", "z"])
    ]
    sink = io.BytesIO()
    with TableWriter(sink, "parquet", pieces[0].schema) as writer:
        for piece in pieces:
            writer.write(piece)
    assert pq.read_table(sink).column("a").to_pylist() == ["x", "y"] * 50 + ["x", "z"] * 50


def test_where_the_library_writes_other_bytes_its_own_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any) -> int:
        total = pack(*arguments)
        arguments[4][0] ^= 1
        return total

    monkeypatch.setattr(code_chunks, "pack", wrong)
    assert learned(table()) == [False] * 8


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
