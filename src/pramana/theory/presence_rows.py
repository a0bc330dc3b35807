"""The best distributions of a class under a ratio of its people's likelihoods. Symbols and proof: presence.md.

`presence.best_product` bounds the likelihoods of every combination of values; the people of a class have only some
of them. Here the rows that people have are bounded, and nothing else: the convex problem itself, by Newton steps
on its conditions of Karush, Kuhn and Tucker (a primal-dual interior point method).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENOUGH = 1e-10  # gap and residual, relative to the number of records
_NEAR = 1e-8
_EARLY = 0.05  # the gap of a place that is still far enough from all bounds to begin another search there
_MOST_STEPS = 100
_AHEAD = 10.0  # how far each step aims to reduce the gap


def best_for_rows(counts: Sequence[Floats], rows: Sequence[Integers], log_ratio: float) -> list[Floats] | None:
    """The distributions f_a of least -sum c ln f with w_max <= e^log_ratio w_min, w_k = prod_a f_a(rows[a][k]).

    `rows[a][k]` is the place in `counts[a]` of row k's value; every place must occur. None where the steps do not
    settle, or where the ratio leaves no room.
    """
    return RowsProblem(counts, rows).best(log_ratio)


class RowsProblem:
    """One class, asked about several ratios: each search begins where an earlier one was on its way.

    minimise sum_a n_a ln sum_v e^(g_a v) - c g over 0 <= s_k <= width, s_k the sum of row k's g.

    Scaling an attribute's e^g changes nothing but the position of all s, so the position is fixed: all but the
    first attribute have g = 0 at their last value. Everything is divided by the number of records.
    """

    def __init__(self, counts: Sequence[Floats], rows: Sequence[Integers]) -> None:
        sizes = np.array([len(c) for c in counts])
        total = float(sum(c.sum() for c in counts))
        self.edges = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(self.edges[-1])
        attribute = np.repeat(np.arange(len(sizes)), sizes)
        self.attribute = attribute
        self.same = attribute[:, None] == attribute
        self.counts = np.concatenate(counts) / total
        self.mass = np.array([c.sum() for c in counts])[attribute] / total
        self.places = np.stack([np.asarray(r) + start for r, start in zip(rows, self.edges[:-1], strict=True)])
        self.free = np.ones(self.size, np.bool_)
        self.free[self.edges[2:] - 1] = False
        self.inner = np.ix_(self.free, self.free)
        self.values = _SumsByPlace(self.places.ravel(), self.places.shape[1])
        # where in the matrix of curvature a row's weight goes: one place for each two attributes
        upper = np.triu_indices(len(sizes), 1)
        both = (self.places[:, None, :] * self.size + self.places)[upper].ravel()
        self.pairs = _SumsByPlace(both, self.places.shape[1])
        self.mirrored = self.pairs.places % self.size * self.size + self.pairs.places // self.size
        self.early: _State | None = None

    def best(self, log_ratio: float) -> list[Floats] | None:
        """As `best_for_rows`."""
        if not log_ratio > 1e-7:
            return None
        with np.errstate(
            divide="ignore", over="ignore", invalid="ignore"
        ):  # steps that leave the floats are refused
            found = None
            if self.early is not None:
                found = _solved(self, self.early.widened(self, log_ratio))
            if found is None:
                found = _solved(self, _middle(self, log_ratio))
        return None if found is None else np.split(self.shares(found), self.edges[1:-1])

    def shares(self, g: Floats) -> Floats:
        top = np.maximum.reduceat(g, self.edges[:-1])[self.attribute]
        e = np.exp(g - top)
        return np.asarray(e / np.add.reduceat(e, self.edges[:-1])[self.attribute])

    def sums(self, g: Floats) -> Floats:
        return np.asarray(g[self.places].sum(axis=0))

    def back(self, weights: Floats) -> Floats:
        """For every value the weights of its rows."""
        return self.values.sums(weights)  # every place occurs

    def curvature(self, shares: Floats, weights: Floats) -> Floats:
        """The second derivatives, with those of the bounds on rows weighted as given."""
        spread = self.mass * shares
        found = np.where(self.same, -spread[:, None] * shares, 0.0)
        flat = found.reshape(-1)  # the pairs are of two attributes each, so none of them is in `same`
        flat[self.pairs.places] = flat[self.mirrored] = self.pairs.sums(weights)
        flat[:: self.size + 1] += spread + self.back(weights)
        return found


class _SumsByPlace:
    """Sums of rows' weights by place, for places that are known once and weights that come often."""

    def __init__(self, places: Integers, rows: int) -> None:
        order = np.argsort(places, kind="stable")
        self.rows = order % rows
        self.places, self.first = np.unique(places[order], return_index=True)

    def sums(self, weights: Floats) -> Floats:
        return np.asarray(np.add.reduceat(weights[self.rows], self.first), np.float64)


