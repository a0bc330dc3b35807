"""Columns of numbers, read as the decimals that they are written as; what cannot be read so is refused.

A number of a file of doubles is the shortest decimal that is read as it: 0.1 is one tenth, in Parquet as in CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from math import isfinite
from typing import Annotated

from msgspec import Meta

from pramana.errors import BundleError, RecipeError, SourceError
from pramana.schema.kind import Kind, decimal_number

LARGEST_WHOLE = 2**53  # integers up to here are doubles as well
MOST_PLACES = 15
FARTHEST = 1e140  # sums of squares up to here are doubles
_EXACT = Context(prec=20_000)  # digits: more than a label may have
Decimals = Annotated[int, Meta(ge=-15, le=15, extra={"must": "a whole number from -15 to 15"})]


def stated_decimals(
    own: Mapping[str, int | None], columns: Sequence[str], otherwise: int | None, whose: str
) -> dict[str, int]:
    """Places to round `columns` to: their own, and those of [release] where a column has none."""
    stated = {name: places for name, places in own.items() if places is not None}
    for name in stated:
        if name not in columns:
            raise RecipeError(f"decimals must be of {whose}", repr(name))
    return stated if otherwise is None else {**dict.fromkeys(columns, otherwise), **stated}


@dataclass(frozen=True)
class ShownNumbers:
    """A published column of numbers."""

    name: str

    def check(self, cell: object) -> None:
        number = decimal_number(cell) if isinstance(cell, str) else cell
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or not isfinite(number):
            raise BundleError(f"Every cell of {self.name!r} must be a number", _kind_of(cell))


def _kind_of(cell: object) -> str:
    return "text that is none" if isinstance(cell, str) else f"a cell of the type {type(cell).__name__}"


@dataclass(frozen=True)
class NumberUse:
    """What numbers are wanted for, and what a column of others needs."""

    words: str
    otherwise: str


def number_of(label: str) -> Decimal | None:
    """The one number that a label is. 01067 is a code, and 20-24 an interval."""
    ends = Kind.NUMBER.ends_of(label)
    return None if ends is None or ends[0] != ends[1] else ends[0].normalize(_EXACT)


def refuse_others(name: str, missing: int, others: int, use: NumberUse) -> None:
    """Refuse a column with so many rows that have no value, or something else than a number."""
    if missing:
        raise SourceError(
            f"The column {name!r} must have no missing values to {use.words}",
            f"{missing} {'row' if missing == 1 else 'rows'} without one",
            "Leave these rows out, or fill the values in, before the release.",
        )
    if others:
        raise SourceError(
            f"Every value of the column {name!r} must be a number to {use.words}",
            f"{others} {'row' if others == 1 else 'rows'} with something else",
            f"{use.otherwise}; digits with a leading zero are a code.",
        )


def check_reach(name: str, places: int, largest: float, floating: bool, use: NumberUse) -> None:
    """Refuse numbers too large to be worked with, where those times 10^places are not all integers of 53 bits."""
    if places == 0 and not floating:
        raise SourceError(
            f"The column {name!r} must hold integers from -2^53 to 2^53 to {use.words}",
            "larger ones",
            'Such numbers are mostly identifiers: give the column the role "identifying".',
        )
    if largest > FARTHEST:
        raise SourceError(f"The column {name!r} must hold numbers below 1e140 to {use.words}", "larger ones")
