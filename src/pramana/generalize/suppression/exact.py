"""Exact searches for the fewest cells: by all partitions of few classes, or by all ways to join few that fail."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from pramana.generalize.suppression.problem import Floats, Ints, Problem, Suppression

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
            low = rest & -rest
            others, options = rest ^ low, []
            part = others
            while True:
                block = part | low
                if held[block]:
                    options.append((costs[block] + best(rest ^ block), block))
                if not part:
                    break
                part = (part - 1) & others
            chosen[rest] = min(options, default=(np.inf, 0))
        return chosen[rest][0]

    everything = (1 << classes) - 1
    if not np.isfinite(best(everything)):
        return None
    block, rest = np.arange(classes), everything
    while rest & fails:
        taken = chosen[rest][1]
        members_of = [int(order[i]) for i in range(classes) if taken >> i & 1]
        block[members_of] = members_of[0]
        rest ^= taken
    return problem.solved(block, chosen[everything][0])


def _members(classes: int) -> tuple[Ints, Ints]:
    """For every subset of some classes its number and its members."""
    subsets = np.arange(1 << classes)
    flags = (subsets[:, None] >> np.arange(classes)) & 1
    groups, members = np.nonzero(flags)
    return groups.astype(np.int64), members.astype(np.int64)


def _costs(problem: Problem, order: Ints) -> list[float]:
    """What every subset costs as a block."""
    codes, rows = problem.codes[order], problem.sizes[order]
    costs = [0.0]
    for subset in range(1, 1 << len(order)):
        own = [i for i in range(len(order)) if subset >> i & 1]
        differ = (codes[own] != codes[own[0]]).any(axis=0)
        costs.append(float(rows[own].sum()) * float(problem.weights[differ].sum()))
    return costs


# ------------------------------------------------------------------ few that fail, any number that hold


@dataclass(frozen=True, eq=False)
class _Joined:
    """For each subset of the failing classes: what it costs alone, and with each of its cheapest partners."""

    alone: list[float]
    partners: list[list[tuple[float, int]]]

    def option(self, subset: int, forbidden: frozenset[tuple[int, int]]) -> tuple[float, int]:
        cost, partner = self.alone[subset], _NONE
        for with_one, candidate in self.partners[subset]:
            if (subset, candidate) not in forbidden:
                return min((cost, partner), (with_one, candidate))
        return cost, partner


def by_subsets(problem: Problem) -> Suppression | None:
    """Every block is some failing classes, alone or with one class that holds: more would only cost more.

    Where two blocks want the same partner, the search branches on which of them may not have it; blocks are fewer
    than the partners that each subset remembers, so that nothing is lost. None where there are too many.
    """
    failing = len(problem.failing)
    if failing > MOST_FAILING or (1 << failing) * len(problem.holding) * problem.codes.shape[1] > _MOST_WORK:
        return None
    joined, turn = _joined(problem), count()
    first = _cover(joined, failing, frozenset())
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
            again = _cover(joined, failing, narrower)
            if np.isfinite(again[0]):
                heapq.heappush(waiting, (again[0], next(turn), narrower, again[1]))
    cost, _, _, blocks = min(waiting)
    return problem.solved(_as_blocks(problem, blocks), cost)  # blocks that share a partner are one: dearer


def _joined(problem: Problem) -> _Joined:
    failing, holding = problem.failing, problem.holding
    groups, members = _members(len(failing))
    valid = problem.held(failing[members], groups, 1 << len(failing))
    alone: list[float] = [0.0]
    partners: list[list[tuple[float, int]]] = [[]]
    codes, rows = problem.codes[holding], problem.sizes[holding]
    for subset in range(1, 1 << len(failing)):
        own = failing[[i for i in range(len(failing)) if subset >> i & 1]]
        differ = (problem.codes[own] != problem.codes[own[0]]).any(axis=0)
        size = float(problem.sizes[own].sum())
        alone.append(size * float(problem.weights[differ].sum()) if valid[subset] else np.inf)
        price: Floats = (differ | (codes != problem.codes[own[0]])) @ problem.weights * (rows + size)
        cheapest = np.lexsort((holding, price))[: len(failing)]
        partners.append([(float(price[i]), int(holding[i])) for i in cheapest])
    return _Joined(alone, partners)


def _cover(joined: _Joined, failing: int, forbidden: frozenset[tuple[int, int]]) -> tuple[float, dict[int, int]]:
    """The cheapest blocks that cover all failing classes, each with the partner it wants; partners may clash."""
    options = [(0.0, _NONE)]
    options += [joined.option(subset, forbidden) for subset in range(1, 1 << failing)]
    best = [0.0] * (1 << failing)
    taken = [0] * (1 << failing)
    for rest in range(1, 1 << failing):
        low = rest & -rest
        others, least, block = rest ^ low, np.inf, 0
        part = others
        while True:
            cost = options[part | low][0] + best[rest ^ (part | low)]
            if cost < least:
                least, block = cost, part | low
            if not part:
                break
            part = (part - 1) & others
        best[rest], taken[rest] = least, block
    blocks, rest = {}, (1 << failing) - 1
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
        own = problem.failing[[i for i in range(len(problem.failing)) if subset >> i & 1]]
        block[own] = own[0] if partner == _NONE else partner
    return block