class _State:
    """g with its multipliers, and how far they are from the conditions: all that is known of one place."""

    def __init__(self, problem: RowsProblem, width: float, g: Floats, low: Floats, high: Floats) -> None:
        self.width, self.g, self.low, self.high = width, g, low, high
        self.shares = problem.shares(g)
        self.s = problem.sums(g)
        self.room = width - self.s
        self.gradient = problem.mass * self.shares - problem.counts
        self.residual = (self.gradient - problem.back(low - high))[problem.free]
        self.gap = float(low @ self.s + high @ self.room)

    def widened(self, problem: RowsProblem, width: float) -> _State:
        """The same place in a range of another width: as far from both of its ends, and as well centred."""
        by = width / self.width
        return _State(problem, width, self.g * by, self.low / by, self.high / by)

    @property
    def error(self) -> float:
        return max(self.gap, float(np.abs(self.residual).max(initial=0.0)))

    def distance(self, aim: float) -> float:
        """From the conditions with multiplier times slack = aim for every bound."""
        below, above = self.low * self.s - aim, self.high * self.room - aim
        return float(np.sqrt(self.residual @ self.residual + below @ below + above @ above))


def _middle(problem: RowsProblem, width: float) -> _State:
    g = np.zeros(problem.size)
    g[: problem.edges[1]] = width / 2  # everyone in the middle of the range
    rows = problem.places.shape[1]
    return _State(problem, width, g, np.full(rows, 1.0 / rows), np.full(rows, 1.0 / rows))


def _solved(problem: RowsProblem, state: _State) -> Floats | None:
    for _ in range(_MOST_STEPS):
        if state.error < _ENOUGH:
            return state.g
        if problem.early is None and state.gap < _EARLY:
            problem.early = state
        after = _step(problem, state, aim=state.gap / (2 * len(state.s) * _AHEAD))
        if after is None:  # no step is better: floats end here, or something is wrong
            return state.g if state.error < _NEAR else None
        state = after
    return None


def _step(problem: RowsProblem, at: _State, aim: float) -> _State | None:
    """One Newton step towards multiplier times slack = aim for every bound, shortened to stay inside."""
    pull_low, pull_high = at.low / at.s, at.high / at.room
    matrix = problem.curvature(at.shares, pull_low + pull_high)[problem.inner]
    wanted = -(at.gradient + problem.back(aim / at.room - aim / at.s))[problem.free]
    d = np.zeros(problem.size)
    try:
        d[problem.free] = np.linalg.solve(matrix, wanted)
    except np.linalg.LinAlgError:
        return None
    ds = problem.sums(d)
    d_low = -at.low + aim / at.s - pull_low * ds
    d_high = -at.high + aim / at.room + pull_high * ds
    inside, along = np.concatenate([at.low, at.high, at.s, at.room]), np.concatenate([d_low, d_high, ds, -ds])
    length = min(1.0, 0.99 * _reach(inside, along))
    before = at.distance(aim)
    for _ in range(40):
        low, high = at.low + length * d_low, at.high + length * d_high
        after = _State(problem, at.width, at.g + length * d, low, high)
        if after.distance(aim) <= (1 - 0.01 * length) * before:
            return after
        length /= 2
    return None


def _reach(x: Floats, dx: Floats) -> float:
    """How far x, which is positive, may go along dx before an entry is 0."""
    steepest = float((dx / x).min())
    return -1 / steepest if steepest < 0 else np.inf
