"""The bound of one run, by brute force: each step of its proof in fractions, and its chance of false alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from pramana.holder.audit.epsilon import Guesses, guesses_of, least_epsilon

Law = list[list[Fraction]]
Mass = tuple[Fraction, Fraction, Fraction, Fraction]
Split = tuple[frozenset[int], frozenset[int]]


def fractions(rows: list[list[int]]) -> Law:
    return [[Fraction(n, sum(row)) for n in row] for row in rows]


def retention(rho: Fraction, size: int) -> Law:
    return [[(1 - rho) / size + (rho if x == y else 0) for y in range(size)] for x in range(size)]


def times(one: Law, other: Law) -> Law:
    """Two releases, or two attributes: one published record is both of what is shown."""
    both = list(product(range(len(one)), range(len(other))))
    width = list(product(range(len(one[0])), range(len(other[0]))))
    return [[one[x][y] * other[u][v] for y, v in width] for x, u in both]


LAWS: dict[str, Law] = {
    "retention": retention(Fraction(1, 3), 4),
    "lopsided": fractions([[9, 1], [3, 7]]),
    "matrix": fractions([[5, 3, 2], [2, 5, 3], [3, 3, 4]]),
    "rare": fractions([[98, 1, 1], [90, 9, 1], [50, 25, 25]]),
    "two attributes": times(retention(Fraction(1, 2), 2), fractions([[5, 3, 2], [2, 5, 3], [3, 3, 4]])),
    "two releases": times(retention(Fraction(1, 4), 3), retention(Fraction(1, 4), 3)),
}


def ratio_of(law: Law) -> Fraction:
    return max(one[y] / other[y] for one in law for other in law for y in range(len(one)))


def splits(one: list[Fraction], other: list[Fraction]) -> Iterator[Split]:
    """The records that lean to the one by some factor, and those that lean to the other by as much."""
    factors = sorted({max(a / b, b / a) for a, b in zip(one, other, strict=True)} - {Fraction(1)})
    for factor in factors:
        yield (
            frozenset(y for y in range(len(one)) if one[y] >= factor * other[y]),
            frozenset(y for y in range(len(one)) if other[y] >= factor * one[y]),
        )


def masses(one: list[Fraction], other: list[Fraction], split: Split) -> Mass:
    """a(G), a(H), b(H), b(G): right and wrong of the first record, right and wrong of the second."""
    lean, away = split

    def mass(law: list[Fraction], part: frozenset[int]) -> Fraction:
        return sum((law[y] for y in part), Fraction(0))

    return mass(one, lean), mass(one, away), mass(other, away), mass(other, lean)


def growth(
    right_of_one: Fraction, wrong_of_one: Fraction, right: Fraction, wrong: Fraction, p: Fraction, q: Fraction
) -> Fraction:
    z, w = q / p, (1 - q) / (1 - p)
    return (1 + right_of_one * (z - 1) + wrong_of_one * (w - 1)) * (1 + right * (z - 1) + wrong * (w - 1))


def pairs_of(law: Law) -> Iterator[Mass]:
    for one, other in combinations(law, 2):
        for split in splits(one, other):
            yield masses(one, other, split)


@pytest.mark.parametrize("name", LAWS)
def test_both_inequalities_of_the_proof_hold_for_every_pair_of_records(name: str) -> None:
    law, tried = LAWS[name], 0
    ratio = ratio_of(law)
    p = ratio / (1 + ratio)
    for right_of_one, wrong_of_one, right, wrong in pairs_of(law):
        assert right_of_one + right <= ratio * (wrong_of_one + wrong)
        for q in (p + (1 - p) * Fraction(step, 10) for step in range(1, 10)):
            assert growth(right_of_one, wrong_of_one, right, wrong, p, q) <= 1
            tried += 1
    assert tried


@pytest.mark.parametrize("name", LAWS)
def test_a_smaller_claim_than_the_laws_own_is_beaten_by_some_pair(name: str) -> None:
    """Power: the same product grows, for some pair and some q, if epsilon is claimed a fifth too small."""
    ratio = ratio_of(LAWS[name])
    claimed = Fraction(math.exp(0.8 * math.log(ratio))).limit_denominator(10**6)
    p = claimed / (1 + claimed)
    chosen = [p + (1 - p) * Fraction(step, 40) for step in range(1, 40)]
    assert any(growth(*mass, p, q) > 1 for mass in pairs_of(LAWS[name]) for q in chosen)


def test_guesses_about_a_single_person_are_no_coins() -> None:
    """Why an interval for coins would not do: one of the two is guessed better than p, the other worse."""
    law = LAWS["lopsided"]
    ratio = ratio_of(law)
    mass = next(pairs_of(law))
    assert mass[0] / (mass[0] + mass[1]) == Fraction(9, 10) > ratio / (1 + ratio) == Fraction(7, 8)
    assert mass[2] / (mass[2] + mass[3]) == Fraction(7, 10)


def chances(mass: Mass, pairs: int) -> dict[tuple[int, int], float]:
    """The exact law of right and wrong guesses in so many pairs of these two records."""
    right_of_one, wrong_of_one, right, wrong = map(float, mass)
    single = [{(1, 0): r, (0, 1): w, (0, 0): 1 - r - w} for r, w in ((right_of_one, wrong_of_one), (right, wrong))]
    found = {(0, 0): 1.0}
    for record in single * pairs:
        after: dict[tuple[int, int], float] = {}
        for (r, w), chance in found.items():
            for (more, less), own in record.items():
                after[r + more, w + less] = after.get((r + more, w + less), 0.0) + chance * own
        found = after
    return found


@pytest.mark.parametrize("name", ["retention", "lopsided", "matrix", "rare"])
def test_the_chance_of_false_alarm_is_what_was_asked_for(name: str) -> None:
    epsilon = math.log(ratio_of(LAWS[name]))
    bound = cache(lambda right, wrong, q: least_epsilon(Guesses(right, wrong, q), 0.05))
    for mass in pairs_of(LAWS[name]):
        law = chances(mass, 20)
        for q in (0.6, 0.8, 0.9, 0.97):
            alarm = sum(c for (r, w), c in law.items() if bound(r, w, q) > epsilon * (1 + 1e-12))
            assert alarm <= 0.05
    strongest = max(pairs_of(LAWS[name]), key=lambda mass: float((mass[0] + mass[2]) / (mass[1] + mass[3])))
    share = float((strongest[0] + strongest[2]) / sum(strongest))
    seen = chances(strongest, 60)
    noticed = sum(c for (r, w), c in seen.items() if least_epsilon(Guesses(r, w, share), 0.05) > epsilon / 3)
    assert noticed > 0.02, "and it is no bound that never speaks"


def test_the_bound_is_the_edge_of_what_is_ruled_out() -> None:
    guesses = Guesses(900, 100, 0.9)
    found = least_epsilon(guesses, 1e-6)
    p = math.exp(found) / (1 + math.exp(found))
    evidence = 900 * math.log(0.9 / p) + 100 * math.log(0.1 / (1 - p))
    assert evidence == pytest.approx(-math.log(1e-6), rel=1e-9)
    assert 0 < found < math.log(9)
    for nothing in (Guesses(0, 0, 0.5), Guesses(0, 50, 0.9), Guesses(5, 0, 0.5), Guesses(30, 40, 0.9)):
        assert least_epsilon(nothing) == 0.0
    assert least_epsilon(Guesses(1000, 0, 0.999)) > 3


def test_the_half_that_counts_is_not_the_half_that_chooses() -> None:
    """Pairs of the first half lean right and those of the second wrong: nothing may be found."""
    leaning = np.concatenate([np.full(400, 2.0), np.full(400, -2.0)])
    guesses = guesses_of(leaning)
    assert (guesses.right, guesses.wrong) == (0, 400) and guesses.expected > 0.99
    assert least_epsilon(guesses) == 0.0
    assert guesses_of(np.zeros(2)) == Guesses(0, 0, 0.5)
