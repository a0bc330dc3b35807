"""The copy of a data frame's columns: the same values in the same order, compact, and sealed to their places."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.exceptions import InvalidTag
from tests.rows.people import people

from pramana.errors import SourceError
from pramana.rows.spark.blocks import blocks_from
from pramana.rows.spark.frames import copies
from pramana.rows.spark.frames.copies import OTHER_PLACES, OTHER_VALUES, CopiedColumns, FileColumns
from pramana.rows.spark.frames.looks import FileLook
from pramana.rows.spark.frames.numbered import NumberedColumns
from pramana.rows.spark.jobs import _batches
from pramana.rows.spark.steps import Seal
from pramana.sources import Piece, Source, pieces_of

COLUMNS = ("sex", "town", "age", "job", "note")
COPY = CopiedColumns(COLUMNS, Seal(bytes(range(32))))


@pytest.mark.parametrize("rows", [1, 777, 10_000, 40_000])
def test_the_same_rows_come_back(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BLOCK", 9_000)
    table = people().select(COLUMNS)
    contents = list(COPY.contents(3, table.to_batches(max_chunksize=rows)))
    assert sum(number for _, number, _ in contents) == len(table)
    assert {run for run, _, _ in contents} == {3}
    tables = list(COPY.tables(3, _batches(iter(contents))))
    assert pa.concat_tables(t.cast(table.schema) for t in tables).equals(table.combine_chunks())
    assert b"town 17" not in b"".join(content for _, _, content in contents)


def test_texts_that_repeat_become_narrow_dictionaries() -> None:
    long = pa.table({"few": ["a", None] * 5_000, "some": [f"v{i % 300}" for i in range(10_000)]})
    long = long.append_column("all", pa.array([f"v{i}" for i in range(10_000)])).append_column(
        "age", pa.array(range(10_000))
    )
    copy = CopiedColumns(("few", "some", "all", "age"), COPY.seal)
    (table,) = copy.tables(0, _batches(copy.contents(0, long.to_batches(max_chunksize=3_000))))
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["few"] == pa.dictionary(pa.int8(), pa.string())
    assert kinds["some"] == pa.dictionary(pa.int16(), pa.string())
    assert (kinds["all"], kinds["age"]) == (pa.string(), pa.int64())
    assert table.column("few").null_count == 5_000


@pytest.mark.parametrize("size", [127, 128, 129])
def test_no_number_is_too_large_for_its_width(size: int) -> None:
    values = [f"v{i % size}" for i in range(4 * size)]
    copy = CopiedColumns(("v",), COPY.seal)
    (table,) = copy.tables(0, _batches(copy.contents(0, pa.table({"v": values}).to_batches())))
    assert table.column("v").to_pylist() == values
    assert table.schema.field("v").type.index_type == (pa.int8() if size <= 128 else pa.int16())


def test_contents_are_bound_to_run_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BLOCK", 9_000)
    contents = list(COPY.contents(1, people(20_000).select(COLUMNS).to_batches(max_chunksize=5_000)))
    for run, kept in ((2, contents), (1, contents[::-1]), (1, contents[1:])):
        with pytest.raises(InvalidTag):
            list(COPY.tables(run, _batches(iter(kept))))


def test_contents_whose_dictionaries_differ_in_width_make_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BLOCK", 1_000)
    values = [f"v{i % 100}" for i in range(1_000)] + [f"v{i % 200}" for i in range(1_000)]
    values += [f"v{i}" for i in range(1_000)]
    copy = CopiedColumns(("v",), COPY.seal)
    contents = copy.contents(0, pa.table({"v": values}).to_batches(max_chunksize=500))
    tables = list(copy.tables(0, _batches(contents)))
    assert len({str(table.schema) for table in tables}) == 3
    ((first, block),) = blocks_from(tables, 0)
    assert (first, block.column("v").to_pylist()) == (0, values)


# ---------------------------------------------------------------- columns that files have


def beside_files(table: pa.Table, folder: Path, kept: str | None = "kept") -> CopiedColumns:
    """Two files, read in three pieces, have the names and ages; the copy has the rest."""
    half = len(table) // 2
    for number, part in enumerate([table.slice(0, half), table.slice(half)]):
        pq.write_table(part.select(["name", "age"]), folder / f"{number}.parquet", row_group_size=700)
    first, second = (Source(folder / f"{number}.parquet") for number in (0, 1))
    groups = pq.read_metadata(folder / "0.parquet").num_row_groups
    pieces = (Piece(first, None, (0,)), Piece(first, None, tuple(range(1, groups))))
    files = FileColumns.of(["name", "age"], [(), (*pieces, *pieces_of(second, ["name", "age"]))])
    own = tuple(n for n in ("kept", "job") if n in table.column_names)
    return CopiedColumns(own, COPY.seal, kept=kept, files=files)


@pytest.mark.parametrize("rows", [500, 701, 10_000])
def test_rows_that_stay_have_their_own_columns_from_files(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "BLOCK", rows)
    stays = np.random.default_rng(2).random(5_001) < 0.7
    stays[1_000:2_500], stays[3_000:4_500] = False, True
    table = people(5_001).append_column("kept", pa.array(stays))
    copy = beside_files(table, tmp_path)
    batches = table.select(["kept", "job"]).to_batches(max_chunksize=250)
    contents = list(copy.contents(1, batches))
    assert sum(number for _, number, _ in contents) == stays.sum()
    for names in (("age", "job", "name"), ("name",), ("job",)):
        assert copy.covers(names) and not copy.covers([*names, "town"])
        read = list(copy.tables(1, _batches(iter(contents)), names))
        again = {name: [v for part in read for v in part.column(name).to_pylist()] for name in names}
        assert again == table.filter(pa.array(stays)).select(names).to_pydict()
        assert all(set(part.column_names) == set(names) for part in read)


@pytest.mark.parametrize("rows", [4_000, 4_999, 5_001, 6_000])
def test_files_with_other_rows_than_the_copy_are_refused(rows: int, tmp_path: Path) -> None:
    table = people(5_000).append_column("kept", pa.array([True] * 5_000))
    copy = beside_files(table, tmp_path)
    other = people(rows).append_column("kept", pa.array([True] * rows)).select(["kept", "job"])
    contents = list(copy.contents(1, other.to_batches()))
    with pytest.raises(SourceError, match="stay as it is"):
        list(copy.tables(1, _batches(iter(contents)), ("name", "job")))


def rewritten(path: Path) -> None:
    """In place, with a footer that tells nothing of it."""
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def replaced(path: Path) -> None:
    """By a file with as many rows, none of which is where it was."""
    table = pq.read_table(path)
    pq.write_table(table.take(list(range(len(table)))[::-1]), path.with_suffix(".new"), row_group_size=700)
    path.with_suffix(".new").rename(path)


@pytest.mark.parametrize("change", [replaced, rewritten, Path.unlink])
def test_files_that_changed_since_the_copy_was_made_are_refused(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    table = people(5_000).append_column("kept", pa.array([True] * 5_000))
    copy = beside_files(table, tmp_path)
    contents = list(copy.contents(1, table.select(["kept", "job"]).to_batches()))
    change(tmp_path / "1.parquet")
    tables = copy.tables(1, _batches(iter(contents)), ("name", "job"))
    assert sum(part.num_rows for part in islice(tables, 1)) > 0  # of the first file, which is as it was
    with pytest.raises(SourceError, match="stay as it is"):
        list(tables)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    table = people(5_000).append_column("kept", pa.array([True] * 5_000))
    copy = beside_files(table, tmp_path)
    contents = list(copy.contents(1, table.select(["kept", "job"]).to_batches()))
    tables = copy.tables(1, _batches(iter(contents)), ("name", "job"))
    next(tables)
    os.utime(tmp_path / "0.parquet", (1, 1))
    with pytest.raises(SourceError, match="stay as it is"):
        list(tables)


def test_a_copy_of_a_file_on_another_machine_looks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(people(100), file)
    look = FileLook.at(file)
    other.write_bytes(file.read_bytes())
    assert look.is_of(file) and not look.is_of(other)
    monkeypatch.setattr("platform.node", lambda: "another machine")
    assert look.is_of(other)
    pq.write_table(people(100).slice(1), other)
    assert not look.is_of(other)


# ---------------------------------------------------------------- columns that Spark numbers


def as_words(table: pa.Table, numbered: NumberedColumns) -> pa.Table:
    """What Spark makes of the numbered columns, by the definition of their numbers; the others as they are."""
    columns = {n: table.column(n) for n in table.column_names if n not in numbered.values}
    for word, names in numbered.words().items():
        whole = [0] * len(table)
        for place, name in enumerate(names):
            number_of: dict[str | None, int] = {v: i for i, v in enumerate(numbered.values[name], 1)}
            number_of[None] = len(number_of) + 1
            for row, text in enumerate(table.column(name).to_pylist()):
                whole[row] |= number_of.get(text, 0) << 8 * place
        columns[word] = pa.array(np.array(whole, np.uint64).view(np.int64))
    return pa.table(columns)


def texts(columns: int, size: int) -> tuple[pa.Table, NumberedColumns]:
    generator = np.random.default_rng(columns)
    names = [f"c{i}" for i in range(columns)]
    values = {name: tuple(f"{name} v{i}" for i in range(size)) for name in names}
    drawn = {n: [(*values[n], None)[i] for i in generator.integers(0, size + 1, 3_000)] for n in names}
    table = pa.table({"before": [f"t{i}" for i in range(3_000)], **drawn, "after": range(3_000)})
    return table, NumberedColumns(values)


@pytest.mark.parametrize(("columns", "size"), [(1, 1), (7, 20), (8, 64), (9, 3), (16, 64)])
def test_numbered_columns_come_back_as_their_texts(
    columns: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "BLOCK", 1_100)
    table, numbered = texts(columns, size)
    copy = CopiedColumns(tuple(table.column_names), COPY.seal, numbered)
    words = as_words(table, numbered)
    assert set(copy.plain) == {"before", "after"}
    assert words.num_columns == 2 + -(-columns // 8)
    tables = list(copy.tables(5, _batches(copy.contents(5, words.to_batches(max_chunksize=400)))))
    assert len(tables) == 3
    assert pa.concat_tables(t.cast(table.schema) for t in tables).equals(table)


def test_an_empty_text_is_in_the_dictionary_only_where_a_row_has_it() -> None:
    numbered = NumberedColumns({"v": ("a", "b", "")})
    for values, entries in ((["a", None, "b"], ["a", "b"]), (["a", None, ""], ["a", "b", ""])):
        ((name, column),) = numbered.columns(as_words(pa.table({"v": values}), numbered))
        assert column is not None
        assert (name, column.to_pylist()) == ("v", values)
        assert column.chunk(0).dictionary.to_pylist() == entries


@pytest.mark.parametrize("name", ["c0", "c8"])
def test_another_value_ends_a_numbered_copy(name: str) -> None:
    table, numbered = texts(9, 5)
    changed = table.column(name).to_pylist()
    changed[2_999] = "another"
    table = table.set_column(table.column_names.index(name), name, pa.array(changed))
    copy = CopiedColumns(tuple(table.column_names), COPY.seal, numbered)
    assert list(copy.contents(2, as_words(table, numbered).to_batches())) == [(2, OTHER_VALUES, b"")]


# ---------------------------------------------------------------- rows that files have at other places


def test_rows_come_from_their_places_in_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are gone, some occur several times, and files, row groups and blocks end anywhere."""
    monkeypatch.setattr(copies, "BLOCK", 900)
    table = people(5_001)
    copy = replace(beside_files(table, tmp_path, None), columns=("place", "job"), places="place")
    times = np.random.default_rng(4).integers(0, 4, 5_001)
    times[1_200:2_800], times[3_000:4_100] = 1, 0
    rows = np.repeat(np.arange(5_001), times)
    expected = table.take(rows)
    sent = pa.table({"place": rows + (1 << 33), "job": expected.column("job")})
    contents = list(copy.contents(1, sent.to_batches(max_chunksize=250)))
    assert sum(number for _, number, _ in contents) == len(rows)
    for names in (("age", "job", "name"), ("name",), ("job",)):
        read = list(copy.tables(1, _batches(iter(contents)), names))
        again = {name: [v for part in read for v in part.column(name).to_pylist()] for name in names}
        assert again == expected.select(names).to_pydict()
        assert all(set(part.column_names) == set(names) for part in read)


