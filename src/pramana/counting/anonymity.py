"""Measuring a table as it is: its k, l and t, and the risks a record in it runs.

Independent of every search: rows are grouped by the values they show, and counted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.counting import _classes
from pramana.counting.classes import Classes, Counts, grouped, packed
from pramana.counting.value_counts import Floats, Ints, ValueCounts
from pramana.errors import SourceError
from pramana.randomness.samplers import Codes


def _class_of_rows(columns: Sequence[Codes], times: Counts | None = None) -> tuple[Classes, NDArray[np.uint32]]:
    if not columns or not len(columns[0]):
        raise SourceError("A table must have rows and at least one quasi-identifying column")
    sizes = [int(column.max()) + 1 for column in columns]
    layout, _ = packed([column[:0] for column in columns], sizes)
    return grouped(layout, columns, times)


def k_anonymity(columns: Sequence[Codes]) -> int:
    """The size of the smallest class of rows that agree on every column (paper 4, Definition 1)."""
    return int(_class_of_rows(columns)[0].sizes.min())


@dataclass(frozen=True, eq=False)
class SensitiveCounts(ValueCounts):
    """Counts of the pairs (class, sensitive value) that occur in a table, and what it comes to."""

    @classmethod
    def of(
        cls, columns: Sequence[Codes], sensitive: Codes, times: Counts | None = None, values: int | None = None
    ) -> SensitiveCounts:
        """Of rows, or of lines that stand for so many rows each; `values` is how many there can be.

        The pairs of a class are in the order of their values, so that sums of floats do not know the rows' order.
        """
        classes, index = _class_of_rows(columns, times)
        if len(sensitive) != len(index):
            raise SourceError("The sensitive column must be as long as the others")
        values = int(sensitive.max()) + 1 if values is None else values
        pairs = index.astype(np.uint64) << np.uint64(32) | sensitive.astype(np.uint64)
        keys, counts = np.empty_like(pairs), np.empty(len(pairs), np.uint32)
        everything = np.array([2**64 - 1], np.uint64)
        none = np.zeros((0, 4), np.int64)
        given = None if times is None else np.ascontiguousarray(times, np.uint32)
        n = _classes.roll(pairs, given, 1, everything, none, np.zeros(1, np.uint64), keys, counts, None)
        order = np.argsort(keys[:n])
        keys = keys[order]
        return cls(
            (keys >> np.uint64(32)).astype(np.int64),
            (keys & np.uint64(2**32 - 1)).astype(np.int64),
            counts[order].astype(np.float64),
            classes.sizes.astype(np.float64),
            values,
        )

    @classmethod
    def of_combinations(cls, found: Classes) -> SensitiveCounts:
        """From combinations that occur, each once; the last attribute is the sensitive one."""
        codes = [found.codes(a) for a in range(len(found.layout.ladders))]
        _, index = _class_of_rows([c.astype(np.uint32) for c in codes[:-1]])
        sizes = np.asarray(np.bincount(index, weights=found.sizes), np.float64)
        return cls(
            index.astype(np.int64), codes[-1], found.sizes.astype(np.float64), sizes, int(codes[-1].max()) + 1
        )

    @property
    def distinct_l(self) -> int:
        return int(self.distinct.min())

    @property
    def entropy_l(self) -> float:
        return math.exp(max(float(self.entropies.min()), 0.0))

    def recursive_c(self, l: int) -> float:  # noqa: E741
        """The c above which the table is recursively (c, l)-diverse; infinite where a class has fewer values."""
        most, tail = self.most_and_tail(l)
        return float(np.divide(most, tail, out=np.full(len(tail), np.inf), where=tail > 0).max())

    @property
    def single_valued(self) -> int:
        """Classes in which every record has the same sensitive value."""
        return int((self.distinct == 1).sum())

    @property
    def largest_share(self) -> float:
        """How sure someone who knows a person's class can be of that person's value, at most."""
        return float((self.count / self.sizes[self.class_of]).max())

    def t(self, distance: str = "equal", parents: tuple[NDArray[np.int64], ...] = ()) -> float:
        if distance == "equal":
            return float(self.distances(self.totals).max())
        if distance == "ordered":
            return float(self.ordered_distances(self.totals).max())
        if distance != "hierarchical" or not parents:
            raise SourceError("The distance must be equal, ordered, or hierarchical with its tree", repr(distance))
        return float(self.distances(self.totals, parents).max())


def l_diversity(columns: Sequence[Codes], sensitive: Codes) -> int:
    """Distinct l-diversity: the least number of different sensitive values in a class."""
    return SensitiveCounts.of(columns, sensitive).distinct_l


def entropy_l_diversity(columns: Sequence[Codes], sensitive: Codes) -> float:
    """Entropy l-diversity: e to the least entropy of a class's sensitive values."""
    return SensitiveCounts.of(columns, sensitive).entropy_l


def recursive_c(columns: Sequence[Codes], sensitive: Codes, l: int) -> float:  # noqa: E741
    """The c above which the table is recursively (c, l)-diverse; infinite where a class has fewer values."""
    return SensitiveCounts.of(columns, sensitive).recursive_c(l)


