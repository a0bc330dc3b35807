"""`pramana plan`: what tables will be worth, before anything is published.

Where no row decides the law, nothing of the data is read but its size, unless the holder asks; the other methods
look at the table: the release is tried and measured, and written nowhere.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from pramana.errors import CheckError, PramanaError, RecipeError, UnreachableError
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import Mechanism, Product
from pramana.mechanisms.units import UnitDraws, composed
from pramana.methods.columns import randomised_attributes
from pramana.methods.protocol import Plan
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.registry import method_named
from pramana.methods.retention.advice import epsilon_of
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.retention.setting import DrawnSetting
from pramana.methods.retention.units import around_units, calibrated_for_units, units_of
from pramana.methods.usefulness import Usefulness, expected_error, tables_that_matter
from pramana.notions.classes import KAnonymity
from pramana.notions.guarantee import Guarantee
from pramana.notions.randomised import PkAnonymity
from pramana.recipient.inversion import expected_l1
from pramana.recipient.law import law_of, tabulate
from pramana.rows.protocol import Rows
from pramana.run.config import RecipeLike, opened_source, read_recipe
from pramana.run.outlook import Choice, Comparison, Outlook
from pramana.run.run import Run
from pramana.schema.domain import Attribute, Axis
from pramana.schema.sections import RandomisedColumn, Setting
from pramana.theory import pk

Floats = NDArray[np.float64]
DEFAULT_KS = (2.0, 5.0, 10.0, 50.0, 100.0, 1000.0)
DEFAULT_EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
COINS = ("attribute", "record")
MOST_TABLES = 10  # whose errors are shown


class PlanOptions(TypedDict, total=False):
    """What a plan is asked for beside its recipe; `plan` says what each means."""

    records: int | None
    ks: Sequence[float] | None
    epsilons: Sequence[float] | None
    with_data: bool
    data: object
    space: bool


@overload
def plan(recipe: RecipeLike, **options: Unpack[PlanOptions]) -> Outlook: ...


@overload
def plan(recipe: list[RecipeLike] | tuple[RecipeLike, ...], **options: Unpack[PlanOptions]) -> Comparison: ...


def plan(
    recipe: RecipeLike | list[RecipeLike] | tuple[RecipeLike, ...],
    *,
    records: int | None = None,
    ks: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    with_data: bool = False,
    data: object = None,
    space: bool = False,
) -> Outlook | Comparison:
    """What a recipe's tables will be worth, as it is and for a range of promises; of several, side by side.

    By retention no row decides. The other methods look at the table, and what they find tells of it; so does every
    plan for people of several rows, whose numbers of rows decide.

    Args:
        recipe: A recipe or the path of one; or a list of them.
        records: How many records to plan for; without it, what the recipe states or its source has.
        ks: Values of k to show; without them, usual ones and the recipe's own.
        epsilons: Values of epsilon to show, likewise.
        with_data: Take the true table's shape into account.
        data: A data frame to use instead of the recipe's path.
        space: Put every node that a generalisation could be published at into `Outlook.space`.

    Returns:
        The outlook of one recipe, or a comparison of several.

    Raises:
        RecipeError: The recipe, or a value that is asked for, is wrong.
        UnreachableError: No promise that is asked for can be kept.

    >>> import pramana
    >>> pramana.plan("recipe.toml").method
    'retention'
    """
    options: PlanOptions = {"records": records, "ks": ks, "epsilons": epsilons}
    options |= {"with_data": with_data, "data": data, "space": space}
    if isinstance(recipe, list | tuple):
        if not recipe:
            raise RecipeError("A plan must have a recipe", "an empty list")
        return Comparison(tuple(_plan(one, options, f"recipe {i}") for i, one in enumerate(recipe, 1)))
    return _plan(recipe, options, "recipe")


def _plan(recipe: RecipeLike, options: PlanOptions, title: str) -> Outlook:
    read = read_recipe(recipe)
    setting = read.release
    if isinstance(setting, DrawnSetting):
        outlook = _plan_by_law(read, setting, options)
    else:
        outlook = _plan_by_rows(read, options)
    return replace(outlook, title=Path(recipe).name if isinstance(recipe, str | os.PathLike) else title)


def counted(records: int, people: int | None = None, households: int | None = None) -> str:
    """Whom promises count: rows, where these are people; else people, or the households that they live in."""
    if households is not None:
        return f"{households:,} households"
    return f"{records:,} records" if people is None else f"{people:,} people"


def check_k(k: float) -> None:
    if not 1 <= k < math.inf:
        raise RecipeError("k must be a number of at least 1", f"{k:g}")


def promises_of(plan: Plan) -> tuple[str, ...]:
    """In short: the notions that would be certified, with their main numbers."""
    return tuple(f"{g.notion} {_short(g.value)}" for g in plan.guarantees(seeded=False))


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_short(part)}" for name, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- where no row decides the law


def _plan_by_law(read: AnyRecipe, setting: DrawnSetting, options: PlanOptions) -> Outlook:
    """For each k and epsilon and both kinds of coin, and for the recipe as it is."""
    if options["space"]:
        raise RecipeError("A space of solutions must be of a generalisation", repr(read.method))
    if options["with_data"] and options["records"] is not None:
        raise RecipeError("A plan must be for the data or for a number of records", "with_data and records")
    ks = _values(options["ks"], DEFAULT_KS, setting.k)
    epsilons = _values(options["epsilons"], DEFAULT_EPSILONS, setting.epsilon)
    for k in ks:
        check_k(k)
    for epsilon in epsilons:
        pk.check_epsilon(epsilon)
    run, count = _opened(read, setting, options)
    rows = None if run is None else run.rows
    if not count:
        raise RecipeError("A plan must know the number of records", "0")
    columns = randomised_attributes(cast(Recipe[Setting, RandomisedColumn], read), rows)
    attributes = [a for a in columns if not a.raw]
    if not attributes:
        raise RecipeError(
            "A recipe must randomise at least one column", "no such column", "Make one quasi-identifying."
        )
    sizes = {a.name: a.coded.size for a in attributes}
    draws = units_of(cast(Any, read), sizes, None if rows is None else rows.owners)
    tables = _tables(read, sizes)
    true = _true_tables(run, attributes, tables) if options["with_data"] and run is not None else None
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
    outlook = Outlook(count, tables, choices, options["with_data"], unreachable, notes, counted=who)
    return _as_it_is(outlook, read, columns, rows if draws is not None else None)


def _opened(read: AnyRecipe, setting: DrawnSetting, options: PlanOptions) -> tuple[Run | None, int | None]:
    """A run on the rows, where they must be looked at, and how many there are or will be."""
    several = read.unit is not None and read.unit.several
    if several and options["records"] is not None:
        raise RecipeError(
            "A plan for people of several rows must look at its table",
            f"a number of records, {options['records']}",
        )
    known = options["records"] if options["records"] is not None else setting.records
    needs_rows = (
        options["with_data"] or known is None or any(column.from_data for column in read.published.values())
    )
    run = Run.trial(read, opened_source(read, options["data"])) if needs_rows or several else None
    looked_at = known is None or options["with_data"] or several
    return run, run.rows.records if run is not None and looked_at else known


def _as_it_is(outlook: Outlook, read: AnyRecipe, columns: tuple[Attribute, ...], people: Rows | None) -> Outlook:
    """With what the recipe's own law is worth; where it has none, the reason."""
    method = method_named(read.method)
    try:
        own = method.plan_for(read, columns, outlook.records, people)
    except PramanaError as error:
        return replace(outlook, method=read.method, notes=(*outlook.notes, f"The recipe as it is: {error}"))
    usefulness = own.usefulness_by_law() or Usefulness()
    advice = method.advise(read, own, people) if usefulness.useless else ()
    return replace(
        outlook,
        method=read.method,
        usefulness=usefulness,
        advice=advice,
        promises=promises_of(own),
        frontier=method.frontier(read, columns, outlook.records, own.draws),
    )