def test_rows_that_are_neighbours_are_told_by_where_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "BLOCK", 900)
    table = people(5_001)
    copy = replace(beside_files(table, tmp_path, None), columns=("place",), places="place")
    rows = np.arange(13, 5_001)
    sent = pa.table({"place": rows + (1 << 33)})
    contents = list(copy.contents(1, sent.to_batches(max_chunksize=300)))
    assert [number for _, number, _ in contents] == [900] * 5 + [488]
    assert all(len(content) < 500 for _, _, content in contents)
    read = pa.concat_tables(copy.tables(1, _batches(iter(contents)), ("age", "name")))
    assert read.to_pydict() == table.slice(13).select(["age", "name"]).to_pydict()


def test_as_many_rows_as_there_are_need_not_be_each_of_them_once(tmp_path: Path) -> None:
    table = people(5_000)
    copy = replace(beside_files(table, tmp_path, None), columns=("place",), places="place")
    rows = np.array([3, 3, 5])
    contents = list(copy.contents(1, pa.table({"place": rows + (1 << 33)}).to_batches()))
    (read,) = copy.tables(1, _batches(iter(contents)), ("name",))
    assert read.column("name").to_pylist() == table.take(rows).column("name").to_pylist()


@pytest.mark.parametrize("rows", [[5, 4], [0, (1 << 33)], [-1, 3], [2, 900, 1]])
def test_places_of_another_run_or_order_end_a_copy(rows: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BLOCK", 2)
    copy = CopiedColumns(("place",), COPY.seal, places="place")
    sent = pa.table({"place": np.array(rows, np.int64) + (1 << 33)})
    assert [number for _, number, _ in copy.contents(1, sent.to_batches(max_chunksize=2))][-1] == OTHER_PLACES


def test_a_place_behind_the_last_row_of_the_files_is_refused(tmp_path: Path) -> None:
    copy = replace(beside_files(people(5_000), tmp_path, None), columns=("place",), places="place")
    contents = list(copy.contents(1, pa.table({"place": [(1 << 33) + 7, (1 << 33) + 5_000]}).to_batches()))
    with pytest.raises(SourceError, match="stay as it is"):
        list(copy.tables(1, _batches(iter(contents)), ("name",)))
