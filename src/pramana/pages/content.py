"""What a page shows, prepared: words, tables and drawings, none of which is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pramana.pages.figures import Picture


@dataclass(frozen=True)
class Meter:
    """A cell of a table: a share of 1 in words, and drawn as a bar from `start` to `end`.

    It is a share of what is as in the source, or the chance of a `risk`, which has a colour of its own.
    """

    words: str
    end: float
    start: float = 0.0
    risk: bool = False


@dataclass(frozen=True)
class Steps:
    """A cell of a table: how many labels each level of a column has, and which level is published."""

    sizes: Sequence[int]
    chosen: int


Cell = str | int | float | None | Meter | Steps


@dataclass(frozen=True)
class Text:
    """A paragraph; `note` sets it apart as something to heed. Words between backticks are set as code."""

    words: str
    note: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Points:
    """A list, and the words that lead to it."""

    items: Sequence[str]
    lead: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; the first row names the columns."""

    rows: Sequence[Mapping[str, Cell]]
    caption: str = ""


@dataclass(frozen=True)
class Drawn:
    """A picture of curves, with the words that go with it."""

    picture: Picture
    caption: str = ""


NUMBERS = ("published", "estimate", "low", "high", "true")  # of a bar, in the order they are shown


@dataclass(frozen=True)
class Bar:
    """One value: its published count, the estimated true count with an interval and, privately, the truth.

    What stands for many values at once is told in numbers and not `drawn`: it would dwarf the others.
    """

    labels: Sequence[str]
    published: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    true: float | None = None
    drawn: bool = True

    @property
    def numbers(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in NUMBERS}


@dataclass(frozen=True)
class Bars:
    """Values, one a line: a small drawing to one scale, and the numbers. `names` head the labels."""

    bars: Sequence[Bar]
    names: Sequence[str] = ("value",)

    @property
    def columns(self) -> Sequence[str]:
        """What is known of some value, in the order it is shown."""
        return [name for name in NUMBERS if any(bar.numbers[name] is not None for bar in self.bars)]

    @cached_property
    def scale(self) -> float:
        """The number that a full line stands for."""
        shown = (bar.numbers[name] for bar in self.bars if bar.drawn for name in NUMBERS if name != "low")
        return max((number for number in shown if number is not None), default=1.0) or 1.0


@dataclass(frozen=True)
class Legend:
    """What the marks of the bars below it mean; only those that occur."""

    published: bool = False
    estimated: bool = False
    true: bool = False


Block = Text | Points | Grid | Drawn | Bars | Legend


@dataclass(frozen=True)
class Section:
    """`part`: a part of the section before it. `anchor`: what the page's list of contents points to."""

    title: str
    blocks: Sequence[Block]
    part: bool = False
    anchor: str = ""


@dataclass(frozen=True)
class Page:
    """Everything a report shows: who and what, the promises in words, and the rest in sections."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    promises: Sequence[str] = ()
    sections: Sequence[Section] = field(default=())
    private: bool = False
