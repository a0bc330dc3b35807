"""Shares of values in order whose neighbours are alike: likelihood less a penalty on steps between neighbours.

Behind a channel for values in order the likelihood hardly tells neighbours apart, and its maximum jumps between
them. How much jumps cost is decided by the published counts themselves, by Akaike's criterion: where a table is
heaped, hardly anything is smoothed. Li et al. 2020 (SIGMOD) smooth behind the square wave with a fixed kernel;
here the strength is chosen. Formulas: estimate.md.
"""

from __future__ import annotations

import math

import numpy as np

from pramana.errors import InputError
from pramana.estimate.law import Array
from pramana.estimate.likelihood import Fit, fit
from pramana.estimate.table import PublishedTable

MOST_VALUES = 512
_WHOLE = 10.0
_STRENGTHS = np.geomspace(1e-5, 1e4, 25)  # of the penalty, for a record


def smooth_fit(table: PublishedTable) -> Fit:
    """A table of one attribute in order; `gap` is how far its log-likelihood is below the maximum."""
    _check(table)
    likeliest = fit(table)
    if table.total <= 0:
        return likeliest
    matrix = np.stack([table.law.forward(unit) for unit in np.eye(table.counts.size)])
    # With weights a record counts as so many alike ones as have the same variance.
    counts = table.counts * (table.total / float(table.squares.sum()))
    best = likeliest.values / table.total
    level = _log_likelihood(matrix, counts, best)
    least = 2 * float((best > 0).sum()) - 2 * level
    chosen = best
    for strength in _STRENGTHS * float(counts.sum()):
        shares, freedom = _penalised(matrix, counts, _steps(table), float(strength))
        criterion = 2 * freedom - 2 * _log_likelihood(matrix, counts, shares)
        if criterion < least:
            chosen, least = shares, criterion
    reached = _log_likelihood(matrix, table.counts, chosen * table.total)
    below = max(0.0, likeliest.log_likelihood - reached)
    return Fit(chosen * table.total, reached, below, likeliest.rounds, likeliest.converged)


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


def _steps(table: PublishedTable) -> Array:
    """Differences between neighbours; a missing category is nobody's."""
    size = table.axes[0].size
    ordered = size - table.axes[0].missing
    return np.asarray(np.diff(np.eye(size)[:ordered], axis=0), np.float64)


def _penalised(matrix: Array, counts: Array, steps: Array, strength: float) -> tuple[Array, float]:
    """Shares that are not negative, and how many free ones they are worth: the trace of what maps counts to them.

    The likelihood is taken as normal around the published shares, each at least half a record.
    """
    from scipy import optimize

    total = float(counts.sum())
    weights = np.sqrt(total / np.maximum(counts / total, 0.5 / total))
    whole = _WHOLE * total * np.ones((1, len(counts)))  # they sum to 1
    rows = np.vstack([weights[:, None] * matrix.T, math.sqrt(strength) * steps, whole])
    wanted = np.concatenate([weights * (counts / total), np.zeros(len(steps)), whole[:, 0]])
    shares = np.asarray(optimize.nnls(rows, wanted, maxiter=50 * len(counts))[0], np.float64)
    shares /= shares.sum()
    free = shares > 0
    seen = weights[:, None] * matrix.T[:, free]
    information = seen.T @ seen
    penalised = information + strength * steps[:, free].T @ steps[:, free] + 1e-9 * total * np.eye(int(free.sum()))
    return shares, float(np.trace(np.linalg.solve(penalised, information)))


def _log_likelihood(matrix: Array, counts: Array, shares: Array) -> float:
    return float(counts @ np.log(np.maximum(shares @ matrix, 1e-300)))
