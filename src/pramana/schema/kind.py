"""Kinds of attributes, and all that a kind decides: how labels are read, compared, put in order and written.

    nominal   names without an order
    ordered   names whose order is that of the domain: low, middle, high
    number    numbers, or intervals of numbers: 7, -0.5, 20-24, 85+, [0,5)
    date      days or periods of the calendar: 2024-03-31, 2024-W13, 2024-03, 2024-Q1, 2024, 2020s
    cell      what a generalised release publishes: a set, an interval or a distribution of values

A label that starts with a zero and goes on with digits (01067) is a code, such as a postcode: it is no number, and
neither is a column that has one.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

from pramana.errors import SchemaError

# Numbers as people type them, read exactly; and numbers as labels write them.


LONGEST_LABEL = 10_000  # characters
_MOST_CHARACTERS, _MOST_EXPONENT = 100, 200
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4}+)?")


def exact_number(text: str) -> Fraction:
    """A decimal such as 0.7 or 7e-1, or a fraction such as 1/3; ValueError for anything else.

    A few characters can state a number whose digits would fill the memory: no exponent beyond a float's.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("too many digits")
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > _MOST_EXPONENT:
        raise ValueError("too large an exponent")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a division by zero") from None


def decimal_number(text: str) -> Decimal | None:
    """The number in a text from a table: 12, -0.5, .5, 7e-1. None for anything else.

    ASCII digits with an optional sign, point and exponent (of at most four digits), within the range of a float;
    spaces and tabs around them are nothing. Python's own readers also take nan, infinity, 1_000 and the digits of
    every script, and would put them into bins. Linear time: nothing in the pattern is tried twice.
    """
    digits = text.strip(" \t")
    if len(digits) > LONGEST_LABEL or _DECIMAL.fullmatch(digits) is None:
        return None
    number = Decimal(digits)
    return number if number.adjusted() < 308 or math.isfinite(float(number)) else None


