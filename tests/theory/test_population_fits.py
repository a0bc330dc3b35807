"""Fits of Pitman's formula and of the slide negative binomial: against slow searches that know no slopes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, least_squares, minimize

from pramana.theory import disclosure
from pramana.theory.disclosure import population_classes, snb_expected

SizeCounts = disclosure.SizeCounts


def random_classes(number: int) -> Iterator[SizeCounts]:
    """Heavy tails, short ones, few sizes and many."""
    rng = np.random.default_rng(20)
    for turn in range(number):
        many = int(rng.integers(3, 200))
        sizes = (
            rng.zipf(1.3 + 2 * rng.random(), many),
            rng.geometric(0.05 + 0.9 * rng.random(), many),
            1 + rng.negative_binomial(0.1 + 2 * rng.random(), 0.02 + 0.9 * rng.random(), many),
            rng.integers(1, int(rng.integers(3, 9)), many),
        )[turn % 4]
        classes = SizeCounts.of(np.minimum(sizes, 600))
        if 1 < classes.classes < classes.records:
            yield classes


def log_likelihood(theta: float, alpha: float, classes: SizeCounts) -> float:
    """Person by person: the chances that a class is new, and that one grows, without what knows no parameter."""
    new = np.log(theta + alpha * np.arange(1, classes.classes)).sum()
    seats = np.log(theta + np.arange(1, classes.records)).sum()
    larger = np.arange(1, int(classes.sizes.max()))
    reach = classes.classes - np.cumsum(np.bincount(classes.sizes, classes.counts))[1:-1]  # classes above each
    return float(new - seats + (reach * np.log(larger - alpha)).sum())


def likeliest(classes: SizeCounts) -> float:
    """The largest logarithm that a simplex finds from several starts."""

    def negative(at: np.ndarray) -> float:
        alpha = 1 / (1 + math.exp(-max(-30.0, min(30.0, at[0]))))
        return -log_likelihood(math.exp(min(at[1], 40.0)) - alpha, alpha, classes)

    def reached(start: tuple[float, float]) -> float:
        found = minimize(
            negative,
            np.array(start),
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000},
        )
        return -float(found.fun)

    return max(map(reached, ((-1.0, 1.0), (1.0, 3.0), (-3.0, 5.0))))


def test_no_simplex_finds_a_likelier_pitman() -> None:
    inside = 0
    for classes in random_classes(20):
        fit = disclosure.pitman_fit(classes)
        assert fit is not None
        assert log_likelihood(*fit, classes) >= likeliest(classes) - 1e-7
        inside += fit[1] > 1e-6
        shifted = log_likelihood(fit[0] * 1.2 + 0.1, fit[1], classes)
        assert shifted < log_likelihood(*fit, classes)  # another place is told apart
    assert 3 < inside < 17  # some are largest where alpha is 0


@pytest.mark.parametrize("records", range(4, 10))
def test_no_grid_has_a_likelier_pitman_for_any_small_sample(records: int) -> None:
    alphas, above = (1e-9, 0.01, 0.1, 0.3, 0.5, 0.8, 0.95), np.geomspace(0.01, 300, 30)
    grid = [(float(t) - alpha, alpha) for alpha, t in itertools.product(alphas, above)]
    for sizes in partitions(records, records):
        if len(sizes) in (1, records):
            continue
        classes = SizeCounts.of(np.array(sizes))
        fit = disclosure.pitman_fit(classes)
        assert fit is not None
        assert max(log_likelihood(t, a, classes) for t, a in grid) <= log_likelihood(*fit, classes) + 1e-8


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for part in range(min(total, most), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def test_without_alpha_the_expected_classes_are_those_there_are() -> None:
    """Ewens' formula: theta / (theta + i) is the chance that the i-th further person starts a class."""
    classes = SizeCounts(np.array([1, 2, 3, 4]), np.array([60, 100, 90, 60]))
    fit = disclosure.pitman_fit(classes)
    assert fit is not None and fit[1] < 1e-12
    assert (fit[0] / (fit[0] + np.arange(classes.records))).sum() == pytest.approx(classes.classes, rel=1e-9)
    people = 50_000  # theta people / (theta + people - 1) of them are alone
    uniques = disclosure.pitman_uniques(classes, people)
    assert uniques == pytest.approx(people * fit[0] / (fit[0] + people - 1), rel=1e-6)


@pytest.mark.parametrize("sizes", [(6, 2, 2, 1, 1, 1, 1), (9708, *(1,) * 13)])
def test_likelihoods_too_flat_or_steep_for_slopes_are_fitted_all_the_same(sizes: tuple[int, ...]) -> None:
    classes = SizeCounts.of(np.array(sizes))
    fit = disclosure.pitman_fit(classes)
    assert fit is not None and 0 < fit[1] < 1
    assert log_likelihood(*fit, classes) >= likeliest(classes) - 1e-7


def by_least_squares(number: float, fraction: float, singles: int, pairs: int) -> OptimizeResult:
    def misses(at: np.ndarray) -> np.ndarray:
        once, twice = snb_expected(number, math.exp(at[0]), 1 / (1 + math.exp(-at[1])), fraction)
        return np.array([once / singles - 1, twice / pairs - 1])

    bounds = ([-15.0, -25.0], [15.0, 25.0])
    starts = ((0.0, 0.0), (-2.0, -3.0), (2.0, 2.0), (-4.0, -6.0))
    tried = [least_squares(misses, start, bounds=bounds, xtol=1e-14, ftol=1e-14) for start in starts]
    return min(tried, key=lambda one: float(one.cost))


@pytest.mark.parametrize("times", [1.02, 2.0, 30.0])
def test_snb_is_what_least_squares_from_four_starts_find(times: float) -> None:
    fitted = refused = 0
    for classes in random_classes(64):
        singles, pairs = classes.of_size(1), classes.of_size(2)
        if not singles or not pairs:
            continue
        population = int(classes.records * times) + 1
        fraction = classes.records / population
        number = population_classes(classes, fraction)
        best = by_least_squares(number, fraction, singles, pairs)
        found = disclosure.snb_uniques(classes, population)
        if float(np.abs(best.fun).max()) > 1e-6:
            refused += 1
            assert found is None
        else:
            fitted += 1
            slow = number * (1 / (1 + math.exp(-best.x[1]))) ** math.exp(best.x[0])
            assert found == pytest.approx(slow, rel=1e-7)
    assert fitted > 8 and refused


def test_sizes_are_counted_alike_in_a_table_and_by_sorting() -> None:
    sizes = np.array([3, 1, 1, 7, 3, 3])
    small, large = SizeCounts.of(sizes), SizeCounts.of(np.append(sizes, 1 << 30))
    assert small.sizes.tolist() == [1, 3, 7] and small.counts.tolist() == [2, 3, 1]
    assert large.sizes.tolist() == [1, 3, 7, 1 << 30] and large.counts.tolist() == [2, 3, 1, 1]
