"""How often each class has each sensitive value: the pairs that occur, what l and t ask of them, and risks.

A table of classes by values would be mostly noughts where values are many. Here are the pairs (class, value) that
occur, in any order, and everything is a sum over them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.counting import _classes
from pramana.errors import SourceError
from pramana.randomness.samplers import Codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_EXACT = 1 << 53  # integers up to here are floats, and sums of them in any order the same
_ROOM = 1e-12  # relative; what distances are given where they are not exact


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Counts of the pairs (class, value) that occur, each pair once, and the size of every class."""

    class_of: Ints
    value: Ints
    count: Floats
    sizes: Floats
    values: int
    people: Ints | None = None  # of a population, by class, where one is at hand

    @classmethod
    def of(
        cls,
        class_of: NDArray[np.integer],
        values: Codes,
        times: NDArray[np.uint32] | None = None,
        size: int | None = None,
    ) -> ValueCounts:
        """Of rows, or of lines that stand for so many rows each; `size` is how many values there can be.

        The pairs of a class are in the order of their values, so that sums of floats do not know the rows' order.
        """
        if len(values) != len(class_of):
            raise SourceError("The sensitive column must be as long as the others", f"{len(values)} rows")
        classes, value, count = _counted_pairs(class_of, values, times)
        order = np.lexsort((value, classes))
        sizes = np.bincount(class_of, times).astype(np.float64)
        size = int(values.max()) + 1 if size is None else size
        return cls(classes[order], value[order], count[order], sizes, size)

    @classmethod
    def of_table(cls, table: NDArray[np.uint32]) -> ValueCounts:
        """From a line for each class: its size, and its counts by value."""
        class_of, value = np.nonzero(table[:, 1:])
        count = table[class_of, value + 1].astype(np.float64)
        return cls(class_of, value, count, table[:, 0].astype(np.float64), table.shape[1] - 1)

    @cached_property
    def counted(self) -> Floats:
        """Rows of each class that have a value, which is all of them unless a caller counts only some."""
        return np.maximum(self.sums(self.count), 1.0)

    def sums(self, weights: Floats | None = None) -> Floats:
        return np.asarray(np.bincount(self.class_of, weights=weights, minlength=len(self.sizes)), np.float64)

    @property
    def totals(self) -> Ints:
        """How often each value occurs in all classes together."""
        return np.bincount(self.value, weights=self.count, minlength=self.values).astype(np.int64)

    def only(self, kept: NDArray[np.bool_]) -> ValueCounts:
        """Pairs of some classes; the others stay, and have none."""
        here = kept[self.class_of]
        return replace(self, class_of=self.class_of[here], value=self.value[here], count=self.count[here])

    # ------------------------------------------------------------------ by class

    @cached_property
    def distinct(self) -> Floats:
        return self.sums()

    @property
    def entropies(self) -> Floats:
        """In nats."""
        return np.asarray(np.log(self.counted) - self.sums(self.count * np.log(self.count)) / self.counted)

    def most_and_tail(self, l: int) -> tuple[Floats, Floats]:  # noqa: E741 - the notion's own name
        """How often the commonest value occurs, and the l-th commonest with all rarer ones."""
        order = np.lexsort((-self.count, self.class_of))
        classes, counts = self.class_of[order], self.count[order]
        first = np.searchsorted(classes, np.arange(len(self.sizes)))
        rank = np.arange(len(classes)) - first[classes]
        tail = np.bincount(classes, weights=np.where(rank >= l - 1, counts, 0.0), minlength=len(self.sizes))
        most = np.zeros(len(self.sizes))
        most[classes[rank == 0]] = counts[rank == 0]
        return most, np.asarray(tail, np.float64)

    def distances(self, totals: Ints, parents: tuple[Ints, ...] | None = None) -> Floats:
        """Each class's distance from values that occur `totals` times, equal or along a hierarchy.

        Equal: half the sum of absolute differences, which is the sum of the positive ones. Hierarchical (Li, Li
        and Venkatasubramanian, 2007): moving mass between two leaves costs the height of their lowest common
        ancestor over the tree's height, that is one share of the height for each level at which their labels
        differ. So it is the mean of the equal distances at the levels below the top. Numerators are whole.
        """
        whole = float(totals.sum())
        own = self.counted
        above, at = np.zeros(len(self.sizes)), (self.class_of, self.value, self.count)
        steps = () if parents is None else parents[:-1]  # at the top there is one label
        for parent in (None, *steps):
            if parent is not None:
                totals = np.bincount(parent, weights=totals, minlength=int(parent.max()) + 1).astype(np.int64)
                at = _counted_pairs(at[0], parent[at[1]], at[2].astype(np.uint32))
            class_of, value, count = at
            excess = np.maximum(count * whole - own[class_of] * totals[value], 0.0)
            above += np.bincount(class_of, weights=excess, minlength=len(above))
        distances = above / (own * (whole * (len(steps) + 1)))
        exact = whole * float(own.max(initial=1.0)) * (len(steps) + 1) < _EXACT
        return np.asarray(distances if exact else distances * (1 + _ROOM))

    def ordered_distances(self, totals: Ints) -> Floats:
        """The same where values i and j are |i - j| apart, over the greatest difference."""
        occurs = totals > 0
        if not occurs.all():  # values that do not occur have no place in the order
            rank = np.cumsum(occurs) - 1
            shown = occurs[self.value]
            occurring = replace(
                self,
                class_of=self.class_of[shown],
                value=rank[self.value[shown]],
                count=self.count[shown],
                values=int(occurs.sum()),
            )
            return occurring.ordered_distances(totals[occurs])
        # shares are counts over sizes: all is multiplied by both sizes, so that it is whole and nothing is rounded
        below = np.cumsum(totals)
        whole = int(below[-1])
        area = np.concatenate([[0], np.cumsum(below)])  # sums of `below` over the values before
        order = np.lexsort((self.value, self.class_of))
        classes, value, count = self.class_of[order], self.value[order], self.count[order].astype(np.int64)
        first = np.searchsorted(classes, np.arange(len(self.sizes)))
        run = np.cumsum(count)
        own, size = run - (run - count)[first[classes]], self.counted[classes].astype(np.int64)
        last = np.append(classes[1:] != classes[:-1], True)[: len(classes)]
        stop = np.where(last, self.values, np.append(value[1:], 0))
        # from `value` to before `stop` the class has `own`: above `below` first, and under it afterwards
        turn = np.clip(np.searchsorted(below / whole, own / size), value, stop)
        parts = own * whole * (2 * turn - value - stop) - size * (2 * area[turn] - area[value] - area[stop])
        here = np.append(True, classes[1:] != classes[:-1])[: len(classes)]
        parts[here] += (size * area[value])[here]  # before its first value a class has nothing
        areas = np.bincount(classes, weights=parts, minlength=len(self.sizes))
        steps = max(self.values - 1, 1)
        exact = whole * float(self.counted.max(initial=1.0)) * steps < _EXACT
        distances = areas / (self.counted * (float(whole) * steps))
        return np.asarray(distances if exact else distances * (1 + _ROOM))

    def ratios(self, totals: Ints) -> Floats:
        """The largest |log2| of a class's share of a value over that of `totals`; infinite where it lacks one."""
        share = self.count / self.counted[self.class_of]
        whole = totals[self.value] / float(totals.sum())
        largest = np.zeros(len(self.sizes))
        with np.errstate(divide="ignore"):
            np.maximum.at(largest, self.class_of, np.abs(np.log2(share) - np.log2(whole)))
        return np.where(self.sums() < int((totals > 0).sum()), np.inf, largest)

    def gains(self, totals: Ints) -> Floats:
        """The largest gain of a value on its share of `totals`, relative to that; 0 where none gains."""
        largest = np.zeros(len(self.sizes))
        np.maximum.at(largest, self.class_of, self._gains(totals))
        return largest

    def gains_within_entropy(self, totals: Ints) -> NDArray[np.bool_]:
        """Whether no value gains more than -ln of its share of `totals` times it."""
        with np.errstate(divide="ignore"):
            own = -np.log(totals[self.value] / float(totals.sum()))
        over = self._gains(totals) > own * (1 + _ROOM) + _ROOM
        return np.asarray(np.bincount(self.class_of[over], minlength=len(self.sizes)) == 0)

    def _gains(self, totals: Ints) -> Floats:
        """By pair. Numerators are whole numbers, and exact as floats up to 2^53."""
        expected = self.counted[self.class_of] * totals[self.value]
        with np.errstate(divide="ignore"):  # a value that `totals` lack gains without end
            return np.asarray((self.count * float(totals.sum()) - expected) / expected)

    # ------------------------------------------------------------------ of all classes

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

    def t(self, distance: str = "equal", parents: tuple[Ints, ...] | None = None) -> float:
        """The largest distance of a class's values from the whole table's.

        `equal`: every two values are equally far apart. `ordered`: |i - j| over the greatest difference of codes.
        `hierarchical`: along a tree given by `parents`.
        """
        if distance not in ("equal", "ordered", "hierarchical") or (distance == "hierarchical" and not parents):
            raise SourceError("The distance must be equal, ordered, or hierarchical with its tree", repr(distance))
        if distance == "ordered":
            return float(self.ordered_distances(self.totals).max())
        return float(self.distances(self.totals, parents if distance == "hierarchical" else None).max())


