"""Whose the rows are, told from runs: what Spark does, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows.test_steps import SEAL, runs_of

from pramana.errors import SourceError
from pramana.rows.digest import ContentDigest
from pramana.rows.owners import PERSON
from pramana.rows.spark.blocks import Encoding, joined, packed, unpacked
from pramana.rows.spark.frames import SparkTable
from pramana.rows.spark.owners import (
    AttachedRows,
    DigestRun,
    FirstRows,
    RunOwners,
    SealedRuns,
    UnitColumnReport,
    _digests_of,
    _numbered,
)
from pramana.rows.spark.steps import REPORT, performed


def first_rows(
    values: pa.Array, cuts: list[int], buckets: int
) -> tuple[list[int], dict[int, UnitColumnReport], bytes]:
    """By row the first one of the same value, what the runs tell of themselves, and all that was sent."""
    step = DigestRun("pid", SEAL, buckets=buckets)
    reports, sent = {}, []
    for run, first, tables in runs_of(pa.table({"pid": values}), cuts):
        for slot, number, content in performed(step, run, first, tables):
            if slot == REPORT:
                reports[number] = pickle.loads(SEAL.opened(slot, number, content))
                if isinstance(reports[number], SourceError):
                    raise reports[number]
            else:
                sent.append((slot, number, content))
    told = np.full(len(values), -1, np.int64)
    for slot in sorted({slot for slot, _, _ in sent}):
        contents = [(number, content) for own, number, content in reversed(sent) if own == slot]
        for place, part, content in FirstRows(SEAL).ordered(slot, contents):
            rows, firsts = np.frombuffer(SEAL.opened(place, part, content), np.uint32).reshape(2, -1)
            told[rows] = firsts
    return told.tolist(), reports, pickle.dumps(sent)


@settings(max_examples=25)
@given(
    people=st.lists(st.integers(0, 40), min_size=1, max_size=400),
    cuts=st.lists(st.integers(0, 400), max_size=3),
    buckets=st.integers(1, 7),
    kind=st.sampled_from(["text", "number", "decimal", "category"]),
)
def test_first_rows_are_those_of_plain_counting(
    people: list[int], cuts: list[int], buckets: int, kind: str
) -> None:
    values = {
        "text": pa.array([f"person {p}" for p in people]),
        "number": pa.array(people),
        "decimal": pa.array([1 + p / 3 for p in people]),
        "category": pa.array([f"person {p}" for p in people]).dictionary_encode(),
    }[kind]
    cuts = [min(cut, len(people)) for cut in cuts]
    seen: dict[int, int] = {}
    expected = [seen.setdefault(person, row) for row, person in enumerate(people)]
    told, reports, sent = first_rows(values, cuts, buckets)
    assert told == expected
    assert sum(report.rows for report in reports.values()) == len(people)
    assert b"person" not in sent


@pytest.mark.parametrize("missing", [None, ""])
def test_a_row_without_a_person_is_refused(missing: str | None) -> None:
    with pytest.raises(SourceError, match="must tell of every row whose"):
        first_rows(pa.array(["a", missing, "b"]), [1], 2)


class OtherRows:
    """A table of two rows, of which a job tells something else."""

    records = 2

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows

    def job(self, step: DigestRun) -> OtherRows:
        self.seal = step.seal
        return self

    def ordered(self, *_: Any) -> Iterator[tuple[int, int, bytes]]:
        pairs = np.array([self.rows, [0] * len(self.rows)], np.uint32)
        yield 1, 0, self.seal.closed(1, 0, pairs.tobytes())


@pytest.mark.parametrize("rows", [[0], [0, 1, 1], [0, 2]], ids=["fewer", "more", "beyond the end"])
def test_rows_that_were_not_counted_before_are_refused(rows: list[int]) -> None:
    with pytest.raises(SourceError, match="must stay as it is"):
        _numbered(cast(SparkTable, OtherRows(rows)), "pid")


def test_a_run_that_tells_of_another_number_of_rows_is_refused() -> None:
    told = {"pid": {0: UnitColumnReport(3, "a"), 1: UnitColumnReport(2, "b")}}
    assert _digests_of(told, 1, 2) == {"pid": "b"}
    assert _digests_of(told, 2, 0) == {"pid": ContentDigest().hexdigest()}
    for run, rows in ((1, 3), (2, 1)):
        with pytest.raises(SourceError, match="must stay as it is"):
            _digests_of(told, run, rows)


# ---------------------------------------------------------------- what tasks get of it


class Broadcasts:
    """A Spark context as far as it is asked for."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.ended = 0

    def broadcast(self, value: bytes) -> Any:
        context = self

        class Sent:
            def __init__(self) -> None:
                self.value = value

            def destroy(self) -> None:
                context.ended += 1

        return Sent()


