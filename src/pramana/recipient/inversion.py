"""Unbiased estimates by inversion, with their exact variances and intervals. Formulas: estimate.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.recipient.exact import (
    CellPatterns,
    cell_patterns,
    coin_counts,
    exact_intervals,
    to_simplices,
    where_exact,
)
from pramana.recipient.law import Array, Keep, PublishedTable, TableLaw

DEFAULT_CONFIDENCE = 0.95
_MANY_RECORDS = 4.0  # a standard deviation of so many is that of a normal law


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated counts of the private table, their variances over the coins, and intervals.

    `exact`: where the interval comes from an exact test; it then has possible counts only, which an unbiased
    estimate need not be.
    """

    values: Array
    variances: Array
    low: Array
    high: Array
    exact: NDArray[np.bool_]


def simultaneous_confidence(confidence: float, questions: int) -> float:
    """What each of many intervals needs, so that all of them hold together (Bonferroni)."""
    return 1 - (1 - confidence) / max(questions, 1)


def quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError("The confidence must lie strictly between 0 and 1", str(confidence))
    return NormalDist().inv_cdf((1 + confidence) / 2)


def invert(table: PublishedTable, where: Array | None = None, confidence: float = DEFAULT_CONFIDENCE) -> Estimate:
    """Estimate every cell; with `where`, the cells of the first axes among records for which it holds.

    `where` is an array over the last axes, 1 where a filter holds.
    """
    z = quantile(confidence)
    values = sum_selected(table.law.inverse(table.counts), where)
    variances = selected_variances(table, where)
    patterns = None if table.weighted else cell_patterns(table.law, table.counts, where)
    if patterns is not None:
        low, high = (end.reshape(values.shape) for end in pattern_intervals(patterns, confidence))
    else:
        moment = _own_moment(table.law, where)
        slopes, likely = _slopes(table, where, moment)
        steps = whole_record_step(variances, moment, z) * (not table.weighted)
        law = _NearNormal(values, variances, slopes, likely, steps)
        low, high = law.interval(z, _most(table, where))
    return _with_exact_ends(
        table, where, confidence, Estimate(values, variances, low, high, np.zeros(values.shape, bool))
    )


def pattern_intervals(patterns: CellPatterns, confidence: float) -> tuple[Array, Array]:
    """The interval of every cell, from the published counts of its patterns."""
    z = quantile(confidence)
    slopes, likely = patterns.slopes()
    steps = whole_record_step(patterns.variances, np.asarray(patterns.law.moment(2)[0]), z)
    return _NearNormal(patterns.values, patterns.variances, slopes, likely, steps).interval(z, patterns.among)


@dataclass(frozen=True, eq=False)
class _NearNormal:
    """Estimates and what their errors are like.

    Their estimated variances and how these move with them, the variances at the nearest possible truth, and by how
    much farther an end must reach because records are whole.
    """

    values: Array
    variances: Array
    slopes: Array
    likely: Array
    steps: Array

    def interval(self, z: float, most: Array) -> tuple[Array, Array]:
        drawn = self.likely > 1e-9 * (1 + np.abs(self.values))  # by some coin
        step = np.where(drawn, self.steps, 0.0)
        used = np.where(step > 0, np.maximum(self.variances, self.likely), self.variances)
        low, _ = score_interval(self.values - step, np.maximum(used - self.slopes * step, 0.0), self.slopes, z)
        rising = np.where(step > 0, np.maximum(self.slopes, 0.0), self.slopes)  # badly known, it must not shorten
        _, high = score_interval(self.values + step, np.maximum(used + rising * step, 0.0), rising, z)
        moved = np.clip(self.values, 0.0, most) - self.values  # to what is possible, at its full width
        return low + np.minimum(moved, 0.0), high + np.maximum(moved, 0.0)


def _with_exact_ends(
    table: PublishedTable, where: Array | None, confidence: float, estimate: Estimate
) -> Estimate:
    """Exact ends in place of the others where one coin stands behind a count that the normal law does not fit."""
    counts = None if table.weighted else coin_counts(table.law, table.counts, where)
    if counts is None:
        return estimate
    chosen = where_exact(counts, estimate.values, quantile(confidence))
    ends = exact_intervals(counts, chosen, confidence)
    if ends is None:
        return estimate
    low, high = np.array(estimate.low), np.array(estimate.high)
    low[chosen], high[chosen] = ends
    return replace(estimate, low=low, high=high, exact=chosen)


