"""How far the intruder who sees every count really gets: exact chances at single outcomes, and a search.

`every_count.bounded_risk` says how bad an outcome can be at most; this finds one that is nearly as bad. It works
for matrices in which whoever moves chooses the new category by one law for all: p_ij = a_i q_j off the diagonal,
as in inverse-frequency blocks (a_i = k theta/((k-1) T_i), q = 1/k) and in pools. Movers u_i and arrivals v_i give

    P(S = T + d) = sum_m m! [z^m] prod_i sum_u Bin(u; T_i, a_i) q_i^(u+d_i)/(u+d_i)! z^u,

one polynomial in one variable, whatever the number of categories and records (identification.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_MOVERS = 100  # movers of a category that are counted; far past the mean, which must be below a fifth of it
_SAME = 1e-6  # relative difference up to which a matrix counts as one of these


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
