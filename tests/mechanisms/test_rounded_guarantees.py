"""Every number that is promised lies on the safe side of the exact one, wherever nearest floats would not."""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from pramana.ledger.rules import total_about
from pramana.ledger.state import Cost, Release, State
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.guarantees import Circumstances, guarantees_of, level_guarantees
from pramana.mechanisms.levels import AtLevel, LevelDesign, Uniform
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws, unit_guarantees
from pramana.notions.guarantee import Guarantee
from pramana.notions.randomised import LocalPrivacy, PkAnonymity, PosteriorBound
from pramana.theory.levels import Level

RECORDS = 997
AROUND = Circumstances(records=RECORDS)
DIGITS = decimal.Context(prec=90)


def logarithm(ratio: Fraction) -> decimal.Decimal:
    """Correct to some 85 digits."""
    return DIGITS.ln(DIGITS.divide(decimal.Decimal(ratio.numerator), decimal.Decimal(ratio.denominator)))


def laws() -> Iterator[tuple[Mechanism, tuple[Guarantee, ...], Fraction, Fraction]]:
    """A law, what is promised of it, its likelihood ratio and its k, both written out here."""
    for rho, size in product([Fraction(i, 23) for i in range(1, 12)], (2, 3, 10)):
        step = Retention.at(rho, size).step
        ratio = Fraction((1 << 62) - (size - 1) * step, step)
        whole = Product({"a": Retention(size, step), "b": Retention(size, step)})
        yield whole, guarantees_of(whole, AROUND), ratio**2, 1 + Fraction(RECORDS - 1) / ratio**4
        record = RecordRetention.at(rho, {"a": size, "b": 3})
        kept, least = 1 - Fraction(record.bound, 1 << 62), Fraction((1 << 64) // size * ((1 << 64) // 3), 1 << 128)
        joint = 1 + kept / ((1 - kept) * least)
        yield record, guarantees_of(record, AROUND), joint, 1 + (RECORDS - 1) / joint**2
        level = AtLevel(LevelDesign({"a": Uniform(size)}), Level.of(str(round(float(rho), 6))))
        own = 1 + level.level.retention / (1 - level.level.retention) * size
        yield level, level_guarantees(level, AROUND, True, True), own, 1 + (RECORDS - 1) / own**2
        draws = UnitDraws(people=RECORDS, rows=3)
        units = Product({"a": Retention(size, step)})
        yield units, unit_guarantees(units, AROUND, draws), ratio**3, 1 + Fraction(RECORDS - 1) / ratio**6


CASES = list(laws())


@pytest.mark.parametrize("kind", [Product, RecordRetention, AtLevel])
def test_epsilon_is_rounded_up_and_k_down(kind: type[Mechanism]) -> None:
    for _, promised, ratio, k in [case for case in CASES if isinstance(case[0], kind)]:
        (local,) = (g.epsilon for g in promised if isinstance(g, LocalPrivacy))
        (stated,) = (g.k for g in promised if isinstance(g, PkAnonymity))
        assert local is not None
        assert logarithm(ratio) <= decimal.Decimal(local) <= decimal.Decimal(math.nextafter(local, 0)) + 1
        assert 0 <= decimal.Decimal(local) - logarithm(ratio) < 1e-14
        assert 0 <= k - Fraction(stated) <= k * Fraction(1, 1 << 52)


def test_nearest_floats_would_be_found_out() -> None:
    """The tests here could fail: of these laws many have a nearest float on the wrong side."""
    below = sum(decimal.Decimal(math.log(ratio)) < logarithm(ratio) for _, _, ratio, _ in CASES)
    above = sum(Fraction(float(k)) > k for _, _, _, k in CASES)
    assert below > 10 and above > 10


def test_a_belief_afterwards_is_rounded_up() -> None:
    wrong = 0
    for law, promised, ratio, _ in CASES:
        if not isinstance(law, AtLevel):
            continue
        (bound,) = (g for g in promised if isinstance(g, PosteriorBound))
        for before, after in bound.pairs:
            prior = Fraction(str(before))
            exact = ratio * prior / (1 + (ratio - 1) * prior)
            assert 0 <= Fraction(after) - exact < Fraction(1, 10**15)
            wrong += Fraction(float(exact)) < exact
    assert wrong > 10


def test_a_ledgers_total_is_rounded_up() -> None:
    """Sums of floats that are stated are taken exactly, and then rounded up."""
    wrong = 0
    for number in range(1, 60):
        epsilons = [number / 7, number / 11, 1e-17 * number]
        releases = {
            str(i): Release(str(i), "d", "r", None, None, "w", "t", people="town", cost=Cost(epsilon))
            for i, epsilon in enumerate(epsilons)
        }
        total = total_about(State(releases=releases), "town")
        exact = sum(Fraction(epsilon) for epsilon in epsilons)
        assert total.releases == 3 and total.epsilon is not None
        assert 0 <= Fraction(total.epsilon) - exact <= exact * Fraction(1, 1 << 52)
        wrong += Fraction(math.fsum(epsilons)) < exact
    assert wrong > 10
