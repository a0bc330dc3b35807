"""Curves as a page draws them: where every line, tick and word of a small SVG stands.

A page must be made in milliseconds, follow the reader's light or dark screen and hold no style of its own in its
drawings; that is little to ask of a few curves, and more than the plotting library gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pramana.pages.figures import Panel, Series

WIDTH, HEIGHT = 320, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 42, 42  # room for words around the curves; no word stands among them
_MOST_TICKS = 6
_MOST_DECADES = 300


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Curve:
    name: str
    points: str


@dataclass(frozen=True)
class Plot:
    """A panel in the numbers of its drawing."""

    title: str
    x_label: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    curves: Sequence[Curve]
    mark: Tick | None

    @property
    def mark_ends(self) -> bool:
        """Whether the mark's words end at its line, because there is no room after it."""
        return self.mark is not None and self.mark.at > (LEFT + WIDTH) / 2


@dataclass(frozen=True)
class Scale:
    """Numbers to places on a line; `places` are the ends of the line."""

    low: float
    high: float
    logarithmic: bool
    places: tuple[float, float]

    @classmethod
    def over(
        cls, numbers: Sequence[float], logarithmic: bool, from_zero: bool, places: tuple[float, float]
    ) -> Scale:
        low, high = min(numbers, default=0.0), max(numbers, default=1.0)
        if from_zero and not logarithmic:
            low = min(low, 0.0)
        if low == high:
            low, high = (low / 2, high * 2) if logarithmic else (low - 0.5, high + 0.5)
        return cls(low, high, logarithmic, places)

    def at(self, number: float) -> float:
        low, high, here = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, number))
        start, end = self.places
        return round(start + (here - low) / (high - low) * (end - start), 1)

    def ticks(self) -> list[Tick]:
        numbers = _decades(self.low, self.high) if self.logarithmic else _even(self.low, self.high)
        return [Tick(self.at(number), _label(number)) for number in numbers]


def plot_of(panel: Panel) -> Plot:
    """A panel of curves; numbers that have no place on a scale, such as 0 on a logarithmic one, are left out."""
    shown = [_drawable(series, panel) for series in panel.series]
    every = [point for points in shown for point in points]
    across = Scale.over([x for x, _ in every], panel.log_x, False, (LEFT, WIDTH - RIGHT))
    upwards = Scale.over([y for _, y in every], panel.log_y, panel.from_zero, (HEIGHT - BOTTOM, TOP))
    curves = [
        Curve(series.name, " ".join(f"{across.at(x)},{upwards.at(y)}" for x, y in points))
        for series, points in zip(panel.series, shown, strict=True)
    ]
    mark = None
    if panel.mark is not None and across.low <= panel.mark[0] <= across.high:
        mark = Tick(across.at(panel.mark[0]), panel.mark[1])
    return Plot(panel.title, panel.x_label, across.ticks(), upwards.ticks(), curves, mark)


def _drawable(series: Series, panel: Panel) -> list[tuple[float, float]]:
    points = [(float(series.x[i]), float(y)) for i, y in enumerate(series.y)]
    return [(x, y) for x, y in points if _fits(x, panel.log_x) and _fits(y, panel.log_y)]


def _fits(number: float, logarithmic: bool) -> bool:
    return math.isfinite(number) and (number > 0 or not logarithmic)


def _label(number: float) -> str:
    """At most seven signs, which is what there is room for beside an axis."""
    short = f"{number:,.4g}" if 1e-4 <= abs(number) < 1e4 or number == 0 else f"{number:.3g}"
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e6 else re.sub(r"e\+?(-?)0*", r"e\1", short)


def _even(low: float, high: float) -> list[float]:
    """1, 2 or 5 times a power of ten apart, few of them."""
    rough = (high - low) / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    return [round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten; where there are fewer than two, 1, 2 and 5 times them, and even steps as a last resort."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 1:
        stride = -(-min(last - first + 1, _MOST_DECADES) // _MOST_TICKS)
        return [10.0**power for power in range(first, last + 1, stride)]
    near = [m * 10.0**power for power in (first - 1, first) for m in (1, 2, 5)]
    within = [number for number in near if low <= number <= high]
    return within if len(within) > 1 else _even(low, high)
