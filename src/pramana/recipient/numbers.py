"""Quantiles, means, smoothed shares and regressions of values in order. Formulas: estimate.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.recipient.answers import (
    Coefficient,
    EstimatedNumber,
    EstimatedQuantile,
    EstimatedRegression,
    normal_p_value,
    unseen_group,
    without_end,
)
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import linear, quantile, to_simplex
from pramana.recipient.law import Array, PublishedTable
from pramana.recipient.likelihood import Fit, fit
from pramana.recipient.ratios import Ratio, estimate_ratios
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind

# Standard errors of sums over the private table, over the release's coins.


def standard_errors(table: PublishedTable, coefficients: Sequence[Array]) -> Array:
    """Of the estimates of the sums of c*x for each c: the larger of two estimates of their variances.

    The unbiased one can come out as nothing, or less, in a small table. The other is what the variance would be if
    the nearest possible true table were the true one.
    """
    likely = to_simplex(table.law.inverse(table.squares), float(table.squares.sum()))
    variances = []
    for coefficient in coefficients:
        _, unbiased = linear(table, [coefficient])
        reach = table.law.inverse_adjoint(np.broadcast_to(coefficient, table.law.shape))
        there = float((likely * (table.law.backward(reach**2) - coefficient**2)).sum())
        variances.append(max(float(unbiased[0, 0]), there, 0.0))
    return np.asarray(np.sqrt(np.array(variances)))


_ROUNDING = 1e-9  # of the records: sums of shares that are equal in theory


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
        raise unseen_group("A quantile", noisy=True)
    below, everyone = np.cumsum(members, axis=0)[:-1], members.sum(axis=0)
    z = quantile(confidence)
    quantiles = []
    for share in shares:
        gaps = np.cumsum(counts)[:-1] - share * counts.sum()
        errors = z * standard_errors(table, list(below - share * everyone))
        first, last = _span(gaps, errors, _ROUNDING * float(np.abs(counts).sum()))
        quantiles.append(_quantile(share, counts, (low, high), (first, last), axis.kind))
    return quantiles


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


# Means whose intervals also hold what bins leave open.


def mean_within_bins(
    table: PublishedTable, axis: Axis, where: Filter | None, confidence: float
) -> EstimatedNumber:
    """The mean with each bin at its middle; its interval from that of the lower ends to that of the upper ends.

    The mean of the values themselves lies between those of the ends, wherever in their bins they are.
    """
    middle = Ratio(axis, where)
    middle.coefficients(table.axes)  # refuses names and bins without an end
    assert axis.intervals is not None
    ratios = [middle, *(Ratio(_at(axis, ends), where) for ends in axis.intervals)]
    at_middle, at_low, at_high = estimate_ratios(table, ratios, confidence).numbers
    return EstimatedNumber(at_middle.estimate, at_low.low, at_high.high)


def _at(axis: Axis, numbers: Array) -> Axis:
    """The axis with one number in place of each interval."""
    points = tuple(numbers.tolist())
    return replace(axis, lower=points, upper=points)


# Shares of values in order whose neighbours are alike, but for a few jumps: likelihood and a prior on the
# steps.
#
# Behind a channel for values in order the likelihood hardly tells neighbours apart, and its maximum jumps
# between them. Here the steps of the shares' logarithms are taken for draws of Student's law with three
# degrees of freedom: small ones are charged for, large ones hardly more than middling ones, so that a smooth
# column is smoothed and a heap stays. How wide that law is the published counts themselves decide, by the
# evidence (Laplace). Li et al. 2020 (SIGMOD) smooth behind the square wave with a fixed kernel. Formulas:
# estimate.md.


MOST_VALUES = 512
_FREEDOM = 3.0  # of Student's law
_WIDTHS = np.geomspace(3.0, 0.01, 18)  # that are tried, widest first: each starts where the one before ended
_MOST_ROUNDS = 60
_NEAR = 1e-3  # of the log-likelihood, that is left to gain
_LONGEST = 3.0  # step of a logarithm in one round
_MISSING = 0.01  # what is known of a missing category's log-odds: next to nothing


def smooth_fit(table: PublishedTable) -> Fit:
    """A table of one attribute in order; `gap` is how far its log-likelihood is below the maximum."""
    _check(table)
    likeliest = fit(table)
    if table.total <= 0:
        return likeliest
    matrix = np.stack([table.law.forward(unit) for unit in np.eye(table.counts.size)])
    # With weights a record counts as so many alike ones as have the same variance.
    counts = table.counts * (table.total / float(table.squares.sum()))
    shares = likeliest_steps(matrix, counts, table.axes[0].missing).shares
    reached = float(table.counts @ np.log(np.maximum(shares * table.total @ matrix, 1e-300)))
    below = max(0.0, likeliest.log_likelihood - reached)
    return Fit(shares * table.total, reached, below, likeliest.rounds, likeliest.converged)


@dataclass(frozen=True, eq=False)
class SmoothedShares:
    """The likeliest steps at one width of their law, and ln of the chance of the counts at that width, about."""

    steps: Array
    shares: Array
    evidence: float


def likeliest_steps(matrix: Array, counts: Array, missing: bool = False) -> SmoothedShares:
    """At the width that makes the counts likeliest. `missing`: the last value is nobody's neighbour."""
    best, steps = None, np.zeros(len(matrix) - 1)
    for width in _WIDTHS.tolist():
        tried = steps_of_width(matrix, counts, width, steps, missing)
        steps = tried.steps
        if best is None or tried.evidence > best.evidence:
            best = tried
    assert best is not None
    return best