def whole_record_step(variances: Array, moment: Array, z: float) -> Array:
    """How much farther a continuous law must reach where an estimate moves in steps of about a record.

    In the continuity correction of a binomial test it is half a step. The steps are uneven here, and their law is
    known only in part, so it is a whole one, which fades out as the standard deviation grows from two records to
    four. That no interval covers less than 93% then was computed, not proved (tests/estimate/test_coverage.py).
    """
    records = np.sqrt(np.maximum(variances, 0.0) / moment) / max(1.0, z / 1.96) ** 2
    return np.asarray(np.sqrt(moment) * np.clip((_MANY_RECORDS - records) / 2, 0.0, 1.0))


def _most(table: PublishedTable, where: Array | None) -> Array:
    """What each cell can be at most: all records with its values of what is released unchanged."""
    if where is not None:
        return np.asarray(table.total)
    drawn = tuple(axis for factor in table.law.factors for axis in factor.axes)
    return np.asarray(table.counts.sum(axis=drawn, keepdims=True))


def selected_variances(table: PublishedTable, where: Array | None) -> Array:
    """Unbiased estimates of the variances of what `invert` estimates."""
    own = sum_selected(table.law.inverse(table.squares), where)
    return _spread(table.law, table.squares, where, 2) - own


def score_interval(values: Array, variances: Array, slope: Array, z: float) -> tuple[Array, Array]:
    """All x with (value - x)^2 <= z^2 * variance(x), the variance taken as linear in x with this slope.

    For large counts this is value ± z*sqrt(variance); for small ones it holds its coverage, as the score
    interval does for a count that is seen without noise.
    """
    shift = z * z * slope / 2
    half = z * np.sqrt(np.maximum(variances + (z * slope / 2) ** 2, 0.0))
    return values + shift - half, values + shift + half


def sum_selected(table: Array, where: Array | None) -> Array:
    if where is None:
        return table
    last = tuple(range(table.ndim - where.ndim, table.ndim))
    return np.asarray((table * where).sum(axis=last))


def _split(law: TableLaw, leading: int) -> tuple[TableLaw, TableLaw, Keep | None]:
    """The law's factors on the first `leading` axes, on the others, and the record coin that is on both."""
    first, others, both = [], [], None
    for factor in law.factors:
        if all(a < leading for a in factor.axes):
            first.append(factor)
        elif all(a >= leading for a in factor.axes):
            others.append(factor.moved({a: a - leading for a in factor.axes}))
        elif isinstance(factor, Keep) and both is None:
            both = factor
        else:
            raise InputError(
                "Columns that were randomised together must stand together, in the table or in its filter"
            )
    return TableLaw(law.shape[:leading], tuple(first)), TableLaw(law.shape[leading:], tuple(others)), both


def _spread(law: TableLaw, squares: Array, where: Array | None, power: int) -> Array:
    """sum over z of y_z G_v(z)^power for every cell v, G_v(z) being what a record published as z adds to v."""
    if where is None:
        return law.inverse_power(squares, power)
    leading = len(law.shape) - where.ndim
    last = tuple(range(leading, len(law.shape)))
    first, others, both = _split(law, leading)
    reach = others.inverse_adjoint(where)
    if both is None:
        return first.inverse_power((squares * reach**power).sum(axis=last), power)
    here, everywhere = _joint_reach(both, reach, leading)
    own = (squares * ((here - everywhere) ** power - (-everywhere) ** power)).sum(axis=last)
    coin_first = tuple(a for a in both.axes if a < leading)
    common = (squares * (-everywhere) ** power).sum(axis=last).sum(axis=coin_first, keepdims=True)
    return first.inverse_power(own + common, power)


def _joint_reach(both: Keep, reach: Array, leading: int) -> tuple[Array, Array]:
    """Under the record coin G_v(z) = (here if z has v's values) - everywhere."""
    coin_last = tuple(a - leading for a in both.axes if a >= leading)
    return reach / both.retention, both.offset * reach.sum(axis=coin_last, keepdims=True)


def _slopes(table: PublishedTable, where: Array | None, moment: Array) -> tuple[Array, Array]:
    """How a cell's estimated variance moves with its estimate: their covariance over the variance; and the latter.

    The variance is sum y (G^2 - G) and the estimate sum y G, so with S_p = sum E[y] G^p and m = E[G^2 | v] the
    covariance is S_3 - S_2 - (m - 1) x. The moments are taken at the nearest possible true table instead of the
    published counts, which in a sparse table would say that an empty cell has no variance.
    """
    law = table.law
    likely = nearest_possible(law, table.squares)
    expected = law.forward(likely)
    own = sum_selected(likely, where)
    second = _spread(law, expected, where, 2)
    covariance = _spread(law, expected, where, 3) - second - (moment - 1) * own
    mean_weight = float(table.squares.sum() / table.counts.sum()) if table.counts.any() else 1.0
    variance = second - own
    tiny = 1e-9 * (1 + np.abs(own))  # a column published unchanged has no variance at all
    slopes = np.divide(covariance, variance, out=np.zeros_like(variance), where=variance > tiny) * mean_weight
    return slopes, variance


