"""How frequent sensitive values may be in a class, against the whole table: d-disclosure and b-likeness.

Both compare a class's shares with the table's, value by value. The shares of two classes together lie between
theirs, so both hold of a class made of classes that hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, SeenCounts
from pramana.counting.value_counts import Ints
from pramana.errors import RecipeError
from pramana.methods.generalize.conditions import (
    Compared,
    Condition,
    DistinctDiverse,
    KAnonymous,
    kept_classes,
    sizes_in,
    values_in,
)
from pramana.methods.presence.shaping import Presence
from pramana.theory import disclosure

_DIGITS = 1e9  # both are certified rounded up at the ninth place, and compared so


def rounded_up(
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """At the ninth place; what lies a float's rounding above one of its multiples is that multiple."""
    return np.asarray(np.ceil(numbers * _DIGITS * (1 - 4e-16)) / _DIGITS)


@dataclass(frozen=True, eq=False)
class Disclosing(Compared):
    """d-disclosure privacy (Brickell and Shmatikov 2008): every value's share within 2^-d and 2^d of the table's.

    A value that the table has and a class lacks is infinitely less frequent there: such a class does not hold.
    """

    d: float
    totals: Ints

    def __post_init__(self) -> None:
        if not self.d > 0:
            raise RecipeError("d_disclosure must be above 0", str(self.d))

    @property
    def anchor(self) -> Condition:
        """A class that holds has every value, and so has whatever it is merged into."""
        return DistinctDiverse(int((self.totals > 0).sum()))

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(rounded_up(values_in(counts).ratios(self.totals)) <= self.d)


@dataclass(frozen=True, eq=False)
class Alike(Compared):
    """b-likeness (Cao and Karras 2012): no value gains more than b times its share of the table.

    Enhanced: nor more than -ln of its share times that, which bounds the gain of frequent values.
    """

    b: float
    totals: Ints
    enhanced: bool = False

    def __post_init__(self) -> None:
        if not self.b > 0:
            raise RecipeError("b_likeness must be above 0", str(self.b))

    @property
    def anchor(self) -> Condition | None:
        return KAnonymous(self.least) if self.least > 1 else None

    @cached_property
    def least(self) -> int:
        """The fewest rows that a class which holds can have: each of its values may be so many of them at most."""
        shares = self.totals[self.totals > 0] / self.totals.sum()
        gain = np.minimum(self.b, -np.log(shares)) if self.enhanced else np.full(len(shares), self.b)
        allowed = shares * (1 + gain) * (1 + 1e-9)
        for rows in range(1, int(min(self.totals.sum(), 10_000))):
            if float(np.floor(rows * allowed).sum()) >= rows:
                return rows
        return 1

    def held(self, counts: SeenCounts) -> Flags:
        values = values_in(counts)
        held = rounded_up(values.gains(self.totals)) <= self.b
        if self.enhanced:
            held &= values.gains_within_entropy(self.totals)
        return np.asarray(held)


# Classes beside a population: whom of it a record could be, and what share of its people is in the table.


def people_in(counts: SeenCounts) -> NDArray[np.int64]:
    """How many people of the population each class stands for: the column behind the sizes."""
    if isinstance(counts, np.ndarray):
        return counts[:, 1].astype(np.int64)
    people = counts[0].people
    assert people is not None, "a population is asked of classes that were counted with one"
    return people


