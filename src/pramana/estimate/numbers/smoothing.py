"""Shares of values in order whose neighbours are alike, but for a few jumps: likelihood and a prior on the steps.

Behind a channel for values in order the likelihood hardly tells neighbours apart, and its maximum jumps between
them. Here the steps of the shares' logarithms are taken for draws of Student's law with three degrees of freedom:
small ones are charged for, large ones hardly more than middling ones, so that a smooth column is smoothed and a
heap stays. How wide that law is the published counts themselves decide, by the evidence (Laplace). Li et al. 2020
(SIGMOD) smooth behind the square wave with a fixed kernel. Formulas: estimate.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pramana.errors import InputError
from pramana.estimate.law import Array
from pramana.estimate.likelihood import Fit, fit
from pramana.estimate.table import PublishedTable

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
