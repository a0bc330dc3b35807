"""What stands in the cells of a generalised table: a hierarchy label, an interval, a set, or a distribution.

All are distributions over the leaves (paper 4, section III): a label, interval or set says "one of these, equally
likely". A column of cells holds, for each class, the leaves it may be and their integer weights. Weights are
exact: counts for the utility-optimal distribution (Eq. 2), ones for the uniform kinds, and for the steps between
them (Eq. 3) the numerators over a common denominator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, SchemaError
from pramana.generalize import _classes
from pramana.generalize.classes import Ladder
from pramana.randomness import Codes, Key, code_dtype, joint_codes

KINDS = ("pdf", "set", "interval", "hierarchy")
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """One attribute's cells: class c may be values[first[c]:first[c+1]], with those weights."""

    leaves: int
    first: Ints
    values: Ints
    weights: Ints

    def __post_init__(self) -> None:
        if len(self.first) < 1 or self.first[0] != 0 or self.first[-1] != len(self.values):
            raise SchemaError("Cells must begin at 0 and end with the values")
        if len(self.values) != len(self.weights) or bool((np.diff(self.first) < 1).any()):
            raise SchemaError("Every cell must have a value, and every value a weight")
        if len(self.values) and (int(self.values.min()) < 0 or int(self.values.max()) >= self.leaves):
            raise SchemaError("The values of cells must be leaves")
        if bool((self.weights < 1).any()):
            raise SchemaError("The weights of cells must be positive")

    def __len__(self) -> int:
        return len(self.first) - 1

    @cached_property
    def class_of(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    @cached_property
    def keys(self) -> Ints:
        """Class and value of every entry as one number."""
        return self.keyed(self.class_of, self.values)

    def keyed(self, class_of: Ints, values: NDArray[np.integer]) -> Ints:
        """Other classes and values as `keys` has them."""
        return joint_codes([class_of, values], [len(self), self.leaves])

    @cached_property
    def totals(self) -> Ints:
        return np.add.reduceat(self.weights, self.first[:-1]) if len(self) else np.zeros(0, np.int64)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """f(v) for every entry."""
        return np.asarray(self.weights / self.totals[self.class_of])

    @cached_property
    def sizes(self) -> Ints:
        """How many leaves each cell may be."""
        return np.diff(self.first)

    def at(self, number: int) -> dict[int, float]:
        """One class's distribution, leaf code to probability."""
        here = slice(int(self.first[number]), int(self.first[number + 1]))
        pairs = zip(self.values[here], self.shares[here], strict=True)
        return {int(value): float(share) for value, share in pairs}

    def select(self, classes: Ints) -> Cells:
        """These classes' cells, in this order."""
        sizes = self.sizes[classes]
        first = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(int(first[-1])) + np.repeat(self.first[:-1][classes] - first[:-1], sizes)
        return Cells(self.leaves, first, self.values[place], self.weights[place])


def _from_pairs(leaves: int, classes: int, class_of: Ints, values: Ints, weights: Ints) -> Cells:
    order = np.lexsort((values, class_of))
    first = np.concatenate([[0], np.cumsum(np.bincount(class_of, minlength=classes))])
    return Cells(leaves, first, values[order], weights[order])


def pdf_cells(
    ladder: Ladder,
    codes: Codes,
    class_of: NDArray[np.integer],
    classes: int,
    times: NDArray[np.uint32] | None = None,
) -> Cells:
    """The utility-optimal distribution: each value's count in the class (paper 4, Eq. 2).

    `times`: how many rows each code stands for, where that is not one.
    """
    place = class_of.astype(np.int64) * ladder.leaves + codes
    if classes * ladder.leaves <= max(1 << 22, 4 * len(codes)):
        table = np.bincount(place, times, classes * ladder.leaves)
        kept = np.flatnonzero(table)
        counts = table[kept]
    else:
        kept, index = np.unique(place, return_inverse=True)
        counts = np.bincount(index, times)
    first = np.searchsorted(kept, np.arange(classes + 1) * ladder.leaves)
    return Cells(ladder.leaves, first.astype(np.int64), kept % ladder.leaves, counts.astype(np.int64))


def set_cells(pdf: Cells) -> Cells:
    """The values that occur, equally likely (NDGH)."""
    return Cells(pdf.leaves, pdf.first, pdf.values, np.ones_like(pdf.weights))


def interval_cells(pdf: Cells) -> Cells:
    """Every leaf from the lowest that occurs to the highest, equally likely."""
    low, high = pdf.values[pdf.first[:-1]], pdf.values[pdf.first[1:] - 1]
    return _runs(pdf.leaves, low, high - low + 1)


def _runs(leaves: int, low: Ints, sizes: Ints) -> Cells:
    first = np.concatenate([[0], np.cumsum(sizes)])
    values = np.arange(int(first[-1])) - np.repeat(first[:-1] - low, sizes)
    return Cells(leaves, first, values, np.ones_like(values))


def common_levels(ladder: Ladder, pdf: Cells) -> Ints:
    """For each class the lowest level at which all its values share a label."""
    level = np.zeros(len(pdf), np.int64)
    for number, labels in enumerate(ladder.maps[:-1]):
        of = labels[pdf.values]
        mixed = np.maximum.reduceat(of, pdf.first[:-1]) != np.minimum.reduceat(of, pdf.first[:-1])
        level[mixed] = number + 1
    return level


def hierarchy_cells(ladder: Ladder, pdf: Cells, levels: Ints | int | None = None) -> Cells:
    """All leaves under the label of the class, equally likely (DGH).

    `levels`: the level of each class, or of all (a full-domain generalisation); None takes the lowest common one.
    """
    if levels is None:
        levels = common_levels(ladder, pdf)
    level = np.broadcast_to(np.asarray(levels, np.int64), len(pdf))
    anyone = pdf.values[pdf.first[:-1]]
    class_of, values = [], []
    for number, labels in enumerate(ladder.maps):
        here = np.flatnonzero(level == number)
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        start = np.concatenate([[0], np.cumsum(sizes)])
        label = labels[anyone[here]]
        runs = _runs(len(order), start[label], sizes[label])
        class_of.append(here[runs.class_of])
        values.append(order[runs.values])
    found, leaf = np.concatenate(class_of), np.concatenate(values)
    return _from_pairs(ladder.leaves, len(pdf), found, leaf, np.ones_like(leaf))


def cells_between(uniform: Cells, optimal: Cells, step: int, steps: int) -> Cells:
    """Eq. 3: from the uniform (step 0) towards the utility-optimal distribution (step = steps), exactly.

    INTER1 and INTER2 of the paper's section VI are steps 2 and 1 of 3.
    """
    if steps < 1 or not 0 <= step <= steps:
        raise RecipeError("The step must be from 0 to the number of steps", f"{step} of {steps}")
    if uniform.leaves != optimal.leaves or len(uniform) != len(optimal):
        raise SchemaError("Both cells must be of the same classes and leaves")
    # f = (1 - j/m)/|S| + (j/m) c/n: over the denominator m n |S| the numerators are (m - j) n + j |S| c
    size, total = uniform.sizes, optimal.totals
    weights = (steps - step) * total[uniform.class_of]
    key = uniform.keys
    place = np.searchsorted(key, optimal.keys)
    if bool((place >= len(key)).any()) or not np.array_equal(key[place] % uniform.leaves, optimal.values):
        raise SchemaError("A uniform cell must contain every value of its class")
    weights[place] += step * size[optimal.class_of] * optimal.weights
    kept = weights > 0
    divisor = np.gcd.reduceat(weights, uniform.first[:-1])
    weights //= np.maximum(divisor, 1)[uniform.class_of]
    return _from_pairs(uniform.leaves, len(uniform), uniform.class_of[kept], uniform.values[kept], weights[kept])


# ------------------------------------------------------------------ what cells are good for


def kl_cost(optimal: Cells, published: Cells) -> float:
    """Paper 4, Eq. 1: minus the sum of c ln f over one attribute; infinite if a cell excludes a true value."""
    key = published.class_of * published.leaves + published.values
    wanted = optimal.class_of * optimal.leaves + optimal.values
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    if not np.array_equal(key[place], wanted):
        return math.inf
    return float(-(optimal.weights * np.log(published.shares[place])).sum())


def log_matching_probability(
    optimal: Sequence[Cells], published: Sequence[Cells], sensitive: Cells | None = None
) -> float:
    """ln of the probability that a reconstruction matches the original (paper 4, Appendix I).

    The rows of a class with the same sensitive value may stand in any order: a factorial for each such group.
    With no sensitive attribute a class is one group.
    """
    groups = optimal[0].totals if sensitive is None else sensitive.weights
    orders = sum(math.lgamma(int(n) + 1) for n in groups)
    return orders - sum(kl_cost(o, p) for o, p in zip(optimal, published, strict=True))


def reconstructed(
    cells: Sequence[Cells], names: Sequence[str], class_of: NDArray[np.integer], key: Key, draw: int = 0
) -> list[Codes]:
    """One atomic table (paper 4, Definition 7): row i of attribute a reads word i of the stream of a and `draw`.

    A pure function of key, names, draw number and cells; draws of different numbers are independent.
    """
    rows = np.ascontiguousarray(class_of, np.uint32)
    found = []
    for name, column in zip(names, cells, strict=True):
        words = key.stream("reconstruct", "", name, draw).words(0, len(rows))
        running = np.cumsum(column.weights)
        before = np.concatenate([[0], running])[column.first[:-1]]
        out = np.empty(len(rows), np.uint32)
        _classes.draw(
            words,
            rows,
            column.first.astype(np.int64),
            running - before[column.class_of],
            column.values.astype(np.uint32),
            out,
        )
        found.append(out.astype(code_dtype(column.leaves)))
    return found


def expected_counts(cells: Sequence[Cells], sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """The expected table of counts of some attributes, without sampling: n times the shares, over classes."""
    class_of = np.arange(len(sizes))
    place = np.zeros(len(sizes), np.int64)
    weight = sizes.astype(np.float64)
    shape: list[int] = []
    for column in cells:
        repeat = column.sizes[class_of]
        start = np.repeat(column.first[:-1][class_of], repeat)
        inner = np.arange(int(repeat.sum())) - np.repeat(np.cumsum(repeat) - repeat, repeat)
        entry = start + inner
        place = joint_codes([np.repeat(place, repeat), column.values[entry]], [math.prod(shape), column.leaves])
        weight = np.repeat(weight, repeat) * column.shares[entry]
        class_of = np.repeat(class_of, repeat)
        shape.append(column.leaves)
    table = np.bincount(place, weights=weight, minlength=int(np.prod(shape)))
    return np.asarray(table.reshape(shape), np.float64)
