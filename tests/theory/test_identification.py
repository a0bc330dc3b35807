"""Paper 2's numbers: the formula sheet, Table 1, and brute force over every outcome of small tables."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.theory import identification as theory
from pramana.theory.identification import ONE

BLOCK = [2, 106, 194, 205, 221, 230]  # formula sheet, paper 2
LEVELS = ["0.1", "0.125", "0.15", "0.175", "0.2", "0.25", "0.3"]
TABLE_1 = [  # paper 2, Table 1, rows T1 = 1 .. 10
    [11, 9, 8, 7, 6, 5, 5],
    [6, 5, 5, 4, 4, 3, 3],
    [5, 4, 3, 3, 3, 2, 2],
    [4, 3, 3, 2, 2, 2, 2],
    [3, 3, 2, 2, 2, 2, 2],
    [3, 2, 2, 2, 2, 2, 2],
    [2, 2, 2, 2, 2, 2, 2],
    [2, 2, 2, 2, 2, 2, 2],
    [2, 2, 2, 2, 2, 2, 2],
    [2, 2, 2, 2, 2, 2, 2],
]


def law_by_hand(chances: list[float], counts: list[int]) -> np.ndarray:
    law = np.ones(1)
    for chance, count in zip(chances, counts, strict=True):
        for _ in range(count):
            law = np.convolve(law, [1 - chance, chance])
    return law


def risks_by_hand(chances: list[float], counts: list[int], target: int) -> list[float]:
    """R1(a,t) for every a, straight from P(Z = 1, S = a)/(a P(S = a)); nan where S = a cannot happen."""
    others = [count - (i == target) for i, count in enumerate(counts)]
    law = np.append(law_by_hand(chances, others), 0.0)
    found = []
    for a in range(1, sum(counts) + 1):
        on, off = chances[target] * law[a - 1], (1 - chances[target]) * law[a]
        found.append(on / (on + off) / a if on + off > 0 else math.nan)
    return found


def test_theta_and_size_of_the_sheet() -> None:
    assert theory.theta_for_xi(2, 0.1) == pytest.approx(4 * math.sqrt(2) - 4, abs=1e-14)
    assert 2 / (2 - theory.theta_for_xi(2, 0.1)) == pytest.approx(3 + 2 * math.sqrt(2), abs=1e-12)
    assert theory.block_size(2, Fraction("0.1")) == 6


def test_risks_of_the_sheet() -> None:
    chances = theory.inverse_frequency_matrix(BLOCK, theory.theta_for_xi(2, 0.1))[:, 0]
    assert theory.risks(chances, BLOCK, 0, 3) == pytest.approx(
        [0.0998496582, 0.0917763775, 0.0847542688], abs=1e-10
    )
    first, law = theory.count_law(chances, BLOCK)
    assert first == 0 and law[0] == pytest.approx(0.1306981047, abs=1e-10)
    assert theory.overall_match(chances, BLOCK, 0) == pytest.approx(0.078489, abs=1e-6)
    assert theory.risk_of_one(2, theory.theta_for_xi(2, 0.1), BLOCK[1:]) == pytest.approx(0.0998496582, abs=1e-10)


@pytest.mark.parametrize("frequency", range(1, 11))
def test_table_1(frequency: int) -> None:
    assert [theory.block_size(frequency, Fraction(xi)) for xi in LEVELS] == TABLE_1[frequency - 1]


@pytest.mark.parametrize("frequency", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("xi", ["0.02", "0.1", "0.12"])
def test_theta_solves_psi_and_the_ceiling_is_the_ceiling(frequency: int, xi: str) -> None:
    theta = theory.theta_for_xi(frequency, Fraction(xi))
    assert theory.psi(frequency, theta) == pytest.approx(float(xi), rel=1e-12)
    assert theory.block_size(frequency, Fraction(xi)) == max(2, math.ceil(frequency / (frequency - theta) - 1e-9))


def test_frequent_categories_need_nothing() -> None:
    assert theory.theta_for_xi(10, Fraction("0.1")) == 0.0
    assert theory.theta_for_xi(11, Fraction("0.1")) == 0.0
    assert theory.block_size(11, Fraction("0.1")) == 2


def test_minimal_size_is_the_exact_condition() -> None:
    """One category less and the target's odds are no longer the largest of its column."""
    theta = theory.theta_for_xi(1, Fraction("0.05"))
    size = theory.minimal_block_size(1, theta, 3)

    def target_leads(k: int) -> bool:
        other = theta / ((k - 1) * 3)
        return (1 - theta) / theta >= other / (1 - other)

    assert target_leads(size)
    assert size > 2
    assert not target_leads(size - 1)


