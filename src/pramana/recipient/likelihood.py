"""Maximum likelihood: the maximum itself or, by EM (iterative Bayes), near it, with a bound on what is left."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana.errors import InputError
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, quantile, to_simplex
from pramana.recipient.law import Array, Keep, PublishedTable, TableLaw

# The likelihood's maximum: in closed form behind one coin, else by an interior-point method that forms no
# matrix.
#
# With e = A^T x, the maximum is the least f(x) = sum x - sum y log e over x >= 0: there every total that the
# law keeps is right by itself, so no other constraint is needed. Each step solves (A diag(y/e^2) A^T +
# diag(s/x)) d = m/x - gradient by conjugate gradients, s being the slacks of x >= 0, while the barrier m
# falls to nothing: the primal-dual steps of interior-point methods, on a convex problem.


_MOST_STEPS = 200
_MOST_SOLVING = 2000  # rounds of conjugate gradients
_FIRST_BARRIER, _LEAST_BARRIER = 0.1, 1e-13  # of the log-likelihood, for each cell
_ROUGHLY, _CLOSELY, _EXACTLY = 0.1, 1e-5, 1e-7  # how much of a step's equations may stay open
_SETTLED = 1e-5  # records: where the last step moves no cell farther, no digit that is shown will change
_SHORT_OF_BOUND = 0.995
_MOST_LAST_STEPS = 4
_NOTHING_LEFT = 1e-4  # of the gap that is allowed
_LOOSEST = 1e10  # how far a slack may be from m/x


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


@dataclass(frozen=True, eq=False)
class Likelihood:
    """What is to be made as small as it can be: f of a law and a published table."""

    law: TableLaw
    counts: Array

    @cached_property
    def seen(self) -> Array:
        """The counts that a true table can explain; others change nothing."""
        possible = self.law.forward(np.ones_like(self.counts)) > 0
        return np.where(possible, self.counts, 0.0)

    @cached_property
    def totals(self) -> Array:
        """Published records with each combination of the values that are released unchanged."""
        return np.asarray(self.seen.sum(axis=self.drawn, keepdims=True))

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        return tuple(axis for factor in self.law.factors for axis in factor.axes)

    def at(self, x: Array) -> Point:
        expected = self.law.forward(x)
        with np.errstate(divide="ignore"):
            ratio = np.divide(self.seen, expected, out=np.zeros_like(expected), where=self.seen > 0)
        return Point(x, expected, ratio, self.law.backward(ratio))

    def value(self, point: Point) -> float:
        some = self.seen > 0
        return float(point.x.sum() - self.seen[some] @ np.log(point.expected[some]))

    def gap(self, point: Point) -> float:
        """l(best) - l(x) <= sum (best - x) D <= sum of totals * max D - total, whatever x is."""
        most = point.pull.max(axis=self.drawn, keepdims=True)
        sums = point.x.sum(axis=self.drawn, keepdims=True)
        scale = np.divide(
            sums, self.totals, out=np.ones_like(sums), where=self.totals > 0
        )  # as if x had the totals
        return max(float((self.totals * (most * scale - 1)).sum()), 0.0)


@dataclass(frozen=True, eq=False)
class Point:
    """A table with what it leads to: expected counts, y/e, and D = A(y/e), which is 1 minus the gradient."""

    x: Array
    expected: Array
    ratio: Array
    pull: Array

    @property
    def gradient(self) -> Array:
        return 1 - self.pull


@dataclass(frozen=True, eq=False)
class Maximum:
    """The likeliest table, how much higher the log-likelihood can be at most, and the rounds it took."""

    values: Array
    gap: float
    rounds: int


def maximise(law: TableLaw, counts: Array, start: Array, gap: float) -> Maximum:
    """From a table that is positive everywhere to the likeliest one; zeros of the maximum come out as zeros."""
    problem = Likelihood(law, counts)
    least = _LEAST_BARRIER * max(1.0, gap / 1e-6)
    point, barrier, rounds = problem.at(start), _FIRST_BARRIER, 0
    slack = np.maximum(point.gradient, barrier / start)
    best, best_slack, best_gap = point, slack, problem.gap(point)
    for _ in range(_MOST_STEPS):
        barrier = _lowered(barrier, least, point, slack)
        closely = _CLOSELY if barrier <= least else _ROUGHLY
        after, slack, solving = _stepped(problem, point, slack, barrier, closely)
        moved = float(np.abs(after.x - point.x).max())
        point, rounds, left = after, rounds + solving + 1, problem.gap(after)
        if left <= best_gap or left <= gap:
            best, best_slack, best_gap = point, slack, left
        if barrier <= least and left <= gap and moved <= _SETTLED * max(1.0, gap / 1e-6):
            break
    return _with_zeros(problem, best, best_slack, max(gap, best_gap), rounds)


def _lowered(barrier: float, least: float, point: Point, slack: Array) -> float:
    """A lower barrier once the equations for this one hold, on average over the cells."""
    open_ = float((np.abs(point.gradient - slack) * point.x).mean())
    apart = point.x * slack
    while barrier > least and max(open_, float(np.abs(apart - barrier).mean())) <= 3 * barrier:
        barrier = max(min(0.2 * barrier, 3 * barrier**1.5), least)
    return barrier


def _stepped(
    problem: Likelihood, point: Point, slack: Array, barrier: float, closely: float
) -> tuple[Point, Array, int]:
    """One step of table and slacks, each kept short of zero; the table's until it goes downhill."""
    pressure = slack / point.x
    downhill = barrier / point.x - point.gradient
    weights = np.divide(point.ratio, point.expected, out=np.zeros_like(point.x), where=problem.seen > 0)
    direction, solving = _solved(problem.law, weights, pressure, downhill, closely)
    slack_direction = barrier / point.x - slack - pressure * direction
    length = _length(point.x, direction)
    level = problem.value(point) - barrier * float(np.log(point.x).sum())
    slope = float((downhill * direction).sum())
    for _ in range(30):
        after = problem.at(point.x + length * direction)
        reached = problem.value(after) - barrier * float(np.log(after.x).sum())
        if reached <= level - 1e-4 * length * slope + 1e-12 * abs(level):
            break
        length /= 2
    slack = slack + _length(slack, slack_direction) * slack_direction
    return after, np.clip(slack, barrier / after.x / _LOOSEST, barrier / after.x * _LOOSEST), solving


