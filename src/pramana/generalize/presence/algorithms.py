"""The four algorithms of delta-presence on the classes of a generalisation (paper 4, section V), and what is best.

`optimal` solves the convex problem of each class: the cells of least cost whose people's likelihoods differ by at
most R*. R* is what the bounds of Theorem 5 need; where the exact check allows, a wider ratio is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pramana.errors import RecipeError
from pramana.generalize.cells import Cells
from pramana.generalize.presence.shaping import (
    Floats,
    Ints,
    People,
    Shaped,
    Task,
    cost_by_class,
    holding,
    log_ratio,
    part_of,
    start_of,
    walked,
)
from pramana.theory import presence, presence_rows

ALGORITHMS = ("spalm", "wpalm", "ppalm", "optimal")
_STEP, _STEPS_BEYOND, _HALVINGS = 0.25, 16, 4  # of ln R beyond ln R*, which only the bounds need
# The least weight of a cell, if the largest stays below 2^40. Not finer: solvers on other machines differ in their
# last digits, and the same weights must come out.
_FINE, _FINEST = float(1 << 14), float(1 << 40)


def shaped(task: Task, algorithm: str) -> Shaped:
    """All four algorithms. `spalm` leaves the cells as they are; `ppalm` trusts bounds only; `wpalm` is exact."""
    if algorithm not in ALGORITHMS:
        raise RecipeError(f"The algorithm must be one of {', '.join(ALGORITHMS)}", repr(algorithm))
    if algorithm == "spalm":
        return Shaped(task.uniform, np.zeros(len(task), np.int64))
    line = walked(task, exact=algorithm != "ppalm")
    return _best(task, line) if algorithm == "optimal" else line


def _best(task: Task, line: Shaped) -> Shaped:
    """The cheapest that hold of WPALM's cells, the best at R*, and the best at some ratios beyond it.

    ln R beyond ln R* goes in steps, halved: cells at a wider ratio cost no more, so R* itself is tried only where
    nothing wider holds. What holds at one ratio need not at a smaller: all that is tried is checked.
    """
    with threadpool_limits(limits=1, user_api="blas"):  # systems this small are faster on one thread than shared
        return _best_beyond(task, line)


def _best_beyond(task: Task, line: Shaped) -> Shaped:
    best, cost = line, cost_by_class(task.target, line.cells)
    short = np.flatnonzero(line.reached < task.steps)
    star = _log_ratios(task, short)
    below = np.floor(star / _STEP)  # in steps from 0 and not from R*: more room never means worse cells
    low, high = below.copy(), below + _STEPS_BEYOND
    problems: dict[int, presence_rows.RowsProblem] = {}
    for turn in range(_HALVINGS + 1):
        last = turn == _HALVINGS
        asked = np.flatnonzero(low == below) if last else np.arange(len(short))
        if not len(asked):
            break
        middle = (low[asked] + high[asked]) // 2
        tried, held = _tried(task, problems, short[asked], star[asked] if last else middle * _STEP)
        if not last:
            low[asked], high[asked] = np.where(held, middle, low[asked]), np.where(held, high[asked], middle)
        chosen = short[asked]
        mine = cost_by_class([t.select(chosen) for t in task.target], tried)
        good = np.flatnonzero(held & (mine < cost[chosen]))
        if len(good):
            best = _replaced(best, tried, chosen[good], good)
            cost[chosen[good]] = mine[good]
    return best


def _log_ratios(task: Task, classes: Ints) -> Floats:
    pairs = zip(task.people.sizes[classes].tolist(), task.present[classes].tolist(), strict=True)
    return np.array([log_ratio(n, p, task.wanted) for n, p in pairs])


def _tried(
    task: Task, problems: dict[int, presence_rows.RowsProblem], asked: Ints, widths: Floats
) -> tuple[tuple[Cells, ...], NDArray[np.bool_]]:
    """The best cells of some classes at these ln R, and which of them hold."""
    part = part_of(task.people.first, asked)
    first = start_of(task.people.first, asked)
    people = People(first, task.people.counts[part], tuple(c[part] for c in task.people.codes))
    rounding = len(people.codes) / _FINE  # half a weight at each end of every attribute
    tried = _cells_within(task, problems, people, asked, widths - rounding)
    logs = people.logs(tried)
    everyone = np.arange(len(asked))
    return tried, holding(logs, people.counts, first, everyone, task.present[asked], task.wanted, exact=True)


def _replaced(best: Shaped, tried: Sequence[Cells], classes: Ints, places: Ints) -> Shaped:
    """The same with some classes as they are at some places of what was tried."""
    which, place = np.zeros(len(best.reached), np.int64), np.arange(len(best.reached))
    which[classes], place[classes] = 1, places
    cells = []
    for old, new in zip(best.cells, tried, strict=True):
        both = Cells(
            old.leaves,
            np.concatenate([old.first, new.first[1:] + old.first[-1]]),
            np.concatenate([old.values, new.values]),
            np.concatenate([old.weights, new.weights]),
        )
        cells.append(both.select(which * len(old) + place))
    return Shaped(tuple(cells), np.where(which == 1, -1, best.reached))


def _cells_within(
    task: Task, problems: dict[int, presence_rows.RowsProblem], people: People, chosen: Ints, widths: Floats
) -> tuple[Cells, ...]:
    """The best cells of some classes at a given ln R, over the values that their people have."""
    supports = [_support(people, target.select(chosen), a) for a, target in enumerate(task.target)]
    weights: list[list[Floats]] = [[] for _ in supports]
    for c, (number, width) in enumerate(zip(chosen.tolist(), widths.tolist(), strict=True)):
        rows = slice(int(people.first[c]), int(people.first[c + 1]))
        counts, places = [], []
        for codes, support in zip(people.codes, supports, strict=True):
            here = slice(int(support.first[c]), int(support.first[c + 1]))
            counts.append(support.weights[here].astype(np.float64) - 1)
            places.append(np.searchsorted(support.values[here], codes[rows]))
        some = len(places[0]) < math.prod(len(c) for c in counts)
        if some and number not in problems:
            problems[number] = presence_rows.RowsProblem(counts, places)
        for a, f in enumerate(_best_shares(counts, problems.get(number), min(max(width, 0.0), 700.0))):
            weights[a].append(_weights(f))
    return tuple(
        Cells(support.leaves, support.first, support.values, np.concatenate(parts).astype(np.int64))
        for support, parts in zip(supports, weights, strict=True)
    )


def _best_shares(
    counts: Sequence[Floats], problem: presence_rows.RowsProblem | None, width: float
) -> list[Floats]:
    """Where all combinations occur the closed form is the answer; it stands in where steps do not settle, too."""
    found = None if problem is None else problem.best(width)
    return presence.best_product(counts, math.exp(width)) if found is None else found


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
