"""Classes counted in people, or in households, whose rows are several: each counts once in a class.

Numbers of people do not add up when classes merge, since one person's rows may be in both. So classes carry the
pairs of a person and a sensitive value that occur in them, and people are counted anew wherever they are needed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.generalize.anonymity import SensitiveCounts
from pramana.generalize.counts.value_counts import Floats, Ints, ValueCounts
from pramana.randomness import Codes


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
