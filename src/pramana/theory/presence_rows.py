"""The best distributions of a class under a ratio of its people's likelihoods. Symbols and proof: presence.md.

`presence.best_product` bounds the likelihoods of every combination of values; the people of a class have only some
of them. Here the rows that people have are bounded, and nothing else: the convex problem itself, by Newton steps
on its conditions of Karush, Kuhn and Tucker (a primal-dual interior point method).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENOUGH = 1e-11  # gap and residual, relative to the number of records
_NEAR = 1e-8
_MOST_STEPS = 100
_AHEAD = 10.0  # how far each step aims to reduce the gap


def best_for_rows(counts: Sequence[Floats], rows: Sequence[Integers], log_ratio: float) -> list[Floats] | None:
    """The distributions f_a of least -sum c ln f with w_max <= e^log_ratio w_min, w_k = prod_a f_a(rows[a][k]).

    `rows[a][k]` is the place in `counts[a]` of row k's value; every place must occur. None where the steps do not
    settle, or where the ratio leaves no room.
    """
    if not log_ratio > 1e-7:
        return None
    problem = _Problem(counts, rows, log_ratio)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # a step that leaves the floats is refused
        found = _solved(problem)
    return None if found is None else np.split(problem.shares(found), problem.edges[1:-1])


class _Problem:
    """minimise sum_a n_a ln sum_v e^(g_a v) - c g over 0 <= s_k <= width, s_k the sum of row k's g.

    Scaling an attribute's e^g changes nothing but the position of all s, so the position is fixed: all but the
    first attribute have g = 0 at their last value.
    """

    def __init__(self, counts: Sequence[Floats], rows: Sequence[Integers], width: float) -> None:
        sizes = np.array([len(c) for c in counts])
        self.edges = np.concatenate([[0], np.cumsum(sizes)])
        self.attribute = np.repeat(np.arange(len(counts)), sizes)
        self.total = float(sum(c.sum() for c in counts))
        self.counts = np.concatenate(counts) / self.total
        self.mass = np.array([c.sum() for c in counts])[self.attribute] / self.total
        self.places = [np.asarray(r, np.int64) + start for r, start in zip(rows, self.edges[:-1], strict=True)]
        self.width = width
        self.free = np.ones(int(self.edges[-1]), np.bool_)
        self.free[self.edges[2:] - 1] = False
        spans = [slice(int(low), int(high)) for low, high in pairwise(self.edges)]
        # rows by the pair of their values, for every two attributes
        self.pairs = [
            (spans[i], spans[j], np.asarray(rows[i] * sizes[j] + rows[j], np.int64))
            for i, j in combinations(range(len(sizes)), 2)
        ]

    def shares(self, g: Floats) -> Floats:
        top = np.maximum.reduceat(g, self.edges[:-1])[self.attribute]
        e = np.exp(g - top)
        return np.asarray(e / np.add.reduceat(e, self.edges[:-1])[self.attribute])

    def sums(self, g: Floats) -> Floats:
        found: Floats = g[self.places[0]]
        for place in self.places[1:]:
            found += g[place]
        return found

    def back(self, weights: Floats) -> Floats:
        """For every value the weights of its rows."""
        parts = [np.bincount(place, weights, len(self.free)) for place in self.places]
        return np.asarray(np.sum(parts, axis=0))

    def gradient(self, g: Floats) -> Floats:
        return np.asarray(self.mass * self.shares(g) - self.counts)

    def curvature(self, g: Floats, weights: Floats) -> Floats:
        """The second derivatives, with those of the bounds on rows weighted as given."""
        p = self.shares(g)
        same = self.attribute[:, None] == self.attribute
        found = np.where(same, -(self.mass * p)[:, None] * p, 0.0)
        for here, there, key in self.pairs:
            shape = (here.stop - here.start, there.stop - there.start)
            block = np.bincount(key, weights, shape[0] * shape[1]).reshape(shape)
            found[here, there], found[there, here] = block, block.T
        found[np.diag_indices_from(found)] += self.mass * p + self.back(weights)
        return found


def _solved(problem: _Problem) -> Floats | None:
    g = np.zeros(len(problem.free))
    g[: problem.edges[1]] = problem.width / 2  # everyone in the middle of the range
    rows = len(problem.places[0])
    low = np.full(rows, 1.0 / rows)
    high = np.full(rows, 1.0 / rows)
    for _ in range(_MOST_STEPS):
        s = problem.sums(g)
        gap = float(low @ s + high @ (problem.width - s))
        residual = (problem.gradient(g) - problem.back(low - high))[problem.free]
        error = max(gap, float(np.abs(residual).max()))
        if error < _ENOUGH:
            return g
        step = _step(problem, g, s, low, high, aim=gap / (2 * rows * _AHEAD))
        if step is None:  # no step is better: floats end here, or something is wrong
            return g if error < _NEAR else None
        g, low, high = step
    return None


def _step(
    problem: _Problem, g: Floats, s: Floats, low: Floats, high: Floats, aim: float
) -> tuple[Floats, Floats, Floats] | None:
    """One Newton step towards multiplier times slack = aim for every bound, shortened to stay inside."""
    room = problem.width - s
    free = problem.free
    matrix = problem.curvature(g, low / s + high / room)[np.ix_(free, free)]
    wanted = -(problem.gradient(g) + problem.back(aim / room - aim / s))[free]
    try:
        move = np.linalg.solve(matrix, wanted)
    except np.linalg.LinAlgError:
        return None
    d = np.zeros(len(g))
    d[free] = move
    ds = problem.sums(d)
    d_low = -low + aim / s - low / s * ds
    d_high = -high + aim / room + high / room * ds
    length = min(1.0, *(0.99 * _reach(x, dx) for x, dx in ((low, d_low), (high, d_high), (s, ds), (room, -ds))))
    before = _error(problem, g, low, high, aim)
    for _ in range(40):
        after = g + length * d, low + length * d_low, high + length * d_high
        if _error(problem, *after, aim) <= (1 - 0.01 * length) * before:
            return after
        length /= 2
    return None


def _reach(x: Floats, dx: Floats) -> float:
    """How far x may go along dx before an entry is 0."""
    down = dx < 0
    return float(np.min(-x[down] / dx[down], initial=np.inf))


def _error(problem: _Problem, g: Floats, low: Floats, high: Floats, aim: float) -> float:
    s = problem.sums(g)
    dual = (problem.gradient(g) - problem.back(low - high))[problem.free]
    return float(
        np.sqrt(dual @ dual + np.sum((low * s - aim) ** 2) + np.sum((high * (problem.width - s) - aim) ** 2))
    )
