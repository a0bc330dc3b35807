"""Quantiles of the private table's numbers and dates; intervals hold whole bins. Formulas: estimate.md."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.estimate.axis import Axis
from pramana.estimate.filters import Filter
from pramana.estimate.inversion import quantile, to_simplex
from pramana.estimate.law import Array
from pramana.estimate.numbers.spread import standard_errors
from pramana.estimate.ratios import UnseenGroupError
from pramana.estimate.table import PublishedTable
from pramana.schema import Kind

_ROUNDING = 1e-9  # of the records: sums of shares that are equal in theory


@dataclass(frozen=True)
class EstimatedQuantile:
    """The value below which a share of the records lies. Ends are infinite where the outermost bin has none.

    `estimate` takes the values of a bin as spread evenly; the interval does not. Dates are days, as Python counts
    them, in the fields, and written as dates in JSON.
    """

    share: float
    estimate: float
    low: float
    high: float
    kind: Kind = Kind.NUMBER

    def to_json(self) -> dict[str, Any]:
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return {"share": self.share, **{name: self._written(value) for name, value in ends.items()}}

    def _written(self, value: float) -> float | str | None:
        if not math.isfinite(value):
            return None
        return value if self.kind is Kind.NUMBER else datetime.date.fromordinal(int(value)).isoformat()


def estimate_quantiles(
    table: PublishedTable, axis: Axis, where: Filter | None, shares: Sequence[float], confidence: float
) -> list[EstimatedQuantile]:
    """The quantiles of `axis` among records with `where`; records without a value are left out.

    The quantile lies above the first k bins if and only if fewer than a share p of the records are in them. That
    is tested bin by bin, from below and from above, up to the first test that is not significant; so each end is
    wrong only if the one test at the true bin is, and the interval covers wherever in its bin the value lies.
    """
    if any(not 0 < share < 1 for share in shares):
        raise InputError("The shares of quantiles must lie strictly between 0 and 1", str(list(shares))[:80])
    order, low, high = _bins_in_order(axis)
    selected = np.ones(table.law.shape) if where is None else where.select(table.axes)
    position = [a.name for a in table.axes].index(axis.name)
    members = _indicators(axis, order, position, table.law.shape) * selected
    counts = (members * table.law.inverse(table.counts)).reshape(len(order), -1).sum(axis=1)
    if counts.sum() <= 0:
        raise UnseenGroupError(
            "A quantile must be asked of a group that the release can see",
            "an estimated size that is not positive",
            "The group is too small for this release's noise.",
        )
    below, everyone = np.cumsum(members, axis=0)[:-1], members.sum(axis=0)
    z = quantile(confidence)
    found = []
    for share in shares:
        gaps = np.cumsum(counts)[:-1] - share * counts.sum()
        errors = z * standard_errors(table, list(below - share * everyone))
        first, last = _span(gaps, errors, _ROUNDING * float(np.abs(counts).sum()))
        found.append(_quantile(share, counts, (low, high), (first, last), axis.kind))
    return found


def _bins_in_order(axis: Axis) -> tuple[NDArray[np.int64], Array, Array]:
    """The codes by value, without the missing category, and the ends of their bins, which must not overlap."""
    if axis.intervals is None:
        raise InputError(f"The attribute {axis.name} must be of numbers or dates for a quantile", "names")
    low, high = axis.intervals
    known = np.flatnonzero(~np.isnan(low))
    order = known[np.lexsort((high[known], low[known]))]
    low, high = low[order], high[order]
    if (high[:-1] > low[1:]).any() or (low[:-1] == low[1:]).any():
        raise InputError(f"The bins of {axis.name} must not overlap for a quantile", "some that do")
    return order, low, high


def _indicators(axis: Axis, order: NDArray[np.int64], position: int, shape: tuple[int, ...]) -> Array:
    """For each bin, 1 in the cells of the table that are in it."""
    flags = np.zeros((len(order), axis.size))
    flags[np.arange(len(order)), order] = 1
    wide = flags.reshape(len(order), *(axis.size if i == position else 1 for i in range(len(shape))))
    return np.broadcast_to(wide, (len(order), *shape)).astype(np.float64)


def _span(gaps: Array, errors: Array, tiny: float) -> tuple[int, int]:
    """The first and the last bin that the quantile can be in."""
    above = gaps + errors < -tiny  # it lies beyond this bin
    within = gaps - errors >= -tiny  # it lies in this bin or before
    first = int(np.argmin(np.append(above, False)))
    last = len(gaps) - int(np.argmin(np.append(within[::-1], False)))
    return first, last


def _quantile(
    share: float, counts: Array, ends: tuple[Array, Array], span: tuple[int, int], kind: Kind
) -> EstimatedQuantile:
    low, high = ends
    likely = to_simplex(counts, float(counts.sum()))
    upto = np.cumsum(likely)
    code = int(np.searchsorted(upto, share * upto[-1] * (1 - _ROUNDING)))
    code = min(max(code, span[0]), span[1])
    inside = (share * upto[-1] - upto[code] + likely[code]) / likely[code] if likely[code] > 0 else 0.5
    start, end = float(low[code]), float(high[code])
    if math.isinf(start) or math.isinf(end):
        estimate = end if math.isinf(start) else start
    else:
        estimate = start + min(max(inside, 0.0), 1.0) * (end - start)
    least, most = float(low[span[0]]), float(high[span[1]])
    if kind is Kind.DATE and most > float(low[span[1]]):
        most -= 1  # the last day of the bin
        estimate = min(math.floor(estimate), most)
    return EstimatedQuantile(share, estimate, least, most, kind)
