"""Paper 3: perturbation at many levels, where collusion is useless. Symbols, statements, corrections: levels.md.

Everything here is exact: retentions are Fractions (or `Level`s, exact decimals), and every law is returned as
Fractions. A replacement law is a tuple of probabilities that sum to one; `uniform_law(s)` is the paper's.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

from pramana.errors import InputError
from pramana.theory.rounding import float_up

DIGITS = 12
GRID = 10**DIGITS  # levels are whole multiples of 1/GRID

Law = tuple[Fraction, ...]
Joint = dict[tuple[int, ...], Fraction]


# ---------------------------------------------------------------- levels


@dataclass(frozen=True, order=True)
class Level:
    """A retention that is an exact decimal: `steps` out of GRID. Two levels are one only if they are equal."""

    steps: int

    def __post_init__(self) -> None:
        if not 0 <= self.steps <= GRID:
            raise InputError("A level must lie between 0 and 1", str(Fraction(self.steps, GRID)))

    @classmethod
    def of(cls, value: str | int | float | decimal.Decimal | Fraction | Level) -> Level:
        """The level a person wrote. A float stands for the decimal it prints as, so 0.1 + 0.2 is no level."""
        if isinstance(value, Level):
            return value
        steps = _fraction_steps(value) if isinstance(value, Fraction) else _decimal_steps(value)
        if steps is None:
            raise InputError(
                f"A level must be a decimal with at most {DIGITS} digits after the point",
                str(value),
                "Levels are compared exactly: write 0.3 and not 0.1 + 0.2, 0.333 and not 1/3.",
            )
        return cls(steps)

    @property
    def retention(self) -> Fraction:
        return Fraction(self.steps, GRID)

    def __str__(self) -> str:
        whole, part = divmod(self.steps, GRID)
        return str(whole) if part == 0 else f"0.{part:0{DIGITS}d}".rstrip("0")


def _fraction_steps(value: Fraction) -> int | None:
    if not 0 <= value <= 1:
        raise InputError("A level must lie between 0 and 1", str(value))
    steps = value * GRID
    return int(steps) if steps.denominator == 1 else None


def _decimal_steps(value: str | int | float | decimal.Decimal) -> int | None:
    """Digit by digit: an exponent of a billion must not be multiplied out."""
    try:
        number = decimal.Decimal(repr(value) if isinstance(value, float) else value)
    except (decimal.InvalidOperation, ValueError, TypeError):
        raise InputError("A level must be a decimal number between 0 and 1", repr(value)) from None
    if not (number.is_finite() and 0 <= number <= 1):
        raise InputError("A level must be a decimal number between 0 and 1", str(value))
    if number == 0:
        return 0
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    places = int(exponent) + len(digits) - len(text) + DIGITS
    return int(text) * 10**places if places >= 0 else None


def uniform_law(size: int) -> Law:
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    return (Fraction(1, size),) * size


# ---------------------------------------------------------------- one release


def transition(retention: Fraction, law: Law, true: int, published: int) -> Fraction:
    """Paper 3, Eq. 1, for any replacement law: P(Y = published | X = true)."""
    kept = retention if true == published else Fraction(0)
    return kept + (1 - retention) * law[published]


def posterior_bound(ratio: Fraction, prior: Fraction) -> Fraction:
    """Section 3, rho1-rho2 privacy: the smallest rho2 that holds for rho1 = `prior`.

    Odds grow by at most `ratio`, so a prior below rho1 stays below ratio*rho1/(1+(ratio-1)*rho1), and by the
    same inequality read backwards a prior above that rho2 stays above rho1. Reached by Q = {X = y}.
    """
    if not 0 <= prior <= 1:
        raise ValueError(f"prior must lie between 0 and 1, got {prior}")
    return ratio * prior / (1 + (ratio - 1) * prior)


def growth_bound(ratio: Fraction) -> float:
    """Section 3, delta-growth: the largest posterior minus prior over all predicates and priors, rounded up.

    posterior_bound(prior) - prior is largest at prior = 1/(1+sqrt(ratio)), where it is
    (sqrt(ratio)-1)/(sqrt(ratio)+1). The root is taken upwards in integers, since the bound grows with it.
    """
    if ratio < 1:
        raise ValueError(f"ratio must be at least 1, got {ratio}")
    scale = 1 << 200
    square = ratio.numerator * scale * scale
    root = Fraction(math.isqrt(-(-square // ratio.denominator) - 1) + 1 if ratio > 1 else scale, scale)
    return float_up((root - 1) / (root + 1))


# ---------------------------------------------------------------- several releases, in closed form


def joint_law(retentions: Sequence[Fraction], law: Law, true: int) -> Joint:
    """Lemma 1 (Eqs 9 and 10): the law of the versions at `retentions`, in the order given, of one true value.

    In descending order each version is the perturbation of the one before, with retention p_i/p_(i-1).
    """
    order = sorted(range(len(retentions)), key=lambda i: -retentions[i])
    joint: Joint = {}
    for values in product(range(len(law)), repeat=len(retentions)):
        probability, above, previous = Fraction(1), Fraction(1), true
        for i in order:
            step = retentions[i] / above if above else Fraction(1)
            probability *= transition(step, law, previous, values[i])
            above, previous = retentions[i], values[i]
        joint[values] = probability
    return joint


def head(p: Fraction, above: Fraction, below: Fraction, equal: bool) -> Fraction:
    """Paper 3, Eq. 3: the chance u that the version at p copies the one above it."""
    return p / above if equal else (p - below) / (above - below)


def tail(p: Fraction, above: Fraction, below: Fraction, equal: bool, replacement: Fraction) -> Fraction:
    """Paper 3, Eq. 4: the chance v that it copies the one below it; `replacement` = law[y], 1/s in the paper.

    When equal: one minus u minus the chance that replacements fell both above and below p, given that the
    versions around it agree. With 1/s this is (1-p/p_l)(1-(1-p_r/p)/((s-1)p_r/p_l+1)).
    """
    if not equal:
        return below * (above - p) / (p * (above - below))
    stand = replacement * (1 - below / p) / (below / above + (1 - below / above) * replacement)
    return (1 - p / above) * (1 - stand)


def bridge(p: Fraction, above: Fraction, below: Fraction, law: Law, upper: int, lower: int) -> Law:
    """Figure 3, line 14: the law of the version at p given its neighbours' values (Eq. 20)."""
    equal = upper == lower
    u = head(p, above, below, equal)
    v = tail(p, above, below, equal, law[lower])
    return tuple((1 - u - v) * q + u * (y == upper) + v * (y == lower) for y, q in enumerate(law))


