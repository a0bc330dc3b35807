"""Columns of numbers, read as the decimals that they are written as, and what is published of their classes.

A number of a file of doubles is the shortest decimal that is read as it: 0.1 is one tenth, in Parquet as in CSV.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from pramana.errors import SourceError
from pramana.io.codes import Numbering
from pramana.methods.microaggregate.grouping import Microaggregation, Numbers, class_medians
from pramana.methods.microaggregate.setting import Aggregate
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Columns, Rows, chunks_of
from pramana.schema.kind import Kind

LARGEST_WHOLE = 2**53  # integers up to here are doubles as well
MOST_PLACES = 15
FARTHEST = 1e140  # sums of squares up to here are doubles
_EXACT = Context(prec=20_000)  # digits: more than a label may have


@dataclass(frozen=True)
class NumberUse:
    """What numbers are wanted for, and what a column of others needs."""

    words: str
    otherwise: str


MICROAGGREGATED = NumberUse("be microaggregated", "A column of categories must have a domain or hierarchy")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """For every row its number times 10^places: integers, or doubles where no such integers fit into 53 bits."""

    name: str
    values: Numbers
    places: int = 0

    @property
    def numbers(self) -> Numbers:
        """The numbers themselves: integers, or the doubles nearest to them."""
        return self.values if self.places == 0 else np.asarray(self.values / float(10**self.places))

    def published(self, groups: Microaggregation, aggregate: Aggregate, decimals: int | None) -> Numbers:
        """The mean or median of each class, exact until it is rounded to decimals, halves to the even digit.

        Integers where decimals are none, and for medians of integers; the nearest doubles otherwise.
        """
        exact = self._medians(groups) if aggregate == "median" else self._means(groups)
        if decimals is not None:
            exact = [Fraction(round(number, decimals)) for number in exact]
        keeps_integers = aggregate == "median" and self.places == 0
        if self.values.dtype.kind == "i" and (keeps_integers if decimals is None else decimals <= 0):
            return np.array([int(number) for number in exact], np.int64)
        return np.array([float(number) for number in exact])

    def _means(self, groups: Microaggregation) -> list[Fraction]:
        sums = np.full(groups.classes, Fraction(0), object)
        np.add.at(sums, groups.class_of, np.array([Fraction(x) for x in self.values.tolist()], object))
        unit = 10**self.places
        return [total / (size * unit) for total, size in zip(sums, groups.sizes.tolist(), strict=True)]

    def _medians(self, groups: Microaggregation) -> list[Fraction]:
        medians = class_medians(groups, self.name, self.values)
        return [Fraction(number) / 10**self.places for number in medians.tolist()]


def number_column(name: str, rows: Rows) -> NumberColumn:
    """A column of the source; refused with counts where a row has no number."""
    values = rows.values([name])[name]
    numbering = Numbering()
    for chunk in values.chunks:
        numbering.number(chunk)
    labels = list(numbering.labels)

    def codes_of(columns: Columns) -> Codes:
        return np.concatenate([numbering.number(chunk) for chunk in chunks_of(columns[name]).chunks])

    coded = f"\0{name}"  # which no column of a source is called
    rows.derive(coded, (name,), codes_of)
    codes = rows.whole().codes({coded: len(labels)})[coded]
    numbers = [number_of(label) for label in labels]
    times = zip(labels, numbers, np.bincount(codes, minlength=len(labels)).tolist(), strict=True)
    without = [(label, n) for label, number, n in times if number is None]
    missing = sum(n for label, n in without if label == "")
    refuse_others(name, missing, sum(n for _, n in without) - missing, MICROAGGREGATED)
    known = [n for n in numbers if n is not None]
    table, places = _as_table(name, known, pa.types.is_floating(values.type))
    return NumberColumn(name, table[codes], places)


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


def _as_table(name: str, numbers: list[Decimal], floating: bool) -> tuple[Numbers, int]:
    """The numbers of the labels times 10^places, and the places."""
    places = max(0, *(-int(n.as_tuple().exponent) for n in numbers))
    if places <= MOST_PLACES:
        whole = [int(Fraction(n) * 10**places) for n in numbers]
        if max(map(abs, whole)) <= LARGEST_WHOLE:
            return np.array(whole, np.int64), places
    doubles = np.array([float(n) for n in numbers]) + 0.0  # a zero has no sign
    check_reach(name, places, float(np.abs(doubles).max()), floating, MICROAGGREGATED)
    return doubles, 0
