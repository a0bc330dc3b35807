"""Equivalence classes on integer codes: grouping rows, and rolling classes up to more general levels.

A row's quasi-identifiers are packed into a key, one field of bits for each attribute, the same field at every
level. Generalising changes some fields through a table; equal keys are one class. Classes carry one or more
columns of counts: column 0 is the class size, further columns are whatever a condition looks at (one for each
sensitive value, or the public and the private rows), and they add up when classes merge. Sensitive values may be
many: their counts can also come as tables of their own, whose keys have the value as one more field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pramana.counting import _classes
from pramana.counting.value_counts import ValueCounts
from pramana.errors import SchemaError, SourceError
from pramana.randomness.samplers import Codes, code_dtype
from pramana.schema.hierarchy import Hierarchy

Counts = NDArray[np.uint32]
Keys = NDArray[np.uint64]
Levels = tuple[int, ...]
MOST_ROWS = 2**32 - 1
# what a condition looks at: a line of counts for each class, or for each sensitive attribute the pairs that occur
SeenCounts = Counts | tuple[ValueCounts, ...]


@dataclass(frozen=True)
class Ladder:
    """One attribute's levels on codes: `maps[level][leaf]` is the leaf's code at that level."""

    name: str
    maps: tuple[NDArray[np.int64], ...]

    def __post_init__(self) -> None:
        if not self.maps or not len(self.maps[0]):
            raise SchemaError(f"The levels of {self.name} must have at least one leaf")
        for below, above in pairwise(self.maps):
            parent = np.zeros(int(below.max()) + 1, np.int64)
            parent[below] = above  # one for each label, or the last of several
            if bool((parent[below] != above).any()):
                raise SchemaError(f"The levels of {self.name} must nest")

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy) -> Ladder:
        return cls(name, tuple(hierarchy.level_map(level)[0] for level in range(hierarchy.height)))

    @classmethod
    def flat(cls, name: str, size: int) -> Ladder:
        """Leaves, and the top: the ladder of an attribute without a hierarchy."""
        return cls(name, (np.arange(size), np.zeros(size, np.int64)))

    @property
    def leaves(self) -> int:
        return len(self.maps[0])

    @cached_property
    def height(self) -> int:
        return len(self.maps)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(level.max()) + 1 for level in self.maps)

    def step(self, low: int, high: int) -> NDArray[np.int64]:
        """For every code at level `low` its code at level `high`."""
        table = np.zeros(self.sizes[low], np.int64)
        table[self.maps[low]] = self.maps[high]
        return table


@dataclass(frozen=True)
class Layout:
    """Where each attribute's field lies in a key, and the table of every step up."""

    ladders: tuple[Ladder, ...]

    def __post_init__(self) -> None:
        if not self.ladders:
            raise SchemaError("There must be at least one quasi-identifying attribute", "0")

    @cached_property
    def fields(self) -> tuple[tuple[int, int, int], ...]:
        """Word, shift and bits of each attribute."""
        fields, word, shift = [], 0, 0
        for ladder in self.ladders:
            bits = (ladder.leaves - 1).bit_length()
            if shift + bits > 64:
                word, shift = word + 1, 0
            fields.append((word, shift, bits))
            shift += bits
        return tuple(fields)

    @cached_property
    def words(self) -> int:
        return self.fields[-1][0] + 1

    @cached_property
    def heights(self) -> Levels:
        return tuple(ladder.height for ladder in self.ladders)

    @property
    def bottom(self) -> Levels:
        return (0,) * len(self.ladders)

    @property
    def top(self) -> Levels:
        return tuple(h - 1 for h in self.heights)

    @cached_property
    def _steps(self) -> tuple[dict[tuple[int, int, int], NDArray[np.int64]], Keys]:
        """Every step of every attribute: its line of `ops`, into one array of shifted tables."""
        lines, tables, start = {}, [], 0
        for a, (ladder, (word, shift, bits)) in enumerate(zip(self.ladders, self.fields, strict=True)):
            for low in range(ladder.height):
                for high in range(low + 1, ladder.height):
                    table = np.zeros(1 << bits, np.uint64)
                    table[: ladder.sizes[low]] = ladder.step(low, high).astype(np.uint64) << np.uint64(shift & 63)
                    lines[a, low, high] = np.array([word, shift, bits, start], np.int64)
                    tables.append(table)
                    start += len(table)
        return lines, np.concatenate([*tables, np.zeros(1, np.uint64)])

    @cached_property
    def _masks(self) -> tuple[int, ...]:
        return tuple(((1 << bits) - 1) << shift for _, shift, bits in self.fields)

    @property
    def without_last(self) -> tuple[Keys, NDArray[np.int64], Keys]:
        """What `roll` needs to leave out the last attribute."""
        keep = [0] * self.words
        for (word, _, _), mask in zip(self.fields[:-1], self._masks[:-1], strict=True):
            keep[word] |= mask
        return np.array(keep, np.uint64), np.zeros((0, 4), np.int64), np.zeros(1, np.uint64)

    def change(self, low: Levels, high: Levels) -> tuple[Keys, NDArray[np.int64], Keys]:
        """What `roll` needs to go from levels `low` up to `high`: bits kept, fields changed, tables."""
        lines, tables = self._steps
        keep = [0] * self.words
        ops = []
        for a, (i, j) in enumerate(zip(low, high, strict=True)):
            if i == j:
                keep[self.fields[a][0]] |= self._masks[a]
            elif self.ladders[a].sizes[j] > 1:  # one label needs no table: its code is 0
                ops.append(lines[a, i, j])
        return np.array(keep, np.uint64), np.array(ops, np.int64).reshape(-1, 4), tables


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a table at some levels: one key and one line of counts each."""

    layout: Layout
    levels: Levels
    keys: Keys  # classes x words
    counts: Counts  # classes x columns; column 0 is the class size
    pairs: tuple[Classes, ...] = ()  # for each sensitive attribute the classes with its values as one more field

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def sizes(self) -> Counts:
        return self.counts[:, 0]

    @property
    def rows(self) -> int:
        return int(self.sizes.sum(dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.counts.nbytes

    def codes(self, attribute: int) -> NDArray[np.int64]:
        """Each class's code of one attribute, at its level."""
        word, shift, bits = self.layout.fields[attribute]
        field = self.keys[:, word] >> np.uint64(shift & 63)
        return (field & np.uint64((1 << bits) - 1)).astype(np.int64)

    @cached_property
    def seen(self) -> SeenCounts:
        """What a condition looks at."""
        return tuple(self._values(pairs) for pairs in self.pairs) if self.pairs else self.counts

    @property
    def bare(self) -> Classes:
        """The same classes without their pairs."""
        return replace(self, pairs=()) if self.pairs else self

    @property
    def occupied(self) -> Classes:
        """Those with rows of their own: beside a population some have none."""
        here = self.sizes > 0
        if bool(here.all()):
            return self
        return replace(self, keys=self.keys[here], counts=np.ascontiguousarray(self.counts[here]))

    def by_keys(self) -> tuple[Classes, NDArray[np.int64]]:
        """The same classes in the order of their keys, and for each of these classes its rank there."""
        order = np.lexsort(self.keys.T)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return replace(self, keys=self.keys[order], counts=self.counts[order]), rank

    def only(self, here: NDArray[np.bool_]) -> Classes:
        """Some of these classes, with their pairs."""
        pairs = []
        for table in self.pairs:
            kept = here[self._values(table).class_of]
            pairs.append(replace(table, keys=table.keys[kept], counts=table.counts[kept]))
        return replace(self, keys=self.keys[here], counts=self.counts[here], pairs=tuple(pairs))

    def _values(self, pairs: Classes) -> ValueCounts:
        """The pairs with the numbers of these classes: these keys and theirs without the value, grouped once."""
        words, here = pairs.layout.words, len(self)
        keep, ops, tables = pairs.layout.without_last
        keys = np.zeros((here + len(pairs), words), np.uint64)
        keys[:here, : self.layout.words] = self.keys
        keys[here:] = pairs.keys
        index = np.empty(len(keys), np.uint32)
        out, counts = np.empty_like(keys), np.empty((len(keys), 1), np.uint32)
        _classes.roll(keys, None, 1, keep, ops, tables, out, counts, index)
        last = len(pairs.layout.ladders) - 1
        return ValueCounts(
            index[here:].astype(np.int64),
            pairs.codes(last),
            pairs.sizes.astype(np.float64),
            self.sizes.astype(np.float64),
            pairs.layout.ladders[last].leaves,
            self.counts[:, 1].astype(np.int64) if self.counts.shape[1] > 1 else None,
        )

    def rolled(self, levels: Levels) -> Classes:
        return self._roll(levels, None)

    def rolled_with_index(self, levels: Levels) -> tuple[Classes, NDArray[np.uint32]]:
        """The classes at `levels`, and for each of these classes the one it went into."""
        index = np.empty(len(self), np.uint32)
        return self._roll(levels, index), index

    def _roll(self, levels: Levels, index: NDArray[np.uint32] | None) -> Classes:
        keep, ops, tables = self.layout.change(self.levels, levels)
        keys, counts = np.empty_like(self.keys), np.empty_like(self.counts)
        columns = self.counts.shape[1]
        n = _classes.roll(self.keys, self.counts, columns, keep, ops, tables, keys, counts, index)
        pairs = tuple(table.rolled((*levels, 0)) for table in self.pairs)
        return Classes(self.layout, levels, keys[:n].copy(), counts[:n].copy(), pairs)


