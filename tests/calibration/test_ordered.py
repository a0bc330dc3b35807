"""Channels for values in order: the promise by brute force on integers, the error against other searches."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pramana.errors import InputError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import Mechanism, Product
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.retention.ordered import (
    Criterion,
    ErrorOf,
    OrderedValues,
    Shape,
    SmoothError,
    Walk,
    in_integers,
    interval_design,
    kept_or_redrawn,
    ordered_channel,
    square_wave,
    two_point,
    with_missing,
    with_ordered,
)
from pramana.randomness.samplers import ONE

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def evenly(size: int, error_of: ErrorOf = "distribution", records: int = 100_000) -> Criterion:
    return Criterion(np.arange(size, dtype=np.float64), error_of, records)


def largest_ratio(matrix: list[list[int]]) -> Fraction:
    """Over every pair of rows and every column, one at a time."""
    ratios = [
        Fraction(first[y], second[y])
        for first, second in itertools.permutations(matrix, 2)
        for y in range(len(first))
        if first[y] or second[y]
    ]
    return max(ratios)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0.01, 50), min_size=2, max_size=9),
    st.fractions(Fraction(11, 10), 90),
    st.sampled_from(["mean", "distribution", "table", "smooth"]),
    st.booleans(),
)
def test_no_pair_of_rows_is_further_apart_than_promised(
    steps: list[float], ratio: Fraction, error_of: ErrorOf, missing: bool
) -> None:
    values = OrderedValues(Criterion(np.cumsum([0.0, *steps]), error_of, 10_000), missing)
    weights = ordered_channel(values, ratio).weights.tolist()
    assert len(weights) == len(steps) + 1 + missing
    assert all(sum(row) == ONE and min(row) >= 0 for row in weights)
    assert largest_ratio(weights) <= ratio


@pytest.mark.parametrize("ratio", [1.5, math.e, 50.0])
@pytest.mark.parametrize("size", [8, 31])
def test_closed_forms_are_channels_that_use_all_of_epsilon(size: int, ratio: float) -> None:
    line = np.linspace(0, 1, size) ** 1.5
    for matrix in (square_wave(line, ratio, 0.2), two_point(line, ratio), kept_or_redrawn(size, ratio)):
        for law in (matrix, with_missing(matrix, ratio)):
            assert np.allclose(law.sum(axis=1), 1)
            used = law[:, law.max(axis=0) > 0]
            assert np.max(used.max(axis=0) / used.min(axis=0)) == pytest.approx(ratio)


def test_two_points_tell_the_mean_without_bias() -> None:
    """The published ends, read as c and 1 - c, have the true place for their mean (Duchi et al.)."""
    line, ratio = np.linspace(0, 1, 7), 3.0
    matrix = two_point(line, ratio)
    low, high = -1 / (ratio - 1), ratio / (ratio - 1)
    assert matrix[:, 0] * low + matrix[:, -1] * high == pytest.approx(line)


def is_interval(pattern: tuple[float, ...]) -> bool:
    return sum(1 for left, right in itertools.pairwise((1.0, *pattern, 1.0)) if left < right) == 1


def least_risk(criterion: Criterion, ratio: float, intervals: bool) -> float:
    """Of channels of two levels, high on intervals or on any values, by an optimiser of another kind."""
    size = criterion.size
    every = [p for p in itertools.product([1.0, ratio], repeat=size) if len(set(p)) > 1]
    levels = np.array([p for p in every if is_interval(p) or not intervals]).T
    parts = np.array([np.outer(s, s) / s.mean() for s in levels.T])

    def risk(theta: Vector) -> float:
        return criterion.risk(np.tensordot(theta, parts, 1)) * scale

    def slope(theta: Vector) -> Vector:
        at = np.linalg.inv(criterion.prior + criterion.records * np.tensordot(theta, parts, 1))
        gradient = -criterion.records * np.einsum("jkl,kl->j", parts, at @ criterion.weight @ at)
        return np.asarray(gradient * scale).reshape(len(theta))

    scale = 1.0
    start = np.where((levels > 1).sum(axis=0) == 1, 1 / (size - 1 + ratio), 0.0).reshape(levels.shape[1])
    scale = 1 / risk(start)
    solved = optimize.minimize(
        risk,
        start,
        jac=slope,
        bounds=[(0, None)] * len(start),
        constraints=optimize.LinearConstraint(levels, 1.0, 1.0),
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return float(solved.fun) / scale


@pytest.mark.parametrize("error_of", ["mean", "distribution"])
@pytest.mark.parametrize(("size", "epsilon"), [(3, 1.0), (5, 0.5), (5, 2.0), (6, 1.0)])
def test_the_bound_is_the_least_risk_of_channels_of_intervals(
    size: int, epsilon: float, error_of: ErrorOf
) -> None:
    criterion, ratio = evenly(size, error_of), math.exp(epsilon)
    design, least = interval_design(criterion, ratio), least_risk(criterion, ratio, intervals=True)
    assert design.bound <= least * 1.001  # it is a bound
    assert design.bound >= least * 0.97  # and close
    assert criterion.risk(criterion.information(design.matrix)) >= least * 0.999  # nothing is below the least
    assert least_risk(criterion, ratio, intervals=False) >= least * 0.9  # other patterns hardly gain anything


@pytest.mark.parametrize("error_of", ["mean", "distribution", "table"])
def test_the_chosen_one_has_the_least_error_of_all_that_are_tried_by_hand(error_of: ErrorOf) -> None:
    criterion, ratio = evenly(12, error_of), math.e
    chosen = criterion.expected_error(ordered_channel(OrderedValues(criterion), Fraction(ratio)).weights / ONE)
    chance = np.random.default_rng(4)
    for half in np.linspace(0.03, 0.9, 30):
        wave = square_wave(criterion.line, ratio, half)
        mixed = chance.random() * 0.2
        for tried in (wave, (1 - mixed) * wave + mixed * kept_or_redrawn(12, ratio)):
            assert chosen <= criterion.expected_error(tried) * 1.02
    assert chosen <= criterion.expected_error(kept_or_redrawn(12, ratio)) * (1 + 1e-6)


@pytest.mark.parametrize(("size", "epsilon", "gain"), [(20, 1, 5), (50, 1, 30), (50, 2, 15), (50, 4, 4)])
def test_means_err_several_times_less(size: int, epsilon: int, gain: float) -> None:
    """By a variance written out here, not the criterion's: of g(Y) with E g(Y) the true place."""
    criterion = evenly(size, "mean")
    laws = [
        ordered_channel(OrderedValues(criterion), Fraction(math.exp(epsilon))).weights / ONE,
        kept_or_redrawn(size, math.exp(epsilon)),
    ]
    variances = []
    for law in laws:
        g = np.linalg.inv(law) @ np.arange(size)
        variances.append(np.mean([law[u] @ (g - law[u] @ g) ** 2 for u in range(size)]))
    assert variances[0] * gain < variances[1]


