"""Formulas of the papers that nothing is published by: the tests compare with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from pramana.theory.levels import Law, posterior, transition
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
