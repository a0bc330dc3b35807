"""Maximum likelihood: the maximum itself or, by EM (iterative Bayes), near it, with a bound on what is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pramana.errors import InputError
from pramana.estimate.inversion import DEFAULT_CONFIDENCE, quantile, to_simplex
from pramana.estimate.law import Array, TableLaw
from pramana.estimate.maximum import behind_one_coin, maximise
from pramana.estimate.table import PublishedTable

MOST_ROUNDS = 6000
_MOST_WORK = 2_000_000_000  # cells times rounds: minutes for the largest tables
FINISHED = 1e-6  # of the log-likelihood that is left to gain, per million records
MOST_MAXIMISED = 2_000_000  # cells of a table whose maximum is reached; beyond, EM comes near it
_PROFILE_GAP = 0.02
_FARTHEST = 16.0  # the first bound on extrapolations; it follows what has worked
_FLOOR = 0.1  # an extrapolated cell keeps this share of its plain step, so that none is lost for good

Step = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted table. `gap` bounds how much higher the greatest log-likelihood can be."""

    values: Array
    log_likelihood: float
    gap: float
    rounds: int
    converged: bool


def fit(table: PublishedTable, *, gap: float | None = None, most_rounds: int | None = None) -> Fit:
    """The table under which the published one is likeliest.

    Behind one coin it is known in closed form, and up to two million cells an interior-point method reaches it:
    the default `gap` is a millionth of the log-likelihood for each million records. For larger tables, and where a
    `gap` is asked for, the sheet's x <- x ∘ A(y / (A^T x)), extrapolated (SQUAREM, step by norms) and kept uphill,
    ends when the bound on what is left is below `gap`, or after `most_rounds` steps (by default 6000, fewer beyond
    300,000 cells); `converged` tells which. The default gap is then a hundredth of a half per cell: what the coins
    leave undecided is about a half per cell.

    The bound: with D = A(y / (A^T x)), concavity gives l(best) - l(x) <= total * (max D - 1) for every x.
    """
    cells = table.counts.size
    if table.total <= 0:
        return Fit(np.zeros_like(table.counts), 0.0, 0.0, 0, converged=True)
    finished = FINISHED * max(1.0, table.total / 1e6)
    closed = behind_one_coin(table.law, table.counts)
    if closed is not None:
        return _judged(table, closed, 1, max(gap or 0.0, finished))
    if gap is None and cells <= MOST_MAXIMISED:
        best = maximise(table.law, table.counts, _start(table), finished)
        return replace(
            _judged(table, best.values, best.rounds, finished), gap=best.gap, converged=best.gap <= finished
        )
    if gap is None:
        gap = 0.005 * cells
    if most_rounds is None:
        most_rounds = max(60, min(MOST_ROUNDS, _MOST_WORK // max(cells, 1)))
    return _climb(table, _start(table), None, gap, most_rounds)


def _judged(table: PublishedTable, values: Array, rounds: int, gap: float) -> Fit:
    level, pull = _stepper(table.law, table.counts)(values)
    left = max(table.total * (float(pull.max()) - 1), 0.0)
    return Fit(values, level, left, rounds, converged=left <= gap)


@dataclass(frozen=True)
class _FixedCell:
    """One cell fixed at a value: the others share what is left of the total."""

    cell: tuple[int, ...]
    value: float

    def scaled(self, x: Array, total: float) -> Array:
        x[self.cell] = 0.0
        x *= (total - self.value) / x.sum()
        x[self.cell] = self.value
        return x


def _climb(table: PublishedTable, x: Array, fixed: _FixedCell | None, gap: float, most_rounds: int) -> Fit:
    total = table.total
    step = _stepper(table.law, table.counts)

    def scaled(x: Array) -> Array:
        return x * (total / x.sum()) if fixed is None else fixed.scaled(x, total)

    def left(pull: Array) -> float:
        """sum over the best x* of x* D, minus total: at most this is left to gain."""
        if fixed is None:
            return total * (float(pull.max()) - 1)
        others = pull.copy()
        others[fixed.cell] = 0.0
        return fixed.value * float(pull[fixed.cell]) + (total - fixed.value) * float(others.max()) - total

    x = scaled(x.copy())
    level, pull = step(x)
    rounds, farthest = 1, _FARTHEST
    while left(pull) > gap and rounds < most_rounds:
        first = scaled(x * pull)
        level_first, pull_first = step(first)
        second = scaled(first * pull_first)
        x, reach = _extrapolated(x, first, second, farthest)
        x = scaled(x)
        level, pull = step(x)
        rounds += 2
        if level >= level_first:
            farthest *= 4.0 if reach == farthest else 1.0
        else:  # too far: fall back on the plain steps
            farthest = max(farthest / 4.0, 4.0)
            x = second
            level, pull = step(second)
            rounds += 1
    return Fit(x, level, max(left(pull), 0.0), rounds, converged=left(pull) <= gap)


def _stepper(law: TableLaw, counts: Array) -> Step:
    seen = counts > 0

    def step(x: Array) -> tuple[float, Array]:
        expected = law.forward(x)
        ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=seen & (expected > 0))
        level = float(np.dot(counts[seen], np.log(np.maximum(expected[seen], 1e-300))))
        return level, law.backward(ratio)

    return step


def _start(table: PublishedTable) -> Array:
    """Half the projected inversion, which is near, and half uniform, so that no cell starts at zero."""
    flat = table.total / table.counts.size
    try:
        return (to_simplex(table.law.inverse(table.counts), table.total) + flat) / 2
    except InputError:  # a singular channel: the likelihood can still be climbed from the middle
        return np.full(table.counts.shape, flat)


def _extrapolated(x: Array, first: Array, second: Array, farthest: float) -> tuple[Array, float]:
    """Where the steps seem to lead, at most `farthest` steps on; and how far that is."""
    move = first - x
    bend = second - first - move
    length = float(np.linalg.norm(bend))
    reach = min(max(1.0, float(np.linalg.norm(move)) / length), farthest) if length > 0 else 1.0
    return np.maximum(x + 2 * reach * move + reach * reach * bend, _FLOOR * second), reach


# ---------------------------------------------------------------- intervals


def profile_interval(
    table: PublishedTable, cell: tuple[int, ...], confidence: float = DEFAULT_CONFIDENCE
) -> tuple[float, float]:
    """Every count of one cell that the likelihood, the other cells fitted around it, does not reject."""
    from scipy.optimize import brentq

    limit = quantile(confidence) ** 2 / 2
    best = fit(table, gap=_PROFILE_GAP)
    peak, total = float(best.values[cell]), table.total
    near = [best.values]  # each fit starts from the last one

    def excess(value: float) -> float:
        start = near[-1] + total / best.values.size * 1e-3  # a cell at zero could never rise again
        around = _climb(table, start, _FixedCell(cell, value), _PROFILE_GAP, MOST_ROUNDS)
        near[-1] = around.values
        return best.log_likelihood - around.log_likelihood - limit

    low = float(brentq(excess, 0.0, peak, xtol=1e-3 * peak)) if peak > 0 and excess(0.0) > 0 else 0.0
    step = max(1.0, math.sqrt(peak))
    while peak + step < total and excess(peak + step) < 0:
        step *= 2
    upper = min(peak + step, total * (1 - 1e-9))
    if excess(upper) < 0:
        return low, total
    return low, float(brentq(excess, peak, upper, xtol=1e-3 * upper))
