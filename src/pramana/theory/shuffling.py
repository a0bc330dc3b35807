"""What a keyed random order adds: central (epsilon, delta) from local epsilon. See shuffling.md.

Two laws of counts (a, b) of the values u and v: others fall on u, v, elsewhere with alpha, alpha, 1-2*alpha;
the target with p*alpha, alpha, rest under one neighbour and alpha, p*alpha, rest under the other.
delta(eps) = sum [P - e^eps Q]+. For one coin per record this is exact from three values on and an upper bound
for two (paper sheet); for any other channel it is the variation-ratio bound of Wang et al. (arXiv
2304.05007, Theorem 4.1): p = e^local epsilon, alpha = beta/(p-1), beta the largest total variation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from pramana.theory.rounding import float_down, float_up, log_up

Floats = NDArray[np.float64]
_TAIL = 1e-16  # probability left out on each side of the number of records on u or v; added to delta
_MOST_RATIO = 1e100  # beyond it products of two ratios leave the floats
_SAFETY = 1 + 1e-9  # relative room for the rounding of sums of a few thousand terms


def shuffled_delta(records: int, ratio: float, alpha: float, epsilon: float) -> float:
    """An upper bound, tight to rounding, on delta at `epsilon`; `ratio` is p = e^local epsilon."""
    if epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    if ratio <= 1 or alpha <= 0:
        return 0.0
    e = math.exp(epsilon)
    if e >= ratio:
        return 0.0
    n, both = records, min(1.0, 2 * alpha)
    low, high = _window(n, both)
    s = np.arange(low, high + 1, dtype=np.float64)
    weight = _binomial(n, both, s)
    # P - e^eps Q at counts (a, s-a), up to the Multinomial(n; alpha, alpha, 1-2alpha) mass and 1/n:
    #   (p - e) a + (1 - p e)(s - a) + (1 - e) kappa (n - s),  kappa = (1 - (p+1) alpha)/(1 - 2 alpha),
    # increasing in a, so it is positive from a threshold on.
    kappa = 0.0 if both >= 1 else max(0.0, (1 - (ratio + 1) * alpha) / (1 - 2 * alpha))
    slope = (ratio - e) - (1 - ratio * e)
    constant = (1 - ratio * e) * s + (1 - e) * kappa * (n - s)
    start = np.clip(np.ceil(-constant / slope), 0, s + 1)
    # E[(slope*A + constant)+] with A ~ Binomial(s, 1/2): two upper tails.
    upper = _upper_tail(s, start)
    shifted = _upper_tail(np.maximum(s - 1, 0), np.maximum(start - 1, 0))
    shifted = np.where(s > 0, shifted, 0.0)
    terms = slope * (s / 2) * shifted + constant * upper
    delta = float(np.dot(weight, np.maximum(terms, 0.0))) / n
    # Near the threshold two terms of the size of the mean leave one of the size of the spread.
    room = _SAFETY + 1e-12 * math.sqrt(n)
    return min(1.0, delta * room + 2 * _TAIL)


def shuffled_epsilon(records: int, ratio: Fraction | float, alpha: float, delta: float) -> float:
    """The smallest epsilon, rounded up, at which the shuffled release is (epsilon, delta)-private."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    p = float_up(Fraction(ratio))
    if p <= 1:
        return 0.0
    if p > _MOST_RATIO:  # shuffling adds nothing there, and a local epsilon is a central one
        return log_up(Fraction(ratio))
    if shuffled_delta(records, p, alpha, 0.0) <= delta:
        return 0.0
    most = math.nextafter(math.log(p), math.inf)

    def excess(epsilon: float) -> float:
        return math.log(max(shuffled_delta(records, p, alpha, epsilon), math.ulp(0.0)) / delta)

    epsilon = float(optimize.brentq(excess, 0.0, most, xtol=1e-12, rtol=1e-10))
    step = 1e-10
    while shuffled_delta(records, p, alpha, epsilon) > delta:  # end on the private side
        epsilon, step = min(most, epsilon * (1 + step)), 2 * step
    return epsilon


def variation_of_retentions(retentions: Sequence[float], sizes: Sequence[int]) -> float:
    """The largest total variation between two rows of independent retentions, rounded up.

    The worst pair differs in every attribute. Per attribute the outcome is u (d against q), v (q against d) or
    one of size-2 others (q against q); up to twelve attributes are enumerated, more are bounded by
    1 - prod(1 - rho).
    """
    live = [(rho, size) for rho, size in zip(retentions, sizes, strict=True) if size > 1]
    if len(live) > 12:
        return min(1.0, (1 - math.prod(1 - rho for rho, _ in live)) * _SAFETY)
    first, second = np.ones(1), np.ones(1)
    for rho, size in live:
        q = (1 - rho) / size
        d = rho + q
        first = np.concatenate([first * d, first * q, first * (q * (size - 2))])
        second = np.concatenate([second * q, second * d, second * (q * (size - 2))])
    return min(1.0, float(np.maximum(first - second, 0).sum()) * _SAFETY)


def alpha_from_variation(ratio: Fraction | float, variation: float) -> float:
    """alpha = beta/(p-1), with beta never above what p alone allows, (p-1)/(p+1). Larger is the safe side."""
    p = float_down(Fraction(ratio))
    return min(variation / (p - 1), 1 / (p + 1)) if p > 1 else 0.0


def _window(n: int, probability: float) -> tuple[int, int]:
    """Counts outside which Binomial(n, probability) has less than _TAIL on each side (Chernoff)."""
    mean = n * probability
    reach = math.sqrt(2 * mean * -math.log(_TAIL)) - math.log(_TAIL)
    return max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))


def _binomial(n: int, probability: float, s: Floats) -> Floats:
    """Binomial masses on a window, by ratios outwards from the largest, scaled to sum to one (upwards)."""
    if probability >= 1:
        return np.where(s == n, 1.0, 0.0)
    ratio = (n - s[:-1]) / (s[1:]) * (probability / (1 - probability))  # mass(s+1)/mass(s)
    mode = int(np.clip(math.floor((n + 1) * probability) - s[0], 0, len(s) - 1))
    right = np.cumprod(ratio[mode:])
    left = np.cumprod(1 / ratio[:mode][::-1])[::-1]
    mass: Floats = np.concatenate([left, np.ones(1), right])
    scaled: Floats = mass / mass.sum()
    return scaled


def _upper_tail(trials: Floats, start: Floats) -> Floats:
    """P(Binomial(trials, 1/2) >= start)."""
    inside = (start > 0) & (start <= trials)
    tail = special.betainc(np.where(inside, start, 1.0), np.where(inside, trials - start + 1, 1.0), 0.5)
    return np.where(inside, tail, np.where(start <= 0, 1.0, 0.0))