@given(
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    chances=st.lists(st.sampled_from([0.0, 1e-6, 0.01, 0.3, 0.5, 0.97, 1.0]), min_size=4, max_size=4),
)
def test_every_risk_by_brute_force(counts: list[int], chances: list[float]) -> None:
    counts[0] += 1
    chances = chances[: len(counts)]
    expected = risks_by_hand(chances, counts, 0)
    assert theory.risks(chances, counts, 0, sum(counts)) == pytest.approx(expected, rel=1e-9, nan_ok=True)


@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    chances=st.lists(st.integers(0, ONE), min_size=4, max_size=4),
)
def test_largest_risk_and_its_bound_are_never_too_small(counts: list[int], chances: list[int]) -> None:
    counts[0] += 1
    chances = chances[: len(counts)]
    worst = np.nanmax([*risks_by_hand([w / ONE for w in chances], counts, 0), 0.0])
    found = theory.largest_risk(chances, counts, 0)
    bound = theory.bound_over_counts(chances, counts, 0)
    assert worst * (1 - 1e-9) <= found <= worst * (1 + 1e-8) + 1e-15
    assert found <= bound * (1 + Fraction(1, 10**8))


def test_largest_risk_is_a_fraction_where_the_theorem_holds() -> None:
    """[T1 + T2 beta_2/beta_1]^-1 with alpha = (3/4, 1/8), T = (2, 7): beta = (3, 1/7), so 1/(2 + 1/3)."""
    assert theory.largest_risk([3 * ONE // 4, ONE // 8], [2, 7], 0) == Fraction(3, 7)


def test_theorem_3_1_can_fail_without_its_condition() -> None:
    """With beta_1 below beta_2 the largest risk is not at a = 1, and the scan finds it."""
    chances, counts = [0.1, 0.9], [1, 3]
    risks = theory.risks(chances, counts, 0)
    assert int(np.argmax(risks)) > 0
    found = theory.largest_risk([int(c * ONE) for c in chances], counts, 0)
    assert float(found) == pytest.approx(max(risks), rel=1e-8)


def test_millions_of_records_every_count_finite_and_consistent() -> None:
    """Nothing under- or overflows, from one record in the category to all of them."""
    counts = [30_000, 20_000, 40_000, 10_000]
    risks = theory.risks([0.9, 0.01, 0.02, 0.005], counts, 0)
    assert len(risks) == 100_000
    assert np.isfinite(risks).all()
    assert risks[-1] == pytest.approx(1 / 100_000, rel=1e-12)
    big = theory.risks([0.2, 0.01, 0.5, 0.005], [3_000_000, 2_000_000, 4_000_000, 1_000_000], 0, 5)
    odds = np.array([0.2 / 0.8, 0.01 / 0.99, 1.0, 0.005 / 0.995])
    others = np.array([2_999_999, 2_000_000, 4_000_000, 1_000_000])
    assert big[0] == pytest.approx(1 / (1 + float(odds @ others) / odds[0]), rel=1e-10)


def test_window_by_window_agrees_with_one_binomial() -> None:
    """Equal odds: P(a)/P(a-1) = (n-a+1)/a * odds exactly."""
    found = theory.count_ratios(np.array([0.25, 0.25]), np.array([4_000, 1_000]), 5_000)
    a = np.arange(1, 5_001)
    assert found == pytest.approx((5_000 - a + 1) / a * 0.25, rel=1e-9)


@given(counts=st.lists(st.integers(0, 6), min_size=2, max_size=4), seed=st.integers(0, 1000))
def test_overall_match_by_brute_force(counts: list[int], seed: int) -> None:
    counts[0] += 1
    chances = np.random.default_rng(seed).random(len(counts)).tolist()
    others = [count - (i == 0) for i, count in enumerate(counts)]
    law = law_by_hand(chances, others)
    expected = chances[0] * float((law / (1 + np.arange(len(law)))).sum())
    assert theory.overall_match(chances, counts, 0) == pytest.approx(expected, rel=1e-9)


def test_squared_errors_by_brute_force() -> None:
    counts, matrix = [1, 2], np.array([[0.6, 0.4], [0.3, 0.7]])
    records = [0, 1, 1]
    expected = np.zeros(2)
    for outcome in product(range(2), repeat=3):
        chance = math.prod(matrix[x, z] for x, z in zip(records, outcome, strict=True))
        expected += chance * (np.bincount(outcome, minlength=2) - counts) ** 2
    assert theory.squared_errors(matrix, counts) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=200)
@given(frequency=st.integers(1, 60), more=st.integers(0, 10**7), n=st.integers(2, 80), extra=st.fractions(0, 1))
def test_a_partner_of_one_over_xi_records_is_always_enough(
    frequency: int, more: int, n: int, extra: Fraction
) -> None:
    """identification.md, Lemma 1: in a block of two the target's odds lead, and R1(1) is xi."""
    xi = 1 / (n + extra)
    if frequency * xi >= 1:
        return
    partner = math.ceil(1 / xi) + more
    theta = float(theory.theta_for_pair(frequency, partner, xi))
    assert 0 < theta < frequency
    assert theory.risk_of_one(frequency, theta, [partner]) == pytest.approx(float(xi), rel=1e-9)
    assert (frequency - theta) * (partner - theta) >= theta**2 * (1 - 1e-9)
    assert theta <= theory.theta_for_xi(frequency, xi) * (1 + 1e-9)


def test_the_floor_of_the_printed_rule_breaks_the_bound() -> None:
    """Sheet: with "the largest integer contained" the bound fails in some cases, with the ceiling in none."""
    rng = np.random.default_rng(20)
    broken = {"floor": 0, "ceiling": 0}
    for _ in range(150):
        frequency, xi = int(rng.integers(1, 6)), Fraction(int(rng.integers(2, 20)), 100)
        if frequency * xi >= 1:
            continue
        theta = theory.theta_for_xi(frequency, xi)
        sizes = {
            "floor": max(2, math.floor(frequency / (frequency - theta))),
            "ceiling": theory.block_size(frequency, xi),
        }
        for rule, size in sizes.items():
            counts = [frequency] + [frequency] * (size - 1)
            column = (theory.inverse_frequency_matrix(counts, theta)[:, 0] * ONE).astype(np.int64)
            broken[rule] += theory.largest_risk(column, counts, 0) > xi * (1 + Fraction(1, 10**6))
    assert broken["ceiling"] == 0
    assert broken["floor"] > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.risks([0.5, 1.5], [1, 1], 0),
        lambda: theory.risks([0.5], [1, 1], 0),
        lambda: theory.risks([0.5, 0.5], [0, 1], 0),
        lambda: theory.largest_risk([ONE // 2], [0], 0),
        lambda: theory.risk_of_one(2, 2.0, [5]),
        lambda: theory.minimal_block_size(2, 2.0, 5),
    ],
)
def test_impossible_input_is_refused(call: object) -> None:
    with pytest.raises(ValueError, match="must"):
        call()  # type: ignore[operator]
