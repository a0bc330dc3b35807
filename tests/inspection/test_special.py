"""Minimal sample uniques: against published scores, and against looking at every subset of every record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.holder.risk import Grouped, special_uniques
from pramana.theory import disclosure

GUIDE = [  # the ten records of the practice guide's chapter on measuring risk
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
BOOK = [  # the example in Templ's book, as sdcMicro's tests have it
    *[("20s", "male", "50k+", "highschool")] * 2,
    *[("20s", "male", "50k-", "highschool")] * 2,
    ("20s", "female", "50k-", "university"),
    ("20s", "female", "50k-", "highschool"),
    ("20s", "female", "50k-", "middleschool"),
    ("60s", "male", "50k-", "university"),
]
SMALL = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]


def grouped(rows: Sequence[tuple[object, ...]]) -> Grouped:
    columns = [
        np.unique([str(value) for value in column], return_inverse=True)[1] for column in zip(*rows, strict=True)
    ]
    return Grouped.of([c.astype(np.uint32) for c in columns], [int(c.max()) + 1 for c in columns])


def by_row(table: Grouped, scores: np.ndarray) -> list[float]:
    """A score for every row; that of its combination where it occurs once, else none."""
    of_class = np.zeros(len(table))
    of_class[np.flatnonzero(table.counts == 1)] = scores
    return [round(float(score), 9) for score in of_class[table.of_row]]


def test_suda_scores_are_the_published_ones() -> None:
    table = grouped(GUIDE)
    found = special_uniques(table, 3, 0.01)
    assert by_row(table, found.scores) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    published = [0, 0, 0.005120313, 0, 0.010702061, 0, 0.005120313, 0.008775093, 0, 0]
    assert by_row(table, found.dis_scores) == pytest.approx(published, abs=5e-10)
    whole = next(subset for subset in found.subsets if len(subset.columns) == 4)
    assert (whole.uniques, whole.below_k) == (4, 10)  # "four violate 2-anonymity and all ten 3-anonymity"


def test_the_example_of_the_book() -> None:
    table = grouped(BOOK)
    assert by_row(table, special_uniques(table, 2, 0.01).scores)[4:] == [4, 2, 6, 8]


def test_contributions_of_columns_are_the_published_ones() -> None:
    assert special_uniques(grouped(SMALL), 2, 0.01).contributions == (0.5, 0.375, 0.375)


def brute_force(rows: list[tuple[int, ...]], largest: int) -> list[float]:
    """Every subset of every record, by the definition."""
    columns = len(rows[0])
    weights = disclosure.elliot_weights(columns, largest)

    def alone(record: int, subset: tuple[int, ...]) -> bool:
        mine = [rows[record][c] for c in subset]
        return sum([row[c] for c in subset] == mine for row in rows) == 1

    scores = []
    for record in range(len(rows)):
        score = 0.0
        for size in range(1, largest + 1):
            for subset in combinations(range(columns), size):
                inner = [other for less in range(1, size) for other in combinations(subset, less)]
                if alone(record, subset) and not any(alone(record, other) for other in inner):
                    score += weights[size - 1]
        scores.append(score)
    return scores


@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.tuples(*[st.integers(0, 2)] * n), min_size=1, max_size=9)))
def test_scores_by_the_definition(rows: list[tuple[int, ...]]) -> None:
    table = grouped(rows)
    largest = len(rows[0])
    assert by_row(table, special_uniques(table, 3, 0.1, largest).scores) == brute_force(rows, largest)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12), st.integers(2, 4))
def test_subsets_by_counting(rows: list[tuple[int, ...]], k: int) -> None:
    found = special_uniques(grouped(rows), k, 0.1)
    assert len(found.subsets) == 7
    for subset in found.subsets:
        shown = [tuple(row[c] for c in subset.columns) for row in rows]
        assert subset.uniques == sum(shown.count(row) == 1 for row in shown)
        assert subset.below_k == sum(shown.count(row) < k for row in shown)


def test_large_tables_are_counted_alike_by_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = [tuple(int(v) for v in row) for row in rng.integers(0, 6, (60, 4))]
    plain = special_uniques(grouped(rows), 4, 0.1)
    monkeypatch.setattr("pramana.holder.risk._TABLE", 1)
    hashed = special_uniques(grouped(rows), 4, 0.1)
    assert plain.subsets == hashed.subsets
    assert plain.scores.tolist() == hashed.scores.tolist()


def test_the_search_stays_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pramana.holder.risk._WORK", 100)
    found = special_uniques(grouped(GUIDE), 2, 0.01)
    assert found.largest == 3 and max(len(subset.columns) for subset in found.subsets) == 3
