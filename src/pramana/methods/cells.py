"""What stands in the cells of a generalised table: a hierarchy label, an interval, a set, or a distribution.

All are distributions over the leaves (paper 4, section III): a label, interval or set says "one of these, equally
likely". A column of cells holds, for each class, the leaves it may be and their integer weights. Weights are
exact: counts for the utility-optimal distribution (Eq. 2), ones for the uniform kinds, and for the steps between
them (Eq. 3) the numerators over a common denominator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.counting import _classes
from pramana.counting.classes import Ladder
from pramana.errors import BundleError, RecipeError, SchemaError
from pramana.io.columns import numbers, texts, values_of
from pramana.methods.columns import Quasi, by_appearance
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype, joint_codes

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

    def entries(self, number: int) -> tuple[list[int], list[int]]:
        """The leaves that one class may be, and their weights."""
        here = slice(int(self.first[number]), int(self.first[number + 1]))
        return self.values[here].tolist(), self.weights[here].tolist()

    def at(self, number: int) -> dict[int, Fraction]:
        """One class's distribution, leaf code to probability."""
        values, weights = self.entries(number)
        total = sum(weights)
        return {value: Fraction(weight, total) for value, weight in zip(values, weights, strict=True)}

    def share_of(self, class_of: Ints, values: NDArray[np.integer]) -> NDArray[np.float64]:
        """f of some values, each in its class; 0 where the cell excludes the value."""
        wanted = self.keyed(class_of, values)
        index = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[index] == wanted, self.shares[index], 0.0)

    def select(self, classes: Ints) -> Cells:
        """These classes' cells, in this order."""
        entries = entries_of(self.first, classes)
        first = np.concatenate([[0], np.cumsum(self.sizes[classes])])
        return Cells(self.leaves, first, self.values[entries], self.weights[entries])


def entries_of(first: Ints, classes: Ints) -> Ints:
    """The entries of some classes, of which class c has first[c]:first[c+1]."""
    sizes = np.diff(first)[classes]
    start = np.concatenate([[0], np.cumsum(sizes)])
    return np.asarray(np.arange(int(start[-1])) + np.repeat(first[:-1][classes] - start[:-1], sizes))


def chosen_cells(variants: Sequence[Cells], which: Ints, classes: Ints) -> Cells:
    """For each i, class classes[i] as it is in variants[which[i]]."""
    ends = np.cumsum([0, *(len(v.values) for v in variants)])
    joined = Cells(
        variants[0].leaves,
        np.concatenate([[0], *(v.first[1:] + end for v, end in zip(variants, ends, strict=False))]),
        np.concatenate([v.values for v in variants]),
        np.concatenate([v.weights for v in variants]),
    )
    before = np.cumsum([0, *(len(v) for v in variants)])
    return joined.select(before[which] + classes)


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
    joint = class_of.astype(np.int64) * ladder.leaves + codes
    if classes * ladder.leaves <= max(1 << 22, 4 * len(codes)):
        table = np.bincount(joint, times, classes * ladder.leaves)
        keys = np.flatnonzero(table)
        counts = table[keys]
    else:
        keys, index = np.unique(joint, return_inverse=True)
        counts = np.bincount(index, times)
    first = np.searchsorted(keys, np.arange(classes + 1) * ladder.leaves)
    return Cells(ladder.leaves, first.astype(np.int64), keys % ladder.leaves, counts.astype(np.int64))


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
    leaf = np.concatenate(values)
    return _from_pairs(ladder.leaves, len(pdf), np.concatenate(class_of), leaf, np.ones_like(leaf))


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
    entry = np.searchsorted(key, optimal.keys)
    if bool((entry >= len(key)).any()) or not np.array_equal(key[entry] % uniform.leaves, optimal.values):
        raise SchemaError("A uniform cell must contain every value of its class")
    weights[entry] += step * size[optimal.class_of] * optimal.weights
    used = weights > 0
    divisor = np.gcd.reduceat(weights, uniform.first[:-1])
    weights //= np.maximum(divisor, 1)[uniform.class_of]
    return _from_pairs(uniform.leaves, len(uniform), uniform.class_of[used], uniform.values[used], weights[used])


# ------------------------------------------------------------------ what cells are good for


