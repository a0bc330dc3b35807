"""Whose rows they are, by the look of a table: persons with several rows, and what is the same on all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.inspection.guesses import Look
from pramana.inspection.inspecting import Examined


@dataclass(frozen=True, eq=False)
class PersonGuess:
    """A column that numbers persons, and the most rows that one of them has."""

    look: Look

    @property
    def rows(self) -> int:
        return int(self.look.column.counts.max())

    @property
    def people(self) -> int:
        return self.look.column.distinct

    def is_constant(self, other: Look) -> bool:
        """Whether every person has one value of a column."""
        person, column = self.look.column, other.column
        pairs = person.codes.astype(np.int64) * (column.distinct + 1) + column.codes
        return len(np.unique(pairs)) == person.size


def persons_in(examined: Examined) -> list[Look]:
    """The columns that may number persons, the finest first; one that is on one row only beside households."""
    looks = _repeated(examined)
    households = households_in(examined)
    persons = [look for look in looks if look not in households]
    return persons + ([look for look in examined.looks if _names_each_row(look)] if households else [])


def households_in(examined: Examined) -> list[Look]:
    return [look for look in _repeated(examined) if "household" in look.hints]


def person_of(examined: Examined) -> PersonGuess | None:
    """Who has several rows, if anyone seems to."""
    looks = persons_in(examined) or _repeated(examined)
    guess = PersonGuess(looks[0]) if looks else None
    return guess if guess is not None and guess.rows > 1 else None


def _repeated(examined: Examined) -> list[Look]:
    return sorted((examined.look(name) for name in examined.repeated), key=lambda look: -look.column.distinct)


def _names_each_row(look: Look) -> bool:
    """Whether a column numbers persons, one row each."""
    return look.is_near_unique and look.is_numbered and "identifier" in look.hints and not look.column.missing
