"""Labels of bins, and the numbers or days that a binned value is published as instead: a midpoint, or a draw.

A draw is uniform on the multiples of a public step (of dates: on the days) that lie in the published bin. It is
made of the published bin alone, by coins of its own, so it changes no guarantee. All of it is exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from pramana.errors import SchemaError
from pramana.schema.kind import Kind, bin_label, end_of, label_of_period, short_number, start_of

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
                raise SchemaError(f"Bins by the calendar must each be one {calendar}", "another")
            labels.append(label_of_period(calendar, int(low)))
        else:
            labels.append(bin_label(low, high, kind))
    return tuple(labels)


def _multiple(low: float, high: float, base: float) -> Fraction:
    """What is published of a bin of rounded numbers; at an open end, half a step from the edge that there is."""
    half = Fraction(str(base)) / 2
    if math.isinf(low) and math.isinf(high):
        raise SchemaError("A rounded column must have bounds", "none")
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
            raise SchemaError("A number can be published for a bin that has an end", "one without")
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
                "more",
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