def _length(positive: Array, direction: Array) -> float:
    falling = float((-direction / positive).max())
    return min(1.0, _SHORT_OF_BOUND / falling) if falling > 0 else 1.0


def _solved(law: TableLaw, weights: Array, pressure: Array, right: Array, closely: float) -> tuple[Array, int]:
    """(A diag(weights) A^T + diag(pressure)) d = right by conjugate gradients, scaled by the diagonal.

    Cells under infinite pressure stay where they are.
    """
    free = np.isfinite(pressure)
    pressure = np.where(free, pressure, 1.0)
    diagonal = law.backward_squared(weights) + pressure
    solution, open_ = np.zeros_like(right), right.copy()
    scaled = open_ / diagonal
    search, size = scaled.copy(), float((open_ * scaled).sum())
    enough = closely**2 * size
    for rounds in range(_MOST_SOLVING):
        if size <= enough:
            return solution, rounds
        image = law.backward(weights * law.forward(search))
        image += pressure * search
        far = size / float((search * image).sum())
        solution += far * search
        open_ -= far * image * free
        scaled = open_ / diagonal
        before, size = size, float((open_ * scaled).sum())
        search *= size / before
        search += scaled
    return solution, _MOST_SOLVING


def _with_zeros(problem: Likelihood, point: Point, slack: Array, gap: float, rounds: int) -> Maximum:
    """Of each cell and its slack one is nothing: cells that are the smaller one become zero, if the gap allows it.

    The other cells then take a step or two without a barrier, to where the gradient is nothing in all of them.
    """
    best, enough = Maximum(_with_totals(problem, point.x), problem.gap(point), rounds), gap
    above = point.x >= slack
    point = problem.at(_with_totals(problem, np.where(above, point.x, 0.0)))
    for _ in range(_MOST_LAST_STEPS):
        left = problem.gap(point)
        if left <= gap:
            best, gap = Maximum(point.x, left, rounds), left / 2
        if left <= _NOTHING_LEFT * enough or not math.isfinite(left):  # or a published count has lost its cause
            break
        weights = np.divide(point.ratio, point.expected, out=np.zeros_like(point.x), where=problem.seen > 0)
        downhill = np.where(above, -point.gradient, 0.0)
        direction, solving = _solved(problem.law, weights, np.where(above, 0.0, np.inf), downhill, _EXACTLY)
        rounds += solving + 1
        x = np.maximum(point.x + direction, 0.0)
        above &= x > 0
        point = problem.at(_with_totals(problem, x))
    return best


def _with_totals(problem: Likelihood, x: Array) -> Array:
    sums = x.sum(axis=problem.drawn, keepdims=True)
    return np.asarray(x * np.divide(problem.totals, sums, out=np.zeros_like(sums), where=sums > 0))


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
