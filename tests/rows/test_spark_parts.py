"""Parts without Spark: however a table is cut into runs and parts, each part has its rows in their order."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows.test_steps import ATTRIBUTES, KEY, MECHANISM, RAW, SEAL, SIZES, draw, locally, seen_of, table_of

from pramana.errors import EngineError
from pramana.randomness.shuffle import bucket_counts, bucketed, tag_stream
from pramana.rows.protocol import Kept
from pramana.rows.spark.parts import Buckets, CountKept, PartBorders, WorkOnPart
from pramana.rows.spark.steps import Sent

RECORDS = 3_000


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=40).filter(any), rows=st.integers(1, 30))
def test_borders_are_those_that_counting_gives(sizes: list[int], rows: int) -> None:
    """Every row is listed with its bucket; a part is the buckets of its rows."""
    borders = PartBorders.of(np.array(sizes), rows)
    bucket_of = [bucket for bucket, size in enumerate(sizes) for _ in range(size)]
    assert borders.count == -(-len(bucket_of) // rows)
    for part in range(borders.count):
        own = bucket_of[part * rows : (part + 1) * rows]
        assert (borders.first[part], borders.last[part]) == (own[0], own[-1])
        assert borders.skipped is not None and borders.lengths is not None
        assert borders.skipped[part] == part * rows - bucket_of.index(own[0])
        assert borders.lengths[part] == len(own)


def test_buckets_are_counted_without_their_rows() -> None:
    tags = tag_stream(KEY, "here")
    for first, rows, bits in ((0, 1, 1), (7, 40_000, 5), (16_384, 16_384, 0)):
        _, starts = bucketed(tags, first, rows, bits)
        assert bucket_counts(tags, first, rows, bits).tolist() == np.diff(starts.astype(np.int64)).tolist()
    parts = [Buckets.of_parts(n, tags, 1_000) for n in (1, 1_000, 1_001, 3_000, 1 << 60)]
    assert [buckets.bits for buckets in parts] == [1, 4, 5, 6, 20]


def in_parts(table: pa.Table, shuffled: bool, rows: int, cuts: list[int], kept: Kept | None) -> list[Any]:
    tags = tag_stream(KEY, "here")
    buckets = Buckets.of_parts(RECORDS, tags if shuffled else None, rows)
    if shuffled:
        sizes = bucket_counts(tags, 0, RECORDS, buckets.bits)
    else:
        sizes = np.diff(np.minimum(np.arange(buckets.count + 1) * rows, RECORDS))
    attributes = (*ATTRIBUTES, RAW)
    drawn = draw(attributes, tuple(a.name for a in attributes), MECHANISM, buckets, kept=kept)
    if kept is not None:
        reports: Any = seen_of(CountKept(**vars(drawn)), table, cuts)[0]
        sizes = np.sum([report.total[0] for report in reports.values()], axis=0)
    borders = PartBorders.of(sizes, rows)
    _, sent = seen_of(replace(drawn, borders=borders), table, cuts)
    work = WorkOnPart(buckets, borders, SEAL, lambda number, pieces: (number, list(pieces)))
    results: list[Sent] = []
    for slot in range(1, borders.count + 1):
        contents = [(number, content) for place, number, content in reversed(sent) if place == slot]
        results += work.ordered(slot, contents)
    return work.results(reversed(results))


def some(columns: Any) -> Any:
    return columns["job"] % 3 > 0


@pytest.mark.parametrize("shuffled", [True, False])
@settings(max_examples=12)
@given(
    cuts=st.lists(st.integers(0, RECORDS), max_size=4),
    rows=st.sampled_from([101, 999, 1_000, 1_500, 2_999, 3_000, 5_000]),
    fewer=st.booleans(),
)
def test_parts_are_runs_of_the_published_order(shuffled: bool, cuts: list[int], rows: int, fewer: bool) -> None:
    """`fewer`: of the rows that are published, where a third is left out."""
    table, expected = table_of(RECORDS), dict[str, Any]()
    results = in_parts(table, shuffled, rows, cuts, some if fewer else None)
    whole = locally(table, MECHANISM, shuffled)
    places = np.flatnonzero(some(whole)) if fewer else np.arange(RECORDS)
    expected = {name: column.take(places) for name, column in whole.items()}
    assert [number for number, _ in results] == list(range(-(-len(places) // rows)))
    for number, pieces in results:
        part = slice(number * rows, (number + 1) * rows)
        for name in SIZES:
            own = np.concatenate([piece[name] for piece in pieces])
            assert own.dtype == expected[name].dtype and (own == expected[name][part]).all()
        notes = [note for piece in pieces for note in piece["note"].to_pylist()]
        assert notes == expected["note"].to_pylist()[part]


def test_contents_of_rows_cannot_pass_for_results_and_lost_ones_are_noticed() -> None:
    table, rows = table_of(RECORDS), 1_000
    tags = tag_stream(KEY, "here")
    buckets = Buckets.of_parts(RECORDS, tags, rows)
    borders = PartBorders.of(bucket_counts(tags, 0, RECORDS, buckets.bits), rows)
    step = draw(ATTRIBUTES, tuple(SIZES), MECHANISM, buckets, borders=borders)
    _, sent = seen_of(step, table, [1_000, 2_500])
    work = WorkOnPart(buckets, borders, SEAL, lambda _, pieces: sum(len(piece["sex"]) for piece in pieces))
    with pytest.raises(InvalidTag):
        work.results(sent)
    with pytest.raises(EngineError, match="all its rows"):
        list(work.ordered(1, [(number, content) for slot, number, content in sent if slot == 1][:-1]))
    whole = [one for slot in (1, 2, 3) for one in work.ordered(slot, [(n, c) for s, n, c in sent if s == slot])]
    assert work.results(whole) == [1_000, 1_000, 1_000]
    with pytest.raises(EngineError, match="Every part"):
        work.results(whole[1:])
    assert b"town 1" not in pickle.dumps(sent)
