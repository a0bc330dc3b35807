"""Verdicts: a claim is broken where the whole interval lies beyond it, and one broken claim breaks the report."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from pramana.holder.audit.verdict import (
    CHANCE_OF_FALSE_ALARM,
    Attack,
    AttackReport,
    NotRun,
    at_most,
    clopper_pearson,
)


def tail(hits: int, tries: int, chance: Fraction) -> Fraction:
    """That so many or more of the tries succeed, term by term."""
    return sum(
        (comb(tries, n) * chance**n * (1 - chance) ** (tries - n) for n in range(hits, tries + 1)), Fraction(0)
    )


@pytest.mark.parametrize(("hits", "tries"), [(1, 1), (1, 20), (7, 20), (19, 20), (20, 20), (30, 200)])
def test_both_ends_of_an_interval_err_as_often_as_is_said(hits: int, tries: int) -> None:
    """At the lower end so many hits are as rare as alpha; a little below they are rarer. At the upper, so few."""
    alpha = Fraction(CHANCE_OF_FALSE_ALARM)
    low, high = (Fraction(end) for end in clopper_pearson(hits, tries))
    assert (
        tail(hits, tries, low * (1 - Fraction(1, 10**9)))
        < alpha
        < tail(hits, tries, low * (1 + Fraction(1, 10**9)))
    )
    if hits == tries:
        assert high == 1
    else:
        above = high + (1 - high) * Fraction(1, 10**9)
        assert (
            1 - tail(hits + 1, tries, above) < alpha < 1 - tail(hits + 1, tries, high * (1 - Fraction(1, 10**9)))
        )


def test_no_hit_has_no_lower_end() -> None:
    assert clopper_pearson(0, 50)[0] == 0.0


@pytest.mark.parametrize(
    ("right", "claimed", "ok"),
    [(10, 0.1, True), (14, 0.1, True), (60, 0.1, False), (100, 0.99, True), (0, 0.0, True)],
)
def test_a_claim_is_broken_where_chance_does_not_explain_it(right: int, claimed: float, ok: bool) -> None:
    """The interval of 14 of 100 reaches down to .1 and beyond; that of 60 does not."""
    attack = at_most("links", claimed, right, 100, "links")
    assert attack.ok is ok and attack.measured == right / 100
    assert attack.interval == clopper_pearson(right, 100)


def test_one_broken_claim_breaks_the_report() -> None:
    stands, broken = (Attack("a", 0.1, 0.1, ok, "") for ok in (True, False))
    assert AttackReport((stands, stands)).ok
    for attacks in ((stands, broken), (broken, stands), (broken,)):
        report = AttackReport(attacks, (NotRun("b", "no time"),))
        assert not report.ok and report.to_json()["ok"] is False
        assert report.sentences()[-1] == f"1 of {len(attacks)} claims are broken."
    assert AttackReport((), (NotRun("b", "no time"),)).ok, "what was not run proves nothing, and breaks nothing"
