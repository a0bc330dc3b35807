"""Shares and means: ratios of two sums over a table, with Fieller's intervals. Formulas: estimate.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana.errors import InputError
from pramana.estimate.axis import Axis
from pramana.estimate.crosstab import interval_bar, interval_picture
from pramana.estimate.filters import Filter, as_filter
from pramana.estimate.inversion import linear, quantile
from pramana.estimate.law import Array
from pramana.estimate.table import PublishedTable
from pramana.pages import Bars, Block, Picture, TabularResult


class UnseenGroupError(InputError):
    """A group whose size is estimated as nothing: no share or mean can be taken in it."""


@dataclass(frozen=True, repr=False)
class EstimatedNumber(TabularResult):
    """One number with its interval."""

    estimate: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """An end that nothing bounds is null."""
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}

    def to_rows(self) -> list[dict[str, Any]]:
        return [self.to_json()]

    def blocks(self) -> list[Block]:
        return [Bars([interval_bar([""], self.to_json())], [""])]

    def picture(self) -> Picture:
        return interval_picture([""], [self.to_json()], "estimate")

    def __repr__(self) -> str:
        return f"{self.estimate:,.6g} ({self.low:,.6g} to {self.high:,.6g})"


@dataclass(frozen=True)
class Ratio:
    """Two sums over the table: of a filter or a number, and of the records they are taken among."""

    of: Filter | Axis
    where: Filter | None

    @classmethod
    def of_share(cls, of: str | Filter, where: str | Filter | None) -> Ratio:
        return cls(Filter.parse(of) if isinstance(of, str) else of, as_filter(where))

    @property
    def names(self) -> tuple[str, ...]:
        own = (self.of.name,) if isinstance(self.of, Axis) else self.of.names
        return own if self.where is None else own + self.where.names

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that it can be."""
        if isinstance(self.of, Filter):
            return 0.0, 1.0
        known = self.of.middles[np.isfinite(self.of.middles)]
        return float(known.min()), float(known.max())

    def coefficients(self, axes: Sequence[Axis]) -> tuple[Array, Array]:
        """What a record of each cell adds to the sum above and to the sum below."""
        among = np.ones([a.size for a in axes]) if self.where is None else self.where.select(axes)
        if isinstance(self.of, Filter):
            return self.of.select(axes) * among, among
        position = [axis.name for axis in axes].index(self.of.name)
        numbers = self.of.middles
        shape = [-1 if i == position else 1 for i in range(len(axes))]
        if (np.isinf(numbers).reshape(shape) * among).any():
            raise InputError(
                f"A mean of {self.of.name} must be asked of records whose bins have an end",
                "a bin without one",
                f"Leave it out with a filter on {self.of.name}.",
            )
        known = np.isfinite(numbers)
        return np.where(known, numbers, 0.0).reshape(shape) * among, known.reshape(shape) * among


@dataclass(frozen=True, eq=False)
class EstimatedRatios:
    """Each ratio within what it can be, the ratios as they come out, and the covariances of those."""

    numbers: tuple[EstimatedNumber, ...]
    plain: tuple[float, ...]
    covariance: Array


def estimate_ratios(table: PublishedTable, ratios: Sequence[Ratio], confidence: float) -> EstimatedRatios:
    pairs = [ratio.coefficients(table.axes) for ratio in ratios]
    values, covariance = linear(table, [c for pair in pairs for c in pair])
    z = quantile(confidence)
    numbers, plain, gradient = [], [], np.zeros((len(ratios), len(values)))
    for i, ratio in enumerate(ratios):
        top, bottom = 2 * i, 2 * i + 1
        if values[bottom] <= 0:
            raise UnseenGroupError(
                "A share or mean must be asked of a group that the release can see",
                "an estimated size that is not positive",
                "The group is too small for this release's noise.",
            )
        plain.append(float(values[top] / values[bottom]))
        low, high = fieller_interval(values[top : top + 2], covariance[top : top + 2, top : top + 2], z)
        numbers.append(_moved_within(plain[-1], low, high, *ratio.range))
        gradient[i, top] = 1 / values[bottom]
        gradient[i, bottom] = -values[top] / values[bottom] ** 2
    return EstimatedRatios(tuple(numbers), tuple(plain), np.asarray(gradient @ covariance @ gradient.T))


def fieller_interval(values: Array, covariance: Array, z: float) -> tuple[float, float]:
    """Every ratio r for which values[0] - r*values[1] is not significantly away from zero."""
    top, bottom = float(values[0]), float(values[1])
    a = bottom**2 - z * z * float(covariance[1, 1])
    b = top * bottom - z * z * float(covariance[0, 1])
    c = top**2 - z * z * float(covariance[0, 0])
    if a <= 0:  # the denominator itself may be zero: every ratio is possible
        return -np.inf, np.inf
    half = float(np.sqrt(max(b * b - a * c, 0.0)))
    return (b - half) / a, (b + half) / a


def _moved_within(estimate: float, low: float, high: float, least: float, most: float) -> EstimatedNumber:
    """What lies between `least` and `most`; an impossible estimate keeps the width of its interval."""
    kept = min(max(estimate, least), most)
    moved = kept - estimate
    low, high = low + min(moved, 0.0), high + max(moved, 0.0)
    return EstimatedNumber(kept, min(max(low, least), kept), max(min(high, most), kept))
