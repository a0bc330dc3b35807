"""The bound on every channel of an epsilon: below what the joint law leaves for any of them, and close to one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.channel_bounds import Around, least_error, likeliest_of_retention, most_wanted

from pramana.methods.retention.ordered import kept_or_redrawn, square_wave

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
RATIO, RECORDS = 3.0, 5_000


def error_left(matrix: np.ndarray, spread: float) -> float:
    """Of the table's distribution function given the counts, by the joint normal law of table and counts."""
    each = (spread * SHARES) ** 2
    table = np.diag(each) - np.outer(each, each) / each.sum()
    table = table + (np.diag(SHARES) - np.outer(SHARES, SHARES)) / RECORDS
    noise = sum(p * (np.diag(row) - np.outer(row, row)) for p, row in zip(SHARES, matrix, strict=True)) / RECORDS
    counts = matrix.T @ table @ matrix + noise
    left = table - table @ matrix @ np.linalg.pinv(counts, rcond=1e-10) @ matrix.T @ table
    return float(np.diag(left.cumsum(axis=0).cumsum(axis=1))[:-1].mean())


def some_channels() -> list[np.ndarray]:
    chance, line = np.random.default_rng(8), np.linspace(0, 1, 4)
    channels = [kept_or_redrawn(4, RATIO), *(square_wave(line, RATIO, half) for half in (0.1, 0.3, 0.6))]
    while len(channels) < 60:
        wide = int(chance.integers(2, 12))
        matrix = np.where(chance.random((4, wide)) < 0.5, RATIO, 1.0) * chance.dirichlet(np.ones(wide))
        for _ in range(400):
            matrix /= matrix.sum(axis=1, keepdims=True)
            least = matrix.min(axis=0)
            matrix = np.minimum(matrix, RATIO * least)
        matrix /= matrix.sum(axis=1, keepdims=True)
        if (matrix.max(axis=0) / matrix.min(axis=0)).max() < RATIO * 1.001:
            channels.append(matrix)
    return channels


@pytest.mark.parametrize("spread", [30.0, 0.1, 0.02])
def test_no_channel_is_below_the_bound(spread: float) -> None:
    around = Around(SHARES, RECORDS, spread)
    bound, reached = least_error(around, RATIO, all_patterns=True)
    assert 0.95 * reached <= bound <= reached
    errors = [error_left(matrix, spread) for matrix in some_channels()]
    assert bound <= min(errors) * 1.002
    kept = kept_or_redrawn(4, RATIO)
    own = around.error(around.information(kept / kept.sum(axis=0), kept.sum(axis=0)))
    assert own == pytest.approx(error_left(kept, spread), rel=1e-6)


def test_one_threshold_is_best_told_by_its_own_coin() -> None:
    """Two values: randomised response, whose variance is p/(p-1)^2 a record, is the least there is."""
    around = Around(np.array([0.3, 0.7]), 10_000, 30.0)
    bound, _ = least_error(around, RATIO, all_patterns=True)
    assert bound == pytest.approx(RATIO / (RATIO - 1) ** 2 / 10_000, rel=0.05)


def test_the_most_wanted_of_all_patterns_is_that_of_a_list() -> None:
    chance = np.random.default_rng(3)
    shares, half = chance.dirichlet(np.ones(7)), chance.normal(size=(7, 7))
    around, worth, prices = Around(shares, 100, 1.0), half @ half.T, chance.random(7)
    listed = []
    for pattern in itertools.product([1.0, RATIO], repeat=7):
        s = np.array(pattern)
        listed.append((s @ worth @ s / (shares @ s) - prices @ s) / (shares @ s))
    most, patterns = most_wanted(around, worth, prices, RATIO)
    assert most == pytest.approx(max(listed))
    assert patterns.shape[0] == 7 and set(np.unique(patterns)) <= {1.0, RATIO}


def test_likeliest_shares_of_retention_are_where_em_stands_still() -> None:
    """A share that is not 0 is multiplied by 1, and one that is 0 by no more."""
    chance, matrix = np.random.default_rng(5), kept_or_redrawn(5, 2.0)
    for _ in range(50):
        published = chance.dirichlet(np.ones(5))
        shares = likeliest_of_retention(published, 2.0)
        factors = matrix @ (published / (shares @ matrix))
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1)
        assert factors[shares > 0] == pytest.approx(1) and factors.max() <= 1 + 1e-9
