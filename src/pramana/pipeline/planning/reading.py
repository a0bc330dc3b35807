"""What every plan begins with: what was asked for, the rows, and the promises that would be certified."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pramana.errors import RecipeError
from pramana.methods import AnyRecipe, Plan, method_named
from pramana.pipeline.opening import opened_source
from pramana.randomness import Key
from pramana.rows import MemoryRows
from pramana.sources import Table

MOST_TABLES = 10  # whose errors are shown


@dataclass(frozen=True)
class Asked:
    """What a plan is asked for beside its recipe."""

    records: int | None = None
    ks: Sequence[float] | None = None
    epsilons: Sequence[float] | None = None
    with_data: bool = False
    data: object = None
    space: bool = False


def read_table(recipe: AnyRecipe, data: object) -> Table:
    """The columns that the recipe needs, those of its [unit] included."""
    source = opened_source(recipe, data)
    names = [reading.name for reading in method_named(recipe.method).readings(recipe)]
    return source.read([*names, *(() if recipe.unit is None else recipe.unit.columns)])


def rows_of(recipe: AnyRecipe, table: Table) -> MemoryRows:
    """Brought together as the recipe says, under a key that is used for nothing else."""
    rows = MemoryRows(table, Key.create())
    return rows.in_units(recipe.unit) if recipe.unit is not None and recipe.unit.several else rows


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
