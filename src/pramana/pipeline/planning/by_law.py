"""Plans of methods whose law no row decides: nothing of the data is read but its size, unless the holder asks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pramana.calibration import Wanted, calibrate, expected_error, tables_that_matter
from pramana.errors import PramanaError, RecipeError, UnreachableError
from pramana.estimate import Axis, expected_l1, law_of, tabulate
from pramana.mechanisms import Circumstances, Mechanism, Product, UnitDraws, composed, k_of
from pramana.methods import AnyRecipe, Recipe, method_named, randomised_attributes
from pramana.methods.retention import (
    DrawnMethod,
    DrawnSetting,
    around_units,
    calibrated_for_units,
    epsilon_of,
    units_of,
)
from pramana.pipeline.planning.outlook import Choice, Outlook
from pramana.pipeline.planning.reading import (
    MOST_TABLES,
    Asked,
    check_k,
    counted,
    promises_of,
    read_table,
    rows_of,
)
from pramana.rows import MemoryRows
from pramana.schema import Attribute, RandomisedColumn, Setting
from pramana.theory import pk

Floats = NDArray[np.float64]
DEFAULT_KS = (2.0, 5.0, 10.0, 50.0, 100.0, 1000.0)
DEFAULT_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
COINS = ("attribute", "record")


def plan_by_law(read: AnyRecipe, setting: DrawnSetting, asked: Asked) -> Outlook:
    """For each k and epsilon and both kinds of coin, and for the recipe as it is."""
    if asked.with_data and asked.records is not None:
        raise RecipeError("A plan must be for the data or for a number of records", "both")
    ks = _values(asked.ks, DEFAULT_KS, setting.k)
    epsilons = _values(asked.epsilons, DEFAULT_EPSILONS, setting.epsilon)
    for k in ks:
        check_k(k)
    for epsilon in epsilons:
        pk.check_epsilon(epsilon)
    rows, count = _counted(read, setting, asked)
    if not count:
        raise RecipeError("A plan must know the number of records", "0")
    columns = randomised_attributes(_drawn(read), rows)
    attributes = [a for a in columns if not a.raw]
    if not attributes:
        raise RecipeError("A recipe must randomise at least one column", "none", "Make one quasi-identifying.")
    sizes = {a.name: a.coded.size for a in attributes}
    draws = units_of(cast(Any, read), sizes, None if rows is None else rows.owners)
    tables = _tables(read, sizes)
    true = _true_tables(rows, attributes, tables) if asked.with_data and rows is not None else None
    wanted = [(promise, value) for promise, values in (("k", ks), ("epsilon", epsilons)) for value in values]
    coins = COINS if draws is None else COINS[:1]  # whole records of several rows have no coin of their own
    who = counted(count, *(() if draws is None else (draws.people, draws.households)))
    trial = _Trial(sizes, count, tables, true, draws)
    tried = {one: [trial.choice(*one, coin) for coin in coins] for one in wanted}
    choices = tuple(choice for both in tried.values() for choice in both if choice is not None)
    if not choices:
        raise UnreachableError("A plan must ask for promises that can be reached", f"none with {who}")
    unreachable = tuple(f"{name} = {value:g}" for (name, value), both in tried.items() if None in both)
    unseen = [n for n, c in read.published.items() if rows is None and c.missing_rule == "auto" and n in sizes]
    note = (
        f"Missing values would cost a little more; whether there are any was not looked at: {', '.join(unseen)}."
    )
    notes = (note,) if unseen else ()
    outlook = Outlook(count, tables, choices, asked.with_data, unreachable, notes, counted=who)
    return _as_it_is(outlook, read, columns, rows if draws is not None else None)


def _counted(read: AnyRecipe, setting: DrawnSetting, asked: Asked) -> tuple[MemoryRows | None, int | None]:
    """The rows, where they must be looked at, and how many there are or will be."""
    several = read.unit is not None and read.unit.several
    if several and asked.records is not None:
        raise RecipeError(
            "A plan for people of several rows must look at its table", f"a number of records, {asked.records}"
        )
    known = asked.records if asked.records is not None else setting.records
    needs_rows = asked.with_data or known is None or any(column.from_data for column in read.published.values())
    rows = rows_of(read, read_table(read, asked.data)) if needs_rows or several else None
    looked_at = rows is not None and (known is None or asked.with_data or several)
    return rows, rows.records if rows is not None and looked_at else known


def _as_it_is(
    outlook: Outlook, read: AnyRecipe, columns: tuple[Attribute, ...], people: MemoryRows | None
) -> Outlook:
    """With what the recipe's own law is worth; where it has none, the reason."""
    method = method_named(read.method)
    assert isinstance(method, DrawnMethod)
    try:
        own = method.plan_for(cast(Any, read), columns, outlook.records, people)
    except PramanaError as error:
        return replace(outlook, method=read.method, notes=(*outlook.notes, f"The recipe as it is: {error}"))
    usefulness = own.usefulness()
    advice = method.advise(cast(Any, read), own, people) if usefulness.useless else ()
    return replace(
        outlook,
        method=read.method,
        usefulness=usefulness,
        advice=advice,
        promises=promises_of(own),
        frontier=method.frontier(cast(Any, read), columns, outlook.records, own.draws),
    )


def _tables(read: AnyRecipe, sizes: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Those that the recipe names; without, the smallest pairs, at most ten."""
    tables = [tuple(table) for table in tables_that_matter(read.tables, sizes)]
    if len(tables) > MOST_TABLES and not read.tables:
        tables.sort(key=lambda table: math.prod(sizes[name] for name in table))
    return tuple(tables[:MOST_TABLES])


def _values(given: Sequence[float] | None, usual: Sequence[float], own: float | None) -> list[float]:
    """What was asked for, or the usual values and the recipe's own."""
    return list(given) if given is not None else sorted({*usual, *([] if own is None else [float(own)])})


def _drawn(recipe: AnyRecipe) -> Recipe[Setting, RandomisedColumn]:
    """The columns of a drawn setting are randomised ones: its method says so."""
    return cast(Recipe[Setting, RandomisedColumn], recipe)


@dataclass(frozen=True)
class _Trial:
    """What promises are tried on: columns, rows, tables and, where people have several rows, what they draw."""

    sizes: Mapping[str, int]
    records: int
    tables: Sequence[tuple[str, ...]]
    true: Mapping[tuple[str, ...], Floats] | None
    draws: UnitDraws | None

    def choice(self, promise: str, value: float, coin: str) -> Choice | None:
        """None where nothing keeps the promise."""
        around = around_units(Circumstances(self.records), self.draws)
        try:
            wanted = Wanted(around, **{promise: value})
            if self.draws is None:
                law = whole = calibrate(self.sizes, wanted, coin)
            else:
                law = calibrated_for_units(self.sizes, wanted, self.draws)
                whole = composed(law, self.draws, self.draws.size(self.draws.largest))
        except UnreachableError:
            return None
        errors = {" x ".join(table): self._error(law, table) for table in self.tables}
        return Choice(
            promise, value, coin, law.retentions()[0], float(k_of(whole, around)), epsilon_of(whole), errors
        )

    def _error(self, law: Mechanism, table: tuple[str, ...]) -> float:
        """Rows that share a draw vary together: n of them at most n times as much as n that do not."""
        shared = 1 if self.draws is None else max(self.draws.rows_sharing(name) for name in table)
        if self.true is None:
            return math.sqrt(shared) * expected_error(law, table, self.records)
        return math.sqrt(shared) * expected_l1(law_of(law, {n: law.sizes[n] for n in table}), self.true[table])


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
