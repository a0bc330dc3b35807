"""Paper 1: Pk-anonymity and epsilon of post-randomisation. Symbols, statements and corrections: pk.md.

Functions take Fractions and return Fractions wherever the result is rational, so that the same code checks a
certificate exactly and draws a curve. `ratio` is the paper's AR, `records` its |R|, `size` its |V_a|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.errors import UnreachableError
from pramana.theory.rounding import exp_down

Number = Fraction | float | int
MOST_EPSILON = 1000
GRID = 1 << 62  # retentions are searched among multiples of 2^-62, the resolution they are sampled at


# ---------------------------------------------------------------- from parameters to guarantees


def likelihood_ratio_from_retention(retention: Fraction, size: int) -> Fraction | None:
    """e^epsilon of one attribute: Corollary 2, (1+(V-1)rho)/(1-rho). None stands for infinity.

    Correction: a domain of one value tells nothing (ratio 1), though the formula says otherwise.
    """
    return likelihood_ratio_of_redraw(retention, Fraction(1, size))


def likelihood_ratio_of_redraw(retention: Fraction, least: Fraction) -> Fraction | None:
    """The same where redraws are not alike: 1 + rho/((1-rho)*least), `least` the chance of the least likely one.

    A value that is never drawn as a replacement is only ever published where it is true: None, for infinity.
    """
    if least == 1 or retention == 0:
        return Fraction(1)
    if retention == 1 or least == 0:
        return None
    return 1 + retention / ((1 - retention) * least)


def joint_likelihood_ratio(ratios: Iterable[Fraction | None]) -> Fraction | None:
    """Corollary 1: the epsilons of independent laws add up; None, for infinity, where one has none."""
    product = Fraction(1)
    for ratio in ratios:
        if ratio is None:
            return None
        product *= ratio
    return product


def anonymity_ratio_from_retention(retention: Fraction, size: int) -> Fraction:
    """AR of one attribute: Corollary 5, ((1-rho)/(1+(V-1)rho))^2."""
    return anonymity_ratio_of_redraw(likelihood_ratio_from_retention(retention, size))


def anonymity_ratio_of_redraw(likelihood_ratio: Fraction | None) -> Fraction:
    """AR of what is kept or redrawn: each of its two quotients is the least that the likelihood ratio allows."""
    return Fraction(0) if likelihood_ratio is None else 1 / likelihood_ratio**2


def k_from_ratio(records: int, ratio: Fraction) -> Fraction:
    """Theorem 3: Pk holds exactly for k <= 1 + (|R|-1)*AR."""
    return 1 + (records - 1) * ratio


def k_from_retention(records: int, retentions: Iterable[Number], sizes: Iterable[int]) -> Fraction:
    """Corollary 5: the product of the attributes' AR (exact when the private domain is the full product)."""
    ratio = Fraction(1)
    for retention, size in zip(retentions, sizes, strict=True):
        ratio *= anonymity_ratio_from_retention(Fraction(retention), size)
    return k_from_ratio(records, ratio)


def k_with_secret_sample(sampled: int, candidates: int, ratio: Fraction, smallest_ratio: Fraction) -> Fraction:
    """Our extension: `sampled` records drawn secretly and uniformly from `candidates` people.

    k >= 1 + (n-1)*AR + (N-n)*min A[v,u']/A[u,u']; `smallest_ratio` is that minimum, e^-epsilon.
    """
    if candidates < sampled:
        raise ValueError(f"candidates must be at least the {sampled} sampled records, got {candidates}")
    return 1 + (sampled - 1) * ratio + (candidates - sampled) * smallest_ratio


def epsilon_from_k(records: int, k: Number) -> float:
    """The epsilon at which retention-replacement reaches k: k = 1 + (R-1)*exp(-2*epsilon), whatever the V."""
    if k <= 1 or records <= 1:
        return math.inf
    return max(0.0, 0.5 * math.log((records - 1) / (float(k) - 1)))


# ---------------------------------------------------------------- dense matrices


def likelihood_ratio_of_matrix(weights: NDArray[np.int64]) -> Fraction | None:
    """Theorem 1: max over u, v, v' of A[u,v']/A[v,v'], column by column. None where a zero makes it infinite.

    Correction: a column that is all zero is never published and is dropped first.
    """
    largest, smallest = weights.max(axis=0), weights.min(axis=0)
    used = largest > 0
    if not used.all():
        largest, smallest = largest[used], smallest[used]
    if (smallest == 0).any():
        return None
    return max(Fraction(int(a), int(b)) for a, b in zip(largest, smallest, strict=True))


