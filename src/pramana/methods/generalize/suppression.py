"""Which classes are published together so that all of them hold and the fewest cells, by weight, are suppressed.

Rows that look alike at a node are treated alike. Classes that are put into one block show the labels they share,
and the top where they differ: so a solution is a partition of the classes into blocks that hold, and a block costs
its rows times the weights of the columns in which its members differ. Only blocks with a class that fails are
needed, since a block of classes that hold costs nothing once it is taken apart.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, count
from math import comb

import numpy as np

from pramana.counting.classes import Classes, SeenCounts
from pramana.counting.value_counts import ValueCounts
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.generalize.conditions import Condition, Flags, Floats, Ints, least_rows, whole_table_fails
from pramana.methods.generalize.measures import Separable, separable

MOST_NODES = 1 << 16
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Suppression:
    """A partition: for each class its block, and for each block the columns that show the top.

    `cost` is the weight of what is suppressed; no partition costs less than `least`.
    """

    block: Ints
    masks: Flags  # blocks x attributes
    cost: float
    least: float

    @property
    def proved(self) -> bool:
        """Whether nothing cheaper exists."""
        return self.cost <= self.least * (1 + 1e-9)


@dataclass(frozen=True, eq=False)
class Problem:
    """The classes of a node: their labels as codes, how many rows they have, and what a condition looks at."""

    codes: Ints  # classes x attributes
    sizes: Ints
    weights: Floats  # by attribute
    seen: SeenCounts
    condition: Condition

    @cached_property
    def fails(self) -> Flags:
        return ~np.asarray(self.condition.held(self.seen))

    @cached_property
    def failing(self) -> Ints:
        return np.flatnonzero(self.fails)

    @cached_property
    def holding(self) -> Ints:
        return np.flatnonzero(~self.fails)

    @property
    def survives(self) -> bool:
        """Whether a class that holds still does with any other merged into it."""
        return self.condition.anchor is self.condition

    def held(self, members: Ints, groups: Ints, count: int) -> Flags:
        """Which of `count` groups hold; the i-th pair says that class `members[i]` is in group `groups[i]`."""
        if isinstance(self.seen, np.ndarray):
            counts = np.zeros((count, self.seen.shape[1]), np.int64)
            np.add.at(counts, groups, self.seen[members].astype(np.int64))
            return np.asarray(self.condition.held(counts.astype(np.uint32)))
        return np.asarray(self.condition.held(tuple(_united(one, members, groups, count) for one in self.seen)))

    def masks(self, block: Ints, blocks: int) -> Flags:
        """In which columns the members of a block differ."""
        order = np.argsort(block, kind="stable")
        first = np.searchsorted(block[order], np.arange(blocks))
        low = np.minimum.reduceat(self.codes[order], first, axis=0)
        high = np.maximum.reduceat(self.codes[order], first, axis=0)
        return np.asarray(low != high)

    def solved(self, block: Ints, least: float) -> Suppression:
        """With blocks numbered by their first class."""
        _, first, inverse = np.unique(block, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        numbered = rank[inverse]
        masks = self.masks(numbered, len(first))
        rows = np.bincount(numbered, self.sizes, len(first))
        cost = float((rows * (masks @ self.weights)).sum())
        return Suppression(numbered, masks, cost, min(least, cost))


def _united(values: ValueCounts, members: Ints, groups: Ints, count: int) -> ValueCounts:
    """The pairs of all members of each group together; a class may be in several groups."""
    order = np.argsort(values.class_of, kind="stable")
    first = np.searchsorted(values.class_of[order], np.arange(len(values.sizes) + 1))
    lengths = np.diff(first)[members]
    start = np.repeat(first[:-1][members], lengths)
    inner = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    lines = order[start + inner]
    joint = np.repeat(groups, lengths) * values.values + values.value[lines]
    keys, index = np.unique(joint, return_inverse=True)
    counts = np.bincount(index, values.count[lines], len(keys)).astype(np.float64)
    sizes = np.bincount(groups, values.sizes[members], count).astype(np.float64)
    return ValueCounts(keys // values.values, keys % values.values, counts, sizes, values.values)


# Exact searches for the fewest cells: by all partitions of few classes, or by all ways to join few that fail.


MOST_CLASSES = 12  # of which all partitions are looked at
MOST_FAILING = 10  # that are joined in all ways, each way with at most one class that holds
_MOST_WORK = 40_000_000  # subsets times classes times columns
_MOST_TRIES = 60  # ways to share out classes that several blocks want
_NONE = -1


def by_partition(problem: Problem) -> Suppression | None:
    """All partitions, for conditions that a class may lose when others join it; None where there are too many."""
    classes = len(problem.sizes)
    if classes > MOST_CLASSES:
        return None
    order = np.concatenate([problem.failing, problem.holding])
    groups, members = _members(classes)
    held = problem.held(order[members], groups, 1 << classes)
    costs = _costs(problem, order)
    fails = (1 << len(problem.failing)) - 1
    chosen: dict[int, tuple[float, int]] = {0: (0.0, 0)}

    def best(rest: int) -> float:
        if not rest & fails:
            return 0.0
        if rest not in chosen:
            blocks = (block for block in _blocks_of(rest) if held[block])
            chosen[rest] = min(
                ((costs[block] + best(rest ^ block), block) for block in blocks), default=(np.inf, 0)
            )
        return chosen[rest][0]

    everything = (1 << classes) - 1
    if not np.isfinite(best(everything)):
        return None
    block, rest = np.arange(classes), everything
    while rest & fails:
        taken = chosen[rest][1]
        members_of = order[_bits(taken)]
        block[members_of] = members_of[0]
        rest ^= taken
    return problem.solved(block, chosen[everything][0])


def _members(classes: int) -> tuple[Ints, Ints]:
    """For every subset of some classes its number and its members."""
    subsets = np.arange(1 << classes)
    flags = (subsets[:, None] >> np.arange(classes)) & 1
    groups, members = np.nonzero(flags)
    return groups.astype(np.int64), members.astype(np.int64)


def _bits(subset: int) -> list[int]:
    """The members of a subset, which is a number with a bit for each."""
    return [i for i in range(subset.bit_length()) if subset >> i & 1]


def _blocks_of(rest: int) -> Iterator[int]:
    """The subsets of a subset that have its lowest member, the largest first."""
    low = rest & -rest
    others = part = rest ^ low
    while part:
        yield part | low
        part = (part - 1) & others
    yield low


def _costs(problem: Problem, order: Ints) -> list[float]:
    """What every subset costs as a block."""
    codes, rows = problem.codes[order], problem.sizes[order]
    costs = [0.0]
    for subset in range(1, 1 << len(order)):
        own = _bits(subset)
        differ = (codes[own] != codes[own[0]]).any(axis=0)
        costs.append(float(rows[own].sum()) * float(problem.weights[differ].sum()))
    return costs


# ------------------------------------------------------------------ few that fail, any number that hold


# What a subset of the failing classes costs by itself, and with each of its cheapest partners: the cheapest first.
_Ways = list[tuple[float, int]]


def by_subsets(problem: Problem) -> Suppression | None:
    """Every block is some failing classes, alone or with one class that holds: more would only cost more.

    Where two blocks want the same partner, the search branches on which of them may not have it; blocks are fewer
    than the partners that each subset remembers, so that nothing is lost. None where there are too many.
    """
    failing = len(problem.failing)
    if failing > MOST_FAILING or (1 << failing) * len(problem.holding) * problem.codes.shape[1] > _MOST_WORK:
        return None
    ways, turn = _joined(problem), count()
    first = _cover(ways, frozenset())
    if not np.isfinite(first[0]):
        return None
    waiting: list[tuple[float, int, frozenset[tuple[int, int]], Mapping[int, int]]] = []
    heapq.heappush(waiting, (first[0], next(turn), frozenset(), first[1]))
    for _ in range(_MOST_TRIES):
        if not waiting:
            return None
        cost, _, forbidden, blocks = heapq.heappop(waiting)
        clash = _clash(blocks)
        if clash is None:
            return problem.solved(_as_blocks(problem, blocks), cost)
        for subset, partner in clash:
            narrower = forbidden | {(subset, partner)}
            again = _cover(ways, narrower)
            if np.isfinite(again[0]):
                heapq.heappush(waiting, (again[0], next(turn), narrower, again[1]))
    cost, _, _, blocks = min(waiting)
    return problem.solved(_as_blocks(problem, blocks), cost)  # blocks that share a partner are one: dearer


def _joined(problem: Problem) -> list[_Ways]:
    """The ways of every subset."""
    failing, holding = problem.failing, problem.holding
    groups, members = _members(len(failing))
    valid = problem.held(failing[members], groups, 1 << len(failing))
    alone = np.where(valid, _costs(problem, failing), np.inf).tolist()
    ways = [[(0.0, _NONE)]]
    codes, rows = problem.codes[holding], problem.sizes[holding]
    for subset in range(1, 1 << len(failing)):
        own = failing[_bits(subset)]
        differ = (problem.codes[own] != problem.codes[own[0]]).any(axis=0)
        size = float(problem.sizes[own].sum())
        price: Floats = (differ | (codes != problem.codes[own[0]])) @ problem.weights * (rows + size)
        cheapest = np.lexsort((holding, price))[: len(failing)]
        ways.append(sorted([(alone[subset], _NONE), *((float(price[i]), int(holding[i])) for i in cheapest)]))
    return ways


def _cover(ways: list[_Ways], forbidden: frozenset[tuple[int, int]]) -> tuple[float, dict[int, int]]:
    """The cheapest blocks that cover all failing classes, each with the partner it wants; partners may clash."""
    options = [next(way for way in own if (subset, way[1]) not in forbidden) for subset, own in enumerate(ways)]
    best, taken = [0.0] * len(ways), [0] * len(ways)
    for rest in range(1, len(ways)):
        best[rest] = np.inf
        for block in _blocks_of(rest):
            cost = options[block][0] + best[rest ^ block]
            if cost < best[rest]:
                best[rest], taken[rest] = cost, block
    blocks, rest = {}, len(ways) - 1
    while rest and taken[rest]:
        blocks[taken[rest]] = options[taken[rest]][1]
        rest ^= taken[rest]
    return best[-1], blocks


def _clash(blocks: Mapping[int, int]) -> list[tuple[int, int]] | None:
    """Two blocks that want one partner."""
    seen: dict[int, int] = {}
    for subset, partner in blocks.items():
        if partner != _NONE and partner in seen:
            return [(seen[partner], partner), (subset, partner)]
        seen[partner] = subset
    return None


def _as_blocks(problem: Problem, blocks: Mapping[int, int]) -> Ints:
    block = np.arange(len(problem.sizes))
    for subset, partner in blocks.items():
        own = problem.failing[_bits(subset)]
        block[own] = own[0] if partner == _NONE else partner
    return block


# Few cells where an exact search would take too long, and a cost that no solution goes below.


_MOST_BOUNDED_WORK = 30_000_000  # masks times classes times columns
_MOST_TRIED = 64  # blocks that a class is tried in where joining may break the condition
_MOST_JOINED = 2_000_000  # failing classes times classes, where each is joined by itself as a second way
_MOST_KEY = 1 << 62


def bounded(problem: Problem) -> Ints:
    """The cheaper of two ways: classes that fail together under cheap masks, or each with what is nearest."""
    if not len(problem.failing):
        return np.arange(len(problem.sizes))
    ways = [_by_masks(problem)]
    if problem.survives and len(problem.failing) * len(problem.sizes) <= _MOST_JOINED:
        ways.append(_joined_bounds(problem, np.arange(len(problem.sizes)), problem.failing))
    return min(ways, key=lambda block: problem.solved(block, 0.0).cost)


def _masks(problem: Problem) -> tuple[list[Flags], int | None]:
    """Masks from cheap to dear; and, where larger ones were left out, how many columns those have at least."""
    columns = problem.codes.shape[1]
    most = columns
    work = len(problem.sizes) * columns
    while most > 1 and sum(comb(columns, size) for size in range(1, most + 1)) * work > _MOST_BOUNDED_WORK:
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
    return _joined_bounds(problem, block, waiting)


def _joined_bounds(problem: Problem, start: Ints, waiting: Ints) -> Ints:
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
    raise whole_table_fails()


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


# ------------------------------------------------------------------ the classes of a node, and the best node


def suppress_cells(problem: Problem) -> Suppression:
    """The fewest cells, proved where the classes that fail are few; else few, and what none can go below."""
    if not len(problem.failing):
        return problem.solved(np.arange(len(problem.sizes)), 0.0)
    if not bool(problem.held(np.arange(len(problem.sizes)), np.zeros(len(problem.sizes), np.int64), 1).all()):
        raise whole_table_fails()
    exact = by_subsets(problem) if problem.survives else by_partition(problem)
    if exact is not None and exact.proved:
        return exact
    few = bounded(problem)
    least = max(least_cost(problem), 0.0 if exact is None else exact.least)
    block = few if exact is None else min(few, exact.block, key=lambda one: problem.solved(one, 0.0).cost)
    return problem.solved(block, least)


@dataclass(frozen=True, eq=False)
class WithCells:
    """A node, its classes, and what of them is suppressed."""

    classes: Classes
    suppression: Suppression
    cost: float
    nodes: int
    checked: int


def suppressed_at(
    classes: Classes, condition: Condition, weights: Mapping[str, float] | None = None
) -> Suppression:
    """The fewest cells of a node's classes, in the order of their keys, whose suppression makes all hold."""
    levels = classes.levels
    codes = np.stack([classes.codes(a) for a in range(len(levels))], axis=1)
    sizes = classes.sizes.astype(np.int64)
    by_column = np.array([float((weights or {}).get(ladder.name, 1.0)) for ladder in classes.layout.ladders])
    return suppress_cells(Problem(codes, sizes, by_column, classes.seen, condition))


