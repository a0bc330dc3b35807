"""Sums of doubles that are rounded once, at their end: in any order, and however the rows are cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_DIGITS = 53  # bits of a double
_HALF = 27
_LEAST = 1073 + _DIGITS  # every double is a whole number of steps of 2^-_LEAST
_RUN = 1 << 24  # of so many, sums of half the digits are whole numbers below 2^53


@dataclass(frozen=True)
class ExactSum:
    """A sum as it is, in steps of 2^-1126. What `math.fsum` gives for all numbers at once is its `float`."""

    steps: int = 0

    @classmethod
    def of(cls, values: Floats) -> ExactSum:
        """Of numbers that are finite."""
        return cls(sum(_steps(values[start : start + _RUN]) for start in range(0, len(values), _RUN)))

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.steps + other.steps)

    def __float__(self) -> float:
        return self.steps / (1 << _LEAST)  # the nearest double, halves to the even one


NOTHING = ExactSum()


def _steps(values: Floats) -> int:
    """Digits are added up by exponent, the upper and the lower half of them apart."""
    fractions, exponents = np.frexp(values)
    digits = (fractions * 2.0**_DIGITS).astype(np.int64)
    lowest = int(exponents.min(initial=0))
    by_exponent = [
        np.bincount(exponents - lowest, weights=half.astype(np.float64)).tolist()
        for half in (digits >> _HALF, digits & ((1 << _HALF) - 1))
    ]
    steps = 0
    for exponent, (upper, lower) in enumerate(zip(*by_exponent, strict=True), lowest + _LEAST - _DIGITS):
        steps += (int(upper) << _HALF) + int(lower) << exponent
    return steps