def steps_of_width(
    matrix: Array, counts: Array, width: float, start: Array, missing: bool = False
) -> SmoothedShares:
    """Newton's steps with the expected information, halved until they gain."""
    published, rows = counts[matrix.max(axis=0) > 0], matrix[:, matrix.max(axis=0) > 0]
    ordered = len(start) - missing
    steps, level = start, _level(rows, published, start, width, missing)
    for _ in range(_MOST_ROUNDS):
        shares = _shares(steps, missing)
        slope, information = _slope_and_information(rows, published, shares, missing)
        charged = np.append(_charge(steps[:ordered], width), np.full(int(missing), _MISSING))
        slope = slope - charged * steps
        information[np.diag_indices(len(steps))] += charged
        towards = np.linalg.solve(information, slope)
        if float(slope @ towards) < _NEAR:
            break
        part = min(1.0, _LONGEST / float(np.abs(towards).max()))
        while part > 1e-6 and not _level(rows, published, steps + part * towards, width, missing) > level:
            part /= 2
        if part <= 1e-6:
            break
        steps = steps + part * towards
        level = _level(rows, published, steps, width, missing)
    evidence = level - ordered * math.log(width) - 0.5 * float(np.linalg.slogdet(information)[1])
    return SmoothedShares(steps, _shares(steps, missing), evidence)


def _shares(steps: Array, missing: bool) -> Array:
    ordered = np.concatenate([[0.0], np.cumsum(steps[: len(steps) - missing])])
    logarithms = np.append(ordered, steps[len(steps) - missing :])
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum(), np.float64)


def _level(matrix: Array, counts: Array, steps: Array, width: float, missing: bool) -> float:
    """The log-likelihood and that of the steps, without what no step changes."""
    ordered, others = np.split(steps, [len(steps) - missing])
    law = 0.5 * (_FREEDOM + 1) * float(np.log1p(ordered**2 / (_FREEDOM * width**2)).sum())
    likelihood = float(counts @ np.log(np.maximum(_shares(steps, missing) @ matrix, 1e-300)))
    return likelihood - law - 0.5 * _MISSING * float(others @ others)


def _charge(steps: Array, width: float) -> Array:
    """The slope of Student's law over the step: what a step of this size is charged, as if it were normal."""
    return np.asarray((_FREEDOM + 1) / (_FREEDOM * width**2 + steps**2))


def _slope_and_information(matrix: Array, counts: Array, shares: Array, missing: bool) -> tuple[Array, Array]:
    """Of the likelihood over the steps: a step moves every ordered value beyond it."""
    seen = np.maximum(shares @ matrix, 1e-300)
    by_value = shares * (matrix @ (counts / seen)) - counts.sum() * shares
    moved = shares[:, None] * (matrix - seen) * np.sqrt(counts.sum() / seen)
    ordered = len(shares) - missing
    beyond = [_beyond(part[:ordered]) for part in (by_value[:, None], moved)]
    slope, scaled = (np.vstack([b, p[ordered:]]) for b, p in zip(beyond, (by_value[:, None], moved), strict=True))
    return slope[:, 0], np.asarray(scaled @ scaled.T)


def _beyond(parts: Array) -> Array:
    """Sums over the values beyond the first, the second, ..."""
    return np.asarray(np.cumsum(parts[::-1], axis=0)[::-1][1:])


def _check(table: PublishedTable) -> None:
    if len(table.axes) != 1:
        raise InputError(
            "A smoothed estimate must be of one attribute, without a filter on others",
            f"{len(table.axes)} attributes",
        )
    axis = table.axes[0]
    if not axis.kind.has_order or axis.size - axis.missing < 3:
        raise InputError(
            f"A smoothed estimate must be of values in order, and {axis.name!r} has none",
            f"the kind {axis.kind.value}",
            "Ask for the method em.",
        )
    if axis.size > MOST_VALUES:
        raise InputError(f"A smoothed estimate must be of at most {MOST_VALUES} values", str(axis.size))


# Linear regression of a number on other attributes of the private table.
#
# The sums of squares and products are estimated without bias from the published table, so the slopes are not
# drawn towards zero as those of the published values are. Standard errors are over the release's coins.


