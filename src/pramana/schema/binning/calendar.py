"""Days and whole periods of the calendar, and the labels that stand for them.

    day 2024-03-31, week 2024-W13 (ISO 8601, from Monday), month 2024-03, quarter 2024-Q1, year 2024, decade 2020s

A day is counted from the year 1, as Python counts it; a period is the days [first, last + 1).
"""

from __future__ import annotations

import datetime
import re
from typing import Literal, get_args

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
