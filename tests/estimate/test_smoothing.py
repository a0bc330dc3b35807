"""Smoothed shares of values in order: an optimum, nearer where they are smooth, hardly worse where heaped."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from pramana.calibration import Criterion, OrderedValues, ordered_channel
from pramana.errors import InputError
from pramana.estimate import Axis, PublishedTable, fit
from pramana.estimate.numbers import smooth_fit
from pramana.estimate.numbers.smoothing import _penalised, _steps
from pramana.mechanisms import Channel, Product, Retention
from pramana.schema import Kind

SIZE, RECORDS = 24, 20_000
SMOOTH = np.exp(-(((np.arange(SIZE) - 9) / 6) ** 2))
HEAPED = np.where(np.arange(SIZE) % 8 == 3, 1.0, 0.01)


def channel(epsilon: float = 1.0) -> Channel:
    criterion = Criterion(np.arange(float(SIZE)), "smooth", RECORDS)
    return ordered_channel(OrderedValues(criterion), Fraction(math.exp(epsilon)))


def published(law: Channel, shares: np.ndarray, seed: int, missing: int = 0) -> PublishedTable:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(RECORDS, shares / shares.sum())
    rows = law.weights / 2.0**62
    shown = sum(rng.multinomial(n, row / row.sum()) for n, row in zip(counts, rows, strict=True))
    axis = Axis.of_labels("age", [str(i) for i in range(SIZE - missing)], bool(missing), Kind.NUMBER)
    return PublishedTable.of_counts([axis], np.asarray(shown), Product({"age": law}))


def distance(values: np.ndarray, shares: np.ndarray) -> float:
    return float(np.abs(np.cumsum(values / values.sum() - shares / shares.sum())).mean())


def mean_distances(law: Channel, shares: np.ndarray) -> tuple[float, float]:
    """Smoothed, and by EM."""
    drawn = [published(law, shares, seed) for seed in range(6)]
    smoothed = float(np.mean([distance(smooth_fit(t).values, shares) for t in drawn]))
    return smoothed, float(np.mean([distance(fit(t).values, shares) for t in drawn]))


def test_smooth_columns_are_told_far_nearer_than_by_likelihood_alone_and_than_by_retention() -> None:
    smoothed, by_em = mean_distances(channel(), SMOOTH)
    ratio = math.e
    kept = Retention.at((ratio - 1) / (ratio - 1 + SIZE), SIZE)
    _, by_retention = mean_distances(kept, SMOOTH)
    assert smoothed < 0.6 * by_em
    assert smoothed < 0.5 * by_retention


def test_heaped_columns_are_hardly_smoothed() -> None:
    smoothed, by_em = mean_distances(channel(4.0), HEAPED)
    assert smoothed < 1.2 * by_em


def test_shares_are_the_optimum_that_another_optimiser_finds() -> None:
    table = published(channel(2.0), SMOOTH, 1)
    matrix = np.stack([table.law.forward(unit) for unit in np.eye(SIZE)])
    steps, strength = _steps(table), 50.0 * RECORDS
    shares, freedom = _penalised(matrix, table.counts, steps, strength)
    seen = table.counts / RECORDS
    weights = RECORDS / np.maximum(seen, 0.5 / RECORDS)

    def cost(x: np.ndarray) -> float:
        return float(weights @ (seen - x @ matrix) ** 2 + strength * ((steps @ x) ** 2).sum())

    def scaled(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return cost(x) / 1000

    other = optimize.minimize(
        scaled,
        np.full(SIZE, 1 / SIZE).reshape(SIZE),
        bounds=[(0.0, None)] * SIZE,
        method="SLSQP",
        constraints=optimize.LinearConstraint(np.ones((1, SIZE)), 1.0, 1.0),
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    assert cost(shares) == pytest.approx(1000 * other.fun, rel=1e-3)
    assert 1 < freedom < SIZE


def test_a_stronger_penalty_leaves_less_free() -> None:
    table = published(channel(2.0), SMOOTH, 1)
    matrix = np.stack([table.law.forward(unit) for unit in np.eye(SIZE)])
    freedoms = [_penalised(matrix, table.counts, _steps(table), s * RECORDS)[1] for s in (1e-4, 1e-2, 1, 100, 1e4)]
    assert freedoms == sorted(freedoms, reverse=True)


def test_it_is_below_the_maximum_and_keeps_the_total() -> None:
    table = published(channel(), SMOOTH, 2)
    smoothed, likeliest = smooth_fit(table), fit(table)
    assert smoothed.values.sum() == pytest.approx(RECORDS)
    assert smoothed.values.min() >= 0
    assert smoothed.log_likelihood <= likeliest.log_likelihood + 1e-6
    assert smoothed.gap == pytest.approx(likeliest.log_likelihood - smoothed.log_likelihood, abs=1e-5)


def test_a_missing_category_has_no_neighbours() -> None:
    table = published(channel(), SMOOTH, 3, missing=1)
    steps = _steps(table)
    assert steps.shape == (SIZE - 2, SIZE)
    assert not steps[:, -1].any()
    assert smooth_fit(table).values.sum() == pytest.approx(RECORDS)


@pytest.mark.parametrize(
    ("kind", "axes", "word"), [(Kind.NOMINAL, 1, "in order"), (Kind.ORDERED, 2, "one attribute")]
)
def test_what_has_no_order_is_refused(kind: Kind, axes: int, word: str) -> None:
    names = [f"a{i}" for i in range(axes)]
    law = Product({name: Retention.at(0.5, 4) for name in names})
    labels = [Axis.of_labels(name, list("wxyz"), kind=kind) for name in names]
    with pytest.raises(InputError, match=word):
        smooth_fit(PublishedTable.of_counts(labels, np.full((4,) * axes, 5), law))
