"""Formulas of the papers that nothing is published by: the tests compare with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from pramana.theory.levels import Joint, Law, bridge, posterior, transition
from pramana.theory.pk import Number, likelihood_ratio_from_retention


def epsilon_from_retention(retentions: Iterable[Number], sizes: Iterable[int]) -> float:
    """Theorem 1 with Corollary 1: the logarithms of the attributes' ratios add up. Plain float, for curves."""
    total = 0.0
    for retention, size in zip(retentions, sizes, strict=True):
        ratio = likelihood_ratio_from_retention(Fraction(retention), size)
        total += math.inf if ratio is None else math.log(ratio)
    return total


def version_from_draws(draws: Sequence[Fraction], marks: Sequence[int], true: int, retention: Fraction) -> int:
    """The process: the mark of the last j with U1*...*Uj >= p, the true value where U1 < p."""
    value, left = true, Fraction(1)
    for draw, mark in zip(draws, marks, strict=True):
        left *= draw
        if left < retention:
            return value
        value = mark
    raise ValueError("draws must go on until their product falls below the retention")


def independent_posterior(seen: Sequence[tuple[Fraction, int]], prior: Law, law: Law) -> Law:
    """Appendix 2, had every version been drawn by itself: the likelihoods multiply, and collusion pays."""
    return posterior(
        prior,
        [math.prod((transition(p, law, x, y) for p, y in seen), start=Fraction(1)) for x in range(len(law))],
    )


def reconstruction_probability(retention: Fraction, prior: Law, law: Law) -> Fraction:
    """The mean of P(X = true value | Y) over records and versions: what one member is expected to learn."""
    total = Fraction(0)
    for y in range(len(law)):
        likelihood = [transition(retention, law, x, y) for x in range(len(law))]
        seen = sum((p * q for p, q in zip(prior, likelihood, strict=True)), Fraction(0))
        if seen:
            total += sum(((p * q) ** 2 for p, q in zip(prior, likelihood, strict=True)), Fraction(0)) / seen
    return total


def multi_pert_law(requests: Sequence[Fraction], law: Law, true: int) -> Joint:
    """Figure 3 run on every outcome: the joint law of the versions, asked for in the order given."""
    joint: Joint = {(): Fraction(1)}
    for i, p in enumerate(requests):
        earlier = requests[:i]
        above = min((q for q in earlier if q > p), default=None)
        below = max((q for q in earlier if q < p), default=None)
        grown: Joint = {}
        for values, probability in joint.items():
            if p in earlier:
                chances: Iterable[Fraction] = (Fraction(y == values[earlier.index(p)]) for y in range(len(law)))
            else:
                upper = true if above is None else values[earlier.index(above)]
                high = above or Fraction(1)
                if below is None or p == high:
                    chances = (transition(p / high, law, upper, y) for y in range(len(law)))
                else:
                    chances = bridge(p, high, below, law, upper, values[earlier.index(below)])
            for y, chance in enumerate(chances):
                grown[(*values, y)] = grown.get((*values, y), Fraction(0)) + probability * chance
        joint = grown
    return joint


def process_law(steps: Sequence[int], grid: int, law: Law, true: int) -> Joint:
    """The joint law of the integer process at levels k/grid, by following every path.

    V1 is uniform on 0..grid-1 and V(j+1) uniform on 0..Vj-1: the products U1*...*Uj*grid, cut to integers.
    The version at level k is the mark of the last j with Vj >= k; at level 0, of the j with Vj = 0.
    """
    joint: Joint = {}
    # event -> values so far -> probability; from the top of the grid downwards, at most one of each
    start = tuple(true for _ in steps)
    at: dict[int, Joint] = {grid: {start: Fraction(1)}}
    for event in range(grid, 0, -1):
        for values, probability in at.pop(event, {}).items():
            for lower in range(event):
                reached = [i for i, k in enumerate(steps) if k <= lower]
                if not reached:  # no level lies at or below this event: nothing asked for changes any more
                    _add(joint, values, probability / event)
                    continue
                for mark, chance in enumerate(law):
                    after = tuple(mark if i in reached else y for i, y in enumerate(values))
                    target = joint if lower == 0 else at.setdefault(lower, {})
                    _add(target, after, probability * chance / event)
    return joint


def _add(joint: Joint, values: tuple[int, ...], probability: Fraction) -> None:
    joint[values] = joint.get(values, Fraction(0)) + probability