class ClassFinder:
    """Tells from rows' codes which of some classes, given by their keys at some levels, each row is in.

    A key's words are looked up one after the other: the rank of each among those that occur, together with the
    rank of what came before, is again a number that is looked up.
    """

    def __init__(
        self, layout: Layout, levels: Levels, keys: Keys, numbers: NDArray[np.int64] | None = None
    ) -> None:
        """`numbers`: of the classes, where several keys are one; else each key is a class."""
        self.layout, self.levels, self.classes = layout, levels, len(keys)
        self.steps: list[tuple[Keys, Keys]] = []
        rank = np.zeros(len(keys), np.uint64)
        for word in keys.T:
            values = np.unique(word)
            joint = rank * np.uint64(len(values)) + np.searchsorted(values, word).astype(np.uint64)
            known = np.unique(joint)
            rank = np.searchsorted(known, joint).astype(np.uint64)
            self.steps.append((values, known))
        number_of = np.arange(len(keys)) if numbers is None else numbers
        count = int(number_of.max(initial=-1)) + 1
        self.number = np.empty(len(keys) + 1, code_dtype(count + 1))
        self.number[rank] = number_of
        self.number[-1] = count

    def find(self, columns: Sequence[Codes]) -> Codes:
        """The class of every row; as many as there are classes stands for none of them."""
        rows, index = grouped(self.layout, columns)
        rolled, into = rows.rolled_with_index(self.levels)
        return np.asarray(self._numbers(rolled.keys)[into][index])

    def _numbers(self, keys: Keys) -> Codes:
        rank, known_so_far = np.zeros(len(keys), np.uint64), np.ones(len(keys), np.bool_)
        for word, (values, known) in zip(keys.T, self.steps, strict=True):
            at, is_value = _rank(values, word)
            rank, is_known = _rank(known, rank * np.uint64(len(values)) + at)
            known_so_far &= is_value & is_known
        return np.asarray(self.number[np.where(known_so_far, rank, self.classes).astype(np.int64)])


