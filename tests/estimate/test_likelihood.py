from __future__ import annotations

import math
from functools import reduce
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.estimate.simulation import axes_of, each, population, publish, record
from tests.statistical.thresholds import LEAST_COVERAGE_OF_FITS

from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Mechanism, Product
from pramana.recipient import likelihood
from pramana.recipient.inversion import invert, to_simplex
from pramana.recipient.law import PublishedTable
from pramana.recipient.likelihood import _climb, fit, maximise, profile_interval

COUNTED, MAXIMUM = (10, 6, 3, 1), (23 / 32, 9 / 32, 0, 0)
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
    reached = maximise(table.law, table.counts, np.full(4, 25.0), 1e-6)
    assert reached.values == pytest.approx(want, abs=1e-9)
    assert reached.values[2:].tolist() == [0, 0]


@pytest.mark.parametrize("coins", [2, 3, 5, 6])
def test_the_maximum_of_several_coins_is_reached_with_its_zeros(coins: int) -> None:
    """Where the published table is a product, so are D and the maximum: (23/32, 9/32, 0, 0) along every axis."""
    shape = (4,) * coins
    published, want = (reduce(np.multiply.outer, [np.array(one)] * coins) for one in (COUNTED, MAXIMUM))
    found = fit(PublishedTable.of_counts(axes_of(shape), published, each(0.4, shape)))
    assert found.converged
    assert found.gap <= 1e-6 * max(1.0, 20.0**coins / 1e6)
    assert found.values == pytest.approx(20**coins * want, rel=1e-9)
    assert (found.values[want == 0] == 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_maximum_is_the_best_of_all_sets_of_cells(seed: int) -> None:
    """By brute force: of every set of cells the likeliest table that is positive just there, by Newton's steps."""
    rng = np.random.default_rng(seed)
    table = publish(population((2, 3), (30, 400)[seed % 2], 0.4, rng), each((0.3, 0.7)[seed // 2], (2, 3)), rng)
    matrix = np.stack([table.law.forward(unit.reshape(2, 3)).ravel() for unit in np.eye(6)])
    counts = table.counts.ravel()
    best, values = -math.inf, np.zeros(6)
    for some in (np.array(bits, bool) for bits in product((0, 1), repeat=6) if any(bits)):
        x = np.where(some, table.total / some.sum(), 0.0)
        for _ in range(200):
            expected = x @ matrix
            curve = (matrix[some] * (counts / expected**2)) @ matrix[some].T
            step = np.linalg.lstsq(curve, (matrix @ (counts / expected) - 1)[some])[0]
            falling = float(np.max(-step / x[some], initial=0.0))
            x[some] += step * min(1.0, 0.9 / falling if falling > 0 else 1.0)
        level = float(counts @ np.log(x @ matrix)) - x.sum()
        if level > best:
            best, values = level, x
    assert fit(table).values.ravel() == pytest.approx(values, abs=1e-5 * table.total)


LARGE = [
    ((20, 30, 5), each(0.2, (20, 30, 5)), 30_000, 0.3),
    ((10, 10, 10, 10), each(0.6, (10, 10, 10, 10)), 3_000, 0.05),
    ((10, 10, 10), each(0.1, (10, 10, 10)), 20_000, 0.4),
    ((4, 600), Product({"a0": Dense.of(np.full((4, 4), 0.1) + 0.6 * np.eye(4))}), 20_000, 0.4),
    ((12, 80), Product({"a0": Retention.at(0.3, 12), "a1": Retention.at(0.5, 80)}), 5_000_000, 0.4),
]


@pytest.mark.parametrize(("shape", "mechanism", "records", "spread"), LARGE)
def test_larger_tables_are_fitted_to_the_maximum_too(
    shape: tuple[int, ...], mechanism: Mechanism, records: int, spread: float
) -> None:
    """The conditions of the maximum, on totals that a column released unchanged fixes, and no digit that moves."""
    rng = np.random.default_rng(11)
    table = publish(population(shape, records, spread, rng), mechanism, rng)
    found = fit(table)
    pull = pulled(table, found.values)
    allowed = 1e-6 * max(1.0, records / 1e6)
    assert found.converged
    assert found.gap <= allowed
    assert found.values.min() == 0
    assert found.values.sum() == pytest.approx(records)
    drawn = tuple(axis for factor in table.law.factors for axis in factor.axes)
    assert (table.counts.sum(axis=drawn) * (pull.max(axis=drawn) - 1)).sum() <= 1.01 * allowed
    assert np.abs((pull - 1) * found.values).max() <= 1e-4
    again = maximise(table.law, table.counts, np.full(shape, records / math.prod(shape)), allowed)
    assert again.values == pytest.approx(found.values, abs=1e-3)


def test_larger_tables_still_stop_within_a_stated_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond those that are maximised; the bound is at most a hundredth of a half per cell."""
    rng = np.random.default_rng(3)
    table = publish(population((10, 10, 10), 5_000, 0.3, rng), each(0.5, (10, 10, 10)), rng)
    best = fit(table)
    monkeypatch.setattr(likelihood, "MOST_MAXIMISED", 999)
    found = fit(table)
    assert found.converged
    assert 1e-3 < best.log_likelihood - found.log_likelihood <= found.gap <= 5.0


def pulled(table: PublishedTable, values: np.ndarray) -> np.ndarray:
    expected = table.law.forward(values)
    return table.law.backward(
        np.divide(table.counts, expected, out=np.zeros(values.shape), where=table.counts > 0)
    )


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
    pull = pulled(table, found.values)
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