def kl_cost(optimal: Cells, published: Cells) -> float:
    """Paper 4, Eq. 1: minus the sum of c ln f over one attribute; infinite if a cell excludes a true value."""
    shares = published.share_of(optimal.class_of, optimal.values)
    return float(-(optimal.weights * np.log(shares)).sum()) if shares.all() else math.inf


def reconstructed(
    cells: Sequence[Cells], names: Sequence[str], class_of: NDArray[np.integer], key: Key, draw: int = 0
) -> list[Codes]:
    """One atomic table (paper 4, Definition 7): row i of attribute a reads word i of the stream of a and `draw`.

    A pure function of key, names, draw number and cells; draws of different numbers are independent.
    """
    rows = np.ascontiguousarray(class_of, np.uint32)
    drawn = []
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
        drawn.append(out.astype(code_dtype(column.leaves)))
    return drawn


def expected_counts(cells: Sequence[Cells], sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """The expected table of counts of some attributes, without sampling: n times the shares, over classes."""
    class_of = np.arange(len(sizes))
    joint = np.zeros(len(sizes), np.int64)
    weight = sizes.astype(np.float64)
    shape: list[int] = []
    for column in cells:
        repeat, entry = column.sizes[class_of], entries_of(column.first, class_of)
        joint = joint_codes([np.repeat(joint, repeat), column.values[entry]], [math.prod(shape), column.leaves])
        weight = np.repeat(weight, repeat) * column.shares[entry]
        class_of = np.repeat(class_of, repeat)
        shape.append(column.leaves)
    table = np.bincount(joint, weights=weight, minlength=int(np.prod(shape)))
    return np.asarray(table.reshape(shape), np.float64)


# Cells as columns of a file, and back.
#
# Parquet: a label is text, an interval a struct of two texts, a set a list of texts, a distribution a list of
# structs of value and integer weight. CSV: labels and intervals as text; sets and distributions by the number
# of their class, with a companion table of class, attribute, value and weight.


COMPANION = "cells.csv"
CLASS = "class"
BETWEEN = ".."


def labels_of(ladder: Ladder, names: Sequence[Sequence[str]], pdf: Cells, levels: Any) -> list[str]:
    """Each class's label; `names[level][code]` are the labels of a level, `levels` one level or one per class."""
    level = np.broadcast_to(np.asarray(levels, np.int64), len(pdf))
    anyone = pdf.values[pdf.first[:-1]]
    return [names[i][int(ladder.maps[i][leaf])] for i, leaf in zip(level, anyone, strict=True)]


def label_column(labels: Sequence[str]) -> pa.Array:
    """One label for each class; the dictionary is in the labels' order, which tells nothing of the rows."""
    known = {label: code for code, label in enumerate(sorted(set(labels)))}
    codes = np.array([known[label] for label in labels], np.int32)
    return pa.DictionaryArray.from_arrays(numbers(codes), texts(list(known)))


def interval_column(cells: Cells, leaves: Sequence[str], text: bool) -> pa.Array:
    """One interval for each class, as a struct or as text."""
    low = [leaves[v] for v in cells.values[cells.first[:-1]]]
    high = [leaves[v] for v in cells.values[cells.first[1:] - 1]]
    if text:
        joined = [a if a == b else f"{a}{BETWEEN}{b}" for a, b in zip(low, high, strict=True)]
        return label_column(joined)
    return pa.StructArray.from_arrays([texts(low), texts(high)], ["low", "high"])


def list_column(cells: Cells, leaves: Sequence[str], weights: bool) -> pa.Array:
    """One set, or with `weights` one distribution, for each class."""
    entries = texts(leaves).take(numbers(cells.values))
    if weights:
        entries = pa.StructArray.from_arrays([entries, numbers(cells.weights)], ["value", "weight"])
    return pa.ListArray.from_arrays(numbers(cells.first.astype(np.int32)), entries)


def companion(quasi: Sequence[Quasi], cells: Sequence[Cells]) -> pa.Table:
    """Class, attribute, value, weight: one line for each entry of each cell."""
    parts = []
    for q, column in zip(quasi, cells, strict=True):
        lines = {
            CLASS: numbers(column.class_of),
            # not pa.repeat, which loads pandas where it is installed
            "attribute": texts([q.name]).take(numbers(np.zeros(len(column.values), np.int64))),
            "value": texts(q.leaf_labels).take(numbers(column.values)),
            "weight": numbers(column.weights),
        }
        parts.append(pa.table(lines))
    return pa.concat_tables(parts)


# ------------------------------------------------------------------ back


def cells_named(cells: Sequence[Any], leaves: Sequence[str], members: Mapping[str, Sequence[str]]) -> Cells:
    """Cells as a file tells them; `members`: for a label the leaves it stands for (hierarchy cells only)."""
    code = {leaf: i for i, leaf in enumerate(leaves)}
    first, values, weights = [0], [], []
    try:
        for cell in cells:
            entries = sorted((code[value], weight) for value, weight in _entries(cell, code, members))
            values += [value for value, _ in entries]
            weights += [weight for _, weight in entries]
            first.append(len(values))
    except (KeyError, TypeError, ValueError):
        raise BundleError(
            "The cells of a bundle must name leaves of their attribute", "a value that is none of them"
        ) from None
    order = np.array(first, np.int64)
    return Cells(len(leaves), order, np.array(values, np.int64), np.array(weights, np.int64))


def _entries(
    cell: Any, code: Mapping[str, int], members: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, int]]:
    if isinstance(cell, list):
        return [(e["value"], int(e["weight"])) if isinstance(e, dict) else (e, 1) for e in cell]
    if isinstance(cell, str) and cell in members:
        return [(leaf, 1) for leaf in members[cell]]
    ends = _ends(cell, code)
    if ends is None:
        raise ValueError("neither leaves nor a label")
    return [(leaf, 1) for leaf in list(code)[code[ends[0]] : code[ends[1]] + 1]]


