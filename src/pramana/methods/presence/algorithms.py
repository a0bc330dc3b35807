"""The four algorithms of delta-presence on the classes of a generalisation (paper 4, section V), and what is best.

`optimal` solves the convex problem of each class: the cells of least cost whose people's likelihoods differ by at
most R*. R* is what the bounds of Theorem 5 need; where the exact check allows, a wider ratio is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.cells import Cells, chosen_cells, entries_of
from pramana.methods.presence.shaping import (
    STEPS,
    Floats,
    Ints,
    People,
    Presence,
    Shaped,
    Task,
    cost_by_class,
    holding,
    log_ratio,
    start_of,
    walked,
)
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE
from pramana.schema.typed import Count, Positive
from pramana.theory import presence

ALGORITHMS = ("spalm", "wpalm", "ppalm", "optimal")
_STEP, _STEPS_BEYOND, _HALVINGS = 0.25, 16, 4  # of ln R beyond ln R*, which only the bounds need
# The least weight of a cell, if the largest stays below 2^40. Not finer: solvers on other machines differ in their
# last digits, and the same weights must come out.
_FINE, _FINEST = float(1 << 14), float(1 << 40)


def shaped(task: Task, algorithm: str) -> Shaped:
    """All four algorithms. `spalm` leaves the cells as they are; `ppalm` trusts bounds only; `wpalm` is exact."""
    if algorithm == "spalm":
        return Shaped(task.uniform, np.zeros(len(task), np.int64))
    line = walked(task, exact=algorithm != "ppalm")
    if algorithm != "optimal":
        return line
    with threadpool_limits(limits=1, user_api="blas"):  # systems this small are faster on one thread than shared
        return _best(task, line)


def _best(task: Task, line: Shaped) -> Shaped:
    """The cheapest that hold of WPALM's cells, the best at R*, and the best at some ratios beyond it.

    ln R beyond ln R* goes in steps, halved: cells at a wider ratio cost no more, so R* itself is tried only where
    nothing wider holds. What holds at one ratio need not at a smaller: all that is tried is checked.
    """
    best, cost = line, cost_by_class(task.target, line.cells)
    short = np.flatnonzero(line.reached < task.steps)
    pairs = zip(task.people.sizes[short].tolist(), task.present[short].tolist(), strict=True)
    star = np.array([log_ratio(n, p, task.wanted) for n, p in pairs])
    below = np.floor(star / _STEP)  # in steps from 0 and not from R*: more room never means worse cells
    low, high = below.copy(), below + _STEPS_BEYOND
    problems: dict[int, presence.RowsProblem] = {}
    for turn in range(_HALVINGS + 1):
        last = turn == _HALVINGS
        open_ = np.flatnonzero(low == below) if last else np.arange(len(short))
        if not len(open_):
            break
        middle = (low[open_] + high[open_]) // 2
        chosen = short[open_]
        tried, holds = _tried(task, problems, chosen, star[open_] if last else middle * _STEP)
        if not last:
            low[open_], high[open_] = np.where(holds, middle, low[open_]), np.where(holds, high[open_], middle)
        mine = cost_by_class([t.select(chosen) for t in task.target], tried)
        good = np.flatnonzero(holds & (mine < cost[chosen]))
        if len(good):
            which, classes = np.zeros(len(task), np.int64), np.arange(len(task))
            which[chosen[good]], classes[chosen[good]] = 1, good
            both = zip(best.cells, tried, strict=True)
            cells = tuple(chosen_cells([old, new], which, classes) for old, new in both)
            best = Shaped(cells, np.where(which == 1, -1, best.reached))
            cost[chosen[good]] = mine[good]
    return best


def _tried(
    task: Task, problems: dict[int, presence.RowsProblem], chosen: Ints, widths: Floats
) -> tuple[tuple[Cells, ...], NDArray[np.bool_]]:
    """The best cells of some classes at these ln R, and which of them hold."""
    part = entries_of(task.people.first, chosen)
    first = start_of(task.people.first, chosen)
    people = People(first, task.people.counts[part], tuple(c[part] for c in task.people.codes))
    rounding = len(people.codes) / _FINE  # half a weight at each end of every attribute
    tried = _cells_within(task, problems, people, chosen, widths - rounding)
    logs = people.logs(tried)
    everyone = np.arange(len(chosen))
    return tried, holding(logs, people.counts, first, everyone, task.present[chosen], task.wanted, exact=True)


def _cells_within(
    task: Task, problems: dict[int, presence.RowsProblem], people: People, chosen: Ints, widths: Floats
) -> tuple[Cells, ...]:
    """The best cells of some classes at a given ln R, over the values that their people have."""
    supports = [_support(people, target.select(chosen), a) for a, target in enumerate(task.target)]
    weights: list[list[Floats]] = [[] for _ in supports]
    for c, (number, width) in enumerate(zip(chosen.tolist(), widths.tolist(), strict=True)):
        rows = slice(int(people.first[c]), int(people.first[c + 1]))
        counts, codes_here = [], []
        for codes, support in zip(people.codes, supports, strict=True):
            here = slice(int(support.first[c]), int(support.first[c + 1]))
            counts.append(support.weights[here].astype(np.float64) - 1)
            codes_here.append(np.searchsorted(support.values[here], codes[rows]))
        some = len(codes_here[0]) < math.prod(len(c) for c in counts)
        if some and number not in problems:
            problems[number] = presence.RowsProblem(counts, codes_here)
        problem, width = problems.get(number), min(max(width, 0.0), 700.0)
        shares = None if problem is None else problem.best(width)
        if (
            shares is None
        ):  # all combinations occur, which has a closed form; or the solver's steps do not converge
            shares = presence.best_product(counts, math.exp(width))
        for a, f in enumerate(shares):
            weights[a].append(_weights(f))
    return tuple(
        Cells(support.leaves, support.first, support.values, np.concatenate(parts).astype(np.int64))
        for support, parts in zip(supports, weights, strict=True)
    )


def _weights(shares: Floats) -> Floats:
    """Integers in these proportions, the least no smaller than `_FINE` where that can be."""
    scale = min(_FINEST, _FINE / float(shares.min())) if shares.min() > 0 else _FINEST
    return np.maximum(np.round(shares * scale), 1.0)


def _support(people: People, target: Cells, attribute: int) -> Cells:
    """The values people of each class have, with the target's counts plus one as weights (never 0)."""
    key = np.unique(target.keyed(people.class_of, people.codes[attribute]))
    first = np.searchsorted(key, np.arange(len(target) + 1) * target.leaves)
    weights = np.ones(len(key), np.int64)
    weights[np.searchsorted(key, target.keys)] += target.weights
    return Cells(target.leaves, first.astype(np.int64), key % target.leaves, weights)