def cells_of(classes: Classes, suppression: Suppression) -> int:
    """How many cells are suppressed."""
    rows = np.bincount(suppression.block, classes.sizes, len(suppression.masks))
    return int((rows * suppression.masks.sum(axis=1)).sum())


def cheapest_with_cells(
    base: Classes,
    condition: Condition,
    measure: str,
    limit: int,
    weights: Mapping[str, float] | None = None,
) -> WithCells:
    """The node of least cost at which at most `limit` cells are suppressed; those cost as much as the top does.

    Nodes are taken by their cost without suppression, which suppression only raises, until none can be cheaper.
    """
    priced = separable(measure, base.bare, weights)
    prior = priced.prior()
    if prior.size > MOST_NODES:
        raise RecipeError(
            f'A lattice of levels with suppress = "cells" must have at most {MOST_NODES} nodes',
            f"{prior.size}",
            "Use fewer levels or attributes, or state levels in [release].",
        )
    best: WithCells | None = None
    checked = 0
    for node in np.argsort(prior, axis=None, kind="stable").tolist():
        levels = tuple(int(i) for i in np.unravel_index(node, prior.shape))
        if best is not None and float(prior[levels]) >= best.cost - _SAME * max(1.0, abs(best.cost)):
            break
        checked += 1
        classes = base.rolled(levels).by_keys()[0]
        fails = ~condition.held(classes.seen)
        if int(classes.sizes[fails].sum(dtype=np.int64)) > limit:  # each of these rows needs a cell at least
            continue
        suppression = suppressed_at(classes, condition, weights)
        if cells_of(classes, suppression) > limit:
            continue
        cost = cost_of(priced, classes, suppression)
        if best is None or cost < best.cost - _SAME * max(1.0, abs(best.cost)):
            best = WithCells(classes, suppression, cost, int(prior.size), checked)
    if best is None:
        raise UnreachableError(
            f"Some generalisation must satisfy the conditions with at most {limit} cells suppressed",
            f"none of {prior.size}",
            "Lower k, l or c, raise t, or allow more suppression.",
        )
    return replace(best, checked=checked)


def cost_of(priced: Separable, classes: Classes, suppression: Suppression) -> float:
    """The measure with suppressed cells at the price of the top."""
    masks = suppression.masks[suppression.block]
    parts = []
    for a, level in enumerate(classes.levels):
        gap = priced.gaps[a][level][classes.codes(a)]
        extra = float((gap * classes.sizes * masks[:, a]).sum()) / priced.rows
        parts.append(float(priced.totals[a][level]) + extra)
    return priced.value(parts)
