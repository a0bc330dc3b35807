"""Bins as a recipe states them: by breaks, width, count or calendar, with public bounds; top, bottom and rounding.

All of it is public: nothing is read from the data. Edges are worked out as exact fractions of what was written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import msgspec
from msgspec import Meta

from pramana.errors import RecipeError, SchemaError
from pramana.schema.domain import Domain
from pramana.schema.kind import LAST_DAY, Kind, Unit, calendar_day, edge_label, periods_between, short_number
from pramana.schema.typed import Count, Positive

MOST_BINS = 1_000_000
Bound = float | str  # a number, or a date such as 2024-03-31
_BOUND = "A bound of bins must be a number or a date like 2024-03-31"
_BREAKS = "bins must be a list of numbers, or of dates like 2024-03-31, in ascending order"
Exact = Fraction | float  # a float is an infinite end, and only that


class BinsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """bins = { width = 5, from = 0, to = 100 }, and the like: equal bins, or periods of the calendar."""

    width: Annotated[Positive | None, Meta(description="Bins as wide as this.")] = None
    count: Annotated[Count | None, Meta(description="So many bins of one width.")] = None
    calendar: Annotated[Unit | None, Meta(description="Whole periods that hold the days from `from` to `to`.")] = (
        None
    )
    from_: Annotated[Bound | None, Meta(description="The first value, if `bottom` does not tell it.")] = (
        msgspec.field(default=None, name="from")
    )
    to: Annotated[Bound | None, Meta(description="The end, which is outside, if `top` does not tell it.")] = None

    def __post_init__(self) -> None:
        ways = [key for key in ("width", "count", "calendar") if msgspec.structs.asdict(self)[key] is not None]
        if len(ways) > 1:
            raise RecipeError("bins must be stated one way: width, count or calendar", " and ".join(ways))

    @property
    def only_bounds(self) -> bool:
        """From where to where, and not how: for a column that is rounded."""
        return self.width is None and self.count is None and self.calendar is None


@dataclass(frozen=True)
class Binning:
    """What a column's section says of its bins."""

    bins: Sequence[Bound] | BinsSection | None
    bottom: Bound | None = None
    top: Bound | None = None
    round: float | None = None

    def domain(self) -> Domain:
        """The public domain; SchemaError where the statement makes none."""
        if self.round is not None:
            return self._rounded(Fraction(str(self.round)))
        unit: str | None = None
        if isinstance(self.bins, BinsSection):
            unit, kind = self.bins.calendar, self._kind(self._bounds())
            edges = self._in_periods(unit) if unit is not None else self._equal(self.bins, kind)
        else:
            breaks = list(self.bins or ())
            kind = self._kind(breaks)
            edges = [_exact(edge, kind, _BREAKS) for edge in breaks]
        if unit is not None:
            kind = Kind.DATE
        edges = self._coded_ends(edges, kind)
        return Domain.from_bins([float(edge) for edge in edges], kind=kind, calendar=unit)

    def _bounds(self) -> list[Bound]:
        """From where to where: what is left out is as bottom and top have it."""
        section = self.bins if isinstance(self.bins, BinsSection) else BinsSection()
        first = self.bottom if section.from_ is None else section.from_
        last = self.top if section.to is None else section.to
        if first is None or last is None:
            absent = "from" if first is None else "to"
            raise SchemaError(
                "bins of one width, by a count, by the calendar or by rounding must have public bounds",
                f"no {absent}",
                "Write from and to in bins; or bottom and top, which take in what lies beyond.",
            )
        return [first, last]

    def _kind(self, bounds: Sequence[Bound]) -> Kind:
        kinds = {
            Kind.DATE if isinstance(b, str) else Kind.NUMBER for b in bounds if b not in (math.inf, -math.inf)
        }
        if len(kinds) > 1:
            raise SchemaError("The edges of bins must all be numbers or all be dates", "numbers and dates")
        return kinds.pop() if kinds else Kind.NUMBER

    def _equal(self, section: BinsSection, kind: Kind) -> list[Exact]:
        """Bins of one width; of dates, so many days wide."""
        first, last = (_finite(bound, kind) for bound in self._bounds())
        if first >= last:
            raise SchemaError("bins must go from a lower bound to a higher one", _shown(first, last, kind))
        if section.width is not None:
            width = Fraction(str(section.width))
            number = (last - first) / width
        elif section.count is not None:
            number = Fraction(section.count)
            width = (last - first) / number
        else:
            raise SchemaError("bins must state a width, a count or a calendar", "none of them")
        if number > MOST_BINS:
            raise SchemaError(f"A column must have at most {MOST_BINS:,} bins", f"{math.ceil(number):,}")
        if number.denominator != 1:
            whole = first + math.floor(number) * width, first + math.ceil(number) * width
            hint = f"Let them end at {_shown(*whole, kind, ' or ')}."
            got = f"{_shown(first, last, kind)} with the width {short_number(float(width))}"
            raise SchemaError("bins must go from their lower bound to the higher one in whole widths", got, hint)
        if kind is Kind.DATE and width.denominator != 1:
            raise SchemaError("bins of dates must be whole days wide", f"{float(width):g} days")
        return [first + i * width for i in range(int(number) + 1)]

    def _in_periods(self, unit: str) -> list[Exact]:
        """The periods that hold the bounds, whole: none is published under its name and cut short."""
        first, last = (_finite(bound, Kind.DATE) for bound in self._bounds())
        if first >= last:
            raise SchemaError("bins must go from a lower bound to a higher one", _shown(first, last, Kind.DATE))
        edges = periods_between(unit, int(first), int(last), MOST_BINS)
        if len(edges) > MOST_BINS + 1 or edges[-1] > LAST_DAY:
            raise SchemaError(
                f"A column must have at most {MOST_BINS:,} bins, all before the year 9999",
                f"{len(edges) - 1:,} or later ones",
            )
        return [Fraction(edge) for edge in edges]

    def _coded_ends(self, edges: list[Exact], kind: Kind) -> list[Exact]:
        """The bins with everything below `bottom` in one, and everything from `top` on in another."""
        for name, bound in (("bottom", self.bottom), ("top", self.top)):
            if bound is not None and _exact(bound, kind) not in edges:
                there = float(_exact(bound, kind))
                near = sorted((float(e) for e in edges if math.isfinite(e)), key=lambda e: abs(e - there))
                hint = f"Near it: {', '.join(edge_label(edge, kind) for edge in sorted(near[:2]))}."
                raise SchemaError(f"{name} must be an edge of the bins", str(bound)[:80], hint)
        low = -math.inf if self.bottom is None else _exact(self.bottom, kind)
        high = math.inf if self.top is None else _exact(self.top, kind)
        if low >= high:
            raise SchemaError("bottom must be below top", f"{self.bottom} and {self.top}")
        within = [edge for edge in edges if low <= edge <= high]
        if self.bottom is not None:
            within.insert(0, -math.inf)
        if self.top is not None:
            within.append(math.inf)
        return within

    def _rounded(self, base: Fraction) -> Domain:
        """Multiples of `base` between the bounds; each for what is nearest to it, halves for the one above."""
        bounds = self._bounds()
        if self._kind(bounds) is not Kind.NUMBER:
            raise SchemaError("round must be of numbers", "dates", 'Use bins = { calendar = "month", ... }.')
        first, last = (_finite(bound, Kind.NUMBER) for bound in bounds)
        if (first / base).denominator != 1 or (last / base).denominator != 1 or first >= last:
            raise SchemaError(
                "The bounds of a rounded column must be multiples of what it is rounded to, the lower one first",
                _shown(first, last, Kind.NUMBER),
            )
        number = (last - first) / base
        if number >= MOST_BINS:
            raise SchemaError(f"A column must have at most {MOST_BINS:,} values", f"{math.floor(number) + 1:,}")
        middle = [first + (i + Fraction(1, 2)) * base for i in range(int(number))]
        least = -math.inf if self.bottom is not None else float(first - base / 2)
        most = math.inf if self.top is not None else float(last + base / 2)
        return Domain.from_bins([least, *map(float, middle), most], rounded=float(base))


def _exact(bound: Bound, kind: Kind, must: str = _BOUND) -> Exact:
    """A bound as it was written, a date as its day; an infinite one as it is."""
    if isinstance(bound, str):
        day = calendar_day(bound) if kind is Kind.DATE else None
        if day is None:
            raise SchemaError(must, repr(bound)[:80])
        return Fraction(day.toordinal())
    if math.isinf(bound):
        return bound
    if kind is Kind.DATE or math.isnan(bound):
        raise SchemaError(must, repr(bound))
    return Fraction(short_number(bound))


def _finite(bound: Bound, kind: Kind) -> Fraction:
    edge = _exact(bound, kind)
    if not isinstance(edge, Fraction):
        raise SchemaError("The bounds of bins must be finite", str(bound), "Write bottom and top for open ends.")
    return edge


def _shown(first: Fraction, last: Fraction, kind: Kind, between: str = " and ") -> str:
    return f"{edge_label(float(first), kind)}{between}{edge_label(float(last), kind)}"