def _rank(known: Keys, wanted: Keys) -> tuple[Keys, NDArray[np.bool_]]:
    """Where each wanted key is among those known, and whether it is."""
    rank = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return rank.astype(np.uint64), np.asarray(known[rank] == wanted)


def packed(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Layout, Keys]:
    """Columns of codes as keys, for attributes that are not generalised."""
    layout = Layout(tuple(Ladder(str(a), (np.arange(size),)) for a, size in enumerate(sizes)))
    return layout, _packed(layout, columns)


def _packed(layout: Layout, columns: Sequence[Codes]) -> Keys:
    rows = len(columns[0])
    if rows > MOST_ROWS:
        raise SchemaError(f"A table must have at most {MOST_ROWS} rows", f"{rows}")
    keys = np.zeros((rows, layout.words), np.uint64)
    for (word, shift, _), column, ladder in zip(layout.fields, columns, layout.ladders, strict=True):
        if len(column) != rows:
            raise SchemaError("The columns of a table must be equally long", f"{rows} and {len(column)} rows")
        if rows and int(column.max()) >= ladder.leaves:
            raise SchemaError(f"The codes of {ladder.name} must lie below its {ladder.leaves} leaves")
        codes = np.ascontiguousarray(column, code_dtype(ladder.leaves))
        _classes.pack(codes, keys, layout.words, word, shift & 63)
    return keys


