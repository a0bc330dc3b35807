"""Quantiles, regressions and means of binned numbers: brute force without coins, and coverage with them."""

from __future__ import annotations

import datetime
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.estimate.simulation import through
from tests.statistical.thresholds import COVERAGE_OF_HUNDREDS, COVERAGE_OF_MODELS, LEAST_COVERAGE_OF_FITS

from pramana.errors import InputError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.recipient.filters import Filter
from pramana.recipient.law import PublishedTable
from pramana.recipient.study import Study
from pramana.schema.domain import Axis, Domain
from pramana.schema.kind import Kind

UNCHANGED = Product({})
EDGES = [0, 10, 20, 35, 50, 65, 100]
AGE = Axis.of_domain("age", Domain.from_bins(EDGES))
SEX = Axis("sex", ("F", "M"))
INCOMES = [0, 500, 1000, 1500, 2000, 3000, 5000]
INCOME = Axis.of_domain("income", Domain.from_bins(INCOMES))


def study_of(axes: list[Axis], counts: np.ndarray, mechanism: Mechanism = UNCHANGED) -> Study:
    """A study of a table that is known by its counts."""
    by_name = {axis.name: axis for axis in axes}

    def counted(names: list[str]) -> np.ndarray:
        kept = [i for i, axis in enumerate(axes) if axis.name in names]
        summed = counts.sum(axis=tuple(i for i in range(len(axes)) if i not in kept))
        order = [[axes[i].name for i in kept].index(name) for name in names]
        return np.transpose(summed, order)

    return Study(by_name, mechanism, lambda _: {}, int(counts.sum()), counted=counted)


# ---------------------------------------------------------------- without coins: what a person would count


@given(st.lists(st.floats(0, 99.9), min_size=1, max_size=40), st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]))
def test_without_coins_the_interval_of_a_quantile_is_the_bin_that_holds_it(values: list[float], p: float) -> None:
    counts, _ = np.histogram(values, EDGES)
    [found] = study_of([AGE], counts).quantiles("age", [p])
    true = sorted(values)[math.ceil(round(p * len(values), 9)) - 1]
    code = int(np.searchsorted(EDGES, true, side="right")) - 1
    assert (found.low, found.high) == (EDGES[code], EDGES[code + 1])
    assert found.low <= found.estimate <= found.high


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40), st.sampled_from([0.25, 0.5, 0.9]))
def test_single_numbers_have_exact_quantiles_whatever_the_order_of_their_codes(
    values: list[int], p: float
) -> None:
    labels = [str(n) for n in (*range(10, 21), *range(10))]
    axis = Axis.of_labels("n", labels)
    counts = np.array([values.count(int(label)) for label in labels])
    [found] = study_of([axis], counts).quantiles("n", [p])
    true = sorted(values)[math.ceil(round(p * len(values), 9)) - 1]
    assert (found.low, found.estimate, found.high) == (true, true, true)


def test_quantiles_of_dates_are_dates_and_open_bins_have_no_end() -> None:
    days = [datetime.date(y, 1, 1).toordinal() for y in (1980, 1990, 2000)]
    born = Axis.of_domain("born", Domain.from_bins(days, kind=Kind.DATE, calendar="decade", missing=True))
    [median] = study_of([born], np.array([3, 8, 5])).quantiles("born", [0.5])
    assert median.to_json()["low"] == "1990-01-01" and median.to_json()["high"] == "1999-12-31"
    assert str(median.to_json()["estimate"]).startswith("199")
    income = Axis.of_domain("income", Domain.from_bins([0, 1000, math.inf]))
    [high] = study_of([income], np.array([1, 9])).quantiles("income", [0.9])
    assert high.to_json() == {"share": 0.9, "estimate": 1000.0, "low": 1000.0, "high": None}


def test_bad_questions_are_refused() -> None:
    study = study_of([AGE, SEX], np.ones((6, 2), int))
    for ask in (
        lambda: study.quantiles("sex"),
        lambda: study.quantiles("age", [1.0]),
        lambda: study.regression("sex", ["age"]),
        lambda: study.regression("age", ["sex", "sex"]),
        lambda: study.regression("age", ["sex"]).coefficient("none"),
        lambda: study_of([Axis.of_labels("n", ["0-9", "5-14"])], np.ones(2, int)).quantiles("n"),
        lambda: study_of([AGE], np.zeros(6, int)).quantiles("age"),
    ):
        with pytest.raises(InputError):
            ask()