@dataclass(frozen=True)
class Mapped:
    """k-map (Sweeney 2002): at least k people of the population have what a class shows."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise RecipeError("k_map must be at least 1", str(self.k))

    @property
    def anchor(self) -> Condition:
        """Merging adds people."""
        return self

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(people_in(counts) >= self.k)


@dataclass(frozen=True)
class ShareOfPeople:
    """delta-presence of classes that show labels: the share of a class's people who are in the table.

    The share of two classes together lies between theirs, so it holds of a class made of classes that hold.
    """

    wanted: Presence
    anchor = None

    def held(self, counts: SeenCounts) -> Flags:
        table = np.stack([people_in(counts), np.asarray(sizes_in(counts), np.int64)], axis=1)
        return self.wanted.held(table.astype(np.uint32))


# Whether publishing a record pays: a game between a publisher and an intruder (Wan et al. 2015), as ARX plays
# it.
#
# A record is worth `benefit` times what its labels tell: 1 less their logarithms of leaves over those of all
# leaves. An intruder who expects to gain more than an attack costs attacks, and the publisher loses `loss`
# with the chance that the attack finds the record. The more is generalised, the less a record is worth and
# the less it is at risk: neither survives generalisation, so every node is asked.


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Game:
    """What publisher and intruder stand to gain and lose; `attacked`: whether attacks that pay are put up with."""

    benefit: float
    loss: float
    gain: float
    cost: float
    attacked: bool = True

    def __post_init__(self) -> None:
        numbers = (self.benefit, self.loss, self.gain, self.cost)
        if not all(math.isfinite(number) and number >= 0 for number in numbers) or not self.benefit > 0:
            raise RecipeError("benefit must be above 0, and loss, gain and cost at least 0", f"{numbers}")

    def payoffs(self, told: Floats, chance: Floats) -> Floats:
        """What publishing a record of each class pays, rounded down; 0 where an attack pays that must not."""
        attack = self.gain * chance > self.cost
        paid = self.benefit * told - np.where(attack, self.loss * chance, 0.0)
        if not self.attacked:
            paid = np.where(attack, 0.0, paid)
        return np.asarray(np.floor(paid * _DIGITS) / _DIGITS)


def told_by_labels(widths: list[Floats], leaves: list[int]) -> Floats:
    """What labels tell, from 1 for leaves to 0 for the tops: by class, from the leaves under each label."""
    most = sum(math.log(number) for number in leaves)
    lost = np.asarray(sum(np.log(width) for width in widths), np.float64)
    return np.asarray(1.0 - lost / most if most else np.ones_like(lost))


@dataclass(frozen=True)
class Profitable:
    """Records that do not pay are left out. `among_people`: an intruder picks from those of a population."""

    game: Game
    among_people: bool = False

    def stays_up(self, limit: int) -> bool:
        del limit
        return False

    def kept(self, classes: Classes, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        widths, leaves = [], []
        for a, (ladder, level) in enumerate(zip(classes.layout.ladders, classes.levels, strict=True)):
            widths.append(np.bincount(ladder.maps[level])[classes.codes(a)].astype(np.float64))
            leaves.append(ladder.leaves)
        alike = classes.counts[:, 1] if self.among_people else classes.sizes
        paid = self.game.payoffs(told_by_labels(widths, leaves), 1.0 / alike)
        return np.asarray(held & (paid > 0))


# Conditions on all published classes together. Where they fail, classes are left out: the smallest first.
#
# `stays_up(limit)` says whether a node at which it can be met, with so many rows left out at most, has none
# above it at which it cannot: only then may a search prune by it. What was tried on all small tables stands
# in the tests.


Flags = NDArray[np.bool_]
UniquesModel = Literal["dankar", "pitman", "zayatz", "snb"]


class TableCondition(Protocol):
    def stays_up(self, limit: int) -> bool: ...

    def kept(self, classes: Classes, held: Flags) -> Flags:
        """Which of the classes in `held` may stay so that all that stays holds; none where nothing does."""


@dataclass(frozen=True)
class MeanRiskWithin:
    """The mean of 1/size over records, which is classes over records, at most `most`.

    Leaving out the smallest classes leaves the fewest rows out. Whatever can stay at a node can stay above it, in
    no more classes and with no fewer rows: so it survives generalisation, with suppression as well.
    """

    most: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.most <= 1:
            raise RecipeError("average_risk must be above 0 and at most 1", f"{float(self.most):g}")

    def stays_up(self, limit: int) -> bool:
        del limit
        return True

    def kept(self, classes: Classes, held: Flags) -> Flags:
        places = np.flatnonzero(held)
        # of equal sizes by what they show, so that the rows' order tells nothing
        ranked = places[np.lexsort((*classes.keys[places].T, classes.sizes[places]))]
        rows = np.cumsum(classes.sizes[ranked][::-1].astype(np.int64))[::-1]  # left with the smaller ones gone
        number = np.arange(len(ranked), 0, -1)
        fine = number * self.most.denominator <= rows.astype(object) * self.most.numerator
        if not fine.any():
            return np.zeros_like(held)
        stays = held.copy()
        stays[ranked[: int(np.argmax(fine))]] = False
        return stays


@dataclass(frozen=True)
class FewUniques:
    """At most a share of the population is estimated to be unique; else the sample's uniques are left out."""

    share: float
    population: int
    model: UniquesModel = "dankar"

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise RecipeError("population_uniques must be a share from 0 to 1", f"{self.share:g}")

    def stays_up(self, limit: int) -> bool:
        """An estimate may rise where classes merge: pairs become rarer, too."""
        del limit
        return False

    def kept(self, classes: Classes, held: Flags) -> Flags:
        sizes = classes.sizes[held]
        if not len(sizes) or uniques_of(sizes, self.population, self.model)[1] <= self.share:
            return held
        return np.asarray(held & (classes.sizes > 1))


