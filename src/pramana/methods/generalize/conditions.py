"""What a class must satisfy, as predicates on its counts. A search may take any object with these members.

Column 0 of the counts is the class size; the columns behind it are the classes' counts of sensitive values (or,
for presence, of private rows). Where sensitive values are many, their counts come as the pairs that occur. Every
condition here holds of a class made of classes that hold. `anchor` is what holding implies and what also survives
merging with a class that does not hold: only that part may prune a search that suppresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import SeenCounts
from pramana.counting.value_counts import JointValues, UnitCounts, ValueCounts
from pramana.errors import RecipeError

# Entropies are sums of floats; an equality such as l values equally often must not fail by rounding.
_SLACK = 1e-12
_DIGITS = 1e9  # distances are certified rounded up at the ninth place, and compared so
Flags = NDArray[np.bool_]


class Compared:
    """A condition that compares a class with how often each value occurs in the whole: `totals`."""

    totals: NDArray[np.int64]


class Condition(Protocol):
    @property
    def anchor(self) -> Condition | None: ...

    def held(self, counts: SeenCounts) -> Flags: ...


@dataclass(frozen=True)
class KAnonymous:
    """At least k rows (paper 4, Definition 1)."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise RecipeError("k must be at least 1", str(self.k))

    @property
    def anchor(self) -> Condition:
        return self

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(sizes_in(counts) >= self.k)


@dataclass(frozen=True)
class DistinctDiverse:
    """At least l different sensitive values."""

    l: int  # noqa: E741 - the notion's own name

    def __post_init__(self) -> None:
        if self.l < 1:
            raise RecipeError("l must be at least 1", str(self.l))

    @property
    def anchor(self) -> Condition:
        return self

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(values_in(counts).distinct >= self.l)


@dataclass(frozen=True)
class EntropyDiverse:
    """Entropy of the sensitive values at least ln l."""

    l: float  # noqa: E741

    def __post_init__(self) -> None:
        if not self.l >= 1:
            raise RecipeError("l must be at least 1", str(self.l))

    @property
    def anchor(self) -> Condition:
        """Fewer values than l have less entropy than l of them equally often."""
        return DistinctDiverse(math.ceil(self.l * (1 - 1e-9)))

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(values_in(counts).entropies >= math.log(self.l) - _SLACK)


@dataclass(frozen=True)
class RecursiveDiverse:
    """(c, l)-diversity: the commonest value less often than c times the l-th commonest and all rarer ones."""

    c: float
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        if not self.c > 0 or self.l < 1:
            raise RecipeError("c must be above 0 and l at least 1", f"c = {self.c}, l = {self.l}")

    @property
    def anchor(self) -> Condition:
        """Without an l-th value there is nothing to weigh the commonest against."""
        return DistinctDiverse(self.l)

    def held(self, counts: SeenCounts) -> Flags:
        most, tail = values_in(counts).most_and_tail(self.l)
        return np.asarray(most < self.c * tail)


@dataclass(frozen=True)
class Close(Compared):
    """Distance from values that occur `totals` times, those of the whole table, at most t.

    `parents`: None for the equal distance (half the sum of absolute differences); else one array per inner level
    of a hierarchy, from the level above the leaves up, the top included: earth mover's distance on the tree.
    `ordered`: the distance of values in the order of their codes, those that occur.
    """

    t: float
    totals: NDArray[np.int64]
    parents: tuple[NDArray[np.int64], ...] | None = field(default=None)
    ordered: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise RecipeError("t must be from 0 to 1", str(self.t))

    @property
    def anchor(self) -> Condition | None:
        return KAnonymous(self.least) if self.least > 1 else None

    @cached_property
    def least(self) -> int:
        """The fewest rows of a class that can hold: n rows have n values at most, and miss what others weigh."""
        if self.ordered:  # a class of one value in the middle may be near
            return 1
        totals, misses = self.totals, np.zeros(len(self.totals))
        steps = (None, *(() if self.parents is None else self.parents[:-1]))
        for parent in steps:
            if parent is not None:
                totals = np.bincount(parent, weights=totals, minlength=int(parent.max()) + 1).astype(np.int64)
            reached = np.cumsum(-np.sort(-totals)) / totals.sum()
            misses[: len(reached)] += 1 - reached
        return 1 + int(np.argmax(misses / len(steps) <= self.t + _SLACK))

    def held(self, counts: SeenCounts) -> Flags:
        values = values_in(counts)
        enough = values.sizes >= self.least
        found = self.distances(values if enough.all() else values.only(enough))
        return np.asarray(np.ceil(found * _DIGITS) / _DIGITS <= self.t) & enough

    def distances(self, values: ValueCounts) -> NDArray[np.float64]:
        if self.ordered:
            return values.ordered_distances(self.totals)
        return values.distances(self.totals, self.parents)


@dataclass(frozen=True)
class On:
    """A condition on one of several sensitive attributes: the `which`-th, `columns` of the counts."""

    condition: Condition
    columns: range
    which: int = 0

    @property
    def anchor(self) -> Condition | None:
        inner = self.condition.anchor
        if inner is self.condition:
            return self
        return None if inner is None else On(inner, self.columns, self.which)

    def held(self, counts: SeenCounts) -> Flags:
        return self.condition.held(self.part(counts))

    def part(self, counts: SeenCounts) -> SeenCounts:
        """What the condition looks at."""
        if not isinstance(counts, np.ndarray):
            return (counts[self.which],)
        here = slice(self.columns.start, self.columns.stop)
        return np.concatenate([counts[:, :1], counts[:, here]], axis=1)


