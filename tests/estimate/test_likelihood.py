from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.estimate.simulation import axes_of, each, population, publish, record
from tests.statistical.thresholds import LEAST_COVERAGE_OF_FITS

from pramana.estimate import PublishedTable, fit, invert, profile_interval, to_simplex
from pramana.estimate.likelihood import _climb
from pramana.estimate.maximum import finished
from pramana.mechanisms import Dense, Mechanism, Product

SKEWED = Product({"a0": Dense.of([[0.7, 0.3], [0.2, 0.8]]), "a1": Dense.of([[0.9, 0.1], [0.3, 0.7]])})


@pytest.mark.parametrize(
    "mechanism", [each(0.4, (2, 2)), record(0.3, (2, 2)), SKEWED], ids=["each", "record", "dense"]
)
def test_the_fit_is_the_maximum_that_a_general_optimiser_finds(mechanism: Mechanism) -> None:
    table = publish(np.array([[400, 20], [3, 300]]), mechanism, np.random.default_rng(1))

    def loss(logits: np.ndarray) -> float:
        x = np.exp(logits - logits.max())
        x = (x / x.sum() * table.total).reshape(2, 2)
        return -float((table.counts * np.log(table.law.forward(x))).sum())

    best = min(minimize(loss, start, method="BFGS").fun for start in np.random.default_rng(2).normal(size=(5, 4)))
    found = fit(table, gap=1e-6)
    assert found.converged
    assert found.log_likelihood == pytest.approx(-best, abs=1e-4)
    assert found.values.sum() == pytest.approx(table.total)


def test_the_maximum_itself_is_reached() -> None:
    """50, 30, 15 and 5 at a retention of 0.4: 0.15 + 0.4 x in the ratio 5 to 3, and nothing for the other two."""
    table = PublishedTable.of_counts(axes_of((4,)), np.array([50, 30, 15, 5]), each(0.4, (4,)))
    want = 100 * np.array([23 / 32, 9 / 32, 0, 0])
    assert fit(table).values == pytest.approx(want, abs=1e-9)
    near = _climb(table, np.full(4, 25.0), None, 0.05, 6000).values  # without the closed form
    assert near != pytest.approx(want, abs=1e-3)
    assert finished(table.law, table.counts, near, 1e-9) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("shape", "mechanism"),
    [
        ((3, 8), each(0.35, (3, 8))),
        ((2, 5, 4), each(0.2, (2, 5, 4))),
        ((2, 5, 4), record(0.3, (2, 5, 4))),
        ((2, 2), SKEWED),
        ((5, 5, 5), each(0.9, (5, 5, 5))),
    ],
    ids=["two", "three", "record", "dense", "near"],
)
def test_at_the_maximum_no_cell_would_rise(shape: tuple[int, ...], mechanism: Mechanism, seed: int) -> None:
    """Karush, Kuhn and Tucker: D is 1 above zero and at most 1 at zero, also for few records and empty cells."""
    rng = np.random.default_rng(seed)
    table = publish(population(shape, (40, 2_000, 60_000)[seed % 3], 0.4, rng), mechanism, rng)
    found = fit(table)
    expected = table.law.forward(found.values)
    pull = table.law.backward(np.divide(table.counts, expected, out=np.zeros(shape), where=table.counts > 0))
    assert found.converged
    assert found.gap <= 1e-6
    assert found.values.sum() == pytest.approx(table.total)
    assert pull.max() <= 1 + 1e-6 / table.total * 1.01
    assert np.abs((pull - 1) * found.values).max() <= 1e-5


@pytest.mark.parametrize("gap", [10.0, 0.5, 0.01])
def test_the_gap_bounds_what_is_left_to_gain(gap: float) -> None:
    rng = np.random.default_rng(3)
    table = publish(population((3, 8, 4), 4_000, 0.4, rng), each(0.35, (3, 8, 4)), rng)
    best = fit(table, gap=1e-5, most_rounds=100_000)
    assert best.converged
    found = fit(table, gap=gap)
    assert 0 <= best.log_likelihood - found.log_likelihood + 1e-6 <= found.gap + 2e-6 <= gap + 2e-6


def test_a_fit_that_runs_out_of_rounds_says_so() -> None:
    rng = np.random.default_rng(3)
    table = publish(population((3, 8, 4), 4_000, 0.4, rng), each(0.35, (3, 8, 4)), rng)
    found = fit(table, gap=1e-9, most_rounds=5)
    assert not found.converged
    assert found.gap > 1e-9


def test_mean_errors_of_the_sheet() -> None:
    """100 cells, n = 1e5, rho = .303: inversion .583, clipped .413, projected .387, EM .294 (on their table)."""
    rng = np.random.default_rng(4)
    errors: dict[str, list[float]] = {"inverse": [], "clipped": [], "projected": [], "em": []}
    for _ in range(40):
        true = population((2, 5, 10), 100_000, 0.5, rng)
        table = publish(true, each(0.303, (2, 5, 10)), rng)
        raw = invert(table).values
        for name, values in {
            "inverse": raw,
            "clipped": np.maximum(raw, 0),
            "projected": to_simplex(raw, 100_000),
            "em": fit(table).values,
        }.items():
            errors[name].append(float(abs(values - true).sum() / 100_000))
    mean = {name: float(np.mean(found)) for name, found in errors.items()}
    assert mean["inverse"] == pytest.approx(0.583, rel=0.03)  # the one that does not depend on the table's shape
    assert mean["em"] < mean["projected"] < mean["clipped"] < mean["inverse"]


def test_profile_intervals_cover() -> None:
    rng = np.random.default_rng(5)
    mechanism = each(0.5, (3, 3))
    covered: list[bool] = []
    narrow: list[bool] = []
    for _ in range(40):
        true = population((3, 3), 1_000, 1.0, rng)
        table = publish(true, mechanism, rng)
        for cell, confidence, kept in [((0, 0), 0.95, covered), ((1, 2), 0.95, covered), ((0, 0), 0.5, narrow)]:
            low, high = profile_interval(table, cell, confidence)
            kept.append(low <= true[cell] <= high)
    assert np.mean(covered) >= LEAST_COVERAGE_OF_FITS
    assert np.mean(narrow) < 0.8  # half of them would do


def test_a_profile_of_a_single_binary_column_is_the_likelihood_ratio_interval() -> None:
    table = PublishedTable.of_counts(axes_of((2,)), np.array([700, 300]), each(0.5, (2,)))
    low, high = profile_interval(table, (0,))

    def level(x: float) -> float:
        p = (0.5 * x + 0.25 * 1000) / 1000
        return 700 * math.log(p) + 300 * math.log(1 - p)

    limit = level(900.0) - 1.959964**2 / 2
    assert level(low) == pytest.approx(limit, abs=0.1)
    assert level(high) == pytest.approx(limit, abs=0.1)


def test_nothing_published_is_fitted_as_nothing() -> None:
    assert fit(PublishedTable.of_counts(axes_of((2, 2)), np.zeros((2, 2)), each(0.5, (2, 2)))).values.sum() == 0
