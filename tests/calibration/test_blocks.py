"""Choosing blocks: the exact risk never passes the claimed xi, and nothing forbidden is ever published."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InputError
from pramana.mechanisms.invariant import drift_of, largest_risks, match_risk
from pramana.methods.invariant.blocks import checked_xi, plan_blocks, plan_strata

PAPER = [2, 205, 431, 106, 230, 221, 611, 194]


def largest(plan_channel: object, counts: object) -> Fraction:
    return max(r for r in largest_risks(plan_channel, counts) if r is not None)  # type: ignore[arg-type]


def random_table(rng: np.random.Generator) -> tuple[np.ndarray, Fraction]:
    """1 to 5 rare categories among up to 30 others."""
    xi = Fraction(int(rng.integers(2, 40)), 100)
    rare = rng.integers(1, max(2, int(1 / xi) + 1), rng.integers(1, 6))
    others = np.maximum(1, np.exp(rng.normal(5, 2, rng.integers(1, 31)))).astype(np.int64)
    counts = np.concatenate([rare, others])
    rng.shuffle(counts)
    return counts, xi


@pytest.mark.parametrize("rule", ["best", "paper"])
def test_a_thousand_random_tables_never_exceed_the_claimed_xi(rule: str) -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(1000):
        counts, xi = random_table(rng)
        plan = plan_blocks(counts, xi, rule=rule)
        exact = largest(plan.channel, counts)
        assert exact <= plan.reached
        assert plan.xi_reached >= exact
        assert plan.holds == (plan.reached <= xi)
        assert counts.sum() * xi == 1 or set(drift_of(plan.channel, counts.tolist())) == {Fraction(0)}
        held += plan.holds
        if rule == "best":  # a table of 1/xi records in all can always be protected
            assert plan.holds or counts.sum() * xi < 1
    assert held > 700


def test_the_papers_rule_gives_the_papers_block() -> None:
    plan = plan_blocks(PAPER, "0.1", rule="paper")
    assert plan.blocks == ((0, 3, 7, 1, 5, 4),)
    assert plan.thetas[0] == pytest.approx(1.656854, abs=1e-6)
    assert plan.xi_reached == pytest.approx(0.0998496582, abs=1e-10)


def test_the_best_rule_errs_less_and_withstands_both_intruders() -> None:
    best, paper = (plan_blocks(PAPER, "0.1", rule=rule) for rule in ("best", "paper"))
    one, other = match_risk(best.channel, PAPER), match_risk(paper.channel, PAPER)
    assert sum(one.squared_error) < sum(other.squared_error) / 4
    assert one.largest <= Fraction(1, 10)
    assert one.largest_all_counts <= Fraction(1, 10)
    assert other.largest_all_counts > Fraction(1, 10)


def test_best_is_the_least_error_over_all_pairings() -> None:
    """Two rare categories, three partners: every pairing by hand."""
    counts = [1, 3, 40, 90, 700]
    plan = plan_blocks(counts, "0.1")
    error = sum(match_risk(plan.channel, counts).squared_error)
    from pramana.mechanisms.invariant import BlockInvariant, inverse_frequency
    from pramana.theory import identification

    def pairing(first: int, second: int) -> float:
        blocks = tuple(
            inverse_frequency(counts, (r, h), float(identification.theta_for_pair(counts[r], counts[h], 0.1)))
            for r, h in ((0, first), (1, second))
        )
        return sum(match_risk(BlockInvariant(5, blocks), counts).squared_error)

    assert error <= min(pairing(a, b) for a in (2, 3, 4) for b in (2, 3, 4) if a != b) * (1 + 1e-9)


def test_nothing_to_protect_changes_nothing() -> None:
    plan = plan_blocks([10, 20, 30], "0.1")
    assert plan.blocks == ()
    assert plan.holds
    assert plan.reached == Fraction(1, 10)


def test_ordered_attributes_move_to_neighbours() -> None:
    counts = [500, 2, 100, 100, 3, 400]
    assert {frozenset(b) for b in plan_blocks(counts, "0.1", ordered=[True]).blocks} in (
        {frozenset({0, 1}), frozenset({4, 3})},
        {frozenset({2, 1}), frozenset({4, 3})},
        {frozenset({0, 1}), frozenset({4, 5})},
        {frozenset({2, 1}), frozenset({4, 5})},
    )


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 60), min_size=2, max_size=9),
    forbidden=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12),
    rule=st.sampled_from(["best", "paper", "auto"]),
)
def test_forbidden_transitions_are_never_published(
    counts: list[int], forbidden: set[tuple[int, int]], rule: str
) -> None:
    counts[0] += 1
    pairs = {(a, b) for a, b in forbidden if a != b and max(a, b) < len(counts)}
    plan = plan_blocks(counts, "0.15", rule=rule, forbidden=[pairs])
    assert all(plan.channel.weights[a, b] == 0 for a, b in pairs)
    assert largest(plan.channel, counts) <= plan.reached


def test_forbidding_every_exchange_reports_what_was_reached() -> None:
    plan = plan_blocks([2, 50, 60], "0.1", forbidden=[[(0, 1), (2, 0)]])
    assert not plan.holds
    assert plan.reached == Fraction(1, 2)
    assert plan.xi_reached == 0.5


def test_rare_categories_share_a_partner_when_there_is_but_one() -> None:
    counts = [1, 2, 3, 4, 5, 1000]
    plan = plan_blocks(counts, "0.1")
    assert plan.holds
    assert plan.blocks == ((0, 1, 2, 3, 4, 5),)
    weights = plan.channel.blocks[0].weights
    assert (weights[:5, :5][~np.eye(5, dtype=bool)] == 0).all()  # the rare do not exchange with each other


def test_rare_categories_hide_among_each_other_when_there_is_no_partner() -> None:
    plan = plan_blocks([1] * 25, "0.1")
    assert plan.holds
    assert largest(plan.channel, [1] * 25) <= Fraction(1, 10)


def test_a_pool_of_many_singletons_is_as_large_as_it_must_be() -> None:
    plan = plan_blocks([1] * 120 + [30], "0.02")
    assert plan.holds
    assert largest(plan.channel, [1] * 120 + [30]) <= Fraction(1, 50)


def test_too_few_records_reach_what_they_can() -> None:
    plan = plan_blocks([1, 1, 2], "0.1")
    assert not plan.holds
    assert Fraction(1, 4) <= plan.reached < Fraction(1, 3)  # never better than 1/N


def test_strata_have_their_own_matrices() -> None:
    counts = np.array([[2, 100, 300], [50, 60, 3]])
    plan = plan_strata(counts, "0.1", ordered=[False])
    assert plan.holds
    assert largest(plan.channel, counts.reshape(-1)) <= Fraction(1, 10)
    assert all(len({member // 3 for member in block}) == 1 for block in plan.blocks)


def test_combinations_change_as_few_attributes_as_can_be() -> None:
    counts = np.full((3, 4), 50)
    counts[1, 2] = 2
    counts[0, 0] = 0
    plan = plan_blocks(counts, "0.1")
    assert plan.holds
    ((rare, partner),) = plan.blocks
    a, b = np.unravel_index([rare, partner], counts.shape)
    assert (a[0], b[0]) == (1, 2)
    assert (a[0] != a[1]) + (b[0] != b[1]) == 1
    assert (plan.channel.weights[1:, 0] == 0).all()  # a combination nobody has is never published


def test_combinations_respect_what_is_forbidden_in_an_attribute() -> None:
    counts = np.array([[1, 40, 40], [40, 40, 40]])
    plan = plan_blocks(counts, "0.1", forbidden=[[], [(0, 1), (0, 2)]])
    ((rare, partner),) = plan.blocks
    assert (rare, partner) == (0, 3)


def test_a_thousand_categories_and_combinations_hold() -> None:
    rng = np.random.default_rng(7)
    counts = np.exp(rng.normal(6, 3.2, 1000)).astype(np.int64)
    plan = plan_blocks(counts, "0.1")
    assert plan.holds
    cells = rng.geometric(0.02, (20, 15, 8)) * (rng.random((20, 15, 8)) < 0.7)
    joint = plan_blocks(cells, "0.1", ordered=[True])
    assert joint.holds


@pytest.mark.parametrize("xi", [0, -0.1, 1.5, "nan", "x", "1/0"])
def test_wrong_levels_are_refused(xi: object) -> None:
    with pytest.raises(InputError, match="xi must"):
        checked_xi(xi)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [[], [0, 0], [-1, 5], [1.5, 2], ["a"], [2**50]])
def test_wrong_frequencies_are_refused(counts: object) -> None:
    with pytest.raises(InputError, match="requencies must"):
        plan_blocks(counts, "0.1")  # type: ignore[arg-type]


def test_wrong_rules_and_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="rule"):
        plan_blocks([2, 30], "0.1", rule="worst")
    with pytest.raises(InputError, match="forbidden"):
        plan_blocks([2, 30], "0.1", forbidden=[[(0, 5)]])


@pytest.mark.parametrize(
    "counts",
    [[1] * 10, [3, 3, 4], [1, 2, 2, 5], [7, 3], [1] * 100, [1] * 70 + [2] * 15, [1, 1, 1, 7, 40, 2]],
)
def test_as_many_records_as_xi_asks_for_are_enough(counts: list[int]) -> None:
    """A pool of exactly 1/xi records: only rows that are all the same reach it, and no integer may stand out."""
    xi = Fraction(1, sum(counts)) if max(counts) < 40 else Fraction(1, 10)
    plan = plan_blocks(counts, xi)
    assert plan.holds
    assert plan.reached <= xi
    assert largest(plan.channel, counts) <= xi
    assert max(abs(d) for d in drift_of(plan.channel, counts)) < Fraction(1, 10**15)  # 10 does not divide 2^62


@pytest.mark.parametrize("partner", [997, 60_000, 10**6, 10**9])
@pytest.mark.parametrize("rule", ["best", "paper", "auto"])
def test_partners_of_every_size(rule: str, partner: int) -> None:
    counts = [4, *[partner + i for i in range(6)]]
    plan = plan_blocks(counts, "0.1", rule=rule)
    assert plan.holds
    risk = match_risk(plan.channel, counts)
    assert risk.largest == plan.reached <= Fraction(1, 10)
    assert Fraction(1, 10) * (1 - Fraction(1, 100)) < plan.reached  # and hardly more is changed than it takes
    assert risk.largest_all_counts >= risk.largest


@pytest.mark.parametrize("rule", ["best", "paper"])
def test_frequencies_whose_common_multiple_is_no_machine_word(rule: str) -> None:
    counts = [6, 801270645910, 901231723823, 410185791845, 609411243224]
    plan = plan_blocks(counts, "0.1", rule=rule)
    assert plan.holds
    assert plan.reached > Fraction(99, 1000)
    rounding = Fraction(len(counts) * max(counts), 2**62)  # a unit for every entry of a column
    assert max(abs(d) for d in drift_of(plan.channel, counts)) < rounding
