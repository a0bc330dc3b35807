"""Whose rows they are: brought together by person and household, surplus ones left out by keyed choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.codes import has_missing
from pramana.mechanisms.table import Mechanism
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Columns, commitment_to
from pramana.schema.unit import MOST_IN_A_UNIT, Storey, UnitSection

PERSON = "\0person"  # columns of numbers of people and households, under names that no column of a source has
HOUSEHOLD = "\0household"
Numbers = NDArray[np.uint32]


@dataclass(frozen=True)
class UnitShape:
    """What units have in common that cannot be told apart by how many people and rows they have."""

    units: int
    persons: int
    rows: int


@dataclass(frozen=True, eq=False)
class Owners:
    """For every row the number of its person and of its household, as they first appear."""

    person: Numbers
    household: Numbers | None = None

    @cached_property
    def rows_of(self) -> NDArray[np.int64]:
        """By person."""
        return np.bincount(self.person)

    @cached_property
    def household_of(self) -> Numbers:
        """By person; without households everyone has their own."""
        if self.household is None:
            return np.arange(self.people, dtype=np.uint32)
        return self.household[self.first_rows("person")]

    @property
    def people(self) -> int:
        return len(self.rows_of)

    @property
    def households(self) -> int | None:
        return None if self.household is None else int(self.household.max()) + 1

    @property
    def largest(self) -> Storey:
        """The unit whose guarantee implies the other's: households, where there are any."""
        return "person" if self.household is None else "household"

    @property
    def largest_units(self) -> int:
        return self.people if self.household is None else int(self.household.max()) + 1

    @property
    def most_rows(self) -> int:
        return int(self.rows_of.max())

    @property
    def most_persons(self) -> int:
        return int(np.bincount(self.household_of).max())

    def numbers_of(self, storey: Storey) -> Numbers:
        """By row, the number of its unit."""
        if storey == "person":
            return self.person
        assert self.household is not None, "there are households where they are asked for"
        return self.household

    def first_rows(self, storey: Storey) -> NDArray[np.int64]:
        """By unit, the first of its rows."""
        return np.unique(self.numbers_of(storey), return_index=True)[1].astype(np.int64)

    def shapes(self) -> tuple[UnitShape, ...]:
        """Of the largest units: how many have exactly so many people with so many rows each."""
        if self.household is None:
            each, units = np.unique(self.rows_of, return_counts=True)
            return tuple(UnitShape(int(n), 1, int(rows)) for rows, n in zip(each, units, strict=True))
        order = np.lexsort((self.rows_of, self.household_of))
        ends = np.cumsum(np.bincount(self.household_of))[:-1]
        seen = Counter(tuple(part.tolist()) for part in np.split(self.rows_of[order], ends))
        return tuple(UnitShape(units, len(rows), sum(rows)) for rows, units in sorted(seen.items()))

    def columns(self) -> Columns:
        """What the source's digest covers of them."""
        return {PERSON: self.person, **({} if self.household is None else {HOUSEHOLD: self.household})}


def owners_by(
    numbered: Callable[[str], Numbers], records: int, unit: UnitSection, key: Key
) -> tuple[Owners, NDArray[np.bool_]]:
    """Whose the rows are that stay, and which do; `numbered` numbers the values of a column as they appear."""
    household = None if unit.household is None else numbered(unit.household)
    person = np.arange(records, dtype=np.uint32) if unit.person is None else numbered(unit.person)
    everyone = Owners(person, household)
    _check_homes(everyone, unit)
    kept = _kept(everyone, unit, key)
    if not bool(kept.all()):
        everyone = Owners(_in_order(person[kept]), None if household is None else _in_order(household[kept]))
    for largest, bound in ((everyone.most_rows, "rows"), (everyone.most_persons, "persons")):
        if largest > MOST_IN_A_UNIT:
            raise SourceError(
                f"A unit must have at most {MOST_IN_A_UNIT} {bound}",
                f"a unit with {largest:,}",
                f"State {bound} = ... in [unit]: what is surplus is then left out.",
            )
    return everyone, kept


def numbered_as_they_appear(column: pa.ChunkedArray, name: str) -> Numbers:
    """Numbers for the values of a column as they first appear."""
    check_owned(column, name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return _in_order(np.asarray(encoded.indices))


def check_owned(column: pa.ChunkedArray, name: str) -> None:
    """Refuse rows that are nobody's; how many is not said."""
    if has_missing(column):
        raise SourceError(
            f"The column {name!r} of [unit] must tell of every row whose it is", "rows without a value"
        )


def _in_order(codes: NDArray[np.integer]) -> Numbers:
    """The same units, numbered from 0 as they first appear."""
    _, first, indices = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.uint32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    return rank[indices]


def _check_homes(everyone: Owners, unit: UnitSection) -> None:
    if everyone.household is not None and bool(
        (everyone.household_of[everyone.person] != everyone.household).any()
    ):
        raise SourceError(
            "Every person must be of one household",
            f"people with several values of {unit.household!r}",
            "Number people through the whole table, not within households; for people who move, keep the "
            "household they are first seen in.",
        )


def _kept(everyone: Owners, unit: UnitSection, key: Key) -> NDArray[np.bool_]:
    """Which rows stay: of each household a keyed choice of people, and of each of these a keyed choice of rows.

    The coins are bound to who has which rows, so that no two tables are thinned by the same ones.
    """
    kept = np.ones(len(everyone.person), np.bool_)
    if unit.rows is None and unit.persons is None:
        return kept
    context = commitment_to(everyone.columns(), key)
    if unit.persons is not None:
        coins = key.stream("unit persons", context).words(0, everyone.people)
        kept = _within(everyone.household_of, coins, unit.persons)[everyone.person]
    if unit.rows is not None:
        coins = key.stream("unit rows", context).words(0, len(everyone.person))
        kept &= _within(everyone.person, coins, unit.rows)
    return kept


def _within(unit_of: Numbers, coins: NDArray[np.uint64], bound: int) -> NDArray[np.bool_]:
    """Of each unit the `bound` members with the lowest coins."""
    order = np.lexsort((coins, unit_of))
    sizes = np.bincount(unit_of)
    rank = np.arange(len(unit_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = np.empty(len(unit_of), np.bool_)
    kept[order] = rank < bound
    return kept


# Values that all rows of a person or a household have in common: drawn once, and repeated over the rows.


@dataclass(frozen=True, eq=False)
class SharedDraws:
    """`each` is the law of columns that every row draws for itself; of the others, by unit, what was drawn."""

    each: Mechanism
    drawn: Mapping[str, Codes] = field(default_factory=dict)
    unit_of_row: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)

    def of_rows(self, first: int, rows: int) -> dict[str, Codes]:
        """For consecutive rows, what their units drew."""
        return {name: codes[self.unit_of_row[name][first : first + rows]] for name, codes in self.drawn.items()}
