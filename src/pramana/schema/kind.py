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
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise
from typing import Any

from pramana.errors import SchemaError
from pramana.schema.binning.calendar import calendar_day, period_of
from pramana.schema.number import LONGEST_LABEL, decimal_number, short_number

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
    def read(cls, text: object, of: str) -> Kind:
        if not isinstance(text, str) or text not in set(cls):
            raise SchemaError(f"The kind of {of} must be one of {', '.join(cls)}", repr(text)[:80])
        return cls(text)

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
        low, high = (_day_edge(part) for part in parts.groups())
        return (low, high) if low is not None and high is not None and low < high else None
    return None


def _day_edge(text: str) -> Decimal | None:
    if text in ("inf", "-inf"):
        return Decimal(text)
    day = calendar_day(text)
    return None if day is None else Decimal(day.toordinal())


def _interval_of(label: str) -> Ends | None:
    text = label.strip(" \t")
    if len(text) > LONGEST_LABEL:
        return None
    if (number := decimal_number(text)) is not None:
        return None if _CODE.match(text) else (number, number)
    if parts := _HALF_OPEN.fullmatch(text):
        ends = _edge_of(parts[1]), _edge_of(parts[2])
    elif parts := _FIRST_TO_LAST.fullmatch(text):
        last = _edge_of(parts[2])
        ends = _edge_of(parts[1]), None if last is None else Decimal(int(last) + 1)  # exact, unlike last + 1
    elif parts := _AT_LEAST.fullmatch(text):
        ends = _edge_of(parts[1]), _ENDLESS
    else:
        return None
    low, high = ends
    return (low, high) if low is not None and high is not None and low < high else None


def _edge_of(text: str) -> Decimal | None:
    edge = text.strip(" \t")
    if edge in ("inf", "-inf"):
        return Decimal(edge)
    return None if _CODE.match(edge) else decimal_number(edge)


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
    if any(len(label) > LONGEST_LABEL for label in labels):
        raise SchemaError(f"A label of {of} must have at most {LONGEST_LABEL:,} characters", "a longer one")
