"""Plans of methods that look at the table: the release is prepared and measured, and written nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from pramana.calibration import Usefulness
from pramana.errors import CheckError, RecipeError, UnreachableError
from pramana.methods import AnyRecipe, Publication, method_named
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
from pramana.sources import Table
from pramana.theory import Guarantee, KAnonymity, PkAnonymity


def plan_by_rows(read: AnyRecipe, asked: Asked) -> Outlook:
    """For a range of the promise that the method varies, and for the recipe as it is."""
    if asked.records is not None:
        raise RecipeError(
            f"A plan of method {read.method!r} must look at its table", f"a number of records, {asked.records}"
        )
    if asked.epsilons:
        raise RecipeError(f"A plan of method {read.method!r} has no epsilon to vary", "some")
    method = method_named(read.method)
    table = read_table(read, asked.data)
    prepared = _prepared(read, table)
    own, usefulness = prepared.plan, prepared.usefulness
    advice = method.advise(read, own, rows_of(read, table)) if usefulness.useless else ()
    choices, unreachable = _choices(read, table, asked.ks, usefulness)
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
        space=method.space(read, rows_of(read, table)) if asked.space else None,
        notes=prepared.notes,
        counted=counted(own.records, *(() if own.unit is None else (own.unit.people, own.unit.households))),
    )


def _prepared(read: AnyRecipe, table: Table) -> Publication:
    """What publishing tells of the plan; the rows themselves are not made."""
    fresh = rows_of(read, table)
    plan = method_named(read.method).plan(read, fresh)
    fresh.settle(plan.attributes)
    return plan.publish(fresh)


def _choices(
    read: AnyRecipe, table: Table, ks: Sequence[float] | None, own: Usefulness
) -> tuple[tuple[Choice, ...], tuple[str, ...]]:
    variants: Mapping[str, Sequence[float]] = method_named(read.method).variants(read.release)
    if ks is not None:
        if "k" not in variants:
            raise RecipeError(f"A plan of method {read.method!r} has no k to vary", "some")
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
                varied = _prepared(replace(read, release=setting), table)
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
