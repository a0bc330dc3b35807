"""What a plan shows: choices with their errors, what the recipe's tables are worth, candidates side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.errors import RecipeError
from pramana.methods.retention.frontier import Candidate
from pramana.methods.usefulness import TableWorth, Usefulness
from pramana.pages.figures import Panel, Picture, Series, write_figure, write_table
from pramana.pages.results import Scalar, TabularResult

if TYPE_CHECKING:
    from pramana.methods.generalize.space import SolutionSpace


MOST_TABLES = 3  # in a picture
MOST_ERRORS = 4  # tables of a frontier that are shown beside their mean
MOST_CANDIDATES = 6  # that a picture tells apart, beside the guess


@dataclass(frozen=True)
class Choice:
    """One promise and one coin: the retention that reaches it and the errors it costs."""

    promise: str
    value: float
    coin: str  # none where no coin is thrown
    retention: float | None
    k: float | None
    epsilon: float | None
    errors: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        numbers = {"value": self.value, "retention": self.retention, "k": self.k, "epsilon": self.epsilon}
        return {
            "promise": self.promise,
            "coin": self.coin,
            **{name: _or_none(number) for name, number in numbers.items()},
            "errors": {table: _or_none(error) for table, error in self.errors.items()},
        }

    def row(self) -> dict[str, Scalar]:
        numbers = {"retention": self.retention, "k": self.k, "epsilon": self.epsilon}
        return {
            "promise": f"{self.promise} = {self.value:g}",
            **({"coin": self.coin} if self.coin else {}),
            **{name: number for name, number in numbers.items() if number is not None},
            **{f"L1 {table}": error for table, error in self.errors.items()},
        }


@dataclass(frozen=True, repr=False)
class Outlook(TabularResult):
    """All choices for a recipe's table of `records` records."""

    records: int
    tables: tuple[tuple[str, ...], ...]
    choices: tuple[Choice, ...]
    with_data: bool
    unreachable: tuple[str, ...] = ()  # promises that no retention keeps in this table
    notes: tuple[str, ...] = ()
    method: str = ""
    title: str = ""  # of the recipe
    usefulness: Usefulness = field(default_factory=Usefulness)  # of the recipe as it is
    advice: tuple[str, ...] = ()  # where that is useless
    promises: tuple[str, ...] = ()  # what the recipe as it is would certify
    space: SolutionSpace | None = None
    frontier: tuple[Candidate, ...] = ()  # ways to keep the recipe's promise, the one of coin = "best" marked
    counted: str = ""  # whom the promises count, and how many they are

    def remarks(self) -> list[str]:
        far = f"Out of reach with {self.counted}: {', '.join(self.unreachable)}."
        own = ["The recipe as it is:", *self.usefulness.sentences()] if self.usefulness.tables else []
        return [*([far] if self.unreachable else []), *own, *self.notes]

    def to_rows(self) -> list[dict[str, Scalar]]:
        return [choice.row() for choice in self.choices]

    @property
    def frontier_title(self) -> str:
        """What the ways are; with people of several rows there is one, and coin = "best" is not to be had."""
        if any(way.chosen for way in self.frontier):
            return 'Ways to keep the recipe\'s promise; coin = "best" takes the one with a star:'
        return f"The way to keep the recipe's promise, which counts {self.counted}:"

    def frontier_rows(self) -> list[dict[str, Scalar]]:
        """A line for each way to keep the recipe's promise; the one that coin = "best" takes has a star."""
        return [
            {
                "": "*" if way.chosen else "",
                "coins": way.words,
                "k": way.k,
                "epsilon": way.epsilon,
                "mean L1": way.mean,
                **{f"L1 {table}": error for table, error in list(way.errors.items())[:MOST_ERRORS]},
            }
            for way in self.frontier
        ]

    def to_json(self) -> dict[str, object]:
        return {
            "records": self.records,
            "tables": [list(table) for table in self.tables],
            "with_data": self.with_data,
            "choices": [choice.to_json() for choice in self.choices],
            "unreachable": list(self.unreachable),
            "notes": list(self.notes),
            "method": self.method,
            "promises": list(self.promises),
            "usefulness": self.usefulness.to_json(),
            "advice": list(self.advice),
            "frontier": [way.to_json() for way in self.frontier],
        }

    def write(self, folder: str | Path) -> list[str]:
        """The table as CSV and Markdown and the picture as SVG and PNG; returns their paths."""
        return _write_plan(folder, self.to_rows() or _worth_rows(self.usefulness), self.picture())

    def picture(self) -> Picture:
        """Expected error against each promise, a line for each table and coin; or what the tables reach."""
        panels = []
        for promise in dict.fromkeys(choice.promise for choice in self.choices):
            series = []
            for table in self.tables[:MOST_TABLES]:
                for coin in dict.fromkeys(choice.coin for choice in self.choices):
                    choices = [c for c in self.choices if c.promise == promise and c.coin == coin]
                    if choices:
                        name = " x ".join(table) + (f", {coin} coin" if coin else "")
                        errors = [c.errors.get(" x ".join(table), math.nan) for c in choices]
                        series.append(Series(name, [c.value for c in choices], errors))
            if series:
                panels.append(Panel(series, f"expected L1 error by {promise}", promise, log_x=True, log_y=True))
        if self.usefulness.tables and not panels:
            panels.append(_worth_panel([("this recipe", self.usefulness)]))
        return Picture(panels, title=self.counted, width=9.0, height=4.2)


