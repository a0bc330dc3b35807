"""`pramana plan`: the error a recipient must expect in the tables that matter, for a range of k and epsilon.

Nothing of the data is read but its size, unless the holder asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pramana.calibration import Wanted, calibrate, expected_error, tables_that_matter
from pramana.errors import RecipeError, UnreachableError
from pramana.estimate import Axis, expected_l1, law_of, tabulate
from pramana.mechanisms import Circumstances, Mechanism, Product, k_of
from pramana.methods import AnyRecipe, Recipe, method_named, randomised_attributes
from pramana.methods.retention import DrawnSetting, epsilon_of
from pramana.pages import Panel, Picture, Scalar, Series, TabularResult, write_figure, write_table
from pramana.pipeline.opening import RecipeLike, read_recipe, source_of
from pramana.randomness import Key
from pramana.rows import MemoryRows
from pramana.schema import Attribute, RandomisedColumn, Setting
from pramana.sources import Source
from pramana.theory import pk

Floats = NDArray[np.float64]
DEFAULT_KS = (2.0, 5.0, 10.0, 50.0, 100.0, 1000.0)
DEFAULT_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
COINS = ("attribute", "record")
MOST_TABLES = 3


@dataclass(frozen=True)
class Choice:
    """One promise and one coin: the retention that reaches it and the errors it costs."""

    promise: str
    value: float
    coin: str
    retention: float
    k: float
    epsilon: float
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
        return {
            "promise": f"{self.promise} = {self.value:g}",
            "coin": self.coin,
            "retention": self.retention,
            "k": self.k,
            "epsilon": self.epsilon,
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

    def remarks(self) -> list[str]:
        far = f"Out of reach with {self.records:,} records: {', '.join(self.unreachable)}."
        return [*([far] if self.unreachable else []), *self.notes]

    def to_rows(self) -> list[dict[str, Scalar]]:
        return self.rows()

    def rows(self) -> list[dict[str, Scalar]]:
        return [choice.row() for choice in self.choices]

    def to_json(self) -> dict[str, object]:
        return {
            "records": self.records,
            "tables": [list(table) for table in self.tables],
            "with_data": self.with_data,
            "choices": [choice.to_json() for choice in self.choices],
            "unreachable": list(self.unreachable),
            "notes": list(self.notes),
        }

    def write(self, folder: str | Path) -> list[str]:
        """The table as CSV and Markdown and the picture as SVG and PNG; returns their paths."""
        if (Path(folder) / "certificate.json").exists():
            raise RecipeError(f"{folder} must be a folder for the plan", "a bundle, which holds what it certifies")
        paths = [
            *write_table(self.rows(), Path(folder) / "plan"),
            *write_figure(self.picture(), Path(folder) / "plan"),
        ]
        return [str(path) for path in paths]

    def picture(self) -> Picture:
        """Expected error against k and against epsilon, a line for each table and coin."""
        panels = []
        for promise in ("k", "epsilon"):
            series = []
            for table in self.tables[:MOST_TABLES]:
                for coin in COINS:
                    choices = [c for c in self.choices if c.promise == promise and c.coin == coin]
                    if choices:
                        name = f"{' x '.join(table)}, {coin} coin"
                        errors = [c.errors[" x ".join(table)] for c in choices]
                        series.append(Series(name, [c.value for c in choices], errors))
            if series:
                panels.append(Panel(series, f"expected L1 error by {promise}", promise, log_x=True, log_y=True))
        return Picture(panels, title=f"{self.records:,} records", width=9.0, height=4.2)


def plan(
    recipe: RecipeLike,
    *,
    records: int | None = None,
    ks: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    with_data: bool = False,
    data: object = None,
) -> Outlook:
    """What the recipe's tables would cost, for each k and epsilon and both kinds of coin.

    The number of records is given, or stated in the recipe, or counted in its source. `with_data` lets the holder
    take the true table's shape into account; without it all cells are taken alike. Where no `ks` or no `epsilons`
    are given, usual ones and the recipe's own are shown.

    >>> pramana.plan("recipe.toml").choices[0].retention  # doctest: +SKIP
    0.31
    """
    read = read_recipe(recipe)
    setting = read.release
    if not isinstance(setting, DrawnSetting):
        raise RecipeError("A plan must be for the method retention", repr(read.method))
    if with_data and records is not None:
        raise RecipeError("A plan must be for the data or for a number of records", "both")
    ks, epsilons = _asked(ks, DEFAULT_KS, setting.k), _asked(epsilons, DEFAULT_EPSILONS, setting.epsilon)
    for k in ks:
        if not 1 <= k < math.inf:
            raise RecipeError("k must be a number of at least 1", f"{k:g}")
    for epsilon in epsilons:
        pk.check_epsilon(epsilon)
    known = records if records is not None else setting.records
    needs_rows = with_data or known is None or any(column.from_data for column in read.published.values())
    rows = _read(read, data) if needs_rows else None
    count = rows.records if rows is not None and (known is None or with_data) else known
    if not count:
        raise RecipeError("A plan must know the number of records", "0")
    attributes = [a for a in randomised_attributes(_drawn(read), rows) if not a.raw]
    if not attributes:
        raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
    sizes = {a.name: a.coded.size for a in attributes}
    tables = tuple(tuple(t) for t in tables_that_matter(read.tables, sizes))
    true = _true_tables(rows, attributes, tables) if with_data and rows is not None else None
    asked = [(promise, value) for promise, values in (("k", ks), ("epsilon", epsilons)) for value in values]
    tried = {one: [_choice(*one, coin, sizes, count, tables, true) for coin in COINS] for one in asked}
    choices = tuple(choice for both in tried.values() for choice in both if choice is not None)
    if not choices:
        raise UnreachableError("A plan must ask for promises that can be reached", f"none with {count} records")
    unreachable = tuple(f"{name} = {value:g}" for (name, value), both in tried.items() if None in both)
    unseen = [n for n, c in read.published.items() if rows is None and c.missing == "auto" and n in sizes]
    note = (
        f"Missing values would cost a little more; whether there are any was not looked at: {', '.join(unseen)}."
    )
    return Outlook(count, tables, choices, with_data, unreachable, (note,) if unseen else ())


def _asked(given: Sequence[float] | None, usual: Sequence[float], own: float | None) -> list[float]:
    """What was asked for, or the usual values and the recipe's own."""
    return list(given) if given is not None else sorted({*usual, *([] if own is None else [float(own)])})