def _counted_pairs(
    class_of: NDArray[np.integer], value: NDArray[np.integer], times: NDArray[np.uint32] | None
) -> tuple[Ints, Ints, Floats]:
    """Each pair of a class and a value once, in any order, and how often it occurs."""
    pairs = class_of.astype(np.uint64) << np.uint64(32) | value.astype(np.uint64)
    keys, counts = np.empty_like(pairs), np.empty(len(pairs), np.uint32)
    everything, no_steps = np.array([2**64 - 1], np.uint64), np.zeros((0, 4), np.int64)
    given = None if times is None else np.ascontiguousarray(times, np.uint32)
    n = _classes.roll(pairs, given, 1, everything, no_steps, np.zeros(1, np.uint64), keys, counts, None)
    low = keys[:n] & np.uint64(2**32 - 1)
    return (keys[:n] >> np.uint64(32)).astype(np.int64), low.astype(np.int64), counts[:n].astype(np.float64)


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
class UnitCounts(ValueCounts):
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
    def distinct(self) -> Floats:
        """One more than the values that are left among those who lack a value, whichever it is.

        Where each unit has one value these are the values of the class. Where units have several, a value that all
        of them have can be inferred however many others there are: then it is 1.
        """
        distinct = self.sums()
        lines = np.bincount(self.units[:, 0], minlength=len(self.sizes))
        for number in np.flatnonzero(lines > self.sizes).tolist():
            here = self.units[self.units[:, 0] == number]
            distinct[number] = 1 + _fewest_others(here[:, 1].tolist(), here[:, 2].tolist())
        return distinct


def _fewest_others(owners: list[int], values: list[int]) -> int:
    own: dict[int, set[int]] = defaultdict(set)
    for owner, value in zip(owners, values, strict=True):
        own[owner].add(value)
    sets = {frozenset(one) for one in own.values()}
    return min(len(set().union(*(one for one in sets if value not in one))) for value in set(values))
