"""Paper 2's intruder made stronger: one who sees every published count, and may guess any record.

With others' counts S' and the target's own law p, the outcome s gives P(Z = g | s) = p_g P(S' = s - e_g) / sum_l
p_l P(S' = s - e_l), and a guess among the s_g records published as g is right with that chance over s_g.
Statements and proofs: identification.md. `weights` are rows of integers out of 2^62, one block at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pramana.theory import identification, pk

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ONE = identification.ONE

WORK = 1e8  # additions that an exact enumeration of outcomes may take
TAIL = 1e-9  # outcomes of this total probability may be left out of a bound, which then says so
_SEARCH = 2e4  # additions a search for the worst outcome takes, times the cube of the block's size
_PROTECTED = 0.9  # only categories whose risk the block lowers by a tenth are worth that search
_EXACT_BLOCK = 4  # blocks up to this size are bounded in rationals, larger ones in floats rounded up
_LARGEST_BLOCK = 512  # past this size only the block's Pk bound is taken
_ROOM = 1e-9
_MOST_MOVERS = 100  # movers of a category that are counted; far past the mean, which must be below a fifth of it
_SAME = 1e-6  # relative difference up to which a matrix counts as one of these


@dataclass(frozen=True)
class OutcomeRisk:
    """The largest chance of a correct match over outcomes; `exact`, or else an upper bound.

    `left_out` is the total probability of outcomes it does not speak of: zero, or at most TAIL. `found` is the
    chance at an outcome that a search met: the largest lies between it and `value`.
    """

    value: Fraction
    exact: bool
    left_out: float = 0.0
    found: float | None = None


def largest_risks_all_counts(
    weights: Integers, counts: Integers, targets: list[int], work: float = WORK
) -> list[OutcomeRisk]:
    """The same for several targets of one block."""
    live = _possible(weights, counts)
    weights, counts = weights[np.ix_(live, live)], counts[live]
    places = np.searchsorted(live, targets).tolist()
    if len(counts) <= 2:
        return [OutcomeRisk(_of_pair(weights, counts, place), True) for place in places]
    if outcomes_work(counts) * len(places) <= work:
        largest = (enumerated_risk(weights / ONE, counts, place)[0] for place in places)
        return [OutcomeRisk(Fraction(min(1.0, risk * (1 + _ROOM))), True) for risk in largest]
    if len(counts) > _LARGEST_BLOCK:
        return [OutcomeRisk(_pk_bound(weights, counts), False)] * len(places)
    fewest = None if (weights > 0).all() else _fewest(weights / ONE, counts, TAIL / len(counts))
    bounds = [OutcomeRisk(*bounded_risk(weights, counts, place, fewest)) for place in places]
    law = one_law_of(weights / ONE) if _SEARCH * len(counts) ** 3 <= work else None
    if law is None:
        return bounds
    return [
        replace(bound, found=worst_found(law, counts, place)[0])
        if bound.value * int(counts[place]) < _PROTECTED
        else bound
        for bound, place in zip(bounds, places, strict=True)
    ]


def _of_pair(weights: Integers, counts: Integers, target: int) -> Fraction:
    """The count of one category tells the other: only the guess may be better than the first intruder's."""
    found = identification.largest_risk(weights[:, target], counts, target)
    for g in range(len(counts)):  # another guess is worth a look only where its bound is larger
        if identification.bound_over_counts(weights[:, g], counts, target) > found:
            found = max(found, identification.largest_risk(weights[:, g], counts, target))
    return found