def t_closeness(
    columns: Sequence[Codes],
    sensitive: Codes,
    distance: str = "equal",
    parents: tuple[NDArray[np.int64], ...] = (),
) -> float:
    """The largest distance of a class's sensitive values from the whole table's.

    `equal`: every two values are equally far apart. `ordered`: |i - j| over the greatest difference of codes.
    `hierarchical`: along a tree given by `parents`, see conditions.Close.
    """
    return SensitiveCounts.of(columns, sensitive).t(distance, parents)


@dataclass(frozen=True)
class Risks:
    """Re-identification risks as ARX names them, from class sizes.

    Prosecutor: the intruder knows the person is in the table, so the risk of a record is 1 over its class.
    Journalist: the person is only known to be in a population table; 1 over the class there.
    Marketer: the share of all records an intruder re-identifies on average.
    """

    prosecutor: float
    journalist: float | None
    marketer: float

    @classmethod
    def of(
        cls,
        sizes: NDArray[np.uint32] | NDArray[np.int64],
        population: NDArray[np.uint32] | NDArray[np.float64] | None = None,
    ) -> Risks:
        """`population`: for each class of the release its size in the population, known or estimated."""
        largest = 1.0 / float(sizes.min())
        if population is None:
            return cls(largest, None, len(sizes) / float(sizes.sum(dtype=np.int64)))
        if bool((population < sizes).any()):
            raise SourceError("A class must be at least as large in the population as in the table")
        share = float((sizes / population.astype(np.float64)).sum() / sizes.sum(dtype=np.int64))
        return cls(largest, 1.0 / float(population.min()), share)


# ---------------------------------------------------------------- people and households with several rows

# Numbers of people do not add up when classes merge, since one person's rows may be in both. So classes carry the
# pairs of a person and a sensitive value that occur in them, and people are counted anew wherever they are needed.


@dataclass(frozen=True, eq=False)
class JointValues:
    """The pairs of a unit and a sensitive value that occur, by their number: whose they are, and which value."""

    owner: Ints
    value: Ints
    values: int

    @classmethod
    def of(cls, owners: NDArray[np.integer], codes: Codes, values: int) -> tuple[JointValues, NDArray[np.uint32]]:
        """The pairs, in order, and for every row the number of its own."""
        pairs, number = np.unique(owners.astype(np.int64) * values + codes, return_inverse=True)
        return cls(pairs // values, pairs % values, values), number.astype(np.uint32)

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def totals(self) -> Ints:
        """How many units have each value."""
        return np.bincount(self.value, minlength=self.values)

    @property
    def single(self) -> bool:
        """Whether no unit has several values."""
        return len(np.unique(self.owner)) == len(self.owner)


@dataclass(frozen=True, eq=False)
class UnitCounts(SensitiveCounts):
    """How many units of each class have each value. `units` has a line for each class, unit and value of it."""

    units: Ints = None  # type: ignore[assignment] # never None once made

    @classmethod
    def of_units(cls, class_of: Ints, owner: Ints, value: Ints, classes: int, values: int) -> UnitCounts:
        """From lines in any order, in which the same unit may stand several times."""
        units = np.unique(np.stack([class_of, owner, value], axis=1), axis=0)
        whose = np.unique(units[:, :2], axis=0)
        sizes = np.bincount(whose[:, 0], minlength=classes).astype(np.float64)
        pairs, count = np.unique(units[:, 0] * values + units[:, 2], return_counts=True)
        return cls(pairs // values, pairs % values, count.astype(np.float64), sizes, values, units=units)

    @classmethod
    def of_joint(cls, counts: ValueCounts, joint: JointValues) -> UnitCounts:
        """From counts of joint values in classes."""
        owner, value = joint.owner[counts.value], joint.value[counts.value]
        return cls.of_units(counts.class_of, owner, value, len(counts.sizes), joint.values)

    @property
    def totals(self) -> Ints:
        """How many units have each value, in whichever class."""
        once = np.unique(self.units[:, 1:], axis=0)
        return np.bincount(once[:, 1], minlength=self.values)

    def only(self, kept: NDArray[np.bool_]) -> UnitCounts:
        units = self.units[kept[self.units[:, 0]]]
        return UnitCounts.of_units(units[:, 0], units[:, 1], units[:, 2], len(self.sizes), self.values)

    @cached_property
    def _distinct(self) -> Floats:
        distinct = self.sums()
        lines = np.bincount(self.units[:, 0], minlength=len(self.sizes))
        for number in np.flatnonzero(lines > self.sizes).tolist():
            here = self.units[self.units[:, 0] == number]
            distinct[number] = 1 + _fewest_others(here[:, 1].tolist(), here[:, 2].tolist())
        return distinct

    @property
    def distinct(self) -> Floats:
        """One more than the values that are left among those who lack a value, whichever it is.

        Where each unit has one value these are the values of the class. Where units have several, a value that all
        of them have can be inferred however many others there are: then it is 1.
        """
        return self._distinct


def _fewest_others(owners: list[int], values: list[int]) -> int:
    own: dict[int, set[int]] = defaultdict(set)
    for owner, value in zip(owners, values, strict=True):
        own[owner].add(value)
    sets = {frozenset(one) for one in own.values()}
    return min(len(set().union(*(one for one in sets if value not in one))) for value in set(values))
