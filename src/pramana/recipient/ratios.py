"""Shares and means: ratios of two sums over a table, with Fieller's intervals; and cells of what a filter selects.

Formulas: estimate.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.recipient.answers import EstimatedNumber, unseen_group, without_end
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import (
    Estimate,
    covariance_with_total,
    invert,
    likely_table,
    linear,
    quantile,
    selected_variances,
    whole_record_step,
)
from pramana.recipient.law import Array, PublishedTable, TableLaw
from pramana.schema.domain import Axis

Ends = tuple[Array, Array, Array]  # an estimate, the lower and the upper end of its interval


@dataclass(frozen=True)
class Ratio:
    """Two sums over the table: of a filter or a number, and of the records they are taken among."""

    of: Filter | Axis
    where: Filter | None

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
            raise without_end("A mean of", self.of.name)
        known = np.isfinite(numbers)
        return np.where(known, numbers, 0.0).reshape(shape) * among, known.reshape(shape) * among


@dataclass(frozen=True, eq=False)
class EstimatedRatios:
    """Each ratio within what it can be; as it comes out, with both ends; and the covariances of these."""

    numbers: tuple[EstimatedNumber, ...]
    plain: tuple[Ends, ...]
    covariance: Array

    def difference(self, widest: float) -> EstimatedNumber:
        """The first ratio minus the second, which cannot be larger than `widest`."""
        within = [(np.asarray(n.estimate), np.asarray(n.low), np.asarray(n.high)) for n in self.numbers[:2]]
        errors = math.sqrt(max(float(self.covariance[0, 0] * self.covariance[1, 1]), 0.0))
        correlation = np.clip(self.covariance[0, 1] / errors, -1.0, 1.0) if errors > 0 else np.asarray(0.0)
        ends = difference_interval((self.plain[0], self.plain[1]), (within[0], within[1]), correlation, widest)
        return EstimatedNumber(*(float(end) for end in ends))


def estimate_ratios(table: PublishedTable, ratios: Sequence[Ratio], confidence: float) -> EstimatedRatios:
    pairs = [ratio.coefficients(table.axes) for ratio in ratios]
    values, covariance = linear(table, [c for pair in pairs for c in pair])
    z = quantile(confidence)
    likely = None if table.weighted else linear(likely_table(table), [c for pair in pairs for c in pair])[1]
    numbers: list[EstimatedNumber] = []
    plain: list[Ends] = []
    gradient = np.zeros((len(ratios), len(values)))
    for i, (ratio, pair) in enumerate(zip(ratios, pairs, strict=True)):
        top, bottom = 2 * i, 2 * i + 1
        if values[bottom] <= 0:
            raise unseen_group("A share or mean", noisy=True)
        errors = RatioErrors(
            values[top],
            values[bottom],
            _three(covariance, top),
            None if likely is None else _three(likely, top),
            record_moment(table.law, *pair, *ratio.range),
        )
        known = isinstance(ratio.of, Filter) and covariance[bottom, bottom] <= 1e-9 * values[bottom]
        if known and pair[0].any() and not table.weighted:  # a count among records whose number is no secret
            count = invert(table, pair[0], confidence)
            low, high = count.low / values[bottom], count.high / values[bottom]
        else:
            low, high = errors.interval(z)
        plain.append((np.asarray(values[top] / values[bottom]), np.asarray(low), np.asarray(high)))
        ends = moved_within(*plain[-1], *ratio.range)
        numbers.append(EstimatedNumber(*(float(end) for end in ends)))
        gradient[i, top] = 1 / values[bottom]
        gradient[i, bottom] = -values[top] / values[bottom] ** 2
    return EstimatedRatios(tuple(numbers), tuple(plain), np.asarray(gradient @ covariance @ gradient.T))


@dataclass(frozen=True, eq=False)
class RatioErrors:
    """Two sums, or arrays of them, and the variance of the first, their covariance, the variance of the second.

    `likely`: the same if the nearest possible table were the true one; None to rest on the normal law alone.
    `moment`: the squared error that one record makes, as a rule.
    """

    top: Array
    bottom: Array
    estimated: tuple[Array, Array, Array]
    likely: tuple[Array, Array, Array] | None
    moment: float

    def interval(self, z: float) -> tuple[Array, Array]:
        """Fieller's, of sums that few records decide by a bounded test, as counts have it.

        It reaches farther by the step that a record makes, with the larger of the two variances.
        """
        low, high = fieller_ends(self.top, self.bottom, self.estimated, z)
        if self.likely is None or self.moment <= 0:
            return low, high
        ratio = self.top / self.bottom
        drawn = _contrast(ratio, self.likely) > 1e-9 * self.moment
        step = np.where(
            drawn, whole_record_step(_contrast(ratio, self.estimated), np.asarray(self.moment), z), 0.0
        )
        for variances in (self.estimated, self.likely):
            lower, _ = fieller_ends(self.top - step, self.bottom, variances, z)
            _, upper = fieller_ends(self.top + step, self.bottom, variances, z)
            low, high = (
                np.where(step > 0, np.minimum(low, lower), low),
                np.where(step > 0, np.maximum(high, upper), high),
            )
        return low, high


def fieller_ends(
    top: Array, bottom: Array, variances: tuple[Array, Array, Array], z: float
) -> tuple[Array, Array]:
    """Every ratio r for which top - r*bottom is not significantly away from zero; all, if bottom may be zero."""
    a = bottom**2 - z * z * variances[2]
    b = top * bottom - z * z * variances[1]
    c = top**2 - z * z * variances[0]
    half = np.sqrt(np.maximum(b * b - a * c, 0.0))
    bounded = a > 0
    low, high = (np.divide(end, a, out=np.zeros(np.shape(a)), where=bounded) for end in (b - half, b + half))
    return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


def record_moment(law: TableLaw, top: Array, bottom: Array, least: float, most: float) -> float:
    """The square of the step that one record makes in an estimate of top - r*bottom.

    From one value among what is counted to another it is their difference, squared and averaged over all pairs
    that differ, times what the correction of the coins makes of a record that is counted in full.
    """
    top, bottom = (np.broadcast_to(c, law.shape) for c in (top, bottom))
    counted = bottom > 0
    numbers, cells = np.unique(top[counted], return_counts=True)
    differ = cells.sum() ** 2 - (cells**2).sum()
    if most <= least or differ == 0:
        return 0.0
    jump = 2 * (cells.sum() * (cells @ numbers**2) - (cells @ numbers) ** 2) / differ
    share = (top - least * bottom) / (most - least)
    own = [law.backward(law.inverse_adjoint(part) ** 2)[counted].max() for part in (share, bottom - share)]
    return float(jump * max(own))


def _contrast(ratio: Array, variances: tuple[Array, Array, Array]) -> Array:
    return np.asarray(np.maximum(variances[0] - 2 * ratio * variances[1] + ratio**2 * variances[2], 0.0))


def _three(covariance: Array, first: int) -> tuple[Array, Array, Array]:
    return covariance[first, first], covariance[first, first + 1], covariance[first + 1, first + 1]


def moved_within(estimate: Array, low: Array, high: Array, least: float, most: float) -> Ends:
    """What lies between `least` and `most`; an impossible estimate keeps the width of its interval."""
    inside = np.clip(estimate, least, most)
    moved = inside - estimate
    low, high = low + np.minimum(moved, 0.0), high + np.maximum(moved, 0.0)
    return inside, np.minimum(np.clip(low, least, most), inside), np.maximum(np.clip(high, least, most), inside)


def difference_interval(
    plain: tuple[Ends, Ends], within: tuple[Ends, Ends], correlation: Array, widest: float
) -> Ends:
    """Of the difference of two ratios, from their estimates with both ends: as they come out, and moved within.

    As they come out, the distances to the ends take the place of the two standard errors (Newcombe 1998; Zou and
    Donner 2008). It cannot be farther off than both ratios together when each lies in its interval.
    """
    inside, farthest_low, farthest_high = _apart(*within, np.asarray(-1.0))
    difference, low, high = _apart(*plain, correlation)
    moved = inside - difference
    low, high = low + np.minimum(moved, 0.0), high + np.maximum(moved, 0.0)
    low = np.maximum(np.where(np.isfinite(low), low, -widest), farthest_low)
    high = np.minimum(np.where(np.isfinite(high), high, widest), farthest_high)
    return inside, np.minimum(low, inside), np.maximum(high, inside)


def _apart(first: Ends, second: Ends, correlation: Array) -> Ends:
    (one, low_one, high_one), (other, low_other, high_other) = first, second

    def together(a: Array, b: Array) -> Array:
        known = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
        return np.where(known, np.sqrt(np.maximum(a**2 + b**2 - 2 * correlation * a * b, 0.0)), np.inf)

    low = one - other - together(one - low_one, high_other - other)
    return one - other, low, one - other + together(high_one - one, other - low_other)


# ---------------------------------------------------------------- tables of cells


def _distinct_selections(holds: Array, leading: int) -> list[tuple[Array, NDArray[np.bool_]]]:
    """The distinct conditions on the last axes, and for which cells of the first axes each one stands.

    A filter may speak of the attributes that a table is made by; then different cells select differently.
    """
    flat = holds.reshape((int(np.prod(holds.shape[:leading])), -1))
    distinct, which = np.unique(flat, axis=0, return_inverse=True)
    which = which.reshape(holds.shape[:leading])
    return [(row.reshape(holds.shape[leading:]), which == i) for i, row in enumerate(distinct)]


def estimate_cells(
    table: PublishedTable, holds: Array, leading: int, confidence: float, shares: bool
) -> tuple[Array, Array, Array]:
    """Unbiased counts, or shares of what is selected, and their intervals."""
    cells = selected_cells(table, holds, leading, confidence)
    if not shares:
        return cells.values, cells.low, cells.high
    if holds.all():  # shares of all records, whose number is no secret
        return cells.values / table.total, cells.low / table.total, cells.high / table.total
    return _estimated_shares(table, holds, leading, cells, confidence)


def selected_cells(table: PublishedTable, holds: Array, leading: int, confidence: float) -> Estimate:
    """Unbiased estimates, variances and intervals of the cells of the first axes among what is selected."""
    shape = holds.shape[:leading]
    parts, exact = np.zeros((4, *shape)), np.zeros(shape, bool)
    for selection, cells in _distinct_selections(holds, leading):
        if selection.any():
            part = invert(table, selection, confidence)
            parts = np.where(cells, np.stack([part.values, part.variances, part.low, part.high]), parts)
            exact = np.where(cells, part.exact, exact)
    return Estimate(parts[0], parts[1], parts[2], parts[3], exact)


def _estimated_shares(
    table: PublishedTable, holds: Array, leading: int, cells: Estimate, confidence: float
) -> tuple[Array, Array, Array]:
    total, spread = linear(table, [holds])
    if total[0] <= 0:
        raise InputError("Shares must be asked of records that the release can see", "an estimated count below 1")
    values = cells.values
    if spread[0, 0] <= 1e-9 * total[0]:  # their number is no secret either
        low, high = cells.low / total[0], cells.high / total[0]
    else:
        low, high = _share_intervals(table, holds, leading, cells, confidence)
    shares = values / total[0]
    moved = np.clip(shares, 0.0, 1.0) - shares  # to what is possible, at its full width
    least, most = np.minimum(shares, 0.0), np.maximum(shares, 1.0)  # unbiased shares can lie outside [0, 1]
    low, high = low + np.minimum(moved, 0.0), high + np.maximum(moved, 0.0)
    return shares, np.clip(low, least, most), np.clip(high, least, most)


def _share_intervals(
    table: PublishedTable, holds: Array, leading: int, cells: Estimate, confidence: float
) -> tuple[Array, Array]:
    variances, total = [], linear(table, [holds])[0][0]
    for side in [table] if table.weighted else [table, likely_table(table)]:
        own, together = np.zeros_like(cells.values), np.zeros_like(cells.values)
        for selection, where in _distinct_selections(holds, leading):
            own = np.where(where, selected_variances(side, selection), own)
            together = np.where(where, covariance_with_total(side, holds, selection), together)
        variances.append((own, together, np.full_like(own, linear(side, [holds])[1][0, 0])))
    one = np.zeros(holds.shape)
    one[tuple(np.argwhere(holds)[0][:leading])] = 1.0  # any cell of which some records are selected
    moment = record_moment(table.law, holds * one, holds, 0.0, 1.0)
    likely = None if table.weighted else variances[1]
    errors = RatioErrors(cells.values, np.full_like(cells.values, total), variances[0], likely, moment)
    return errors.interval(quantile(confidence))