INTERCEPT = "(intercept)"
_LEAST_EIGENVALUE = 1e-9  # of the regressors' correlation matrix: below it, one follows from the others


def estimate_regression(
    table: PublishedTable, attribute: Axis, on: Sequence[Axis], where: Filter | None, confidence: float
) -> EstimatedRegression:
    """Least squares of `attribute` on others, among records with `where` that miss none of them.

    Numbers enter as they are, each bin at its middle; names and dates by an indicator for every value but one.
    """
    names = [attribute.name, *(axis.name for axis in on)]
    if len(set(names)) != len(names):
        raise InputError("A regression must name each attribute once", ", ".join(names))
    selected = _complete(table, (attribute, *on), where)
    terms, design = _design(table, on, selected)
    middles, halves = _numbers(attribute, _cells_of(selected, table, attribute))
    outcome, half = (_flat(values, table, attribute) for values in (middles, halves))
    counts = table.law.inverse(table.counts).ravel() * selected.ravel()
    inverse = _inverse_moments(design, counts)
    slopes = inverse @ (design * counts) @ outcome
    pull = inverse @ design * selected.ravel()  # what a record adds to each coefficient, by its outcome
    errors = standard_errors(table, [row.reshape(table.law.shape) for row in pull * (outcome - slopes @ design)])
    within = np.abs(pull) @ (to_simplex(counts, float(counts.sum())) * half)
    z = quantile(confidence)
    coefficients = [
        Coefficient(name, b, e, b - z * e, b + z * e, normal_p_value(b, e), w)
        for name, b, e, w in zip(terms, slopes.tolist(), errors.tolist(), within.tolist(), strict=True)
    ]
    return EstimatedRegression(attribute.name, float(counts.sum()), tuple(coefficients))


def _complete(table: PublishedTable, axes: Sequence[Axis], where: Filter | None) -> Array:
    """1 in the cells where the filter holds and no attribute is missing."""
    selected = np.ones(table.law.shape) if where is None else where.select(table.axes)
    for axis in axes:
        present = np.array([axis.label(code) is not None for code in range(axis.size)], np.float64)
        selected = selected * _flat(present, table, axis).reshape(table.law.shape)
    return selected


def _flat(values: Array, table: PublishedTable, axis: Axis) -> Array:
    """For every cell of the table, in a row, the value of one attribute there."""
    shape = [-1 if other.name == axis.name else 1 for other in table.axes]
    return np.broadcast_to(values.reshape(shape), table.law.shape).ravel()


def _cells_of(selected: Array, table: PublishedTable, axis: Axis) -> Array:
    """How many cells of each value of an attribute are selected."""
    others = tuple(i for i, other in enumerate(table.axes) if other.name != axis.name)
    return np.asarray(selected.sum(axis=others))


def _design(table: PublishedTable, on: Sequence[Axis], selected: Array) -> tuple[list[str], Array]:
    """The names of the coefficients, and what each is multiplied by in every cell."""
    terms, rows = [INTERCEPT], [np.ones(table.law.cells)]
    for axis in on:
        for name, values in _features(axis, _cells_of(selected, table, axis)):
            terms.append(name)
            rows.append(_flat(values, table, axis))
    return terms, np.stack(rows)


def _numbers(axis: Axis, cells: Array) -> tuple[Array, Array]:
    """The middle of each value that is selected, and half the width of its bin; 0 for the others."""
    middles = axis.middles
    if np.isinf(middles[cells > 0]).any():
        raise without_end("A regression with", axis.name)
    assert axis.lower is not None and axis.upper is not None
    half = (np.array(axis.upper) - np.array(axis.lower)) / 2
    used = cells > 0
    return np.where(used, middles, 0.0), np.where(used, half, 0.0)


def _features(axis: Axis, cells: Array) -> list[tuple[str, Array]]:
    if axis.kind is Kind.NUMBER:
        return [(axis.name, _numbers(axis, cells)[0])]
    used = [code for code in range(axis.size) if cells[code] > 0]
    return [(f"{axis.name} = {axis.labels[code]}", np.eye(axis.size)[code]) for code in used[1:]]


def _inverse_moments(design: Array, counts: Array) -> Array:
    """The inverse of the regressors' estimated sums of products; refused where they are not those of any table."""
    moments = (design * counts) @ design.T
    scale = np.sqrt(np.maximum(np.diagonal(moments), 0.0))
    if not (scale > 0).all() or np.linalg.eigvalsh(moments / np.outer(scale, scale))[0] < _LEAST_EIGENVALUE:
        raise InputError(
            "A regression must be on attributes that the release can tell apart, none following from others",
            "sums of products that have no inverse",
            "Ask for fewer attributes, or for a larger group.",
        )
    return np.asarray(np.linalg.inv(moments))
