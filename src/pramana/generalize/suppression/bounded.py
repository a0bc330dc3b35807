"""Few cells where an exact search would take too long, and a cost that no solution goes below."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pramana.errors import UnreachableError
from pramana.generalize.conditions import least_rows
from pramana.generalize.suppression.problem import Flags, Floats, Ints, Problem

_MOST_WORK = 30_000_000  # masks times classes times columns
_MOST_TRIED = 64  # blocks that a class is tried in where joining may break the condition
_MOST_JOINED = 2_000_000  # failing classes times classes, where each is joined by itself as a second way
_MOST_KEY = 1 << 62


def bounded(problem: Problem) -> Ints:
    """The cheaper of two ways: classes that fail together under cheap masks, or each with what is nearest."""
    if not len(problem.failing):
        return np.arange(len(problem.sizes))
    ways = [_by_masks(problem)]
    if problem.survives and len(problem.failing) * len(problem.sizes) <= _MOST_JOINED:
        ways.append(_joined(problem, np.arange(len(problem.sizes)), problem.failing))
    return min(ways, key=lambda block: problem.solved(block, 0.0).cost)


def _masks(problem: Problem) -> tuple[list[Flags], int | None]:
    """Masks from cheap to dear; and, where larger ones were left out, how many columns those have at least."""
    columns = problem.codes.shape[1]
    most = columns
    while most > 1 and _number(columns, most) * len(problem.sizes) * columns > _MOST_WORK:
        most -= 1
    masks = []
    for size in range(1, most + 1):
        for chosen in combinations(range(columns), size):
            mask = np.zeros(columns, np.bool_)
            mask[list(chosen)] = True
            masks.append(mask)
    masks.sort(key=lambda mask: (float(problem.weights[mask].sum()), int(mask.sum()), (~mask).tolist()))
    if most == columns:
        return masks, None
    return [*masks, np.ones(columns, np.bool_)], most + 1  # under the mask of all columns everyone agrees


def _number(columns: int, most: int) -> int:
    total, ways = 0, 1
    for size in range(1, most + 1):
        ways = ways * (columns - size + 1) // size
        total += ways
    return total


def _groups(problem: Problem, classes: Ints, mask: Flags) -> Ints:
    """For each of some classes the number of those that agree with it outside the mask."""
    key = np.zeros(len(classes), np.int64)
    for column in np.flatnonzero(~mask).tolist():
        codes = problem.codes[classes, column]
        size = int(codes.max()) + 1
        if int(key.max()) >= _MOST_KEY // size:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + codes
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _by_masks(problem: Problem) -> Ints:
    """The cheapest mask first: failing classes that agree outside it and hold together are a block."""
    block, waiting = np.arange(len(problem.sizes)), problem.failing
    for mask in _masks(problem)[0]:
        group = _groups(problem, waiting, mask)
        count = int(group.max()) + 1
        held = problem.held(waiting, group, count)
        going = held[group]
        first = np.full(count, len(problem.sizes), np.int64)
        np.minimum.at(first, group, waiting)
        block[waiting[going]] = first[group[going]]
        waiting = waiting[~going]
        if not len(waiting):
            return block
    return _joined(problem, block, waiting)


def _joined(problem: Problem, start: Ints, waiting: Ints) -> Ints:
    """Each waiting class, the largest first, into the block where that costs least."""
    block = start.copy()
    order = waiting[np.lexsort((waiting, -problem.sizes[waiting]))]
    left = set(order.tolist())
    for one in order.tolist():
        if one not in left:  # another one has joined it, and both hold
            continue
        for target in _nearest(problem, block, one)[: 1 if problem.survives else _MOST_TRIED].tolist():
            members = np.flatnonzero((block == target) | (block == block[one]))
            if bool(problem.held(members, np.zeros(len(members), np.int64), 1)[0]):
                block[members] = target
                left -= set(members.tolist())
                break
    return block if not left else _together(problem, block, np.array(sorted(left), np.int64))


def _nearest(problem: Problem, block: Ints, one: int) -> Ints:
    """The other blocks, by what it adds to join them; with a condition that survives only those that hold."""
    numbers, first = np.unique(block, return_index=True)
    inverse = np.searchsorted(numbers, block)
    masks = problem.masks(inverse, len(numbers))
    rows = np.bincount(inverse, problem.sizes, len(numbers))
    own = int(np.searchsorted(numbers, block[one]))
    joint = masks | masks[own] | (problem.codes[first] != problem.codes[one])
    added: Floats = (rows + rows[own]) * (joint @ problem.weights) - rows * (masks @ problem.weights)
    added[own] = np.inf
    if problem.survives:
        alone = np.bincount(inverse, minlength=len(numbers)) == 1
        added[alone & problem.fails[first]] += problem.sizes.sum() * problem.weights.sum()  # last of all
    order = np.lexsort((numbers, added))
    return np.asarray(numbers[order[np.isfinite(added[order])]])


def _together(problem: Problem, block: Ints, left: Ints) -> Ints:
    """All that is left as one block, with as many others as it takes, the cheapest first."""
    joined = block.copy()
    joined[left] = left[0]
    for target in (-1, *_nearest(problem, joined, int(left[0])).tolist()):
        if target >= 0:
            joined[joined == target] = left[0]
        members = np.flatnonzero(joined == left[0])
        if bool(problem.held(members, np.zeros(len(members), np.int64), 1)[0]):
            return joined
    raise UnreachableError(
        "The whole table as one class must satisfy the conditions", "a table that does not", "Lower k, l or c."
    )


def least_cost(problem: Problem) -> float:
    """Every failing class needs a mask outside which enough rows agree with it: the cheapest such, for each."""
    everyone, wanted = np.arange(len(problem.sizes)), least_rows(problem.condition)
    masks, beyond = _masks(problem)
    dearest = 0.0 if beyond is None else float(np.sort(problem.weights)[:beyond].sum())
    price = np.full(len(problem.sizes), dearest if beyond is not None else np.inf)
    open_ = problem.fails.copy()
    for mask in masks:
        cost = float(problem.weights[mask].sum())
        if beyond is not None and cost >= dearest:
            break
        group = _groups(problem, everyone, mask)
        enough = np.bincount(group, problem.sizes)[group] >= wanted
        price[open_ & enough] = cost
        open_ &= ~enough
        if not open_.any():
            break
    return float((price[problem.fails] * problem.sizes[problem.fails]).sum())