def error_left(walk: Walk, matrix: np.ndarray) -> float:
    """Of the table's distribution function given the counts, by the joint normal law of table and counts."""
    size, records, p = len(walk.expected), walk.records, walk.expected
    along = np.minimum.outer(walk.line, walk.line) + 1e4  # a walk, and a height that nothing is known of
    logs = along - np.outer(along @ p, np.ones(size)) - np.outer(np.ones(size), along @ p) + p @ along @ p
    table = np.outer(p, p) * logs + (np.diag(p) - np.outer(p, p)) / records
    noise = sum(p[x] * (np.diag(matrix[x]) - np.outer(matrix[x], matrix[x])) for x in range(size)) / records
    counts = matrix.T @ table @ matrix + noise
    left = table - table @ matrix @ np.linalg.pinv(counts, rcond=1e-9) @ matrix.T @ table
    return float(np.diag(left.cumsum(axis=0).cumsum(axis=1))[:-1] @ np.diff(walk.line))


@pytest.mark.parametrize("shape", ["even", "falling", "rising"])
def test_the_error_of_a_smooth_column_is_what_the_joint_law_leaves(shape: Shape) -> None:
    chance, line = np.random.default_rng(6), np.array([0.0, 0.1, 0.4, 0.5, 1.0])
    error = SmoothError.of(line, shape, 3000)
    for matrix in (kept_or_redrawn(5, 4.0), square_wave(line, 4.0, 0.2), chance.dirichlet(np.ones(5), 5)):
        by_hand = np.mean([error_left(walk, matrix) for walk in error.walks])
        assert error(matrix) == pytest.approx(by_hand, rel=1e-3)
        off, step = chance.normal(size=(5, 5)), 1e-6
        rise = (error(matrix + step * off) - error(matrix - step * off)) / (2 * step)
        assert float((error.slopes(matrix) * off).sum()) == pytest.approx(rise, rel=1e-4)