def short_number(number: float) -> str:
    """The one way a number is written: 1.0 as 1."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(float(number))


# Days and whole periods of the calendar, and the labels that stand for them.
#
# day 2024-03-31, week 2024-W13 (ISO 8601, from Monday), month 2024-03, quarter 2024-Q1, year 2024, decade
# 2020s
#
# A day is counted from the year 1, as Python counts it; a period is the days [first, last + 1).


Unit = Literal["year", "quarter", "month", "week", "decade"]
UNITS: tuple[str, ...] = get_args(Unit)
LAST_DAY = datetime.date.max.toordinal()
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?")
_PERIODS: dict[str, re.Pattern[str]] = {
    "year": re.compile(r"([0-9]{4})"),
    "quarter": re.compile(r"([0-9]{4})-Q([1-4])"),
    "month": re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"),
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "decade": re.compile(r"([0-9]{3}0)s"),
}


def calendar_day(text: str) -> datetime.date | None:
    """A date as 2024-03-31, and in no other form."""
    if _DATE.fullmatch(text) is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def day_of_time(text: str) -> datetime.date | None:
    """The day of a date, or of a date and a time (2024-03-31 23:59), as it is written: no zone is worked out."""
    if len(text) > 10 and _TIME.fullmatch(text, 10) is None:
        return None
    return calendar_day(text[:10])


def period_of(label: str) -> tuple[int, int] | None:
    """The days [first, last + 1) of a week, month, quarter, year or decade; None where a label is none of them."""
    for unit, pattern in _PERIODS.items():
        if (parts := pattern.fullmatch(label)) is not None:
            first = _first_day(unit, *map(int, parts.groups()))
            return None if first is None else (first, end_of(unit, first))
    return None


def _first_day(unit: str, year: int, part: int = 1) -> int | None:
    try:
        if unit == "week":
            return datetime.date.fromisocalendar(year, part, 1).toordinal()
        month = {"quarter": 3 * part - 2, "month": part}.get(unit, 1)
        earliest = max(year, 1) if unit == "decade" else year  # 0000s begins with the year 1
        return datetime.date(earliest, month, 1).toordinal()
    except ValueError:  # a year or a week that there is not
        return None


def start_of(unit: str, day: int) -> int:
    """The first day of the period that a day is in."""
    date = datetime.date.fromordinal(day)
    if unit == "week":
        return max(day - date.weekday(), 1)
    if unit == "decade":
        return datetime.date(max(date.year // 10 * 10, 1), 1, 1).toordinal()
    month = {"quarter": (date.month - 1) // 3 * 3 + 1, "month": date.month}.get(unit, 1)
    return date.replace(month=month, day=1).toordinal()


def end_of(unit: str, day: int) -> int:
    """The day after the last of the period that a day is in, also where the calendar ends with it."""
    first = datetime.date.fromordinal(start_of(unit, day))
    if unit == "week":
        return min(first.toordinal() + 7, LAST_DAY + 1)
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120 - 12 * (first.year % 10)}[unit]
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return LAST_DAY + 1 if year > datetime.MAXYEAR else datetime.date(year, month + 1, 1).toordinal()


def label_of_period(unit: str, day: int) -> str:
    """The label of the period that a day is in."""
    date = datetime.date.fromordinal(day)
    if unit == "week":
        year, week, _ = date.isocalendar()
        return f"{year:04}-W{week:02}"
    if unit == "month":
        return f"{date.year:04}-{date.month:02}"
    if unit == "quarter":
        return f"{date.year:04}-Q{(date.month + 2) // 3}"
    return f"{date.year // 10 * 10:04}s" if unit == "decade" else f"{date.year:04}"


def periods_between(unit: str, first: int, end: int, most: int) -> list[int]:
    """The first days of the whole periods that hold the days [first, end), and the day after the last of them.

    At most `most` periods: a longer list is cut, for the caller to refuse.
    """
    edges = [start_of(unit, first)]
    while edges[-1] < end and len(edges) <= most + 1:
        edges.append(end_of(unit, edges[-1]))
    return edges


Ends = tuple[Decimal, Decimal]
_ENDLESS = Decimal("Infinity")
_CODE = re.compile(r"[+-]?0[0-9]")
_HALF_OPEN = re.compile(r"\[([^,]++),([^,)]++)\)")
_FIRST_TO_LAST = re.compile(r"(-?[0-9]++)[ \t]*+-[ \t]*+(-?[0-9]++)")
_AT_LEAST = re.compile(r"(-?[0-9]++)[ \t]*+\+")


class Kind(StrEnum):
    """What the values of an attribute are, and so what may be done with them."""

    NOMINAL = "nominal"
    ORDERED = "ordered"
    NUMBER = "number"
    DATE = "date"
    CELL = "cell"

    @classmethod
    def of_labels(cls, labels: Iterable[str]) -> Kind:
        """Number where every label reads as a number or interval, date where every one is a day, else nominal.

        That labels such as 2024-Q1 are periods has to be stated: they may be names as well.
        """
        known = list(labels)
        if known and cls.NUMBER.reads(known):
            return cls.NUMBER
        return cls.DATE if known and all(calendar_day(label) is not None for label in known) else cls.NOMINAL

    @property
    def has_order(self) -> bool:
        return self in (Kind.ORDERED, Kind.NUMBER, Kind.DATE)

    def reads(self, labels: Iterable[str]) -> bool:
        """Whether each of the labels stands for a place on the line of this kind."""
        return all(self.ends_of(label) is not None for label in labels)

    def ends_of(self, label: str) -> Ends | None:
        """The interval [lower, upper) of numbers, or of days, that a label stands for; equal ends are one point.

        None where it stands for none: always for names and cells.
        """
        if self is Kind.NUMBER:
            return _interval_of(label)
        return _days_of(label) if self is Kind.DATE else None

    def point_of(self, text: str) -> Decimal | None:
        """The one number, or day (counted from the year 1), that a text states; None where it states none."""
        if self is Kind.NUMBER:
            return decimal_number(text)
        if self is Kind.DATE and (day := calendar_day(text)) is not None:
            return Decimal(day.toordinal())
        return None

    def in_order(self, labels: Iterable[str]) -> list[str]:
        """The labels by value; names by their letters, but numbers among them by value, and first.

        Labels of an ordered kind stay as they are: their order is known to whoever states it.
        """
        known = list(labels)
        if self is Kind.ORDERED:
            return known
        measured = self in (Kind.NUMBER, Kind.DATE)
        if not measured and any(is_code(label) for label in known):
            return sorted(known)
        line = self if measured else Kind.NUMBER
        nowhere = (_ENDLESS, _ENDLESS)
        return sorted(known, key=lambda label: (line.ends_of(label) or nowhere, label))

    def is_ascending(self, labels: Sequence[str]) -> bool:
        """Whether each label reads as a value of this kind and lies after the one before."""
        ends = [ends for label in labels if (ends := self.ends_of(label)) is not None]
        return len(ends) == len(labels) and all(a < b for a, b in pairwise(ends))


def is_code(label: str) -> bool:
    """Whether a label is digits with a leading zero: 01067 and 007, but not 0.7."""
    return _CODE.match(label.lstrip(" \t")) is not None and decimal_number(label) is not None


def _days_of(label: str) -> Ends | None:
    """Of one day equal ends, as of one number."""
    if (day := calendar_day(label)) is not None:
        return Decimal(day.toordinal()), Decimal(day.toordinal())
    if (period := period_of(label)) is not None:
        return Decimal(period[0]), Decimal(period[1])
    if parts := _HALF_OPEN.fullmatch(label):
        low, high = (edge_of(part, Kind.DATE) for part in parts.groups())
        return (low, high) if low is not None and high is not None and low < high else None
    return None


def _interval_of(label: str) -> Ends | None:
    text = label.strip(" \t")
    if len(text) > LONGEST_LABEL:
        return None
    if (number := decimal_number(text)) is not None:
        return None if _CODE.match(text) else (number, number)
    low: Decimal | None
    high: Decimal | None
    if parts := _HALF_OPEN.fullmatch(text):
        low, high = (edge_of(part, Kind.NUMBER) for part in parts.groups())
    elif parts := _FIRST_TO_LAST.fullmatch(text):
        low, last = (edge_of(part, Kind.NUMBER) for part in parts.groups())
        high = None if last is None else Decimal(int(last) + 1)  # exact, unlike last + 1
    elif parts := _AT_LEAST.fullmatch(text):
        low, high = edge_of(parts[1], Kind.NUMBER), _ENDLESS
    else:
        return None
    return (low, high) if low is not None and high is not None and low < high else None


def edge_of(text: str, kind: Kind) -> Decimal | None:
    """An edge of a bin of numbers or dates as `edge_label` writes it; None for anything else."""
    edge = text.strip(" \t") if kind is Kind.NUMBER else text
    if edge in ("inf", "-inf"):
        return Decimal(edge)
    return None if kind is Kind.NUMBER and _CODE.match(edge) else kind.point_of(edge)


def label_of(value: Any) -> str:
    """The one way a value is written: 1.0 as 1, true as true, missing as the empty string."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else short_number(value)
    return str(value)