def _tables(read: AnyRecipe, sizes: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """Those that the recipe names; without, the smallest pairs, at most ten."""
    tables = [tuple(table) for table in tables_that_matter(read.tables, sizes)]
    if len(tables) > MOST_TABLES and not read.tables:
        tables.sort(key=lambda table: math.prod(sizes[name] for name in table))
    return tuple(tables[:MOST_TABLES])


def _values(given: Sequence[float] | None, usual: Sequence[float], own: float | None) -> list[float]:
    """What is asked for, or the usual values and the recipe's own."""
    return list(given) if given is not None else sorted({*usual, *([] if own is None else [float(own)])})


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
    run: Run, attributes: Sequence[Attribute], tables: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], Floats]:
    by_name = {a.name: a for a in attributes}
    needed = dict.fromkeys(name for names in tables for name in names)
    run.rows.encode([by_name[name] for name in needed])
    codes = run.rows.whole().codes({name: by_name[name].coded.size for name in needed})
    unchanged = Product({})
    return {
        names: np.asarray(tabulate(codes, [Axis.of_domain(n, by_name[n].coded) for n in names], unchanged).counts)
        for names in tables
    }


# ---------------------------------------------------------------- where rows decide


def _plan_by_rows(read: AnyRecipe, options: PlanOptions) -> Outlook:
    """For a range of the promise that the method varies, and for the recipe as it is."""
    if options["records"] is not None:
        raise RecipeError(
            f"A plan of method {read.method!r} must look at its table",
            f"a number of records, {options['records']}",
        )
    if options["epsilons"]:
        raise RecipeError(
            f"Method {read.method!r} has no epsilon to vary",
            f"epsilon = {', '.join(f'{epsilon:g}' for epsilon in options['epsilons'])}",
        )
    run = Run.trial(read, opened_source(read, options["data"]))
    publication = run.publish(run.plan())
    own, usefulness = publication.plan, publication.usefulness
    advice = run.method.advise(read, own, run.rows) if usefulness.useless else ()
    choices, unreachable = _choices(run, read, options["ks"], usefulness)
    return Outlook(
        own.records,
        tuple(one.names for one in usefulness.shown),
        choices,
        with_data=True,
        unreachable=unreachable,
        method=read.method,
        usefulness=usefulness,
        advice=advice,
        promises=promises_of(own),
        space=run.method.space(read, run.rows) if options["space"] else None,
        notes=publication.notes,
        counted=counted(own.records, *(() if own.unit is None else (own.unit.people, own.unit.households))),
    )


