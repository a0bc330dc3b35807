"""Classes beside a population: whom of it a record could be, and what share of its people is in the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize.classes import SeenCounts
from pramana.generalize.conditions import Condition, Flags, sizes_in
from pramana.generalize.presence.shaping import Presence


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
