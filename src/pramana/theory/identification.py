"""Paper 2: the chance of a correct match under a known matrix. Symbols and corrections: identification.md.

`chances` are the paper's alpha: chances[i] is the probability that a record of true category i is published as
the target's category; `counts` are the paper's T. Integer chances are taken out of 2^62 and decided exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ONE = 1 << 62  # integer chances are out of this, the resolution they are sampled at

_EXACT_TERMS = 64  # sums of at most so many fractions are taken exactly; longer ones in floats, rounded up
_ROOM = 1e-9  # relative room for the rounding of the float sums and convolutions, all of positive terms
_FURTHEST = 4096  # a largest risk below 1/4096 is not resolved further
_DIRECT = 1 << 22  # convolutions of more products than this go through the Fourier transform
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


# ---------------------------------------------------------------- the closed solution


def psi(frequency: float, theta: float) -> float:
    """Eq. 11: (T1-theta)/(T1(T1-theta)+theta^2), an upper bound of R1(1,t) whatever the partners."""
    return (frequency - theta) / (frequency * (frequency - theta) + theta * theta)


def theta_for_xi(frequency: int, xi: Fraction | float) -> float:
    """theta* with psi(T1, theta*) = xi, in closed form; 0 where 1/T1 <= xi already.

    (-c + sqrt(c^2 + 4 xi c T1))/(2 xi), c = 1 - xi T1, written so that nothing cancels.
    """
    c = float(1 - Fraction(xi) * frequency)
    if c <= 0:
        return 0.0
    return 2 * c * frequency / (c + math.sqrt(c * c + 4 * float(xi) * c * frequency))


def block_size(frequency: int, xi: Fraction | float) -> int:
    """max(2, ceil(T1/(T1-theta*))): enough partners of at least T1 records for Theorem 3.1.

    Correction: the ceiling, not "the largest integer contained", which breaks the bound. Decided in rationals:
    with x = T1/(T1-theta), psi = xi reads T1(x-1)^2 = (1/xi - T1) x, so K suffices iff T1(K-1)^2 >= (1/xi-T1) K.
    """
    gap = 1 / Fraction(xi) - frequency
    if gap <= 0:
        return 2
    size = max(2, math.floor(frequency / (frequency - theta_for_xi(frequency, xi))) - 1)
    while frequency * (size - 1) ** 2 < gap * size:
        size += 1
    return size


def minimal_block_size(frequency: int, theta: float, smallest_partner: int) -> int:
    """The exact condition of Theorem 3.1: k1 - 1 >= theta T1/((T1-theta) min T_j)."""
    if not 0 <= theta < frequency:
        raise ValueError(f"theta must lie from 0 up to, not including, {frequency}, got {theta}")
    need = theta * frequency / ((frequency - theta) * smallest_partner)
    return max(2, 1 + math.ceil(need))


def theta_for_pair(frequency: ArrayLike, partner: ArrayLike, xi: Fraction | float) -> Floats:
    """theta at which R1(1,t) of a block of two is xi exactly: a quadratic, smaller than theta*. Elementwise.

    T1 + theta^2 T2/((T1-theta)(T2-theta)) = 1/xi. A partner of at least 1/xi records always satisfies
    Theorem 3.1's condition (identification.md), so a block of two is then enough.
    """
    t1, t2 = np.asarray(frequency, np.float64), np.asarray(partner, np.float64)
    wanted = 1 / Fraction(xi)
    gap = np.vectorize(lambda t: float(max(wanted - int(t), Fraction(0))), otypes=[np.float64])(t1)
    linear = gap * (t1 + t2)
    root = np.sqrt(np.maximum(linear**2 + 4 * (t2 - gap) * gap * t1 * t2, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        theta: Floats = np.where(gap > 0, 2 * gap * t1 * t2 / (linear + root), 0.0)
    return theta


def risk_of_one(frequency: int, theta: float, partners: Sequence[int]) -> float:
    """R1(1,t) of an inverse-frequency block: [T1 + theta/(T1-theta) sum theta T_i/((k1-1)T_i-theta)]^-1."""
    if not 0 <= theta < frequency:
        raise ValueError(f"theta must lie from 0 up to, not including, {frequency}, got {theta}")
    t = np.asarray(partners, np.float64)
    total = float((theta * t / (len(t) * t - theta)).sum()) if len(t) else 0.0
    return 1 / (frequency + theta / (frequency - theta) * total)


def inverse_frequency_matrix(counts: Sequence[int], theta: float) -> Floats:
    """Eq. 3 for one block: 1 - theta/T_i on the diagonal, theta/((k1-1)T_i) off it."""
    t = np.asarray(counts, np.float64)
    matrix = np.repeat((theta / ((len(t) - 1) * t))[:, None], len(t), axis=1)
    np.fill_diagonal(matrix, 1 - theta / t)
    return matrix


# ---------------------------------------------------------------- the intruder who sees the target's count


def risks(chances: ArrayLike, counts: ArrayLike, target: int, most: int | None = None) -> Floats:
    """R1(a,t) for a = 1, 2, ..., `most` (default: all records); nan where S_1 = a cannot happen.

    Eq. 10: (1/a)(1 + Sigma_a/(beta_1 Sigma_{a-1}))^-1 with T_1 - 1 in place of T_1, by Poisson-binomial ratios.
    """
    odds, others = _others(_odds(chances), counts, target)
    return _risks(odds, others, float(odds[target]), most)


def _risks(odds: Floats, others: Integers, own: float, most: int | None) -> Floats:
    certain = int(others[np.isinf(odds)].sum())
    free = np.isfinite(odds) & (odds > 0) & (others > 0)
    last = certain + int(others[free].sum())  # others on the target's category: from `certain` to `last`
    top = last + 1 if most is None else most
    a = np.arange(1, top + 1, dtype=np.float64)
    ratio = np.full(top, np.nan)  # P(X = a)/P(X = a-1), X the others on the target's category
    inside = (a > certain) & (a <= last)
    ratio[inside] = count_ratios(odds[free], others[free], min(top, last) - certain)
    ratio[a == last + 1] = 0.0
    if own == 0:
        return np.where((a >= certain) & (a <= last), 0.0, np.nan)
    found: Floats = 1 / (a * (1 + ratio / own))
    if not math.isinf(own):
        found[a == certain] = 0.0  # all of them certain: the target is not among them
    return found


def count_ratios(odds: Floats, counts: Integers, most: int) -> Floats:
    """P(X = a)/P(X = a-1) for a = 1 .. most, X the number of successes among trials of these odds.

    Tilting the odds by s moves the mean of X without changing these ratios but for the factor s, so each
    window of counts is convolved where it carries the weight: positive terms only, nothing underflows.
    """
    total = int(counts.sum()) if len(counts) else 0
    most = max(0, min(most, total))
    odds, counts = _merged(odds, counts)
    found = np.empty(most)
    done, reach = 0, 0.5
    while done < most:
        tilt = tilt_to(odds, counts, min(done + reach, total - 0.5))
        first, law, least = _law(odds * tilt, counts)
        inside = law[done - first :] > least if done >= first else np.zeros(1, bool)
        length = len(inside) if inside.all() else int(inside.argmin())  # the law has one peak
        if length < 2:  # aimed too far: at done + 1/2 both neighbours carry weight
            if reach == 0.5:
                raise ArithmeticError("these odds are too far apart for a window of counts")
            reach = 0.5
            continue
        high = min(most, done + length - 1)
        window = law[done - first : high - first + 1]
        found[done:high] = window[1:] / window[:-1] / tilt
        done, reach = high, max(0.5, 0.4 * length)
    return found


def count_law(chances: ArrayLike, counts: ArrayLike) -> tuple[int, Floats]:
    """The Poisson-binomial law of a count: its first value and the probabilities from there on."""
    first, law, _ = _law(*_merged(_odds(chances), np.asarray(counts, np.int64)))
    scaled: Floats = law / law.sum()
    return first, scaled


def _law(odds: Floats, counts: Integers) -> tuple[int, Floats, float]:
    """First value, terms scaled to a largest of 1, and the least term that is good to some 12 digits.

    Left out are terms 1e-40 of the largest of their binomial. A Fourier transform errs by 1e-16 of the largest.
    """
    first, law, least = 0, np.ones(1), 1e-25
    for ratio, count in zip(odds, counts, strict=True):
        start, part = binomial_terms(int(count), float(ratio))
        if len(law) * len(part) <= _DIRECT:
            law = np.convolve(law, part)
        else:
            law, least = np.maximum(scipy.signal.fftconvolve(law, part), 0.0), 1e-4
        law /= law.max()
        first += start
    return first, law, least


def overall_match(chances: ArrayLike, counts: ArrayLike, target: int) -> float:
    """The chance of a correct match before anything is seen: sum_a P(S_1=a) R1(a,t) = alpha_1 E[1/(1+X)]."""
    alpha = np.asarray(chances, np.float64)
    _others(_odds(alpha), counts, target)  # checks
    return float(overall_matches(alpha, counts)[target])


def overall_matches(chances: Floats, counts: ArrayLike) -> Floats:
    """alpha_c E[1/(1+X)] for a target in each category c in turn, X the others in the guessed category.

    E[1/(1+X)] is the integral over u in (0,1) of E[(1-u)^X], a product of powers, by Gauss-Legendre. It falls
    faster than e^(-mean u), so where the mean is large only the beginning counts.
    """
    t = np.asarray(counts, np.float64)
    mean = float((t * chances).sum())
    width = min(1.0, 60 / mean) if mean > 0 else 1.0
    u = width / 2 * (_NODES + 1)
    logs = np.log1p(-np.outer(chances, u))
    together = np.exp(t @ logs)  # E[(1-u)^(X with the target)]
    without: Floats = (together * np.exp(-logs)) @ (width / 2 * _WEIGHTS)
    matches: Floats = np.where(t > 0, chances * without, 0.0)
    return matches


def largest_risk(chances: Sequence[int] | Integers, counts: Sequence[int] | Integers, target: int) -> Fraction:
    """The largest R1(a,t) over every a that can happen, from integer chances out of ONE; never too small.

    Exact where Theorem 3.1 holds in the integers (beta_1 >= beta_j) and the sum is short. Otherwise a runs to
    1/R1(1,t) and no further, because R1(a,t) <= 1/a; floats, rounded up.
    """
    w, t = np.asarray(chances, np.int64), np.asarray(counts, np.int64)
    if t[target] < 1:
        raise ValueError("the target's category must have a record")
    own, live = int(w[target]), (w > 0) & (t > 0)
    if own == 0:
        return Fraction(0)
    if own == ONE:  # the target stays: R1(a) = 1/a, largest at the fewest who share its category for certain
        return Fraction(1, int(t[w == ONE].sum()))
    if (w[live] <= own).all():
        return _risk_at_one(w[live], t[live], own)
    return _scanned(w, t, target)


def _risk_at_one(w: Integers, t: Integers, own: int) -> Fraction:
    """R1(1,t) = [1 + sum T*_i beta_i/beta_1]^-1 = [T_1 + sum_{i>=2} T_i beta_i/beta_1]^-1."""
    if (w == own).all():
        return Fraction(1, int(t.sum()))
    if len(w) <= _EXACT_TERMS:
        odds = Fraction(own, ONE - own)
        total = sum((Fraction(int(c) * int(x), ONE - int(x)) for x, c in zip(w, t, strict=True)), Fraction(0))
        return 1 / (total / odds)  # the target's own term T_1 beta_1/beta_1 = (T_1 - 1) + 1
    real = w / ONE
    total_float = float((t * (real / (1 - real))).sum()) / (own / (ONE - own))
    return Fraction(1 / total_float * (1 + _ROOM))


def bound_over_counts(
    chances: Sequence[int] | Integers, counts: Sequence[int] | Integers, target: int
) -> Fraction:
    """[1 + sum_i T*_i min(1, beta_i/beta_1)]^-1 >= R1(a,t) for every a; equal at a = 1 under Theorem 3.1.

    Ours: 1/R1(a,t) = a + (1/beta_1) E[sum of the odds of those not in the category | a-1 others are in it], at
    least a plus the N-a+1 smallest odds, and the least of that over a (identification.md). Rounded up.
    """
    w, t = np.asarray(chances, np.int64), np.array(counts, np.int64)
    own = int(w[target])
    if own == 0:
        return Fraction(0)
    t[target] -= 1
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(w >= own, 1.0, w / (ONE - w) * ((ONE - own) / own))
    return Fraction(min(1.0, 1 / (1 + float((t * shares).sum())) * (1 + _ROOM)))


def _scanned(w: Integers, t: Integers, target: int) -> Fraction:
    bound = bound_over_counts(w, t, target)
    with np.errstate(divide="ignore"):
        odds, others = _others(w / (ONE - w), t, target)  # from the integers: nothing cancels near 1
    total, upto = int(others[odds > 0].sum()) + 1, 16
    while True:
        some = _risks(odds, others, float(odds[target]), min(upto, total))
        found = float(np.nanmax(some, initial=0.0)) * (1 + _ROOM)
        if upto >= total or found * upto >= 1:
            return min(bound, Fraction(found))
        if upto >= _FURTHEST:
            return min(bound, max(Fraction(found), Fraction(1, upto + 1)))
        upto *= 2


def squared_errors(matrix: Floats, counts: ArrayLike) -> Floats:
    """E[(S_j - T_j)^2] of every category, in records: binomial variances, and the square of any drift."""
    t = np.asarray(counts, np.float64)
    variance = t @ (matrix * (1 - matrix))
    drift = t @ matrix - t
    errors: Floats = variance + drift**2
    return errors


# ---------------------------------------------------------------- pieces


def _odds(chances: ArrayLike) -> Floats:
    """The paper's beta = alpha/(1-alpha); infinite for the certain."""
    alpha = np.asarray(chances, np.float64)
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise ValueError("chances must lie between 0 and 1")
    with np.errstate(divide="ignore"):
        odds: Floats = alpha / (1 - alpha)
    return odds