def bounded_risk(
    weights: Integers, counts: Integers, target: int, fewest: Integers | None = None
) -> tuple[Fraction, bool, float]:
    """max_g 1/D_g, D_g = 1 + sum_i T'_i min_l p_l p_ig/(p_g p_il): Theorem 3 of paper 1 for this table's counts.

    T' are the counts without the target, p the target's row; l runs over the values that i may take. Where some
    i can leave for a value closed to the target, D_g is small only in outcomes that never happen: `fewest` gives
    counts that are undercut with probability TAIL at most, and the bound then speaks of the other outcomes.
    """
    size = len(counts)
    others = counts.copy()
    others[target] -= 1
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(weights > 0, weights[target] / weights, np.inf)  # [i, l]: p_l/p_il
    cheapest = over.min(axis=1)  # the best l does not depend on the guess
    least = _denominators(weights, others * cheapest, target)
    if fewest is None:
        if size <= _EXACT_BLOCK:
            return _in_rationals(weights, others, target, over.argmin(axis=1)), False, 0.0
        return rounded(least.min()), False, 0.0
    # Of the s_l records at l no more come from elsewhere than there are elsewhere: the rest of l's own stay.
    reach = ((weights > 0) & ~np.eye(size, dtype=bool)).astype(np.int64)
    stay = np.clip(fewest - others @ reach, 0, others)
    likely = _denominators(weights, (others - stay) * cheapest + stay * np.diag(over), target)
    likely = np.maximum(likely, np.where(weights[target] > 0, np.maximum(fewest, 1), np.inf))
    if likely.min() > least.min():
        return rounded(likely.min()), False, TAIL
    return rounded(least.min()), False, 0.0


def rounded(denominator: float) -> Fraction:
    """1/D, upwards."""
    return Fraction(min(1.0, 1 / float(denominator) * (1 + _ROOM)))


def _denominators(weights: Integers, costs: Floats, target: int) -> Floats:
    """D_g for every guess g: 1 + sum_i costs_i p_ig/p_g; infinite for a guess that cannot be right."""
    real = weights / ONE
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(real[target] > 0, 1 + (costs @ real) / real[target], np.inf)
    return found


def _in_rationals(weights: Integers, others: Integers, target: int, cheapest: NDArray[np.intp]) -> Fraction:
    """The same without rounding, for small blocks; floats chose the cheapest l, and a near-tie is as good."""
    rows = list(zip(others.tolist(), cheapest.tolist(), weights.tolist(), strict=True))
    own = weights[target].tolist()
    totals = [
        1 + sum((Fraction(n * own[at] * row[g], own[g] * row[at]) for n, at, row in rows), Fraction(0))
        for g in range(len(own))
        if own[g] > 0
    ]
    return (1 + Fraction(1, 10**12)) / min(totals)


def _fewest(matrix: Floats, counts: Integers, tail: float) -> Integers:
    """For every category the largest m with P(S_g < m) <= tail."""
    found = []
    for g in range(len(counts)):
        first, law = identification.count_law(matrix[:, g], counts)
        found.append(first + int(np.searchsorted(np.cumsum(law), tail * (1 - _ROOM), side="right")))
    return np.array(found, np.int64)


def _pk_bound(weights: Integers, counts: Integers) -> Fraction:
    """Theorem 3 of paper 1 for the block as a table of its own: the same for every target in it."""
    return 1 / pk.k_from_ratio(int(counts.sum()), pk.anonymity_ratio_of_matrix(weights))


def _possible(matrix: Floats | Integers, counts: Integers) -> NDArray[np.intp]:
    """The categories that have a record or may be published."""
    return np.flatnonzero((counts > 0) | (matrix[counts > 0] > 0).any(axis=0))


def outcomes_work(counts: Integers) -> float:
    """Additions an enumeration takes: every record times every category times every outcome."""
    records, size = int(counts.sum()), len(counts)
    if (size - 1) * math.log(records + 1) > 100:
        return math.inf
    return float(records) * size * math.pow(records + 1, size - 1)


def enumerated_risk(matrix: Floats, counts: Integers, target: int) -> tuple[float, float]:
    """Largest and expected chance of a correct match, by the law of every outcome."""
    others = np.array(counts)
    others[target] -= 1
    law = _outcome_law(matrix, others)
    size, records = len(counts), int(counts.sum())
    joint, seats = [], []  # P(Z = g, S = s) and s_g, over s_1 .. s_{size-1}
    places = np.indices((records + 1,) * (size - 1))
    for g in range(size):
        shifted = np.zeros((records + 1,) * (size - 1))
        into = tuple(slice(1, None) if axis == g else slice(0, -1) for axis in range(size - 1))
        shifted[into] = law
        joint.append(float(matrix[target, g]) * shifted)
        seats.append(places[g] if g < size - 1 else records - places.sum(axis=0))
    together = np.sum(joint, axis=0)
    best = np.zeros_like(joint[0])
    for chance, seat in zip(joint, seats, strict=True):
        best = np.maximum(best, np.where(chance > 0, chance / np.maximum(seat, 1), 0.0))
    happens = together > 0
    return float((best[happens] / together[happens]).max()), float(best.sum())