def cell_admitted(cell: object, kind: str, code: Mapping[str, int], labels: frozenset[str]) -> bool:
    """Whether a cell of this kind can have been published: of labels or leaves, in order, each once.

    `code`: the number of each leaf; `labels`: those of the levels.
    """
    if kind == "hierarchy":
        return isinstance(cell, str) and cell in labels
    if kind == "interval":
        ends = _ends(cell, code)
        return ends is not None and code[ends[0]] <= code[ends[1]]
    if not isinstance(cell, list) or not cell:
        return False
    if kind == "pdf":
        if not all(isinstance(entry, dict) and type(entry.get("weight")) is int for entry in cell):
            return False
        if any(entry["weight"] < 1 for entry in cell):
            return False
        cell = [entry["value"] for entry in cell]
    codes = [code.get(value, -1) for value in cell]
    return codes[0] >= 0 and all(a < b for a, b in pairwise(codes))


def _ends(cell: object, code: Mapping[str, int]) -> tuple[str, str] | None:
    """The leaves an interval goes from and to; in a CSV it is one text."""
    if isinstance(cell, dict):
        cuts = [(str(cell.get("low")), str(cell.get("high")))]
    elif isinstance(cell, str):
        parts = cell.split(BETWEEN)
        cuts = [(cell, cell), *((BETWEEN.join(parts[:i]), BETWEEN.join(parts[i:])) for i in range(1, len(parts)))]
    else:
        return None
    return next((cut for cut in cuts if cut[0] in code and cut[1] in code), None)


def cell_codes(column: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """A code for every row, equal where the cells are and only there, by first appearance; and a row of each."""
    return by_appearance(_keys(column))


def _keys(column: Any) -> NDArray[np.uint64]:
    """A 64-bit key of each cell: equal cells agree, and two different lists do with a chance of 2^-64."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_struct(column.type):
        keys = np.zeros(len(column), np.uint64)
        for i in range(column.type.num_fields):
            keys = _mix(keys) + _keys(column.field(i))
        return keys
    if pa.types.is_list(column.type):
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(lengths)])
        index = (np.arange(int(first[-1])) - np.repeat(first[:-1], lengths)).astype(np.uint64)
        mixed = _mix(_keys(column.flatten()) + np.uint64(0x9E3779B97F4A7C15) * (index + np.uint64(1)))
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(running[first[1:]] - running[first[:-1]])
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.uint64))
    return np.asarray(values_of(pc.dictionary_encode(column).indices), np.uint64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))