def rows_of(counts: np.ndarray) -> np.ndarray:
    """The cells of a table, each as often as it is counted."""
    return np.array([cell for cell in np.ndindex(counts.shape) for _ in range(int(counts[cell]))])


def test_without_coins_a_regression_is_least_squares() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, (INCOME.size, AGE.size, SEX.size))
    rows = rows_of(counts)
    fitted = study_of([INCOME, AGE, SEX], counts).regression("income", ["age", "sex"], "age < 65")
    kept = rows[AGE.middles[rows[:, 1]] < 65]
    design = np.column_stack([np.ones(len(kept)), AGE.middles[kept[:, 1]], kept[:, 2]])
    slopes, *_ = np.linalg.lstsq(design, INCOME.middles[kept[:, 0]], rcond=None)
    assert [c.name for c in fitted.coefficients] == ["(intercept)", "age", "sex = M"]
    assert np.allclose([c.estimate for c in fitted.coefficients], slopes)
    assert np.allclose([c.error for c in fitted.coefficients], 0, atol=1e-6)
    assert fitted.records == pytest.approx(len(kept))


def test_moving_values_within_their_bins_moves_a_coefficient_no_further_than_it_says() -> None:
    """Every corner of the bins of a small table, by brute force: the bound is reached and never passed."""
    counts = np.array([[1, 2], [2, 0], [0, 2]])
    y = Axis.of_domain("y", Domain.from_bins([0, 2, 5, 6.5]))
    x = Axis.of_labels("x", ["1", "4"])
    fitted = study_of([y, x], counts).regression("y", ["x"])
    rows = rows_of(counts)
    design = np.column_stack([np.ones(len(rows)), np.array([1, 4])[rows[:, 1]]])
    ends = [(EDGE[c], EDGE[c + 1]) for EDGE in [[0, 2, 5, 6.5]] for c in rows[:, 0]]
    corners = np.array([np.linalg.lstsq(design, np.array(c), rcond=None)[0] for c in product(*ends)])
    middle = np.array([c.estimate for c in fitted.coefficients])
    furthest = np.abs(corners - middle).max(axis=0)
    assert np.allclose(furthest, [c.within for c in fitted.coefficients])


# ---------------------------------------------------------------- with coins: what intervals cover

RETENTION = 0.4
PEOPLE = 4_000
TIMES = 400


