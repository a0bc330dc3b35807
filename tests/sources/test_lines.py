"""Lines of CSV by our own kernel are the library's: written byte for byte, read value for value."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from pramana.errors import SourceError
from pramana.pipeline.writing import file_entry
from pramana.sources import Source, write_table
from pramana.sources.csv_file import CsvReading
from pramana.sources.lines import CellTexts, PlainCsv, UnusualLinesError, _lines, lines_of
from pramana.sources.write import LINES, TableWriter

HOSTILE = [
    "a",
    "",
    " ",
    '"',
    '""',
    '"quoted"',
    ",",
    ";",
    "\n",
    "\r\n",
    "\r",
    "a,b",
    "ünï",
    "日本",
    "\U0001f600",
    "=1+1",
    "'",
]
HOSTILE += [
    "\x00",
    "\t",
    "NULL",
    "x" * 15,
    "x" * 16,
    "x" * 17,
    "y" * 100,
    "null",
    "NaN",
    "\ufeff",
    "12345678",
    "123456789",
]


def coded(draw: random.Random, rows: int, nulls: bool) -> pa.DictionaryArray:
    entries = draw.sample(HOSTILE, draw.randrange(1, len(HOSTILE)))
    kind = draw.choice([pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32()])
    places = [None if nulls and draw.random() < 0.2 else draw.randrange(len(entries)) for _ in range(rows)]
    return pa.DictionaryArray.from_arrays(pa.array(places, kind), pa.array(entries))


def by_library(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    plain = pa.table([c.cast(c.type.value_type) for c in table.columns], names=table.column_names)
    pacsv.write_csv(plain, sink, pacsv.WriteOptions(quoting_style="needed", include_header=False))
    return sink.getvalue()


@pytest.mark.parametrize("seed", range(30))
def test_codes_are_written_as_the_library_writes_their_texts(seed: int) -> None:
    draw = random.Random(seed)
    rows = draw.choice([0, 1, 2, 50])
    columns = [coded(draw, rows, nulls=seed % 2 == 0) for _ in range(draw.randrange(1, 5))]
    table = pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
    known: dict[str, CellTexts] = {}
    for _ in range(2):  # with texts made anew, and with those that are known
        lines = lines_of(table.combine_chunks(), known)
        assert lines is not None and bytes(lines) == by_library(table)
    assert set(known) == set(table.column_names)


def test_a_slice_and_another_dictionary_are_written_rightly() -> None:
    known: dict[str, CellTexts] = {}
    for entries in (["a", "b"], ["b", "a"]):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None, 0], pa.int8()), pa.array(entries))
        table = pa.table([column.slice(1, 3)], names=["c"])
        assert bytes(lines_of(table, known) or b"") == by_library(table)


def test_columns_that_are_no_dictionaries_of_texts_are_left_to_the_library(tmp_path: Path) -> None:
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([1, 2]))
    assert lines_of(pa.table([numbers], names=["n"]), {}) is None
    assert lines_of(pa.table({"t": ["a"]}), {}) is None
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", "b"]))
    table = pa.table([texts, pa.array([1.5, None])], names=["t", "n"])
    with TableWriter(tmp_path / "pieces.csv", "csv", table.schema) as writer:
        writer.write(table)
    write_table(table, tmp_path / "whole.csv", "csv")
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_is_digested_as_it_is_written(tmp_path: Path, form: str) -> None:
    """Of several groups of rows, whose lines are also those that the library writes of all of them."""
    places = np.random.default_rng(1).integers(0, 3, 300_000).astype(np.int8)
    column = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(["a", 'b"', "c,d"]))
    table = pa.table([column, column], names=["x", "y"])
    with TableWriter(tmp_path / "pieces", form, table.schema, workers=2) as writer:
        for first in range(0, 300_000, 70_000):
            writer.write(table.slice(first, 70_000))
    assert writer.entry == file_entry(tmp_path / "pieces")
    write_table(table, tmp_path / "whole", form)
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()


def test_lines_go_to_the_file_a_few_at_a_time() -> None:
    """Of ten megabytes at a time each came from memory three times: to be made, digested and written."""
    written: list[int] = []

    class Counting(io.BytesIO):
        def write(self, data: Any) -> int:
            written.append(len(data))
            return super().write(data)

    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(5 * LINES, np.int8)), pa.array(["a"]))
    table = pa.table([column], names=["x"])
    with TableWriter(Counting(), "csv", table.schema, workers=2) as writer:
        for first in range(0, 5 * LINES, 2 * LINES + 7):
            writer.write(table.slice(first, 2 * LINES + 7))
    assert written == [4, *[4 * LINES] * 5]


# ---------------------------------------------------------------- reading


def reading_of(path: Path, wanted: list[str] | None = None, missing: tuple[str, ...] = ("",)) -> CsvReading:
    return CsvReading.of_files(Source(path=path, missing=missing), path, wanted)[0]


def values(table: pa.Table) -> dict[str, list[str | None]]:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def entries_of(column: pa.ChunkedArray) -> list[str]:
    """In the order in which the dictionaries of its pieces have them."""
    return list(dict.fromkeys(entry for chunk in column.chunks for entry in chunk.dictionary.to_pylist()))


def a_file(draw: random.Random, path: Path, columns: int) -> None:
    """Lines of hostile cells, most of them as a writer of CSV writes them, some with a flaw."""
    end = draw.choice(["\n", "\r\n"])
    names, cells = [f"c{i}" for i in range(columns)], draw.sample(HOSTILE, 6)
    lines = [",".join(names if draw.random() < 0.5 else [f'"{name}"' for name in names])]
    for _ in range(draw.randrange(1, 40)):
        sink = io.StringIO()
        quoted = csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="")
        writer = quoted if draw.random() < 0.5 else csv.writer(sink, lineterminator="")
        writer.writerow([draw.choice(cells) for _ in names])
        lines.append(sink.getvalue())
    if draw.random() < 0.3:
        flaw = ['a"b', '"a"b', "a,b,c,d,e,f", "", '"open', "lone\rreturn", " ", '"",""']
        lines.insert(draw.randrange(1, len(lines) + 1), draw.choice(flaw))
    text = end.join(lines) + draw.choice(["", end])
    data = text.encode() if draw.random() < 0.9 else text.encode().replace(b"\xc3", b"\xff")
    path.write_bytes(draw.choice([b"", b"", b"\xef\xbb\xbf"]) + data)


def test_plain_lines_are_read_as_the_library_reads_them(tmp_path: Path) -> None:
    """And others are told: of these files each kind must have come."""
    plain = unusual = 0
    for seed in range(400):
        draw = random.Random(seed)
        path = tmp_path / "table.csv"
        a_file(draw, path, columns := draw.randrange(1, 5))
        try:
            reading = reading_of(
                path, draw.choice([None, [f"c{columns - 1}"]]), draw.choice([("",), ("", "NULL", "a")])
            )
        except SourceError:
            continue
        try:
            ours = reading.table()
        except UnusualLinesError:
            unusual += 1
            continue
        plain += 1
        theirs = reading.table_by_library()
        assert values(ours) == values(theirs), seed
        for name in ours.column_names:
            column, other = ours.column(name), theirs.column(name)
            assert column.null_count == other.null_count
            assert entries_of(column) == entries_of(other)
    assert plain > 100 and unusual > 50


@pytest.mark.parametrize("block", [16, 64, 1000])
def test_blocks_of_any_size_give_the_same_rows(tmp_path: Path, block: int) -> None:
    draw = random.Random(block)
    cells = [[draw.choice(HOSTILE[:12]) for _ in range(3)] for _ in range(300)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["a", "b", "c"], *cells])
    lines = PlainCsv(["a", "b", "c"], ["c", "a"], ",", frozenset([b"-"]), block)
    with (tmp_path / "t.csv").open("rb") as file:
        found = pa.Table.from_batches(lines.batches(file))
    assert values(found) == {"c": [row[2] for row in cells], "a": [row[0] for row in cells]}


def test_the_last_line_end_outside_quotes_is_found_at_every_length() -> None:
    chance = random.Random(2)
    for length in [*range(70), 500]:
        data = bytes(chance.choices(b'"\na', [chance.random() / 4, 0.05, 1], k=length))
        ends = [i + 1 for i in range(length) if data[i] == 10 and data[:i].count(b'"') % 2 == 0]
        assert _lines.last_end(data) == max(ends, default=0)


def test_rows_that_came_before_an_unusual_line_come_once(tmp_path: Path) -> None:
    rows = 300_000
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},some text\n" for i in range(rows)) + '1,5" pipe\n')
    batches = list(reading_of(path).batches())
    found = [value for batch in batches for value in batch.column(0).to_pylist()]
    assert len(batches) > 1 and found == [str(i % 7) for i in range(rows)] + ["1"]


def test_a_column_of_many_values_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(200_000)))
    source = Source(path=path)
    assert source.read().column("id").to_pylist() == [str(i) for i in range(200_000)]
    with pytest.raises(UnusualLinesError):  # too many to be numbered in a block
        reading_of(path).table()


def test_the_kernel_refuses_what_does_not_fit() -> None:
    codes, texts, ends = np.zeros(2, np.uint8), b"a\n" + bytes(16), np.array([0, 2], np.int64)
    out = np.zeros(20, np.uint8)
    assert _lines.write_lines([(codes, texts, ends)], out) == 4 and bytes(out[:4]) == b"a\na\n"
    with pytest.raises(ValueError, match="room for the lines"):
        _lines.write_lines([(codes, texts, ends)], out[:19])
    with pytest.raises(ValueError, match="below the number of texts"):
        _lines.write_lines([(codes + np.uint8(1), texts, ends)], out)
    with pytest.raises(ValueError, match="16 bytes to spare"):
        _lines.write_lines([(codes, texts[:-1], ends)], out)
    with pytest.raises(ValueError, match="plain character"):
        _lines.read_lines(b"a\n", ord("\n"), np.zeros(1, np.int32), True)
    with pytest.raises(ValueError, match="number some fields"):
        _lines.read_lines(b"a\n", ord(","), np.array([3], np.int32), True)


def test_blanks_in_one_file_of_a_folder_leave_its_columns_of_one_type(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("town,note\n" + "Ulm,plain\n" * 10)
    (tmp_path / "2.csv").write_text("town,note\nUlm, unknown\nBonn,plain \n")
    read = Source(path=tmp_path, trim=True, missing=("unknown",)).read(["town", "note"])
    assert read.column("note").to_pylist() == ["plain"] * 10 + [None, "plain"]
