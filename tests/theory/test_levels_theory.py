"""Paper 3's arithmetic: the formula sheet's numbers, the theorems by brute force, the corrections."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.formulas import (
    independent_posterior,
    multi_pert_law,
    process_law,
    reconstruction_probability,
    version_from_draws,
)

from pramana.errors import InputError
from pramana.theory import levels, pk
from pramana.theory.levels import Level

F = Fraction
retentions = st.integers(1, 99).map(lambda n: F(n, 100))
skewed = (F(1, 2), F(1, 3), F(1, 6))


# ---------------------------------------------------------------- the sheet


def test_u_and_v_of_the_sheet() -> None:
    above, below, p, s = F(1), F(2, 5), F(4, 5), F(1, 10)
    assert levels.head(p, above, below, True) == F(4, 5)
    assert levels.tail(p, above, below, True, s) == F(41, 230)
    assert levels.head(p, above, below, False) == F(2, 3)
    assert levels.tail(p, above, below, False, s) == F(1, 6)


def test_joint_law_of_the_sheet() -> None:
    joint = levels.joint_law([F(1, 2), F(3, 10), F(1, 10)], levels.uniform_law(3), 0)
    assert joint[0, 0, 0] == F(22, 81)
    assert joint[0, 1, 2] == F(8, 405)
    assert joint[1, 1, 1] == F(11, 162)


def test_version_from_draws_of_the_sheet() -> None:
    draws, marks = [F(7, 10), F(5, 10), F(4, 10), F(1, 10)], [1, 2, 3, 4]
    wanted = {F(9, 10): 0, F(7, 10): 1, F(5, 10): 1, F(35, 100): 2, F(1, 10): 3}
    assert {p: version_from_draws(draws, marks, 0, p) for p in wanted} == wanted


def test_example_1_of_the_paper() -> None:
    """HIV at 40 % for Alice, then 20 % for Bob, s = 10: Bob holds HIV with probability 0.28."""
    joint = multi_pert_law([F(2, 5), F(1, 5)], levels.uniform_law(10), 0)
    assert sum(p for (_, bob), p in joint.items() if bob == 0) == F(28, 100)


def test_u_and_v_as_the_paper_prints_them() -> None:
    def printed(p: F, high: F, low: F, s: int) -> F:
        return (1 - p / high) * (1 - (1 - low / p) / ((s - 1) * low / high + 1))

    for low, p, high in [(F(1, 10), F(1, 5), F(1)), (F(3, 10), F(2, 5), F(1, 2))]:
        for s in (2, 3, 50):
            assert levels.tail(p, high, low, True, F(1, s)) == printed(p, high, low, s)


# ---------------------------------------------------------------- three ways to the same law


@pytest.mark.parametrize("size", [2, 3, 5])
def test_closed_form_multi_pert_and_process_agree_exactly(size: int) -> None:
    law = levels.uniform_law(size)
    steps = [3, 1, 5]  # Alice .3, Bob .1, Charlie .5 of the paper's experiment
    closed = levels.joint_law([F(k, 10) for k in steps], law, 0)
    assert process_law(steps, 10, law, 0) == closed
    for order in permutations(range(3)):
        asked = [F(steps[i], 10) for i in order]
        found = multi_pert_law(asked, law, 0)
        assert {tuple(v[order.index(i)] for i in range(3)): q for v, q in found.items()} == closed


def test_they_agree_for_a_skewed_replacement_law_and_at_level_zero() -> None:
    steps = [4, 0, 7]
    closed = levels.joint_law([F(k, 10) for k in steps], skewed, 1)
    assert process_law(steps, 10, skewed, 1) == closed
    assert multi_pert_law([F(k, 10) for k in steps], skewed, 1) == closed


def test_a_finer_grid_changes_nothing() -> None:
    law = levels.uniform_law(2)
    assert process_law([1, 2], 4, law, 0) == process_law([3, 6], 12, law, 0)


@given(st.lists(retentions, min_size=1, max_size=3, unique=True), st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_every_version_is_uniform_perturbation(asked: list[F], true: int) -> None:
    joint = multi_pert_law(asked, skewed, true)
    for i, p in enumerate(asked):
        for y in range(3):
            assert sum(q for v, q in joint.items() if v[i] == y) == levels.transition(p, skewed, true, y)


@given(st.lists(retentions, min_size=2, max_size=3, unique=True))
@settings(max_examples=30, deadline=None)
def test_collusion_is_useless(asked: list[F]) -> None:
    """Theorem 1 from the executed algorithm: no closed form takes part in the joint law."""
    prior = (F(1, 5), F(3, 10), F(1, 2))
    joints = [multi_pert_law(asked, skewed, x) for x in range(3)]
    best = asked.index(max(asked))
    for values in product(range(3), repeat=len(asked)):
        together = levels.posterior(prior, [joint[values] for joint in joints])
        alone = [levels.transition(asked[best], skewed, x, values[best]) for x in range(3)]
        assert together == levels.posterior(prior, alone)
        assert together == levels.coalition_posterior(dict(zip(asked, values, strict=True)), prior, skewed)


def test_collusion_pays_where_releases_are_independent() -> None:
    prior = levels.uniform_law(1000)
    alone = independent_posterior([(F(2, 5), 7)], prior, prior)[7]
    both = independent_posterior([(F(2, 5), 7), (F(1, 5), 7)], prior, prior)[7]
    assert alone == levels.coalition_posterior({F(2, 5): 7, F(1, 5): 7}, prior, prior)[7] < F(41, 100)
    assert both > F(99, 100)  # the paper's Alice and Bob: a coincidence has less than 1 %


# ---------------------------------------------------------------- corrections


def test_equation_7_needs_its_correction() -> None:
    p_high, p_low, s = F(4, 5), F(2, 5), 10
    for true, low in [(0, 0), (0, 1)]:
        assert sum(levels.middle_law(p_high, p_low, s, low, y, true) for y in range(s)) == 1
        bridged = levels.bridge(p_high, F(1), p_low, levels.uniform_law(s), true, low)
        assert bridged == tuple(levels.middle_law(p_high, p_low, s, low, y, true) for y in range(s))
    printed = (1 - p_high) / (1 - p_low) * (p_low / p_high + (1 - p_low) / s)
    assert printed != levels.middle_law(p_high, p_low, s, 1, 1, 0)


# ---------------------------------------------------------------- guarantees


def test_likelihood_ratio_by_enumeration() -> None:
    for law in (levels.uniform_law(4), skewed):
        for p in (F(0), F(1, 10), F(9, 10)):
            rows = [[levels.transition(p, law, x, y) for y in range(len(law))] for x in range(len(law))]
            worst = max(a[y] / b[y] for a in rows for b in rows for y in range(len(law)))
            assert pk.likelihood_ratio_of_redraw(p, min(law)) == worst
    assert pk.likelihood_ratio_of_redraw(F(1), min(skewed)) is None
    assert pk.likelihood_ratio_of_redraw(F(1, 2), min((F(1), F(0)))) is None
    assert pk.likelihood_ratio_of_redraw(F(1), min((F(1),))) == 1


@given(retentions, st.lists(st.integers(1, 50), min_size=3, max_size=3), st.integers(0, 2), st.integers(1, 6))
def test_no_predicate_grows_beyond_the_bounds(p: F, weights: list[int], seen: int, members: int) -> None:
    prior = tuple(F(w, sum(weights)) for w in weights)
    ratio = pk.likelihood_ratio_of_redraw(p, min(skewed))
    assert ratio is not None
    after = levels.coalition_posterior({p: seen}, prior, skewed)
    event = [x for x in range(3) if members >> x & 1]
    before, then = sum((prior[x] for x in event), F(0)), sum((after[x] for x in event), F(0))
    assert then <= levels.posterior_bound(ratio, before)
    assert levels.posterior_bound(ratio, then) >= before
    assert then - before <= F(levels.growth_bound(ratio))


def test_growth_bound_is_reached_and_not_below_the_formula() -> None:
    assert levels.growth_bound(F(9)) == 0.5  # roots 3 and 1: (3-1)/(3+1)
    assert levels.growth_bound(F(1)) == 0.0
    for ratio in (F(2), F(12), F(10**30), F(10**9 + 1, 10**9)):
        bound = levels.growth_bound(ratio)
        root = math.sqrt(ratio)
        assert bound == pytest.approx((root - 1) / (root + 1), rel=1e-6)
        d = F(bound)  # d >= (r-1)/(r+1) iff ((1+d)/(1-d))^2 >= ratio
        assert d == 1 or ((1 + d) / (1 - d)) ** 2 >= ratio


def test_reconstruction_probability_by_enumeration() -> None:
    prior, p = (F(1, 5), F(3, 10), F(1, 2)), F(3, 10)
    total = sum(
        prior[x] * levels.transition(p, skewed, x, y) * levels.coalition_posterior({p: y}, prior, skewed)[x]
        for x in range(3)
        for y in range(3)
    )
    assert reconstruction_probability(p, prior, skewed) == total


# ---------------------------------------------------------------- levels are exact decimals


def test_levels_are_exact_decimals() -> None:
    assert Level.of("0.3") == Level.of(0.3) == Level.of(Decimal("0.300")) == Level.of(F(3, 10)) == Level.of("3e-1")
    assert str(Level.of("0.30")) == "0.3" and str(Level.of(1)) == "1" and str(Level.of("0")) == "0"
    assert str(Level.of("0.000000000001")) == "0.000000000001"
    assert Level.of("0.3").retention == F(3, 10)


@pytest.mark.parametrize(
    "wrong", [0.1 + 0.2, "1.1", "-0.1", "nan", "inf", "", "x", "1e999999999", "1e-999999999", "0.0000000000001"]
)
def test_what_is_no_level(wrong: object) -> None:
    with pytest.raises(InputError):
        Level.of(wrong)  # type: ignore[arg-type]


@given(st.integers(0, levels.GRID))
def test_levels_survive_being_written(steps: int) -> None:
    assert Level.of(str(Level(steps))) == Level(steps)
