"""The likelihood's maximum: in closed form behind one coin, else by Newton's steps on the cells above zero."""

from __future__ import annotations

import math

import numpy as np

from pramana.estimate.law import Array, Keep, TableLaw

MOST_POLISHED = 512  # cells of a table whose matrix is formed
_MOST_STEPS = 300
_NOTHING = 1e-13  # of the total, below which a cell is zero


def behind_one_coin(law: TableLaw, counts: Array) -> Array | None:
    """The maximum where one coin keeps each record's cell or redraws it among V; None for other laws.

    Every expected count is at least f = N (1 - retention) / V. The likeliest ones are f for the rarest values and
    in the proportions of the published counts for the others: the most values for which this stays above f.
    """
    if len(law.factors) != 1 or not isinstance(law.factors[0], Keep):
        return None
    coin = law.factors[0]
    last = tuple(range(-len(coin.axes), 0))
    front = np.moveaxis(counts, coin.axes, last)
    rows = front.reshape((-1, coin.size))
    totals = rows.sum(axis=1, keepdims=True)
    floor = totals * (1 - coin.retention) / coin.size
    falling = -np.sort(-rows, axis=1)
    above = np.arange(1, coin.size + 1)
    sums = np.maximum(np.cumsum(falling, axis=1), 1e-300)
    scale = (totals - (coin.size - above) * floor) / sums
    last_above = coin.size - 1 - np.argmax((falling * scale > floor)[:, ::-1], axis=1)
    scale = np.take_along_axis(scale, last_above[:, None], axis=1)
    likeliest = np.where(totals > 0, np.maximum(rows * scale - floor, 0.0) / coin.retention, 0.0)
    return np.moveaxis(likeliest.reshape(front.shape), last, coin.axes)


def finished(law: TableLaw, counts: Array, near: Array, gap: float) -> Array:
    """From a table near the maximum to the maximum: Newton's steps on the cells above zero, until the rest agree.

    At the maximum D = A(y / (A^T x)) is 1 in cells above zero, at most 1 in the others (Karush, Kuhn, Tucker).
    """
    cells = law.cells
    matrix = np.stack([law.forward(unit.reshape(law.shape)).ravel() for unit in np.eye(cells)])
    seen = counts.ravel() > 0
    matrix, seen_counts = matrix[:, seen], counts.ravel()[seen]
    total = float(seen_counts.sum())
    x = near.ravel().copy()
    pull = matrix @ (seen_counts / (x @ matrix))
    x[(pull < 1 - 1e-6) & (x < 1e-3 * total / cells)] = 0.0
    x *= total / x.sum()
    best, least = x, math.inf
    for _ in range(_MOST_STEPS):
        expected = x @ matrix
        pull = matrix @ (seen_counts / expected)
        left = total * (float(pull.max()) - 1)
        if left < least:
            best, least = x, left
        if left <= gap / 2:
            break
        moved = _newton(matrix, seen_counts, expected, x, pull)
        if moved is None:
            break
        x = moved
    return best.reshape(law.shape)


def _newton(matrix: Array, counts: Array, expected: Array, x: Array, pull: Array) -> Array | None:
    """One step on the cells that are above zero or would rise; None if it leads nowhere."""
    total = float(counts.sum())
    free = (x > 0) | (pull > 1)
    while free.any():
        direction = _direction(matrix[free], counts / expected**2, pull[free])
        stuck = (x[free] <= 0) & (direction < 0)
        if not stuck.any():
            break
        free[np.flatnonzero(free)[stuck]] = False
    else:
        return None
    falling = direction < 0
    farthest = float(np.min(-x[free][falling] / direction[falling], initial=math.inf))
    level, length = float(counts @ np.log(expected)), min(1.0, farthest)
    for _ in range(40):
        tried = x.copy()
        tried[free] += length * direction
        tried[tried < _NOTHING * total] = 0.0
        tried *= total / tried.sum()
        reached = float(counts @ np.log(np.maximum(tried @ matrix, 1e-300)))
        if reached >= level - 1e-12 * abs(level):  # at the top only rounding tells two levels apart
            return tried
        length /= 2
    return None


def _direction(matrix: Array, weights: Array, pull: Array) -> Array:
    """The step to the top of the parabola among changes that sum to nothing."""
    size = len(pull)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = (matrix * weights) @ matrix.T
    system[:size, size] = system[size, :size] = 1.0
    return np.asarray(np.linalg.lstsq(system, np.append(pull, 0.0), rcond=1e-13)[0][:size])