@dataclass(frozen=True)
class LeftOutPresent:
    """Everyone of the population whose class is not published, as one more class: their share of the table, too.

    Without suppression these are the people of classes in which nobody is present.
    """

    wanted: Presence
    people: int
    present: int

    def stays_up(self, limit: int) -> bool:
        return limit == 0

    def kept(self, classes: Classes, held: Flags) -> Flags:
        people, present = left_out(classes, held, self.people, self.present)
        low, high = self.wanted.lowest, self.wanted.highest
        fine = people == 0 or low * people <= present <= high * people
        return held if fine else np.zeros_like(held)


def left_out(classes: Classes, held: Flags, people: int, present: int) -> tuple[int, int]:
    """People of a population of whom no class is published, and how many of them are in the table."""
    kept = classes.counts[held].sum(axis=0, dtype=np.int64)
    return people - int(kept[1]), present - int(kept[0])


@dataclass(frozen=True)
class Together:
    """Several of them. They are asked in turn until none leaves anything out."""

    conditions: tuple[TableCondition, ...]

    def stays_up(self, limit: int) -> bool:
        """Each by itself may leave out what another needs: with suppression only one alone is known to."""
        alone = len(self.conditions) == 1 or limit == 0
        return alone and all(one.stays_up(limit) for one in self.conditions)

    def kept(self, classes: Classes, held: Flags) -> Flags:
        while True:
            stays = held
            for one in self.conditions:
                stays = one.kept(classes, stays)
            if np.array_equal(stays, held) or not stays.any():
                return stays
            held = stays


def staying(condition: Condition, classes: Classes, table: TableCondition | None) -> tuple[Flags, Flags]:
    """Which classes hold by themselves, and which of them are published so that the whole does, too.

    What t and its like compare a class with changes with what stays, so both are asked until nothing goes.
    """
    alone = held = kept_classes(condition, classes.seen)
    while table is not None and bool(held.any()):
        stays = table.kept(classes, held)
        if np.array_equal(stays, held):
            break
        held = kept_classes(condition, classes.seen, stays)
    return alone, held


def uniques_of(sizes: NDArray[np.integer], population: int, model: UniquesModel = "dankar") -> tuple[str, float]:
    """The model that was used in the end, and the share of the population that it estimates to be unique."""
    used, estimate = disclosure.uniques_by(model, disclosure.SizeCounts.of(sizes), population)
    return used, estimate / population
