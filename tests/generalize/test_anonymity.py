"""k, l and t of a table, against plain counting; risks by hand."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.counting.classes import class_numbers
from pramana.counting.value_counts import Risks, ValueCounts
from pramana.errors import SourceError

from .tables import random_table


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_measures_are_those_of_plain_counting(seed: int) -> None:
    _, columns = random_table(seed, rows=70, leaves=4)
    rng = np.random.default_rng(seed)
    sensitive = rng.integers(0, 4, 70).astype(np.uint8)
    groups: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for *quasi, value in zip(*(c.tolist() for c in columns), sensitive.tolist(), strict=True):
        groups[tuple(quasi)][value] += 1
    sizes = [g.total() for g in groups.values()]
    counts = ValueCounts.of(class_numbers(columns), sensitive)
    assert counts.sizes.min() == min(sizes)
    assert counts.distinct_l == min(map(len, groups.values()))
    entropy = min(-sum(c / g.total() * math.log(c / g.total()) for c in g.values()) for g in groups.values())
    assert counts.entropy_l == pytest.approx(math.exp(entropy))
    whole = Counter(sensitive.tolist())
    equal = max(sum(abs(g[v] / g.total() - whole[v] / 70) for v in whole) / 2 for g in groups.values())
    assert counts.t() == pytest.approx(equal)
    span = int(sensitive.max())
    ordered = max(
        sum(abs(sum(g[v] / g.total() - whole[v] / 70 for v in range(i + 1))) for i in range(span + 1)) / span
        for g in groups.values()
    )
    assert counts.t("ordered") == pytest.approx(ordered)
    largest = 0.0
    for g in groups.values():
        ranked = sorted(g.values(), reverse=True)
        tail = sum(ranked[1:])
        largest = max(largest, ranked[0] / tail if tail else math.inf)
    assert counts.recursive_c(2) == pytest.approx(largest)


def test_hierarchical_distance_by_hand() -> None:
    """Two leaves under each of two parents. All of a class on one leaf, the whole even: a quarter moves to the
    sibling at half the height, half of it across the top."""
    parents = (np.array([0, 0, 1, 1]), np.array([0, 0]))
    counts = ValueCounts.of_table(np.array([[4, 4, 0, 0, 0]], np.uint32))
    even = np.full(4, 25)
    assert counts.distances(even, parents)[0] == 0.25 * 0.5 + 0.5 * 1.0
    assert counts.distances(even, (np.zeros(4, np.int64),))[0] == counts.distances(even)[0] == 0.75


def test_risks_by_hand() -> None:
    sizes = np.array([2, 8], np.uint32)
    alone = Risks.of(sizes)
    assert (alone.prosecutor, alone.journalist, alone.marketer) == (0.5, None, 0.2)
    wide = Risks.of(sizes, np.array([4, 80], np.uint32))
    assert (wide.prosecutor, wide.journalist) == (0.5, 0.25)
    assert wide.marketer == pytest.approx((2 / 4 + 8 / 80) / 10)
    with pytest.raises(SourceError):
        Risks.of(sizes, np.array([1, 80], np.uint32))


def test_bad_tables_are_one_error() -> None:
    with pytest.raises(SourceError):
        class_numbers([])
    with pytest.raises(SourceError):
        ValueCounts.of(np.zeros(3, np.uint8), np.zeros(2, np.uint8))
    with pytest.raises(SourceError):
        ValueCounts.of(np.zeros(3, np.uint8), np.zeros(3, np.uint8)).t("far")