PIDS = ["a", "b", "a", "c", "c", "a", "b"]
KEPT = np.array([True, False, True, True, True, False, True])


def attached() -> tuple[AttachedRows, Broadcasts]:
    """Two runs, of four rows and of three."""
    runs, context = [], Broadcasts()
    for start, stop in ((0, 4), (4, 7)):
        digest = ContentDigest()
        digest.update({"pid": pa.chunked_array([pa.array(PIDS[start:stop])])})
        runs.append(RunOwners(stop - start, {"pid": digest.hexdigest()}, KEPT[start:stop]))
    rows = AttachedRows.of(context, SealedRuns(SEAL, ("pid",)), runs)
    rows.attach({PERSON: np.array([0, 0, 1, 1, 2], np.uint32)})
    return rows, context


def extended(rows: AttachedRows, run: int, tables: list[list[str]]) -> list[tuple[str, int]]:
    layers = [layer[run].value for layer in rows.layers if run < len(layer)]
    came = rows.sealed.extended(run, layers, [pa.table({"pid": pa.array(t, pa.string())}) for t in tables])
    return [
        row for table in came for row in zip(*(table.column(n).to_pylist() for n in ("pid", PERSON)), strict=True)
    ]


def test_rows_that_stay_have_what_is_attached_to_them() -> None:
    rows, context = attached()
    assert rows.stays == (3, 2) and rows.has(PERSON)
    assert extended(rows, 0, [["a", "b"], [], ["a", "c"]]) == [("a", 0), ("a", 0), ("c", 1)]
    assert extended(rows, 1, [["c", "a", "b"]]) == [("c", 1), ("b", 2)]
    assert extended(rows, 2, [[]]) == []
    rows.attach({PERSON: np.array([5, 5, 6, 6, 7], np.uint32)})  # in the place of the others
    assert extended(rows, 1, [["c", "a", "b"]]) == [("c", 6), ("b", 7)]
    rows.close()
    assert context.ended == 6


@pytest.mark.parametrize(
    ("run", "tables"),
    [
        (0, [["a", "b", "a"]]),
        (0, [["a", "b", "a", "c", "c"]]),
        (0, [["b", "a", "a", "c"]]),
        (1, [["c", "ab", ""]]),
        (2, [["a"]]),
    ],
    ids=["fewer", "more", "in another order", "cut otherwise", "after the end"],
)
def test_rows_of_others_are_refused(run: int, tables: list[list[str]]) -> None:
    rows, _ = attached()
    with pytest.raises(SourceError, match="must stay as it is"):
        extended(rows, run, tables)


def test_numbers_of_people_are_digested_and_travel_after_all_columns() -> None:
    table = pa.table(
        {"note": ["x", None], PERSON: pa.array([3, 1], pa.uint32()), "\0class": pa.array([1, 0], pa.uint8())}
    )
    block = Encoding(()).block(0, table)
    assert list(block.columns) == [PERSON] and block.columns[PERSON].dtype == np.uint32
    assert {name: codes.tolist() for name, codes in block.derived.items()} == {PERSON: [3, 1], "\0class": [1, 0]}
    twice = joined([unpacked(packed(block)), block])
    assert twice.columns[PERSON].tolist() == [3, 1, 3, 1] and twice.columns[PERSON].dtype == np.uint32