# Where the distributions of delta-presence come from (paper 4, section V): the mode.
#
# public the public table's own counts: they tell nothing that is not public noised the private counts with
# two-sided geometric noise, which costs an epsilon quantised the private counts rounded to some levels
# private the private counts, as in the paper: they can often be reversed


Algorithm = Literal["spalm", "wpalm", "ppalm", "optimal"]
Mode = Literal["public", "noised", "quantised", "private"]
CellKind = Literal["hierarchy", "set", "pdf"]
Chosen = Literal["given", "public", "searched"]  # how the levels came about
StreamOf = Callable[[str, str, str, int], Stream]  # by purpose, context, column and draw
QUANTUM = 8


@dataclass(frozen=True)
class PresenceDesign:
    """Algorithm, mode and their numbers."""

    algorithm: str = "optimal"
    mode: str = "public"
    start: str = "hierarchy"  # uniform over a label or a set, or the target itself, which SPALM alone publishes
    steps: int = STEPS
    quantum: int = QUANTUM
    epsilon: float | None = None  # wanted of the noise

    def __post_init__(self) -> None:
        if self.start == "pdf" and (self.algorithm != "spalm" or self.mode == "noised"):
            raise RecipeError(
                'cells = "pdf" must go with algorithm = "spalm" and a mode other than noised',
                f"algorithm = {self.algorithm!r}, mode = {self.mode!r}",
                "The other algorithms shape distributions by themselves; noise would have to be drawn for every "
                "generalisation that is tried.",
            )
        if not 2 <= self.quantum <= 1 << 20:
            raise RecipeError("quantum must be from 2 to 1048576 levels", str(self.quantum))
        if (self.mode == "noised") != (self.epsilon is not None):
            raise RecipeError('noise_epsilon must go with mode = "noised"', f"mode = {self.mode!r}")
        if self.epsilon is not None and not 1e-6 <= self.epsilon <= 100:
            raise RecipeError("noise_epsilon must be from 0.000001 to 100", str(self.epsilon))

    @property
    def tells_counts(self) -> bool:
        """Whether cells tell how often each value occurs among those present: nothing is shaped or public."""
        return self.start == "pdf" and self.mode == "private"

    def start_cells(self, uniform: tuple[Cells, ...], target: tuple[Cells, ...]) -> tuple[Cells, ...]:
        """What SPALM publishes, and the others start from."""
        return target if self.start == "pdf" else uniform

    def coin(self, attributes: int) -> int:
        """The chance, out of ONE, that noise goes one further: ONE e^(-epsilon/(2A)), rounded up."""
        return min(ONE - 1, math.ceil(ONE * math.exp(-(self.epsilon or 0.0) / (2 * attributes))))

    def spent(self, attributes: int) -> float | None:
        """The epsilon of what the integers really do: 2A steps of ln(ONE/coin), rounded up.

        One present person in place of another of the class moves two counts of each attribute by one.
        """
        if self.mode != "noised":
            return None
        return 2 * attributes * -math.log(self.coin(attributes) / ONE) * (1 + 1e-12)