def grouped(
    layout: Layout, columns: Sequence[Codes], times: Counts | None = None
) -> tuple[Classes, NDArray[np.uint32]]:
    """The distinct rows at level 0 with their counts, and for every row the class it is in.

    `times`: how many rows each line of the columns stands for, where that is not one.
    """
    keys = _packed(layout, columns)
    keep, ops, tables = layout.change(layout.bottom, layout.bottom)
    out, counts = np.empty_like(keys), np.empty((len(keys), 1), np.uint32)
    index = np.empty(len(keys), np.uint32)
    given = None if times is None else np.ascontiguousarray(times, np.uint32)
    n = _classes.roll(keys, given, 1, keep, ops, tables, out, counts, index)
    return Classes(layout, layout.bottom, out[:n].copy(), counts[:n].copy()), index


def class_numbers(columns: Sequence[Codes]) -> NDArray[np.uint32]:
    """For every row the number of its class: rows of a class agree on every column."""
    if not columns or not len(columns[0]):
        raise SourceError("A table must have rows and at least one quasi-identifying column")
    return grouped(packed(columns, [int(column.max()) + 1 for column in columns])[0], columns)[1]


@dataclass(frozen=True, eq=False)
class CountedCombinations:
    """Combinations of codes that occur, a column of codes for each attribute, and how many rows have each."""

    columns: tuple[Codes, ...]
    times: Counts

    @property
    def rows(self) -> int:
        return int(self.times.sum(dtype=np.int64))

    def of_columns(self, indices: Sequence[int], sizes: Sequence[int]) -> CountedCombinations:
        """The combinations of some of the columns, which are given with their numbers of codes."""
        if list(indices) == list(range(len(self.columns))):
            return self
        columns = [self.columns[index] for index in indices]
        layout, _ = packed([column[:0] for column in columns], sizes)
        classes, _ = grouped(layout, columns, self.times)
        codes = tuple(classes.codes(a).astype(column.dtype) for a, column in enumerate(columns))
        return CountedCombinations(codes, np.ascontiguousarray(classes.sizes))


class CombinationCounter:
    """Counts the combinations of codes that occur in pieces of a table.

    It takes memory for each combination once, however many rows have it.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.layout, _ = packed([np.empty(0, np.uint32) for _ in sizes], sizes)
        self.parts: list[Classes] = []

    def update(self, columns: Sequence[Codes]) -> None:
        self.join(self.of(columns))

    def of(self, columns: Sequence[Codes]) -> Classes:
        """The combinations of one piece, to be joined to the others."""
        return grouped(self.layout, columns)[0]

    def join(self, part: Classes) -> None:
        self.parts.append(part)
        if sum(map(len, self.parts[1:])) > len(self.parts[0]):  # seldom enough that merging costs little
            self.parts = [self.merged()]

    def merged(self) -> Classes:
        keys = np.concatenate([part.keys for part in self.parts])
        counts = np.concatenate([part.counts for part in self.parts])
        rows = int(counts.sum(dtype=np.int64))
        if rows > MOST_ROWS:
            raise SourceError("Classes must be counted in tables of fewer than 2^32 rows", f"{rows:,} rows")
        return Classes(self.layout, self.layout.bottom, keys, counts).rolled(self.layout.bottom)

    def counted(self) -> CountedCombinations:
        """In the order of the codes, which tells nothing of the rows: sums of floats depend on their order."""
        classes = self.merged()
        order = np.lexsort(classes.keys.T)
        columns = tuple(classes.codes(a).astype(code_dtype(size))[order] for a, size in enumerate(self.sizes))
        return CountedCombinations(columns, np.ascontiguousarray(classes.sizes[order]))
