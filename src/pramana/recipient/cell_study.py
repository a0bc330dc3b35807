"""Questions put to a release without a law: generalised, aggregated, or changed so that counts stay on average.

Estimates are what the published cells make one expect. Intervals say what they leave open: the least and the most
that a number can be, whatever the values in the cells are. They are no confidence intervals, except where columns
were changed at random, whose part in them has the wanted confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Never

import numpy as np

from pramana.errors import InputError
from pramana.recipient.answers import (
    Crosstab,
    EstimatedNumber,
    EstimatedQuantile,
    GroupComparison,
    unseen_group,
)
from pramana.recipient.cell_counts import (
    Bounds,
    CellColumn,
    EquivalenceClasses,
    count,
    mean_between,
    shares_below,
    widened,
)
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import quantile
from pramana.recipient.law import Array, check_memory
from pramana.recipient.study import Questions
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind

METHOD = "expected"


@dataclass(frozen=True, eq=False)
class CellStudy(Questions):
    """A published table without a law to ask questions of, column by column.

    What cells leave open holds of all at once; intervals that are simultaneous make what was changed at random do
    so, too. Cells leave open which values go together: there is no regression to correct.
    """

    axes: Mapping[str, Axis]
    read: Callable[[str], CellColumn]
    records: int
    weights: Array | None = None
    columns: dict[str, CellColumn] = field(default_factory=dict, repr=False)
    methods = ("em", "inverse")

    def column(self, name: str) -> CellColumn:
        self.axis(name)
        if name not in self.columns:
            self.columns[name] = self.read(name)
        return self.columns[name]

    def _selected(self, by: Sequence[str], where: Filter | None) -> tuple[EquivalenceClasses, Array]:
        """The classes over `by` and what the filter names besides, and 1 where the filter holds."""
        names = dict.fromkeys([*by, *(() if where is None else where.names)])
        columns = [self.column(name) for name in names]
        axes = [column.axis for column in columns]
        check_memory([axis.size for axis in axes])
        holds = np.ones([axis.size for axis in axes]) if where is None else where.select(axes)
        return EquivalenceClasses.of(columns, self.weights, self.records), holds

    def _counted(self, by: Sequence[str], where: Filter | None, confidence: float) -> Bounds:
        z = quantile(confidence)
        if not by and where is None:
            total = np.array(float(self.records) if self.weights is None else float(self.weights.sum()))
            return Bounds(total, total, total)
        classes, holds = self._selected(by, where)
        return widened(count(classes, holds, len(by)), classes.columns, holds, self.weights, z)

    def _crosstab(
        self, by: Sequence[str], where: Filter | None, method: str, confidence: float, shares: bool, profile: bool
    ) -> Crosstab:
        del method  # there is one way to count cells
        if profile:
            raise _without_law("Profile intervals")
        counts = self._counted(by, where, confidence)
        if shares:
            counts = self._shares(counts, where, confidence)
        axes = tuple(self.axis(name) for name in by)
        return Crosstab(axes, counts.expected, counts.low, counts.high, self.records, METHOD, shares=shares)

    def _shares(self, counts: Bounds, where: Filter | None, confidence: float) -> Bounds:
        among = self._counted([], where, confidence)
        total = float(among.expected)
        if total <= 0:
            raise InputError("Shares must be asked of records that the release can see", "an expected count of 0")
        if where is None:  # the number of records is known
            return Bounds(counts.expected / total, counts.low / total, counts.high / total)
        others_high = np.maximum(float(among.high) - counts.low, 0.0)
        others_low = np.maximum(float(among.low) - counts.high, 0.0)
        return _between(counts, others_low, others_high, counts.expected / total)

    def _total(self, where: Filter | None, confidence: float) -> EstimatedNumber:
        return _number(self._counted([], where, confidence))

    def _share(self, of: Filter, where: Filter | None, confidence: float) -> EstimatedNumber:
        both, neither = (part if where is None else part & where for part in (of, ~of))
        inside, outside = (self._counted([], part, confidence) for part in (both, neither))
        total = inside.expected + outside.expected
        if total <= 0:
            raise unseen_group("A share", noisy=False)
        return _number(_between(inside, outside.low, outside.high, inside.expected / total))

    def _mean_of(
        self, axis: Axis, by: Sequence[str], where: Filter | None, confidence: float, within_bins: bool
    ) -> Callable[[Filter | None], EstimatedNumber]:
        del by, where  # every mean reads the columns of its own filter
        if within_bins:
            raise _without_law("Means within bins")
        z = quantile(confidence)
        return lambda among: mean_between(*self._selected([axis.name], among), self.weights, z)

    def _quantiles(
        self, axis: Axis, shares: Sequence[float], where: Filter | None, confidence: float
    ) -> list[EstimatedQuantile]:
        if axis.kind not in (Kind.NUMBER, Kind.DATE):
            raise InputError(f"The attribute {axis.name} must have numbers or dates for quantiles", "names")
        quantile(confidence)  # refuses one that is none
        known = ~Filter.missing(axis.name) if axis.missing else None
        condition = where if known is None else known if where is None else where & known
        below = shares_below(*self._selected([axis.name], condition), self.weights)
        return [_quantile_of(axis, below, share) for share in shares]

    def _regression(self, axes: Sequence[Axis], where: Filter | None, confidence: float) -> Never:
        del axes, where, confidence
        raise _without_law("A regression")

    def _compare(self, of: Filter | Axis, first: Filter, second: Filter, confidence: float) -> GroupComparison:
        one, other = (
            self._share(of, where, confidence)
            if isinstance(of, Filter)
            else self._mean_of(of, [], where, confidence, within_bins=False)(where)
            for where in (first, second)
        )
        difference = EstimatedNumber(one.estimate - other.estimate, one.low - other.high, one.high - other.low)
        return GroupComparison(one, other, difference)


def _without_law(what: str) -> InputError:
    return InputError(f"{what} must be asked of a release with a law", "cells")


def _between(part: Bounds, others_low: Array, others_high: Array, share: Array) -> Bounds:
    """A share of a whole whose other part is bounded, too; it is never outside of its own bounds."""
    low, high = (
        np.divide(end, end + others, out=np.zeros_like(share), where=end > 0)
        for end, others in ((part.low, others_high), (part.high, others_low))
    )
    return Bounds(share, np.minimum(low, share), np.maximum(high, share))


def _number(bounds: Bounds) -> EstimatedNumber:
    return EstimatedNumber(float(bounds.expected), float(bounds.low), float(bounds.high))


def _quantile_of(axis: Axis, below: Bounds, share: float) -> EstimatedQuantile:
    """The bin in which the expected share is reached, and the ends of those in which it can be."""
    if not 0 < share < 1:
        raise InputError("The share of a quantile must lie strictly between 0 and 1", str(share))
    lower, upper = np.array(axis.lower), np.array(axis.upper)
    reached = [int(np.argmax(part >= share - 1e-12)) for part in (below.expected, below.high, below.low)]
    middle = (lower[reached[0]] + upper[reached[0]]) / 2
    estimate = float(middle if np.isfinite(middle) else lower[reached[0]])
    return EstimatedQuantile(share, estimate, float(lower[reached[1]]), float(upper[reached[2]]), axis.kind)
