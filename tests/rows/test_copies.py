"""The copy of a data frame's columns: the same values in the same order, compact, and sealed to their places."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from tests.rows.people import people

from pramana.rows.spark.blocks import blocks_from
from pramana.rows.spark.frames import copies
from pramana.rows.spark.frames.copies import OTHER_VALUES, CopiedColumns
from pramana.rows.spark.frames.numbered import NumberedColumns
from pramana.rows.spark.jobs import _batches
from pramana.rows.spark.steps import Seal

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
