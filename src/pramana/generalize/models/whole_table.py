"""Conditions on all published classes together. Where they fail, classes are left out: the smallest first.

`stays_up(limit)` says whether a node at which it can be met, with so many rows left out at most, has none above it
at which it cannot: only then may a search prune by it. What was tried on all small tables stands in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize.classes import Classes
from pramana.generalize.conditions import Condition, kept_classes
from pramana.generalize.presence.shaping import Presence
from pramana.theory import disclosure

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