@dataclass(frozen=True, repr=False)
class Comparison(TabularResult):
    """Several recipes side by side, by what the tables that matter to the first of them are worth."""

    candidates: tuple[Outlook, ...]

    @property
    def titles(self) -> list[str]:
        """The tables that are compared, at most ten: those of the first recipe before those of others."""
        shown = [table.title for one in self.candidates for table in one.usefulness.shown]
        return list(dict.fromkeys(shown))[:10]

    def to_rows(self) -> list[dict[str, Scalar]]:
        """A line for each recipe: its promises, and to within what each table is known."""
        rows: list[dict[str, Scalar]] = []
        for one in self.candidates:
            known = {table.title: table for table in one.usefulness.tables}
            rows.append(
                {
                    "recipe": one.title,
                    "method": one.method,
                    "promises": "; ".join(one.promises),
                    **{title: _short_worth(known.get(title)) for title in self.titles},
                    "useless": "useless" if one.usefulness.useless else "",
                }
            )
        return rows

    def to_json(self) -> dict[str, object]:
        return {
            "candidates": [{"recipe": one.title, **one.to_json()} for one in self.candidates],
            "tables": [title.split(" x ") for title in self.titles],
            "comparison": self.to_rows(),
        }

    def write(self, folder: str | Path) -> list[str]:
        """The table as CSV and Markdown and the picture as SVG and PNG; returns their paths."""
        return _write_plan(folder, self.to_rows(), self.picture())

    def picture(self) -> Picture:
        worth = [(one.title, one.usefulness) for one in self.candidates[:MOST_CANDIDATES]]
        return Picture([_worth_panel(worth, self.titles)], width=9.0, height=4.6)


def _short_worth(table: TableWorth | None) -> str:
    """To within what; a table that is hopeless is called so."""
    if table is None:
        return "-"
    if table.error == 0:
        return "exact"
    return "hopeless" if table.hopeless else table.shown(table.within)


def _write_plan(folder: str | Path, rows: Sequence[Mapping[str, object]], picture: Picture) -> list[str]:
    if (Path(folder) / "certificate.json").exists():
        raise RecipeError(f"{folder} must be a folder for the plan", "a bundle, which holds what it certifies")
    paths = [*write_table(rows, Path(folder) / "plan"), *write_figure(picture, Path(folder) / "plan")]
    return [str(path) for path in paths]


def _worth_rows(usefulness: Usefulness) -> list[dict[str, object]]:
    """A line for each table that is shown: to within what it is known, and how near a guess is."""
    return [
        {
            "table": table.title,
            "known to within": _short_worth(table),
            "a guess that ignores the data": table.shown(table.blind),
        }
        for table in usefulness.shown
    ]


def _worth_panel(worth: Sequence[tuple[str, Usefulness]], titles: Sequence[str] = ()) -> Panel:
    """Bars of what each table is known to within, beside a guess; none beyond 100 points, or above the guess
    where a table is hopeless."""
    shown = list(titles) or [table.title for table in worth[0][1].shown]
    guesses: dict[str, float] = {}
    for _, one in worth:
        for table in one.tables:
            guesses[table.title] = max(guesses.get(table.title, 0.0), table.blind)
    series = []
    for name, one in worth:
        known = {t.title: min(guesses[t.title] if t.hopeless else t.within, 1.0) for t in one.tables}
        series.append(Series(name, shown, [100 * known.get(title, 0.0) for title in shown], kind="bars"))
    blind = [100 * min(guesses.get(title, 0.0), 1.0) for title in shown]
    series.append(Series("a guess that ignores the data", shown, blind, kind="bars"))
    return Panel(series, "known to within", "", "percentage points: lower is better")


def _or_none(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