def _or_none(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _drawn(recipe: AnyRecipe) -> Recipe[Setting, RandomisedColumn]:
    """The columns of a drawn setting are randomised ones: its method says so."""
    return cast(Recipe[Setting, RandomisedColumn], recipe)


def _read(recipe: AnyRecipe, data: object) -> MemoryRows:
    source = source_of(recipe) if data is None else Source(frame=data)
    readings = method_named(recipe.method).readings(recipe)
    return MemoryRows(source.read([reading.name for reading in readings]), Key.create())


def _choice(
    promise: str,
    value: float,
    coin: str,
    sizes: Mapping[str, int],
    records: int,
    tables: Sequence[tuple[str, ...]],
    true: Mapping[tuple[str, ...], Floats] | None,
) -> Choice | None:
    around = Circumstances(records)
    try:
        wanted = Wanted(around, **{promise: value})
        law = calibrate(sizes, wanted, coin)
    except UnreachableError:
        return None
    errors = {" x ".join(t): _error(law, t, records, true) for t in tables}
    return Choice(promise, value, coin, law.retentions()[0], float(k_of(law, around)), epsilon_of(law), errors)


def _error(
    law: Mechanism, table: tuple[str, ...], records: int, true: Mapping[tuple[str, ...], Floats] | None
) -> float:
    if true is None:
        return expected_error(law, table, records)
    return expected_l1(law_of(law, {n: law.sizes[n] for n in table}), true[table])


def _true_tables(
    rows: MemoryRows, attributes: Sequence[Attribute], tables: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], Floats]:
    by_name = {a.name: a for a in attributes}
    needed = dict.fromkeys(name for names in tables for name in names)
    rows.settle([by_name[name] for name in needed])
    codes = rows.codes({name: by_name[name].coded.size for name in needed})
    unchanged = Product({})
    return {
        names: np.asarray(tabulate(codes, [Axis.of_domain(n, by_name[n].coded) for n in names], unchanged).counts)
        for names in tables
    }