def _others(odds: Floats, counts: ArrayLike, target: int) -> tuple[Floats, Integers]:
    t = np.array(counts, np.int64)
    if odds.shape != t.shape or odds.ndim != 1:
        raise ValueError(f"chances and counts must be lists of one length, got {odds.shape} and {t.shape}")
    if (t < 0).any() or t[target] < 1:
        raise ValueError("counts must not be negative, and the target's category must have a record")
    t[target] -= 1  # the target itself is not among the others
    return odds, t


def _merged(values: Floats, counts: Integers) -> tuple[Floats, Integers]:
    """Equal chances are one binomial."""
    live = (counts > 0) & (values > 0)
    distinct, where = np.unique(values[live], return_inverse=True)
    together = np.zeros(len(distinct), np.int64)
    np.add.at(together, where, counts[live])
    return distinct, together


def tilt_to(odds: Floats, counts: Integers, aim: float) -> float:
    """s with sum T_i s beta_i/(1 + s beta_i) = aim."""

    def excess(logarithm: float) -> float:
        moved = odds * math.exp(logarithm)
        return float((counts * (moved / (1 + moved))).sum()) - aim

    total = float(counts.sum())
    centre = math.log(aim / (total - aim))  # with every odds at the largest or the smallest, exact
    low, high = centre - math.log(float(odds.max())) - 1, centre - math.log(float(odds.min())) + 1
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-6)))


def binomial_terms(trials: int, odds: float) -> tuple[int, Floats]:
    """Binomial masses by ratios outwards from the mode, until they are 1e-40 of it; not scaled."""
    if math.isinf(odds):
        return trials, np.ones(1)
    chance = odds / (1 + odds)
    mode = min(trials, math.floor((trials + 1) * chance))
    reach = math.ceil(14 * math.sqrt(trials * chance * (1 - chance)) + 60)
    up = np.arange(mode + 1, min(trials, mode + reach) + 1, dtype=np.float64)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=np.float64)
    right = np.cumprod((trials - up + 1) / up * odds)
    left = np.cumprod(down / (trials - down + 1) / odds)
    right, left = right[right > 1e-40], left[left > 1e-40]
    return mode - len(left), np.concatenate([left[::-1], np.ones(1), right])
