"""Conditions on classes beside their definitions in rationals, at and around every border."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pramana.methods.generalize.conditions import (
    Close,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    RecursiveDiverse,
)

CLASSES = [counts for counts in product(range(5), repeat=3) if any(counts)]


def table(classes: Sequence[Sequence[int]]) -> np.ndarray:
    """A line for each class: its size, and its counts by value."""
    return np.array([[sum(counts), *counts] for counts in classes], np.uint32)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_k_is_the_number_of_rows_at_least(k: int) -> None:
    assert KAnonymous(k).held(table(CLASSES)).tolist() == [sum(counts) >= k for counts in CLASSES]


@pytest.mark.parametrize("l", [1, 2, 3])
def test_distinct_l_is_the_number_of_values_at_least(l: int) -> None:  # noqa: E741 - the notion's own name
    wanted = [sum(count > 0 for count in counts) >= l for counts in CLASSES]
    assert DistinctDiverse(l).held(table(CLASSES)).tolist() == wanted
    assert True in wanted and (l == 1 or False in wanted)


@pytest.mark.parametrize(("c", "l"), [(1.0, 1), (0.5, 2), (1.0, 2), (2.0, 2), (1.0, 3), (2.0, 3), (3.0, 3)])
def test_recursive_l_does_not_hold_at_equality(c: float, l: int) -> None:  # noqa: E741
    """The commonest value less often than c times the l-th commonest and all rarer ones."""
    wanted, equal = [], 0
    for counts in CLASSES:
        most, tail = max(counts), sum(sorted(counts, reverse=True)[l - 1 :])
        wanted.append(most < Fraction(c) * tail)
        equal += most == Fraction(c) * tail
    assert RecursiveDiverse(c, l).held(table(CLASSES)).tolist() == wanted
    assert equal > 0


@pytest.mark.parametrize("values", [1, 2, 3])
def test_entropy_l_of_equally_frequent_values_is_their_number_and_not_a_hair_more(values: int) -> None:
    even = table([[count if value < values else 0 for value in range(3)] for count in (1, 2, 7)])
    assert EntropyDiverse(values).held(even).all()
    assert not EntropyDiverse(values * (1 + 1e-9)).held(even).any()
    if values > 1:
        assert not EntropyDiverse(values).held(table([[2, *[1] * (values - 1), *[0] * (3 - values)]])).any()


def test_t_is_the_distance_rounded_up_at_the_ninth_place() -> None:
    """Distances that have no end in decimals: a t one unit of the ninth place below does not do."""
    totals = np.array([3, 2, 2], np.int64)
    below = 0
    for counts in CLASSES:
        size = sum(counts)
        shares = [
            Fraction(count, size) - Fraction(total, 7) for count, total in zip(counts, (3, 2, 2), strict=True)
        ]
        exact = sum(abs(share) for share in shares) / 2
        up = Fraction(math.ceil(exact * 10**9), 10**9)
        assert Close(float(up), totals).held(table([counts])).all()
        if up > exact:
            assert not Close(float(up - Fraction(1, 10**9)), totals).held(table([counts])).any()
            below += 1
    assert below > 20