def people() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Incomes that hang on age and sex, as they are and in bins."""
    rng = np.random.default_rng(5)
    age, sex = rng.integers(0, 100, PEOPLE), rng.integers(0, 2, PEOPLE)
    income = np.clip(700 + 14.0 * age + 300 * sex + rng.gamma(2.0, 250, PEOPLE), 0, 4999)
    codes = [np.searchsorted(e, v, side="right") - 1 for e, v in ((INCOMES, income), (EDGES, age))]
    counts = np.zeros((INCOME.size, AGE.size, SEX.size), int)
    np.add.at(counts, (codes[0], codes[1], sex), 1)
    return income, age, sex, counts


LAWS: dict[str, Mechanism] = {
    "a coin for each value": Product(
        {"income": Retention.at(RETENTION, INCOME.size), "age": Retention.at(RETENTION, AGE.size)}
    ),
    "one coin for the record": RecordRetention.at(
        RETENTION, {"income": INCOME.size, "age": AGE.size, "sex": SEX.size}
    ),
}


def published(counts: np.ndarray, law: Mechanism, rng: np.random.Generator) -> np.ndarray:
    table = PublishedTable.of_counts([INCOME, AGE, SEX], np.zeros(counts.shape), law)
    return through(table.law, counts, rng)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_intervals_of_quantiles_cover_the_values_themselves(law: Mechanism) -> None:
    """The quantiles of the true incomes, not of their bins; intervals that take the release for the truth fail."""
    income, _, _, counts = people()
    shares, rng = [0.1, 0.5, 0.9], np.random.default_rng(7)
    true = np.quantile(income, shares, method="inverted_cdf")
    covered, naive, bins = np.zeros(len(shares)), np.zeros(len(shares)), 0
    for _ in range(TIMES):
        drawn = published(counts, law, rng)
        for hits, mechanism in ((covered, law), (naive, UNCHANGED)):
            found = study_of([INCOME, AGE, SEX], drawn, mechanism).quantiles("income", shares)
            hits += [q.low <= t <= q.high for q, t in zip(found, true, strict=True)]
            bins += sum(q.low <= edge < q.high for q in found for edge in INCOMES) * (mechanism is law)
    assert bins < 2 * len(shares) * TIMES  # it is not by being wide that they cover
    assert (covered / TIMES >= LEAST_COVERAGE_OF_FITS).all()
    assert (naive / TIMES).min() < 0.1


def test_a_group_has_quantiles_of_its_own() -> None:
    income, age, _, counts = people()
    rng, law, times = np.random.default_rng(8), LAWS["a coin for each value"], 200
    true = np.quantile(income[age < 35], 0.5, method="inverted_cdf")
    hits = 0
    for _ in range(times):
        drawn = published(counts, law, rng)
        [found] = study_of([INCOME, AGE, SEX], drawn, law).quantiles("income", [0.5], "age < 35")
        hits += found.low <= true <= found.high
    assert hits / times >= LEAST_COVERAGE_OF_FITS


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_intervals_of_regressions_cover_and_uncorrected_ones_do_not(law: Mechanism) -> None:
    _, _, _, counts = people()
    rng = np.random.default_rng(9)
    axes = [INCOME, AGE, SEX]
    true = [c.estimate for c in study_of(axes, counts).regression("income", ["age", "sex"]).coefficients]
    covered, naive = np.zeros(3), np.zeros(3)
    for _ in range(TIMES):
        drawn = published(counts, law, rng)
        found = study_of(axes, drawn, law).regression("income", ["age", "sex"]).coefficients
        covered += [c.low <= t <= c.high for c, t in zip(found, true, strict=True)]
        naive += ordinary_intervals_cover(drawn, true)
    least, most = COVERAGE_OF_MODELS
    assert (covered / TIMES >= least).all() and (covered / TIMES <= most).all()
    assert naive[1] / TIMES < 0.01  # the slope of age is drawn towards zero


def ordinary_intervals_cover(drawn: np.ndarray, true: list[float]) -> list[bool]:
    """Least squares on the published middles as if they were the true values, with its usual standard errors."""
    cells = np.array(list(np.ndindex(drawn.shape)))
    weights = drawn.ravel().astype(float)
    design = np.column_stack([np.ones(len(cells)), AGE.middles[cells[:, 1]], cells[:, 2]])
    outcome = INCOME.middles[cells[:, 0]]
    inverse = np.linalg.inv((design.T * weights) @ design)
    slopes = inverse @ (design.T * weights) @ outcome
    variance = (weights * (outcome - design @ slopes) ** 2).sum() / (weights.sum() - 3)
    errors = 1.96 * np.sqrt(variance * np.diagonal(inverse))
    return [bool(abs(b - t) <= e) for b, t, e in zip(slopes, true, errors, strict=True)]


def test_a_mean_within_bins_covers_the_mean_of_the_values_where_middles_do_not() -> None:
    """Incomes at the lower ends of wide bins: the mean of middles is far off, and its interval does not tell."""
    _, _, _, counts = people()
    lower = np.array(INCOME.lower)
    true = float((counts.sum(axis=(1, 2)) * lower).sum() / PEOPLE)  # everyone at the lower end
    law, rng, times = LAWS["a coin for each value"], np.random.default_rng(10), 200
    covered = middles = usual = 0
    middle = float((counts.sum(axis=(1, 2)) * INCOME.middles).sum() / PEOPLE)
    for _ in range(times):
        study = study_of([INCOME, AGE, SEX], published(counts, law, rng), law)
        wide, narrow = study.mean("income", within_bins=True), study.mean("income")
        assert wide.estimate == narrow.estimate and wide.low <= narrow.low and narrow.high <= wide.high
        covered += wide.low <= true <= wide.high
        middles += narrow.low <= true <= narrow.high
        usual += narrow.low <= middle <= narrow.high
    least, most = COVERAGE_OF_HUNDREDS
    assert covered / times >= least and middles == 0
    assert least <= usual / times <= most
    assert study.mean("age", Filter.parse("sex = F"), within_bins=True).low < study.mean("age", "sex = F").low
