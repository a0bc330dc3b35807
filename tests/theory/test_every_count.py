"""The intruder who sees every count, against enumeration of every way the records can fall."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.theory import every_count, identification
from pramana.theory.identification import ONE


def by_hand(matrix: np.ndarray, counts: list[int], fewest: np.ndarray | None = None) -> tuple[float, float]:
    """Largest and expected chance of a correct match for a target in category 0, record by record.

    With `fewest`, the largest over the outcomes in which no category shows fewer records.
    """
    records = [i for i, count in enumerate(counts) for _ in range(count)]
    total: dict[tuple[int, ...], float] = defaultdict(float)
    on: dict[tuple[tuple[int, ...], int], float] = defaultdict(float)
    for outcome in product(range(len(counts)), repeat=len(records)):
        chance = math.prod(float(matrix[x, z]) for x, z in zip(records, outcome, strict=True))
        seen = tuple(np.bincount(outcome, minlength=len(counts)).tolist())
        total[seen] += chance
        on[seen, outcome[0]] += chance
    best = {s: max(on[s, g] / s[g] for g in range(len(counts)) if s[g]) for s in total}
    least = np.zeros(len(counts)) if fewest is None else fewest
    seen_often = [best[s] / p for s, p in total.items() if p > 0 and (np.array(s) >= least).all()]
    return max(seen_often, default=0.0), sum(best.values())


def random_weights(seed: int, size: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(size, 0.7), size) * (rng.random((size, size)) > 0.15) + 0.1 * np.eye(size)
    weights = np.floor(matrix / matrix.sum(axis=1, keepdims=True) * ONE / 1024).astype(np.int64) * 1024
    weights[np.arange(size), np.arange(size)] += ONE - weights.sum(axis=1)
    return np.asarray(weights)


@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(0, 2), min_size=2, max_size=3), seed=st.integers(0, 10_000))
def test_against_enumeration_of_records(counts: list[int], seed: int) -> None:
    counts[0] += 1
    weights, t = random_weights(seed, len(counts)), np.array(counts)
    largest, expected = by_hand(weights / ONE, counts)
    found = every_count.largest_risks_all_counts(weights, t, [0])[0]
    assert found.exact
    assert float(found.value) == pytest.approx(largest, rel=1e-7)
    low, high = every_count.matches_all_counts(weights / ONE, t)[0]
    assert low - 1e-9 <= expected <= high + 1e-9
    bound, _, left_out = every_count.bounded_risk(weights, t, 0)
    assert float(bound) >= largest * (1 - 1e-9)
    assert left_out == 0.0


def test_seeing_all_counts_of_a_pair_adds_nothing() -> None:
    counts = np.array([2, 106])
    theta = float(identification.theta_for_pair(2, 106, 0.1))
    weights = (identification.inverse_frequency_matrix(counts.tolist(), theta) * ONE).astype(np.int64)
    weights[[0, 1], [0, 1]] += ONE - weights.sum(axis=1)
    found = every_count.largest_risks_all_counts(weights, counts, [0])[0]
    assert found.exact
    assert found.value == identification.largest_risk(weights[:, 0], counts, 0)


def test_seeing_all_counts_of_a_larger_block_adds_much() -> None:
    """Three categories, small enough to enumerate: the stronger intruder passes the bound made for the weaker."""
    counts = np.array([1, 10, 10])
    theta = identification.theta_for_xi(1, 0.2)
    matrix = identification.inverse_frequency_matrix(counts.tolist(), theta)
    weights = (matrix * ONE).astype(np.int64)
    weights[np.arange(3), np.arange(3)] += ONE - weights.sum(axis=1)
    weaker = identification.largest_risk(weights[:, 0], counts, 0)
    stronger = every_count.largest_risks_all_counts(weights, counts, [0])[0]
    assert float(weaker) <= 0.2
    assert stronger.exact
    assert float(stronger.value) > 0.24
    bound, _, _ = every_count.bounded_risk(weights, counts, 0)
    assert stronger.value <= bound


def test_bound_with_unlikely_outcomes_left_out() -> None:
    """Two rare categories at one partner: without the tail the bound is idle, with it it is near the pair's."""
    theta = float(identification.theta_for_pair(1, 1000, 0.1))
    flows = np.array([[0, 0, theta], [0, 0, theta], [theta, theta, 0]])
    counts = np.array([1, 1, 1000])
    weights = (flows / counts[:, None] * ONE).astype(np.int64)
    weights[np.arange(3), np.arange(3)] = ONE - weights.sum(axis=1)
    idle, _, _ = every_count.bounded_risk(weights, counts, 0)
    assert idle > 0.99
    found = every_count.largest_risks_all_counts(weights, counts, [0])[0]
    assert not found.exact
    assert 0 < found.left_out <= every_count.TAIL
    assert 0.1 <= float(found.value) < 0.11
    records = 1002  # the tail is what it says: the partner's count undercuts its bound with less than TAIL
    first, law = identification.count_law(weights[:, 2] / ONE, counts)
    fewest = every_count._fewest(weights / ONE, counts, every_count.TAIL / 3)[2]
    assert law[: fewest - first].sum() <= every_count.TAIL / 3
    assert fewest < records


def test_a_block_of_many_records_and_categories_is_bounded() -> None:
    counts = np.array([5] + [10**6] * 60)
    theta = identification.theta_for_xi(5, 0.1)
    weights = (identification.inverse_frequency_matrix(counts.tolist(), theta) * ONE).astype(np.int64)
    weights[np.arange(61), np.arange(61)] += ONE - weights.sum(axis=1)
    found = every_count.largest_risks_all_counts(weights, counts, [0])[0]
    assert not found.exact
    assert 0.1 < float(found.value) <= 0.2


@settings(max_examples=40, deadline=None)
@given(
    rare=st.lists(st.integers(1, 2), min_size=2, max_size=2),
    partner=st.integers(2, 4),
    shares=st.lists(st.floats(0.1, 0.9), min_size=2, max_size=2),
    tail=st.floats(0.01, 0.6),
)
def test_the_bound_on_likely_outcomes_by_brute_force(
    rare: list[int], partner: int, shares: list[float], tail: float
) -> None:
    """Two rare categories share a partner: on every outcome that is not left out the bound holds, and the
    outcomes left out are as unlikely as stated."""
    counts = [*rare, partner]
    given_away = np.array(shares) * np.minimum(rare, partner / 2)
    flows = np.zeros((3, 3))
    flows[:2, 2] = flows[2, :2] = given_away
    weights = (flows / np.array(counts)[:, None] * ONE).astype(np.int64)
    weights[np.arange(3), np.arange(3)] = ONE - weights.sum(axis=1)
    fewest = every_count._fewest(weights / ONE, np.array(counts), tail / 3)
    bound, _, left_out = every_count.bounded_risk(weights, np.array(counts), 0, fewest)
    largest, _ = by_hand(weights / ONE, counts, fewest if left_out else None)
    assert largest <= float(bound) * (1 + 1e-9)
    for g in range(3):
        first, law = identification.count_law(weights[:, g] / ONE, counts)
        assert law[: max(0, fewest[g] - first)].sum() <= tail / 3 * (1 + 1e-9)
