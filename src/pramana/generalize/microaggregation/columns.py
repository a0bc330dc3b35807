"""Columns of numbers as microaggregation takes them: none missing, and exact integers where sums must be exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SchemaError, SourceError

Numbers = NDArray[np.float64] | NDArray[np.int64]
LARGEST_INTEGER = 2**53  # from here on, doubles skip integers


def numbers_of(name: str, values: NDArray[np.generic]) -> Numbers:
    """A column as doubles or 64-bit integers; refused where a value is missing, infinite or no number."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise SchemaError(f"Column {name} must hold numbers to be microaggregated")
    if values.dtype.kind == "f":
        doubles = values.astype(np.float64)
        if np.isnan(doubles).any():
            raise SourceError(
                f"Column {name} must have no missing value to be microaggregated",
                "a column with some",
                "Filter those rows out, or fill the values in, before grouping.",
            )
        if np.isinf(doubles).any():
            raise SourceError(f"Column {name} must hold finite numbers to be microaggregated")
        return doubles + 0.0  # a zero has no sign
    if len(values) and (int(values.max()) > LARGEST_INTEGER or int(values.min()) < -LARGEST_INTEGER):
        raise SourceError(
            f"Column {name} must hold integers from -2^53 to 2^53 to be microaggregated",
            hint="Larger ones are mostly identifiers: leave the column out.",
        )
    return values.astype(np.int64)


@dataclass(frozen=True)
class ExactColumn:
    """The values times `unit`, a power of two, are the integers `whole`: sums of them do not round."""

    whole: tuple[int, ...]
    unit: int

    @classmethod
    def of(cls, values: Numbers) -> ExactColumn:
        ratios = [value.as_integer_ratio() for value in values.tolist()]
        unit = max((denominator for _, denominator in ratios), default=1)
        return cls(tuple(numerator * (unit // denominator) for numerator, denominator in ratios), unit)

    @property
    def squares(self) -> Fraction:
        return Fraction(sum(x * x for x in self.whole), self.unit**2)

    @property
    def sst(self) -> Fraction:
        """The sum of squared distances from the mean."""
        if not self.whole:
            return Fraction(0)
        return self.squares - Fraction(sum(self.whole) ** 2, len(self.whole) * self.unit**2)

    def class_sums(self, class_of: Sequence[int], classes: int) -> list[int]:
        sums = [0] * classes
        for number, x in zip(class_of, self.whole, strict=True):
            sums[number] += x
        return sums