def _choices(
    run: Run, read: AnyRecipe, ks: Sequence[float] | None, own: Usefulness
) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    variants: Mapping[str, Sequence[float]] = run.method.variants(read.release)
    if ks is not None:
        if "k" not in variants:
            raise RecipeError(f"Method {read.method!r} has no k to vary", f"k = {', '.join(f'{k:g}' for k in ks)}")
        for k in ks:
            check_k(k)
        variants = {"k": ks}
    choices, unreachable = [], []
    names = [one.title for one in own.shown[:MOST_TABLES]]
    for promise, values in variants.items():
        for value in values:
            whole = int(value) if value == int(value) and promise == "k" else value
            setting = msgspec.structs.replace(read.release, **{promise: whole})
            try:
                tried = run.with_setting(setting)
                varied = tried.publish(tried.plan())
            except (UnreachableError, CheckError):
                unreachable.append(f"{promise} = {value:g}")
                continue
            reached = {one.title: one.l1 for one in varied.usefulness.tables}
            errors = {name: reached[name] for name in names if name in reached}
            choices.append(
                Choice(promise, value, "", None, _k(varied.plan.guarantees(seeded=False)), None, errors)
            )
    return tuple(choices), tuple(unreachable)


def _k(guarantees: Sequence[Guarantee]) -> float | None:
    """Of the unit that the promise is for: a household's is less than that of the people in it."""
    return min((float(g.k) for g in guarantees if isinstance(g, KAnonymity | PkAnonymity)), default=None)