def _own_moment(law: TableLaw, where: Array | None) -> Array:
    """E[G_v(Z)^2 | v]; with a filter the mean over the selected values, all that an interval's shape needs."""
    leading = len(law.shape) - (0 if where is None else where.ndim)
    first, others, both = _split(law, leading)
    moment = np.ones((1,) * leading)
    for factor in first.factors:
        moment = moment * factor.own_second_moment(first.shape)
    if where is None or not where.any():
        return moment
    reach = others.inverse_adjoint(where)
    inner = others.backward(reach**2) if both is None else _joint_moment(both, reach, leading, law.shape)
    return moment * float((inner * where).sum() / where.sum())


def _joint_moment(both: Keep, reach: Array, leading: int, shape: tuple[int, ...]) -> Array:
    """E[G^2 | true value] under the record coin: kept whole, or redrawn over its part of both sides."""
    coin_last = tuple(a - leading for a in both.axes if a >= leading)
    side = math.prod(shape[a] for a in both.axes if a < leading)
    here, everywhere = _joint_reach(both, reach, leading)
    same = (here - everywhere) ** 2
    redrawn = same.mean(axis=coin_last, keepdims=True) / side + (1 - 1 / side) * everywhere**2
    moment: Array = both.retention * same + (1 - both.retention) * redrawn
    return moment


def linear(table: PublishedTable, coefficients: Sequence[Array]) -> tuple[Array, Array]:
    """Estimates of the sums of c*x over the table for each c, and their covariance matrix.

    A record published as z adds G(z) = (B^T c)(z); cov = sum_z y_z G_i(z) G_j(z) - sum_v c_i(v) c_j(v) x_v.
    """
    reach = np.stack(
        [table.law.inverse_adjoint(np.broadcast_to(c, table.law.shape)).ravel() for c in coefficients]
    )
    flat = np.stack([np.broadcast_to(c, table.law.shape).ravel() for c in coefficients])
    own = table.law.inverse(table.squares).ravel()
    covariance = (reach * table.squares.ravel()) @ reach.T - (flat * own) @ flat.T
    return np.asarray(reach @ table.counts.ravel()), np.asarray(covariance)


def covariance_with_total(table: PublishedTable, holds: Array, where: Array) -> Array:
    """Covariance of each cell selected by `where` with the estimate of all records that `holds` selects.

    sum_z y_z G_total(z) G_v(z) is itself an inversion, of the table y*G_total, so no pair of cells is formed.
    """
    reach = table.law.inverse_adjoint(holds)
    return sum_selected(table.law.inverse(table.squares * reach) - table.law.inverse(table.squares) * holds, where)


def expected_l1(law: TableLaw, true: Array) -> float:
    """Expected sum of absolute errors of a known table's shares under inversion, by the normal law."""
    variances = law.inverse_power(law.forward(true), 2) - true
    return float(np.sqrt(2 / math.pi * np.maximum(variances, 0.0)).sum() / true.sum())


def likely_table(table: PublishedTable) -> PublishedTable:
    """What would be published on average if the nearest possible true table were the true one."""
    expected = table.law.forward(nearest_possible(table.law, table.counts))
    return PublishedTable(table.axes, expected, table.law, expected)


def to_simplex(values: Array, total: float) -> Array:
    """The nearest table, in squared distance, whose cells are not negative and sum to `total`."""
    flat = values.reshape((1, -1))
    return to_simplices(flat, np.array([total])).reshape(values.shape)


def nearest_possible(law: TableLaw, counts: Array) -> Array:
    """The same for the unbiased estimate; what is released unchanged keeps its totals, each value by itself."""
    drawn = [axis for factor in law.factors for axis in factor.axes]
    if not drawn:
        return counts
    last = tuple(range(-len(drawn), 0))
    estimates, published = (np.moveaxis(t, drawn, last) for t in (law.inverse(counts), counts))
    rows = (-1, math.prod(published.shape[published.ndim - len(drawn) :]))
    nearest = to_simplices(estimates.reshape(rows), published.reshape(rows).sum(axis=1))
    return np.moveaxis(nearest.reshape(estimates.shape), last, drawn)