def anonymity_ratio_of_matrix(weights: NDArray[np.int64]) -> Fraction:
    """Theorem 3: AR = min over u, v, u', v' of A[u,v']A[v,u'] / (A[u,u']A[v,v']), exactly.

    The four-fold minimum splits: AR = min over pairs of rows of m(u,v)*m(v,u), m(u,v) = min_j A[u,j]/A[v,j].
    Floats find the candidates; every pair within their error of the least is then decided in integers.
    """
    rows = len(weights)
    if rows == 1:
        return Fraction(1)
    matrix = weights[:, weights.max(axis=0) > 0]
    if (matrix == 0).any():
        return Fraction(0)  # a zero beside a positive entry: someone's link can be certain, k = 1
    real = matrix.astype(np.float64)
    least = np.empty((rows, rows))
    for u in range(rows):
        least[u] = (real[u] / real).min(axis=1)
    both = least * least.T
    best = both.min()
    # Each entry carries at most a few rounding errors of 2^-53; 1e-12 is far above them.
    candidates = np.argwhere(np.triu(both <= best * (1 + 1e-12), k=0))
    return min(_exact_pair(matrix, int(u), int(v), real) for u, v in candidates)


def _exact_pair(matrix: NDArray[np.int64], u: int, v: int, real: NDArray[np.float64]) -> Fraction:
    def least(top: int, bottom: int) -> Fraction:
        quotients = real[top] / real[bottom]
        near = np.flatnonzero(quotients <= quotients.min() * (1 + 1e-12))
        return min(Fraction(int(matrix[top, j]), int(matrix[bottom, j])) for j in near)

    return least(u, v) * least(v, u)


# ---------------------------------------------------------------- from guarantees to parameters


def largest_on_grid(holds: Callable[[Fraction], bool]) -> Fraction:
    """The largest retention n/2^62 at which a condition holds that, once lost, stays lost as retention grows.

    The condition is evaluated in rationals, so the result is on the private side without any tolerance.
    """
    if holds(Fraction(1)):
        return Fraction(1)
    if not holds(Fraction(0)):
        raise UnreachableError("The guarantee must be reachable at retention 0, and is not")
    low, high = 0, GRID
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(Fraction(middle, GRID)) else (low, middle)
    return Fraction(low, GRID)


def check_k(records: int, k: Number) -> None:
    if not k >= 1 or k == math.inf:
        raise UnreachableError("k must be a number of at least 1", str(k))
    if k > records:
        raise UnreachableError(
            f"k must be at most the number of records, {records}",
            str(k),
            "No release of this table can hide a person among more records than it has.",
        )


def check_epsilon(epsilon: Number) -> None:
    """The upper bound is far beyond any use; without one e^epsilon would be written out digit by digit."""
    if not 0 < epsilon <= MOST_EPSILON:
        raise UnreachableError(
            f"epsilon must be a positive number of at most {MOST_EPSILON}",
            str(epsilon),
            "Smaller is more private; 1 to 4 is usual here.",
        )


def retention_for_pk(records: int, sizes: Sequence[int], k: Number) -> Fraction:
    """Algorithm 1: one retention for all attributes, the largest that reaches k."""
    check_k(records, k)
    wanted = Fraction(k)
    return largest_on_grid(lambda rho: k_from_retention(records, [rho] * len(sizes), sizes) >= wanted)


def retention_for_epsilon(sizes: Sequence[int], epsilon: Number) -> Fraction:
    """Algorithm 2: one retention for all attributes, the largest that stays within epsilon."""
    check_epsilon(epsilon)
    limit = exp_down(Fraction(epsilon))

    def holds(rho: Fraction) -> bool:
        joint = joint_likelihood_ratio(likelihood_ratio_from_retention(rho, size) for size in sizes)
        return joint is not None and joint <= limit

    return largest_on_grid(holds)


def retention_for_both(records: int, sizes: Sequence[int], k: Number, epsilon: Number) -> Fraction:
    """Algorithm 3: the smaller of the two."""
    return min(retention_for_pk(records, sizes, k), retention_for_epsilon(sizes, epsilon))


# ---------------------------------------------------------------- estimation error, for choosing


def variance_factor(retention: float, size: int) -> float:
    """h = (1 - 2q + V q^2)/rho^2, q = (1-rho)/V: a table's total inversion variance is n*(prod h - 1)."""
    if size == 1:
        return 1.0
    if retention <= 0:
        return math.inf
    q = (1 - retention) / size
    return (1 - 2 * q + size * q * q) / retention**2


def variance_factor_of_matrix(weights: NDArray[np.int64]) -> float:
    """The same h for any invertible matrix and a uniform true law: mean over u of sum_z A[u,z] |g(z)|^2.

    g(z) is column z of the inverse channel; infinite where the matrix cannot be inverted.
    """
    channel = weights / weights[0].sum()
    try:
        inverse = np.linalg.inv(channel)
    except np.linalg.LinAlgError:
        return math.inf
    return float((channel @ (inverse**2).sum(axis=1)).mean())


def coin_divergence(share: float, chance: float) -> float:
    """Kullback and Leibler's, in nats, of a coin that fell so from one that falls so."""
    if chance <= 0 or chance >= 1:
        return math.inf if share != chance else 0.0
    first = share * math.log(share / chance) if share > 0 else 0.0
    second = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return first + second
