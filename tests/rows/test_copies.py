"""The copy of a data frame's columns: the same values in the same order, compact, and sealed to their places."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from tests.rows.people import people

from pramana.rows.spark import frames
from pramana.rows.spark.blocks import blocks_from
from pramana.rows.spark.frames import SealedCopy
from pramana.rows.spark.jobs import _of_batches
from pramana.rows.spark.steps import NONCE, EvaluatedAnewError, Seal, unquoted

COLUMNS = ("sex", "town", "age", "job", "note")
COPY = SealedCopy(COLUMNS, Seal(bytes(range(32))))


@pytest.mark.parametrize("rows", [1, 777, 10_000, 40_000])
def test_the_same_rows_come_back(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BLOCK", 9_000)
    table = people().select(COLUMNS)
    contents = list(COPY.contents(3, table.to_batches(max_chunksize=rows)))
    assert sum(number for _, number, _ in contents) == len(table)
    assert {run for run, _, _ in contents} == {3}
    tables = list(COPY.tables(3, _of_batches(iter, contents)))
    assert pa.concat_tables(t.cast(table.schema) for t in tables).equals(table.combine_chunks())
    assert b"town 17" not in b"".join(content for _, _, content in contents)


def test_texts_that_repeat_become_narrow_dictionaries() -> None:
    long = pa.table({"few": ["a", None] * 5_000, "some": [f"v{i % 300}" for i in range(10_000)]})
    long = long.append_column("all", pa.array([f"v{i}" for i in range(10_000)])).append_column(
        "age", pa.array(range(10_000))
    )
    copy = SealedCopy(("few", "some", "all", "age"), COPY.seal)
    (table,) = copy.tables(0, _of_batches(iter, copy.contents(0, long.to_batches(max_chunksize=3_000))))
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["few"] == pa.dictionary(pa.int8(), pa.string())
    assert kinds["some"] == pa.dictionary(pa.int16(), pa.string())
    assert (kinds["all"], kinds["age"]) == (pa.string(), pa.int64())
    assert table.column("few").null_count == 5_000


@pytest.mark.parametrize("size", [127, 128, 129])
def test_no_number_is_too_large_for_its_width(size: int) -> None:
    values = [f"v{i % size}" for i in range(4 * size)]
    copy = SealedCopy(("v",), COPY.seal)
    (table,) = copy.tables(0, _of_batches(iter, copy.contents(0, pa.table({"v": values}).to_batches())))
    assert table.column("v").to_pylist() == values
    assert table.schema.field("v").type.index_type == (pa.int8() if size <= 128 else pa.int16())


def test_contents_are_bound_to_run_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BLOCK", 9_000)
    contents = list(COPY.contents(1, people(20_000).select(COLUMNS).to_batches(max_chunksize=5_000)))
    for run, kept in ((2, contents), (1, contents[::-1]), (1, contents[1:])):
        with pytest.raises(InvalidTag):
            list(COPY.tables(run, _of_batches(iter, kept)))


def test_contents_whose_dictionaries_differ_in_width_make_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BLOCK", 1_000)
    values = [f"v{i % 100}" for i in range(1_000)] + [f"v{i % 200}" for i in range(1_000)]
    values += [f"v{i}" for i in range(1_000)]
    copy = SealedCopy(("v",), COPY.seal)
    contents = copy.contents(0, pa.table({"v": values}).to_batches(max_chunksize=500))
    tables = list(copy.tables(0, _of_batches(iter, contents)))
    assert len({str(table.schema) for table in tables}) == 3
    ((first, block),) = blocks_from(tables, 0)
    assert (first, block.column("v").to_pylist()) == (0, values)


def test_a_run_that_is_copied_anew_has_the_rows_of_the_first_copy_or_ends_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether rows are others, fewer or more; no report could tell of it once the driver has read one."""
    monkeypatch.setattr(frames, "BLOCK", 5_000)
    table = people(20_000).select(COLUMNS)
    contents = list(COPY.contents(1, table.to_batches(max_chunksize=5_000)))
    known = replace(COPY, nonces=(b"", b"".join(content[:NONCE] for _, _, content in contents)))
    assert sum(part.num_rows for part in known.tables(1, _of_batches(iter, contents))) == len(table)
    later = people(20_001).select(COLUMNS)
    changed = pa.concat_tables([table.slice(0, 15_000), table.slice(15_000).take(list(range(5_000))[::-1])])
    for other in (later, changed, table.slice(0, 15_000), table.slice(0, 19_999), table.slice(0, 0)):
        anew = COPY.contents(1, other.to_batches(max_chunksize=5_000))
        with pytest.raises(EvaluatedAnewError), unquoted():
            list(known.tables(1, _of_batches(iter, anew)))
    with pytest.raises(EvaluatedAnewError):
        list(known.tables(2, _of_batches(iter, COPY.contents(2, table.to_batches()))))