def test_a_channel_for_a_smooth_column_gains_on_every_square_wave() -> None:
    """And most where the shape is the one that was stated."""
    ratio, line = math.exp(2), np.linspace(0, 1, 12)
    falling, even = (Criterion(line, "smooth", 100_000, shape) for shape in ("falling", "even"))
    laws = [ordered_channel(OrderedValues(c), Fraction(ratio)).weights / ONE for c in (falling, even)]
    waves = [square_wave(line, ratio, half) for half in np.geomspace(0.02, 1, 30)]
    for criterion, law in zip((falling, even), laws, strict=True):
        assert criterion.expected_error(law) < 0.95 * min(criterion.expected_error(wave) for wave in waves)
    assert falling.expected_error(laws[0]) < 0.9 * falling.expected_error(laws[1])


def test_k_and_epsilon_are_kept_with_the_others() -> None:
    wanted = Wanted(Circumstances(10_000), k=20, epsilon=3.0)
    law = calibrate({"sex": 2, "age": 15}, wanted)
    assert isinstance(law, Product)
    changed = with_ordered(law, {"age": OrderedValues(evenly(15))}, wanted)
    assert wanted.is_kept_by(changed)
    assert changed.channels["sex"] == law.channels["sex"]
    assert not isinstance(changed.channels["age"], Retention)
    assert k_of(changed, wanted.circumstances) >= 20


def test_a_central_promise_is_kept_too() -> None:
    wanted = Wanted(Circumstances(20_000), central=0.5)
    law = calibrate({"age": 15}, wanted)
    assert isinstance(law, Product)
    changed = with_ordered(law, {"age": OrderedValues(evenly(15))}, wanted)
    assert wanted.is_kept_by(changed)


@pytest.mark.parametrize("beyond", [1e-15, 1e-9, 1e-3])
def test_a_matrix_that_misses_its_ratio_by_a_hair_is_blended_until_it_keeps_it(beyond: float) -> None:
    for size in (3, 8):
        for matrix in (
            kept_or_redrawn(size, 3 * (1 + beyond)),
            with_missing(two_point(np.linspace(0, 1, size), 3), 3),
        ):
            channel = in_integers(matrix, Fraction(3))
            assert largest_ratio(channel.weights.tolist()) <= 3
            assert np.abs(channel.weights / ONE - matrix).max() < 2 * max(beyond, 1e-6)


@dataclass(frozen=True)
class HalfOfIt(Wanted):
    """A promise that only laws keep which tell far less than retention would."""

    most: Fraction = Fraction(2)

    def is_kept_by(self, mechanism: Mechanism) -> bool:
        ratio = mechanism.likelihood_ratio
        return ratio is not None and ratio <= self.most


def test_what_ordered_channels_miss_they_get_less_for() -> None:
    """Whatever the promise is: the changed law is asked, and not only the one that was calibrated."""
    law = Product({"age": Retention.at(Fraction(1, 3), 8)})
    assert law.likelihood_ratio is not None and law.likelihood_ratio > 4
    for wanted in (HalfOfIt(Circumstances(1000), central=1.0), HalfOfIt(Circumstances(1000), epsilon=1.0)):
        changed = with_ordered(law, {"age": OrderedValues(evenly(8))}, wanted)
        assert wanted.is_kept_by(changed)


def test_what_is_no_order_is_refused() -> None:
    with pytest.raises(InputError, match="must go with error_of"):
        Criterion(np.arange(5.0), "mean", shape="falling")
    with pytest.raises(InputError, match="shape must be one of"):
        Criterion(np.arange(5.0), "smooth", shape="round")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ascend"):
        Criterion(np.array([0.0, 2.0, 1.0]))
    with pytest.raises(InputError, match="at most 256"):
        OrderedValues(evenly(257))


def test_two_values_have_nothing_between_them() -> None:
    assert isinstance(ordered_channel(OrderedValues(evenly(2)), Fraction(3)), Retention)