def _outcome_law(matrix: Floats, others: Integers) -> Floats:
    """P(S' = s') over the first size-1 counts: one record after another, additions of positive terms only."""
    size, records = len(others), int(others.sum())
    law = np.zeros((records + 1,) * (size - 1))
    law[(0,) * (size - 1)] = 1.0
    for i, number in enumerate(others.tolist()):
        for _ in range(number):
            fresh = matrix[i, size - 1] * law
            for g in range(size - 1):
                if matrix[i, g] > 0:
                    to = tuple(slice(1, None) if axis == g else slice(None) for axis in range(size - 1))
                    fro = tuple(slice(0, -1) if axis == g else slice(None) for axis in range(size - 1))
                    fresh[to] += matrix[i, g] * law[fro]
            law = fresh
    return law


def matches_all_counts(matrix: Floats, counts: Integers) -> list[tuple[float, float]]:
    """The intervals for a target in each category: best fixed guess, and the sum over guesses."""
    columns = np.array([identification.overall_matches(matrix[:, g], counts) for g in range(len(counts))])
    return [(float(c.max()), min(1.0, float(c.sum()))) for c in columns.T]


# ---------------------------------------------------------------- a search for the worst outcome
# How far the intruder who sees every count really gets: exact chances at single outcomes, and a search.
#
# `bounded_risk` says how bad an outcome can be at most; this finds one that is nearly as bad. It is for matrices
# in which whoever moves chooses the new category by one law for all: p_ij = a_i q_j off the diagonal, as in
# inverse-frequency blocks (a_i = k theta/((k-1) T_i), q = 1/k) and in pools. Movers u_i and arrivals v_i give
#
#     P(S = T + d) = sum_m m! [z^m] prod_i sum_u Bin(u; T_i, a_i) q_i^(u+d_i)/(u+d_i)! z^u,
#
# one polynomial in one variable, whatever the number of categories and records (identification.md).


@dataclass(frozen=True)
class OneLaw:
    """Chance to move, by category, and the law of where to (staying is one of its values)."""

    moves: tuple[float, ...]
    places: tuple[float, ...]


def one_law_of(matrix: Floats) -> OneLaw | None:
    """a and q of a matrix with p_ij = a_i q_j off the diagonal; None for others, and for fewer than three rows."""
    size = len(matrix)
    if size < 3 or not (matrix > 0).all():
        return None
    places = matrix[0].copy()
    places[0] = matrix[1, 0] / matrix[1, 2] * matrix[0, 2]
    places /= places.sum()
    leave = 1 - np.diag(matrix)
    moves = leave / (1 - places)
    rebuilt = np.outer(moves, places)
    np.fill_diagonal(rebuilt, 1 - leave)
    if not np.allclose(rebuilt, matrix, rtol=_SAME, atol=0):
        return None
    return OneLaw(tuple(moves.tolist()), tuple(places.tolist()))


def chances_at(law: OneLaw, counts: Integers, target: int, shift: tuple[int, ...]) -> tuple[Floats, float]:
    """For the outcome T + shift: the chance that a guess at each category is right, and its probability."""
    size = len(counts)
    others = counts.tolist()
    others[target] -= 1
    base = list(shift)
    base[target] += 1  # S' = s - e_g against T', which lacks the target too
    plain = [_series(others[i], law.moves[i], law.places[i], base[i]) for i in range(size)]
    lower = [_series(others[i], law.moves[i], law.places[i], base[i] - 1) for i in range(size)]
    before, after = [np.ones(1)], [np.ones(1)]
    for i in range(size - 1):
        before.append(_product(before[-1], plain[i]))
        after.append(_product(after[-1], plain[size - 1 - i]))
    row = np.array(law.places) * law.moves[target]
    row[target] += 1 - law.moves[target]
    joint = np.empty(size)
    for g in range(size):
        found = _product(_product(before[g], lower[g]), after[size - 1 - g])
        joint[g] = max(0.0, row[g] * float(found @ _factorials()[: len(found)]))
    seats = counts + np.array(shift)
    total = float(joint.sum())
    right = np.where(seats > 0, joint / np.maximum(seats, 1), 0.0)
    return (right / total if total > 0 else right), total