def bin_label(low: float, high: float, kind: Kind = Kind.NUMBER) -> str:
    """The half-open interval of a bin, as its kind reads it back."""
    return f"[{edge_label(low, kind)},{edge_label(high, kind)})"


def edge_label(edge: float, kind: Kind) -> str:
    """An edge of a bin as it is written: a number, or the day it counts to."""
    if kind is not Kind.DATE or math.isinf(edge):
        return short_number(edge)
    return datetime.date.fromordinal(int(edge)).isoformat()


def check_lengths(labels: Iterable[str], of: str) -> None:
    longest = max(map(len, labels), default=0)
    if longest > LONGEST_LABEL:
        raise SchemaError(f"A label of {of} must have at most {LONGEST_LABEL:,} characters", f"{longest:,}")


# Labels of bins, and the numbers or days that a binned value is published as instead: a midpoint, or a draw.
#
# A draw is uniform on the multiples of a public step (of dates: on the days) that lie in the published bin. It is
# made of the published bin alone, by coins of its own, so it changes no guarantee. All of it is exact integers.


Publish = Literal["interval", "midpoint", "draw"]
_MOST_NUMBERS = 1 << 31  # of all bins together: a draw from 64 bits is then uniform to a relative 2^-33
_LARGEST = 10**15  # in steps: a float tells neighbours apart, and reads back as it was written
_DECIMALS, _STEPS = 6, 1000  # of edges with more decimals, so many, and so many steps in the narrowest bin


