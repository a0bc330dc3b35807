"""The four algorithms of delta-presence on the classes of a generalisation (paper 4, section V), and what is best.

`optimal` solves the convex problem of each class: the cells of least cost whose people's likelihoods differ by at
most R*. R* is what the bounds of Theorem 5 need; where the exact check allows, a wider ratio is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize.cells import Cells
from pramana.generalize.shaping import (
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
_WIDEST = math.log(64)  # beyond R*, which only the bounds need
_HALVINGS = 4
_ROUNDING = 1e-6  # of ln R, for the rounding of shares to weights
_FINE, _FINEST = float(1 << 20), float(1 << 40)  # the least weight of a cell, if the largest stays below that


def shaped(task: Task, algorithm: str) -> Shaped:
    """All four algorithms. `spalm` leaves the cells as they are; `ppalm` trusts bounds only; `wpalm` is exact."""
    if algorithm not in ALGORITHMS:
        raise RecipeError(f"The algorithm must be one of {', '.join(ALGORITHMS)}", repr(algorithm))
    if algorithm == "spalm":
        return Shaped(task.uniform, np.zeros(len(task), np.int64))
    line = walked(task, exact=algorithm != "ppalm")
    return _best(task, line) if algorithm == "optimal" else line


def _best(task: Task, line: Shaped) -> Shaped:
    """The cheapest that hold of WPALM's cells, the best at R*, and the best at ratios found by halving beyond it.

    Cells at a wider ratio cost no more, so R* itself is tried only where nothing wider holds. Beyond R* what holds
    need not do so at every smaller ratio: all that is tried is checked, and nothing assumed.
    """
    best, cost = line, cost_by_class(task.target, line.cells)
    short = np.flatnonzero(line.reached < task.steps)
    low, high = np.zeros(len(task)), np.full(len(task), _WIDEST)
    for turn in range(_HALVINGS + 1):
        last = turn == _HALVINGS
        asked = short[low[short] == 0] if last else short
        if not len(asked):
            break
        beyond = np.zeros(len(asked)) if last else (low[asked] + high[asked]) / 2
        tried, held = _tried(task, asked, beyond)
        low[asked], high[asked] = np.where(held, beyond, low[asked]), np.where(held, high[asked], beyond)
        mine = cost_by_class([t.select(asked) for t in task.target], tried)
        good = np.flatnonzero(held & (mine < cost[asked]))
        if len(good):
            best = _replaced(best, tried, asked[good], good)
            cost[asked[good]] = mine[good]
    return best


def _tried(task: Task, asked: Ints, beyond: Floats) -> tuple[tuple[Cells, ...], NDArray[np.bool_]]:
    """The best cells of some classes at ratios beyond R*, and which of them hold."""
    part = part_of(task.people.first, asked)
    first = start_of(task.people.first, asked)
    people = People(first, task.people.counts[part], tuple(c[part] for c in task.people.codes))
    present = task.present[asked]
    star = [log_ratio(int(n), int(p), task.wanted) for n, p in zip(people.sizes, present, strict=True)]
    tried = _cells_within(task, people, asked, np.array(star) + beyond - _ROUNDING)
    logs = people.logs(tried)
    everyone = np.arange(len(asked))
    return tried, holding(logs, people.counts, first, everyone, present, task.wanted, exact=True)


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


def _cells_within(task: Task, people: People, chosen: Ints, widths: Floats) -> tuple[Cells, ...]:
    """The best cells of some classes at a given ln R, over the values that their people have."""
    supports = [_support(people, target.select(chosen), a) for a, target in enumerate(task.target)]
    weights: list[list[Floats]] = [[] for _ in supports]
    for c, width in enumerate(widths.tolist()):
        rows = slice(int(people.first[c]), int(people.first[c + 1]))
        counts, places = [], []
        for codes, support in zip(people.codes, supports, strict=True):
            here = slice(int(support.first[c]), int(support.first[c + 1]))
            counts.append(support.weights[here].astype(np.float64) - 1)
            places.append(np.searchsorted(support.values[here], codes[rows]))
        for a, f in enumerate(_best_shares(counts, places, max(width, 0.0))):
            weights[a].append(_weights(f))
    return tuple(
        Cells(support.leaves, support.first, support.values, np.concatenate(parts).astype(np.int64))
        for support, parts in zip(supports, weights, strict=True)
    )


def _best_shares(counts: Sequence[Floats], places: Sequence[Ints], width: float) -> list[Floats]:
    """Where all combinations occur the closed form is the answer; it stands in where steps do not settle, too."""
    if len(places[0]) < math.prod(len(c) for c in counts):
        found = presence_rows.best_for_rows(counts, places, min(width, 700.0))
        if found is not None:
            return found
    return presence.best_product(counts, math.exp(min(width, 700.0)))


def _weights(shares: Floats) -> Floats:
    """Integers in these proportions, the least fine enough that rounding moves no ratio by a millionth."""
    scale = min(_FINEST, _FINE / float(shares.min())) if shares.min() > 0 else _FINEST
    return np.maximum(np.round(shares * scale), 1.0)


def _support(people: People, target: Cells, attribute: int) -> Cells:
    """The values people of each class have, with the target's counts plus one as weights (never 0)."""
    key = np.unique(people.class_of * target.leaves + people.codes[attribute])
    first = np.searchsorted(key, np.arange(len(target) + 1) * target.leaves)
    weights = np.ones(len(key), np.int64)
    weights[np.searchsorted(key, target.class_of * target.leaves + target.values)] += target.weights
    return Cells(target.leaves, first.astype(np.int64), key % target.leaves, weights)