def middle_law(p_high: Fraction, p_low: Fraction, size: int, low: int, high: int, true: int) -> Fraction:
    """Paper 3, Eq. 7: P(Y_b = high | Y_a = low, X = true), p_a = p_low < p_b = p_high.

    Correction: the third case has (1 - p_a/p_b)/s, where the paper prints (1 - p_a)/s.
    """
    ratio = p_low / p_high
    same_high, same_ratio = p_high + (1 - p_high) / size, ratio + (1 - ratio) / size
    if low == true:
        both = p_low + (1 - p_low) / size
        return same_high * same_ratio / both if high == true else (1 - p_high) * (1 - ratio) / (size**2 * both)
    if high == low:
        return (1 - p_high) / (1 - p_low) * same_ratio
    if high == true:
        return (1 - ratio) / (1 - p_low) * same_high
    return (1 - p_high) * (1 - ratio) / (size * (1 - p_low))


def history_size(highest: float, lowest: float, size: int) -> float:
    """Lemma 2, tightened: entries of history(t) once levels fill [lowest, highest] densely."""
    return 1 + (size - 1) / size * math.log(highest / lowest)


# ---------------------------------------------------------------- what a coalition learns


def posterior(prior: Law, likelihood: Sequence[Fraction]) -> Law:
    """Bayes: P(X = x | seen) for every x, from P(seen | X = x)."""
    weights = [p * q for p, q in zip(prior, likelihood, strict=True)]
    total = sum(weights, Fraction(0))
    if total == 0:
        raise ValueError("what was seen must be possible under the prior")
    return tuple(w / total for w in weights)


def coalition_posterior(seen: Mapping[Fraction, int], prior: Law, law: Law) -> Law:
    """Appendix 2, under the levels of this paper: all the versions together, by the chain of Lemma 1.

    `seen` maps each member's retention to the value that member holds. The chain is multiplied out and not
    cut short by Theorem 1, so that the theorem can be checked against it.
    """
    order = sorted(seen, reverse=True)
    rest = Fraction(1)
    for above, p in pairwise(order):
        rest *= transition(p / above, law, seen[above], seen[p])
    return posterior(prior, [transition(order[0], law, x, seen[order[0]]) * rest for x in range(len(law))])