class PresenceDesignForm(Form, frozen=True, kw_only=True):
    """The range and the design as a certificate states them."""

    delta: tuple[str, str]
    algorithm: Algorithm
    mode: Mode
    start: CellKind
    steps: Count
    quantum: Count
    epsilon: Positive | None

    @property
    def wanted(self) -> Presence:
        return Presence.of(*self.delta)

    @property
    def design(self) -> PresenceDesign:
        return PresenceDesign(self.algorithm, self.mode, self.start, self.steps, self.quantum, self.epsilon)


def target_cells(
    setting: PresenceDesign,
    public: Sequence[Cells],
    private: Sequence[Cells],
    names: Sequence[str],
    streams: StreamOf | None = None,
    context: str = "",
) -> tuple[Cells, ...]:
    """The distributions that classes are moved towards. Only `private` may exclude a value of a public person."""
    if setting.mode == "public":
        return tuple(public)
    if setting.mode == "private":
        return tuple(private)
    weights = []
    for cells, own, name in zip(public, private, names, strict=True):
        counts = np.zeros(len(cells.values), np.int64)  # of every value of the public class
        counts[np.searchsorted(cells.keys, own.keys)] = own.weights
        if setting.mode == "quantised":
            total = np.add.reduceat(counts, cells.first[:-1])[cells.class_of]
            weights.append(in_levels(counts, total, setting.quantum))
        else:
            assert streams is not None, "noise has a key to be drawn from"
            coin = setting.coin(len(public))
            up, down = (_geometric(streams, context, name, coin, which, len(counts)) for which in (0, 1))
            weights.append(np.maximum(counts + up - down, 1))
    return tuple(Cells(c.leaves, c.first, c.values, w) for c, w in zip(public, weights, strict=True))


def in_levels(counts: Ints, total: Ints, quantum: int) -> Ints:
    """Shares to the nearest of `quantum` levels, none below half a level, so that no value is excluded."""
    levels = (2 * counts * quantum + total) // (2 * total)
    return np.asarray(np.maximum(2 * levels, 1))


def _geometric(streams: StreamOf, context: str, name: str, coin: int, which: int, length: int) -> Ints:
    """Heads before the first tail, for every entry: a coin of `coin` out of ONE, one word for each toss."""
    heads, going, draw = np.zeros(length, np.int64), np.arange(length), which
    while len(going):
        words = streams("presence noise", context, name, draw).words(0, length)[going]
        going = going[(words >> np.uint64(2)) < np.uint64(coin)]
        heads[going] += 1
        draw += 2
    return heads
