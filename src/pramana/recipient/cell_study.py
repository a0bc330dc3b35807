"""Questions put to a release without a law: generalised, aggregated, or changed so that counts stay on average.

Estimates are what the published cells make one expect. Intervals say what they leave open: the least and the most
that a number can be, whatever the values in the cells are. They are no confidence intervals, except where columns
were changed at random, whose part in them has the wanted confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from pramana.errors import InputError
from pramana.recipient.cell_counts import (
    Bounds,
    CellColumn,
    LookAlikes,
    count,
    mean_between,
    shares_below,
    widened,
)
from pramana.recipient.crosstab import Crosstab
from pramana.recipient.filters import Filter, as_filter
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, quantile, simultaneous_confidence
from pramana.recipient.law import Array, check_memory
from pramana.recipient.quantiles import EstimatedQuantile
from pramana.recipient.ratios import EstimatedNumber, UnseenGroupError
from pramana.recipient.regression import EstimatedRegression
from pramana.recipient.study import MeanTable
from pramana.schema.axis import Axis
from pramana.schema.kind import Kind
from pramana.schema.typed import near

METHOD = "expected"


@dataclass(frozen=True)
class CellComparison:
    """The same measure in two groups, and the least and the most that its difference can be."""

    first: EstimatedNumber
    second: EstimatedNumber
    difference: EstimatedNumber

    def to_json(self) -> dict[str, Any]:
        numbers = {"first": self.first, "second": self.second, "difference": self.difference}
        return {name: number.to_json() for name, number in numbers.items()}


@dataclass(frozen=True, eq=False)
class CellStudy:
    """A published table to ask questions of, column by column."""

    axes: Mapping[str, Axis]
    read: Callable[[str], CellColumn]
    records: int
    weights: Array | None = None
    columns: dict[str, CellColumn] = field(default_factory=dict, repr=False)

    def axis(self, name: str) -> Axis:
        try:
            return self.axes[name]
        except KeyError:
            hint = near(name, list(self.axes)) or f"It has {', '.join(self.axes)}."
            raise InputError("An attribute must be in the release", repr(name), hint) from None

    def column(self, name: str) -> CellColumn:
        self.axis(name)
        if name not in self.columns:
            self.columns[name] = self.read(name)
        return self.columns[name]

    @property
    def total_weight(self) -> float:
        return float(self.records) if self.weights is None else float(self.weights.sum())

    def crosstab(
        self,
        by: Sequence[str],
        where: str | Filter | None = None,
        *,
        method: str = "em",
        confidence: float = DEFAULT_CONFIDENCE,
        shares: bool = False,
        profile: bool = False,
        simultaneous: bool = False,
    ) -> Crosstab:
        """Expected counts by the values of `by` among records with `where`, and what they can be at all.

        There is one way to count cells: `method` is that of releases with a law, and not looked at. What cells
        leave open holds of all at once; `simultaneous` makes what was changed at random do so, too.
        """
        if method not in ("em", "inverse"):
            raise InputError("The method must be em or inverse", repr(method))
        if profile:
            raise InputError("Profile intervals must be asked of a release with a law", "cells")
        if len(set(by)) != len(by):
            raise InputError("A table must name each attribute once", ", ".join(by))
        condition = as_filter(where)
        axes = tuple(self.axis(name) for name in by)
        cells = math.prod(axis.size for axis in axes)
        each = simultaneous_confidence(confidence, cells) if simultaneous else confidence
        counts = self._counted(by, condition, each)
        if shares:
            counts = self._shares(counts, condition, each)
        return Crosstab(
            axes,
            counts.expected,
            counts.low,
            counts.high,
            self.records,
            METHOD,
            True,
            confidence,
            shares,
            simultaneous,
        )

    def _counted(
        self, by: Sequence[str], where: Filter | None, confidence: float, holds: Array | None = None
    ) -> Bounds:
        extra = [] if where is None else [name for name in where.names if name not in by]
        columns = [self.column(name) for name in [*by, *extra]]
        z = quantile(confidence)
        if not columns:
            total = np.array(self.total_weight)
            return Bounds(total, total, total)
        axes = [column.axis for column in columns]
        check_memory([axis.size for axis in axes])
        if holds is None:
            holds = np.ones([axis.size for axis in axes]) if where is None else where.select(axes)
        classes = LookAlikes.of(columns, self.weights, self.records)
        return widened(count(classes, holds, len(by)), columns, holds, self.weights, z)

    def _shares(self, counts: Bounds, where: Filter | None, confidence: float) -> Bounds:
        among = self._counted([], where, confidence)
        total = float(among.expected)
        if total <= 0:
            raise InputError("Shares must be asked of records that the release can see", "an expected count of 0")
        if where is None:  # the number of records is known
            return Bounds(counts.expected / total, counts.low / total, counts.high / total)
        others_high = np.maximum(float(among.high) - counts.low, 0.0)
        others_low = np.maximum(float(among.low) - counts.high, 0.0)
        low = np.divide(counts.low, counts.low + others_high, out=np.zeros_like(counts.low), where=counts.low > 0)
        high = np.divide(
            counts.high, counts.high + others_low, out=np.zeros_like(counts.high), where=counts.high > 0
        )
        share = counts.expected / total
        return Bounds(share, np.minimum(low, share), np.maximum(high, share))

    def total(
        self, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """How many records (or how much weight) one expects to fulfil `where`."""
        return _number(self._counted([], as_filter(where), confidence))

    def share(
        self, of: str | Filter, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """The share of records with `of` among those with `where`."""
        wanted, among = as_filter(of), as_filter(where)
        assert wanted is not None
        both = wanted if among is None else wanted & among
        neither = ~wanted if among is None else ~wanted & among
        inside, outside = (self._counted([], part, confidence) for part in (both, neither))
        total = float(inside.expected + outside.expected)
        if total <= 0:
            raise UnseenGroupError(
                "A share must be asked of a group that the release can see", "an expected size of 0"
            )
        low = float(inside.low) / (float(inside.low + outside.high) or 1.0)
        high = float(inside.high) / (float(inside.high + outside.low) or 1.0)
        estimate = float(inside.expected) / total
        return EstimatedNumber(estimate, min(low, estimate), max(high, estimate))

    def mean(
        self,
        attribute: str,
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        within_bins: bool = False,
    ) -> EstimatedNumber:
        """The mean of a numeric attribute, each bin standing for its middle, among records with `where`."""
        if within_bins:
            raise InputError("Means within bins must be asked of a release with a law", "cells")
        among = as_filter(where)
        names = [attribute, *(() if among is None else (n for n in among.names if n != attribute))]
        columns = [self.column(name) for name in names]
        axes = [column.axis for column in columns]
        check_memory([axis.size for axis in axes])
        holds = np.ones([axis.size for axis in axes]) if among is None else among.select(axes)
        classes = LookAlikes.of(columns, self.weights, self.records)
        return mean_between(classes, holds, self.weights, quantile(confidence))

    def means(
        self,
        attribute: str,
        by: Sequence[str],
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        within_bins: bool = False,
    ) -> MeanTable:
        """The mean of a numeric attribute in each cell of `by`; null where nobody is expected in it."""
        axes, among = [self.axis(name) for name in by], as_filter(where)
        cells = MeanTable()
        for codes in product(*(range(axis.size) for axis in axes)):
            cell = {axis.name: axis.label(code) for axis, code in zip(axes, codes, strict=True)}
            condition = among
            for name, label in cell.items():
                term = Filter.missing(name) if label is None else Filter.compare(name, "=", label)
                condition = term if condition is None else condition & term
            try:
                number = self.mean(attribute, condition, confidence=confidence, within_bins=within_bins).to_json()
            except UnseenGroupError:
                number = {"estimate": None, "low": None, "high": None}
            cells.append({**cell, **number})
        return cells

    def quantiles(
        self,
        attribute: str,
        shares: Sequence[float] = (0.25, 0.5, 0.75),
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> list[EstimatedQuantile]:
        """The values below which these shares of the records with `where` lie, as ends of their bins."""
        axis, among = self.axis(attribute), as_filter(where)
        if axis.kind not in (Kind.NUMBER, Kind.DATE) or axis.lower is None or axis.upper is None:
            raise InputError(f"The attribute {attribute} must have numbers or dates for quantiles", "names")
        known = ~Filter.missing(attribute) if axis.missing else None
        condition = among if known is None else known if among is None else among & known
        names = [attribute, *(() if among is None else (n for n in among.names if n != attribute))]
        columns = [self.column(name) for name in names]
        axes = [column.axis for column in columns]
        check_memory([one.size for one in axes])
        holds = np.ones([one.size for one in axes]) if condition is None else condition.select(axes)
        below = shares_below(LookAlikes.of(columns, self.weights, self.records), holds, self.weights)
        quantile(confidence)
        return [_quantile_of(axis, below, share) for share in shares]

    def regression(
        self,
        attribute: str,
        on: Sequence[str],
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> EstimatedRegression:
        """Cells leave open which values go together: there is no regression to correct."""
        del attribute, on, where, confidence
        raise InputError("A regression must be asked of a release with a law", "cells")

    def compare(
        self,
        first: str | Filter,
        second: str | Filter,
        *,
        share: str | Filter | None = None,
        mean: str | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> CellComparison:
        """The share of `share`, or the mean of `mean`, among records with `first` against those with `second`."""
        if (share is None) == (mean is None):
            raise InputError("A comparison must be of a share or of a mean", "both" if mean else "neither")
        one, other = (
            self.share(share, where, confidence=confidence)
            if share is not None
            else self.mean(str(mean), where, confidence=confidence)
            for where in (first, second)
        )
        difference = EstimatedNumber(one.estimate - other.estimate, one.low - other.high, one.high - other.low)
        return CellComparison(one, other, difference)


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