def worst_found(law: OneLaw, counts: Integers, target: int, steps: int = 40) -> tuple[float, float]:
    """The largest chance met by an uphill walk over outcomes, and that outcome's probability.

    It starts where nothing has changed but that one record is left in the target's category, and moves one
    record at a time. A lower bound of the largest over outcomes: it is attained.
    """
    size, away = len(counts), int(counts[target]) - 1
    if max(float(n) * a for n, a in zip(counts, law.moves, strict=True)) > _MOST_MOVERS / 5:
        return 0.0, 0.0
    best, at, seen = (0.0, 0.0), (0,) * size, set[tuple[int, ...]]()
    start = [0] * size
    start[target] = -away
    start[int(np.argmax(np.where(np.arange(size) == target, -1, counts)))] += away
    walk = [tuple(start), (0,) * size]
    for _ in range(steps):
        better = False
        for shift in walk:
            if shift in seen or min(c + s for c, s in zip(counts.tolist(), shift, strict=True)) < 0:
                continue
            seen.add(shift)
            right, total = chances_at(law, counts, target, shift)
            if total > 1e-12 and float(right.max()) > best[0]:
                best, at, better = (float(right.max()), total), shift, True
        if not better:
            break
        walk = _neighbours(at)
    return best


def _neighbours(at: tuple[int, ...]) -> list[tuple[int, ...]]:
    found = []
    for i in range(len(at)):
        for j in range(len(at)):
            if i != j:
                moved = list(at)
                moved[i] -= 1
                moved[j] += 1
                found.append(tuple(moved))
    return found


@lru_cache(maxsize=1)
def _factorials() -> Floats:
    return np.array([math.factorial(m) for m in range(_MOST_MOVERS + 1)], np.float64)


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    logarithms: Floats = np.log(_factorials())
    return logarithms


@lru_cache(maxsize=4096)
def _series(trials: int, move: float, place: float, shift: int) -> Floats:
    """sum_u Bin(u; trials, move) place^(u+shift)/(u+shift)! z^u. `move` may pass 1: the identity still holds."""
    terms = np.zeros(min(trials, _MOST_MOVERS) + 1)
    u = np.arange(max(0, -shift), min(len(terms), _MOST_MOVERS - shift + 1))
    if len(u) == 0:
        return terms
    logarithms = _log_binomial(trials, move)[u] + (u + shift) * math.log(place) - _log_factorials()[u + shift]
    signs = np.where((trials - u) % 2, -1.0, 1.0) if move > 1 else 1.0
    terms[u] = signs * np.exp(logarithms)
    return terms


@lru_cache(maxsize=1024)
def _log_binomial(trials: int, move: float) -> Floats:
    """ln C(trials, u) + u ln(move) + (trials-u) ln|1-move|: in logarithms, since C(60000, 100) is no float."""
    moved = np.arange(min(trials, _MOST_MOVERS) + 1)
    ways = np.cumsum(np.log(np.concatenate([[1.0], (trials - moved[1:] + 1) / moved[1:]])))
    stay = math.log1p(-move) if move < 1 else math.log(move - 1) if move > 1 else -math.inf
    stays = np.array([0.0 if n == trials else (trials - n) * stay for n in moved.tolist()])
    logarithms: Floats = ways + moved * math.log(move) + stays
    return logarithms


def _product(a: Floats, b: Floats) -> Floats:
    found: Floats = np.convolve(a, b)[: _MOST_MOVERS + 1]
    return found