@dataclass(frozen=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    @property
    def anchor(self) -> Condition | None:
        anchors = [c.anchor for c in self.conditions]
        if all(a is c for a, c in zip(anchors, self.conditions, strict=True)):
            return self
        kept = tuple(a for a in anchors if a is not None)
        return All(kept) if kept else None

    def held(self, counts: SeenCounts) -> Flags:
        flags = np.ones(len(sizes_in(counts)), np.bool_)
        for condition in self.conditions:
            flags &= condition.held(counts)
        return flags


@dataclass(frozen=True)
class InUnits:
    """A condition on people, or on households: of counts of joint values, by attribute, each unit counts once."""

    condition: Condition
    joints: tuple[JointValues, ...]

    @property
    def anchor(self) -> Condition | None:
        inner = self.condition.anchor
        if inner is self.condition:
            return self
        return None if inner is None else InUnits(inner, self.joints)

    def held(self, counts: SeenCounts) -> Flags:
        return self.condition.held(self.seen(counts))

    def seen(self, counts: SeenCounts) -> tuple[ValueCounts, ...]:
        """What the condition looks at, counted in units."""
        assert not isinstance(counts, np.ndarray), "units are counted from the pairs that occur"
        return tuple(UnitCounts.of_joint(own, joint) for own, joint in zip(counts, self.joints, strict=True))


def kept_classes(condition: Condition, counts: SeenCounts, among: Flags | None = None) -> Flags:
    """Which classes stay, of all or those in `among`: those that hold, t being measured from the rows that stay.

    Whoever reads the release compares a class with what was published. So what does not hold against the source
    goes first, then what does not against what is left, until all that is left holds. What stays once it held
    against the source's values alone therefore stays here.
    """
    held = condition.held(counts) if among is None else condition.held(counts) & among
    while bool(held.any()) and not bool(held.all()):
        again = _among(condition, counts, held)
        still = held if again is condition else held & again.held(counts)
        if np.array_equal(still, held):
            break
        held = still
    return held


def _among(condition: Condition, counts: SeenCounts, held: Flags) -> Condition:
    """The same condition, with what it compares a class with taken from the classes that stay."""
    if isinstance(condition, InUnits):
        inner = _among(condition.condition, condition.seen(counts), held)
        return condition if inner is condition.condition else replace(condition, condition=inner)
    if isinstance(condition, All):
        parts = tuple(_among(c, counts, held) for c in condition.conditions)
        same = all(a is b for a, b in zip(parts, condition.conditions, strict=True))
        return condition if same else All(parts)
    if isinstance(condition, On) and isinstance(condition.condition, Compared):
        if isinstance(counts, np.ndarray):
            totals = counts[held][:, condition.columns.start : condition.columns.stop].sum(axis=0, dtype=np.int64)
        else:
            totals = counts[condition.which].only(held).totals
        return replace(condition, condition=_against(condition.condition, totals))
    if isinstance(condition, Compared):
        return _against(condition, values_in(counts).only(held).totals)
    return condition


def _against(condition: Condition, totals: NDArray[np.int64]) -> Condition:
    """The same condition, compared with other totals."""
    changed: Condition = replace(condition, totals=totals)  # type: ignore[type-var] # a dataclass that has them
    return changed


def least_lost(condition: Condition, counts: SeenCounts) -> NDArray[np.float64]:
    """For each class how many of its rows cannot stay, neither together nor in the classes it is made of.

    Of n rows at a distance d from the whole, n (d - t) must go before the others are within t: taking a share of
    the rows away moves the rest by that share at most, and the union of classes within t is within t. Of a class
    with fewer rows than any that is within t all must go.
    """
    if isinstance(condition, All):
        return np.asarray(np.max([least_lost(c, counts) for c in condition.conditions], axis=0))
    if isinstance(condition, On):
        return least_lost(condition.condition, condition.part(counts))
    sizes = np.asarray(sizes_in(counts), np.float64)
    if isinstance(condition, Close):
        values, enough = values_in(counts), sizes >= condition.least
        distances = condition.distances(values if enough.all() else values.only(enough))
        return np.where(enough, sizes * np.maximum(distances - condition.t - _SLACK, 0.0), sizes)
    anchor = condition.anchor
    return np.zeros(len(sizes)) if anchor is None else np.where(anchor.held(counts), 0.0, sizes)


def least_rows(condition: Condition) -> int:
    """The fewest rows that a class which holds can have, as far as that is known."""
    if isinstance(condition, All):
        return max(least_rows(c) for c in condition.conditions)
    if isinstance(condition, On | InUnits):  # a unit has a row at least
        return least_rows(condition.condition)
    if isinstance(condition, KAnonymous):
        return condition.k
    if isinstance(condition, DistinctDiverse):
        return condition.l
    if isinstance(condition, EntropyDiverse | RecursiveDiverse | Compared) and condition.anchor is not None:
        return least_rows(condition.anchor)
    return 1


def sizes_in(counts: SeenCounts) -> NDArray[np.uint32] | NDArray[np.float64]:
    """The sizes of the classes."""
    return counts[:, 0] if isinstance(counts, np.ndarray) else counts[0].sizes


def values_in(counts: SeenCounts) -> ValueCounts:
    """The pairs of a class and a sensitive value."""
    return ValueCounts.of_table(counts) if isinstance(counts, np.ndarray) else counts[0]