def labels_of_bins(
    edges: Sequence[float], kind: Kind, calendar: str | None = None, rounded: float | None = None
) -> tuple[str, ...]:
    """Intervals; or the names of periods; or the multiples that numbers are rounded to."""
    labels = []
    for low, high in pairwise(edges):
        if rounded is not None:
            labels.append(short_number(float(_multiple(low, high, rounded))))
        elif calendar is not None and math.isfinite(low) and math.isfinite(high):
            if start_of(calendar, int(low)) != low or end_of(calendar, int(low)) != high:
                raise SchemaError(f"Bins by the calendar must each be one {calendar}", bin_label(low, high, kind))
            labels.append(label_of_period(calendar, int(low)))
        else:
            labels.append(bin_label(low, high, kind))
    return tuple(labels)


def _multiple(low: float, high: float, base: float) -> Fraction:
    """What is published of a bin of rounded numbers; at an open end, half a step from the edge that there is."""
    half = Fraction(str(base)) / 2
    if math.isinf(low) and math.isinf(high):
        raise SchemaError("A rounded column must have bounds", "a bin without any")
    return Fraction(str(high)) - half if math.isinf(low) else Fraction(str(low)) + half


@dataclass(frozen=True)
class BinNumbers:
    """For each bin the whole numbers first, first + 1, ... (as many as its count) of steps of 10^-decimals.

    Of dates a step is a day.
    """

    publish: Publish
    kind: Kind
    decimals: int
    first: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of_bins(
        cls, publish: Publish, edges: Sequence[float], kind: Kind, rounded: float | None = None
    ) -> BinNumbers:
        """A bin without an end is published as its value next to the end there is: a draw has nowhere to end."""
        if any(math.isinf(low) and math.isinf(high) for low, high in pairwise(edges)):
            raise SchemaError("A number can be published for a bin that has an end", "a bin without any")
        decimals = 0 if kind is Kind.DATE else _decimals(edges, publish)
        first, counts = [], []
        for low, high in pairwise(edges):
            start, count = _numbers_in(
                low, high, decimals, None if rounded is None else _multiple(low, high, rounded)
            )
            if publish == "midpoint" and count > 1:
                exact = (Fraction(str(low)) + Fraction(str(high))) / 2 * 10**decimals
                start, count = max(start, math.floor(exact)), 1
            first.append(start)
            counts.append(count)
        if sum(counts) > _MOST_NUMBERS or max(map(abs, first)) + max(counts) > _LARGEST:
            raise SchemaError(
                f"A draw must be from at most {_MOST_NUMBERS:,} numbers of at most 15 digits",
                f"{sum(counts):,} numbers up to {max(map(abs, first)) + max(counts):,} steps",
                "Use midpoint.",
            )
        return cls(publish, kind, decimals, tuple(first), tuple(counts))

    @property
    def step(self) -> str:
        if self.kind is Kind.DATE:
            return "day"
        return short_number(float(Fraction(1, 10**self.decimals)))

    def to_json(self) -> dict[str, Any]:
        if self.publish == "midpoint":
            return {"as": "midpoint"}
        return {"as": "draw", "law": "uniform", "step": self.step}


def _numbers_in(low: float, high: float, decimals: int, multiple: Fraction | None) -> tuple[int, int]:
    """The first of the multiples of 10^-decimals in [low, high), and how many there are."""
    scale = 10**decimals
    if math.isinf(low) or math.isinf(high):
        if multiple is not None:
            return math.floor(multiple * scale), 1
        edge = math.ceil(Fraction(str(high if math.isinf(low) else low)) * scale)
        return (edge - 1 if math.isinf(low) else edge), 1
    start, end = (math.ceil(Fraction(str(edge)) * scale) for edge in (low, high))
    if end <= start:
        raise SchemaError("A bin must hold a number that can be published for it", "a bin too narrow for one")
    return start, end - start


def _decimals(edges: Sequence[float], publish: Publish) -> int:
    """As few as the edges have; a midpoint may need one more. Where they have very many: enough for every bin."""
    finite = [Fraction(str(edge)) for edge in edges if math.isfinite(edge)]
    decimals = max(map(_decimals_of, edges))
    narrowest = min((b - a for a, b in pairwise(finite)), default=Fraction(1))
    if publish == "midpoint":
        narrowest /= 2
        decimals += any(((a + b) * 10**decimals / 2).denominator != 1 for a, b in pairwise(finite))
    enough = _DECIMALS
    while enough < decimals and narrowest * 10**enough < _STEPS:
        enough += 1
    return min(decimals, enough)


def _decimals_of(edge: float) -> int:
    """How many an edge is written with."""
    if math.isinf(edge):
        return 0
    exponent = Decimal(str(edge)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
