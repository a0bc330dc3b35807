"""A file that is written in pieces, on several threads, is the file that Arrow writes of the whole table."""

from __future__ import annotations

import errno
import io
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from pramana.errors import SourceError
from pramana.io import writing
from pramana.io.source import Source
from pramana.io.writing import TableWriter, write_table
from pramana.run.write import file_entry

ROWS = 3_001


def table() -> pa.Table:
    """Every kind of column that is published: codes of a domain, with and without missing ones, and raw values."""
    words = np.random.default_rng(1)
    codes = words.integers(0, 300, ROWS)
    labels = [f"label {i}" for i in range(300)]
    few = pa.DictionaryArray.from_arrays(pa.array(words.integers(0, 2, ROWS), pa.int8()), ["no", 'y"e,s'])
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


def by_arrow(whole: pa.Table, form: str, group: int) -> bytes:
    sink = io.BytesIO()
    if form == "csv":
        plain = whole.cast(
            pa.schema([pa.field(f.name, getattr(f.type, "value_type", f.type)) for f in whole.schema])
        )
        pacsv.write_csv(plain, sink, pacsv.WriteOptions(quoting_style="needed"))
    else:
        pq.write_table(whole, sink, row_group_size=group, **writing._PARQUET)
    return sink.getvalue()


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("group", [1 << 17, 1_000, 97])  # one group, a few, and more than a byte counts
def test_the_bytes_are_those_of_one_writer(form: str, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROW_GROUP", group)
    monkeypatch.setattr(writing._RowGroups, "at_once", group)
    monkeypatch.setattr(writing._CsvLines, "at_once", group)
    whole = table()
    expected = by_arrow(whole, form, group)
    for size, workers in ((ROWS, 1), (500, 2), (33, 3)):
        assert in_pieces(whole, form, size, workers) == expected
    if form == "parquet":
        assert pq.ParquetFile(io.BytesIO(expected)).num_row_groups == -(-ROWS // group)


def test_pieces_may_have_other_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing._RowGroups, "at_once", 100)
    pieces = [
        pa.table([pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50, pa.int8()), labels)], names=["a"])
        for labels in (["x", "y"], ["x", "z"])
    ]
    sink = io.BytesIO()
    with TableWriter(sink, "parquet", pieces[0].schema) as writer:
        for piece in pieces:
            writer.write(piece)
    assert pq.read_table(sink).column("a").to_pylist() == ["x", "y"] * 50 + ["x", "z"] * 50


def test_an_empty_table_is_a_file_with_no_group() -> None:
    whole = table().slice(0, 0)
    read = pq.ParquetFile(io.BytesIO(in_pieces(whole, "parquet", 1, 2)))
    assert read.num_row_groups == 0 and read.schema_arrow.names == whole.schema.names


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_is_digested_as_it_is_written(tmp_path: Path, form: str) -> None:
    """Of several groups of rows."""
    codes = np.random.default_rng(1).integers(0, 3, 300_000).astype(np.int8)
    column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["a", 'b"', "c,d"]))
    whole = pa.table([column, column], names=["x", "y"])
    with TableWriter(tmp_path / "pieces", form, whole.schema, workers=2) as writer:
        for first in range(0, 300_000, 70_000):
            writer.write(whole.slice(first, 70_000))
    assert writer.entry == file_entry(tmp_path / "pieces")
    write_table(whole, tmp_path / "whole", form)
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_a_format_cannot_hold_is_refused_and_no_thread_is_left(tmp_path: Path) -> None:
    lists = pa.table({"a": [[1, 2], [3]]})
    with (
        pytest.raises(SourceError, match="csv can hold"),
        TableWriter(tmp_path / "x", "csv", lists.schema) as writer,
    ):
        writer.write(lists)
    assert writer._owned is not None and writer._owned.closed
    assert isinstance(writer._encoder, writing._CsvLines) and writer._encoder._pool._shutdown


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_full_disk_is_said_to_be_one(form: str) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() + len(data) > 10_000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    with pytest.raises(OSError, match="No space") as told, TableWriter(Full(), form, table().schema) as writer:
        writer.write(table())
    assert told.value.errno == errno.ENOSPC


def test_blanks_in_one_file_of_a_folder_leave_its_columns_of_one_type(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("town,note\n" + "Ulm,plain\n" * 10)
    (tmp_path / "2.csv").write_text("town,note\nUlm, unknown\nBonn,plain \n")
    read = Source(path=tmp_path, trim=True, missing=("unknown",)).read(["town", "note"])
    assert read.column("note").to_pylist() == ["plain"] * 10 + [None, "plain"]
