"""Which classes are published together so that all of them hold and the fewest cells, by weight, are suppressed.

Rows that look alike at a node are treated alike. Classes that are put into one block show the labels they share,
and the top where they differ: so a solution is a partition of the classes into blocks that hold, and a block costs
its rows times the weights of the columns in which its members differ. Only blocks with a class that fails are
needed, since a block of classes that hold costs nothing once it is taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.generalize.classes import SeenCounts
from pramana.generalize.conditions import Condition
from pramana.generalize.counts.value_counts import ValueCounts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    place = order[start + inner]
    joint = np.repeat(groups, lengths) * values.values + values.value[place]
    keys, index = np.unique(joint, return_inverse=True)
    counts = np.bincount(index, values.count[place], len(keys)).astype(np.float64)
    sizes = np.bincount(groups, values.sizes[members], count).astype(np.float64)
    return ValueCounts(keys // values.values, keys % values.values, counts, sizes, values.values)
