"""A prepared page as one HTML file, from the templates beside this module.

No script, no font, no image is fetched, and drawings are inline SVG, so the page reads the same from a disk, in an
archive and on paper. A page may be made of a stranger's certificate: everything printed is escaped, what a browser
would obey (such as marks that turn the direction of writing) is written out, and nothing grows without a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from pramana.errors import printable
from pramana.pages.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, plot_of
from pramana.pages.content import (
    Bar,
    Bars,
    Block,
    Drawn,
    Grid,
    Legend,
    Meter,
    Page,
    Points,
    Steps,
    Text,
    number_of,
)
from pramana.pages.figures import in_words

if TYPE_CHECKING:  # loaded when a page is made
    from jinja2 import Environment
    from markupsafe import Markup

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
_KINDS: dict[type[Block] | type[Meter] | type[Steps], str] = {
    Text: "text",
    Points: "points",
    Grid: "grid",
    Drawn: "curves",
    Bars: "bars",
    Legend: "legend",
    Meter: "meter",
    Steps: "steps",
}
_HEADS = {"published": "published", "estimate": "estimate", "low": "from", "high": "to", "true": "true"}


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
        number_of=number_of,
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
    """Which macro of the templates shows it."""
    if isinstance(shown, int | float) and not isinstance(shown, bool):
        return "number"
    return next((kind for known, kind in _KINDS.items() if isinstance(shown, known)), "word")


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
    known = ((name, number_of(bar, name)) for name in ("published", "estimate", "low", "high", "true"))
    shares = {name: min(max(0.0, number), bars.scale) for name, number in known if number is not None}
    places = {name: f"{96 * number / bars.scale + 2:.1f}" for name, number in shares.items()}
    if "published" in shares:
        places["published_length"] = f"{96 * shares['published'] / bars.scale:.1f}"
    return places
