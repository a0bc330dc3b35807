"""A prepared page as one HTML file, from the templates beside this module.

No script, no font, no image is fetched, and drawings are inline SVG, so the page reads the same from a disk, in an
archive and on paper. A page may be made of a stranger's certificate: everything printed is escaped, what a browser
would obey (such as marks that turn the direction of writing) is written out, and nothing grows without a bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pramana.errors import printable
from pramana.pages.content import NUMBERS, Bar, Bars, Block, Meter, Page
from pramana.pages.figures import Panel, Series, in_words

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# Curves as a page draws them: where every line, tick and word of a small SVG stands.
#
# A page must be made in milliseconds, follow the reader's light or dark screen and hold no style of its own
# in its drawings; that is little to ask of a few curves, and more than the plotting library gives.


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
    """Numbers to positions on a line, which has these ends."""

    low: float
    high: float
    logarithmic: bool
    ends: tuple[float, float]

    @classmethod
    def over(
        cls, numbers: Sequence[float], logarithmic: bool, from_zero: bool, ends: tuple[float, float]
    ) -> Scale:
        low, high = min(numbers, default=0.0), max(numbers, default=1.0)
        if from_zero and not logarithmic:
            low = min(low, 0.0)
        if low == high:
            low, high = (low / 2, high * 2) if logarithmic else (low - 0.5, high + 0.5)
        return cls(low, high, logarithmic, ends)

    def at(self, number: float) -> float:
        low, high, here = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, number))
        start, end = self.ends
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


GENERATOR = "Pramana"
MOST = {  # of each in one page
    "promises": 60,
    "sections": 400,
    "items": 200,
    "rows": 1000,
    "panels": 12,
    "steps": 12,
    "whole": 24,  # characters of a label that is not broken into lines
    "label": 100,  # characters of a name or value
    "words": 5000,  # characters of a paragraph
}
_HEADS = {name: name for name in NUMBERS} | {"low": "from", "high": "to"}


def html_of(page: Page) -> str:
    """The page in one file; the same page is always the same text."""
    return page_environment().get_template("report.html").render(page=page)


def style_sheet() -> str:
    """The look of reports, for pages that are served."""
    return page_environment().get_template("style.css").render()


def fragment_of(shown: Sequence[Block], notes: Sequence[str]) -> str:
    """Some blocks for another page, such as a notebook's: no script, and no rule for what is outside of them."""
    return page_environment().get_template("fragment.html").render(shown=shown, notes=notes)


def load_templates() -> None:
    """Ready the report's template, and those it is made of, while others read or write data."""
    for name in ("report.html", "blocks.html", "style.css"):
        page_environment().get_template(name)


@cache
def page_environment(*packages: str) -> Environment:
    """The report's templates and, before them, those of other packages, under the same rules of escaping."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "pramana.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.globals.update(
        generator=GENERATOR,
        most=MOST,
        heads=_HEADS,
        plot_of=plot_of,
        box={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    )
    environment.filters.update(
        short=_short,
        spoken=_spoken,
        kind=_kind,
        plain=in_words,
        extent=_extent,
        drawing=_drawing,
        amount=_amount,
    )
    return environment


def _finalized(value: object) -> object:
    """Everything a template prints passes here; what a macro has made is safe already."""
    from markupsafe import Markup

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    if len(value) > MOST["words"]:
        value = value[: MOST["words"]] + " ... (shortened; certificate.json has it whole)"
    return value if value.isprintable() else printable(value)


def _short(label: object) -> str:
    words = str(label)
    return words if len(words) <= MOST["label"] else words[: MOST["label"]] + "..."


def _spoken(words: str) -> Markup:
    """A sentence in which what stands between backticks is code."""
    from markupsafe import Markup, escape

    parts = [escape(_finalized(part)) for part in words[: MOST["words"] + 1].split("`")]
    inside = [Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)]
    return Markup("").join(inside)


def _kind(shown: object) -> str:
    """Which macro of the templates shows it: a number's, or that of its class."""
    if isinstance(shown, int | float) and not isinstance(shown, bool):
        return "number"
    return type(shown).__name__.lower()


def _extent(meter: Meter) -> dict[str, str]:
    """Where a meter's bar begins and how long it is, in percent."""
    start, end = (min(max(0.0, share), 1.0) for share in (meter.start, meter.end))
    return {"start": f"{100 * start:.1f}", "length": f"{100 * max(0.0, end - start):.1f}"}


def _amount(number: float) -> str:
    """Counts in whole numbers; shares and means with four digits."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"


def _drawing(bar: Bar, bars: Bars) -> dict[str, str]:
    """Where the marks of a line stand, in percent of its width, so that it may be drawn at any width."""
    if not bar.drawn:
        return {}
    known = bar.numbers.items()
    shares = {name: min(max(0.0, number), bars.scale) for name, number in known if number is not None}
    marks = {name: f"{96 * number / bars.scale + 2:.1f}" for name, number in shares.items()}
    if "published" in shares:
        marks["published_length"] = f"{96 * shares['published'] / bars.scale:.1f}"
    return marks
