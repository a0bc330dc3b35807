"""What a recipe would be worth with something changed, tried on the same rows: advice for their holder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from pramana.errors import PramanaError
from pramana.methods.protocol import Method
from pramana.methods.recipe import Recipe
from pramana.rows.protocol import Rows
from pramana.schema.domain import Role
from pramana.schema.sections import ColumnSection, Setting

S = TypeVar("S", bound=Setting)
C = TypeVar("C", bound=ColumnSection)
Change = tuple[str, Mapping[str, Any]]  # in words, and as keys of [release] with their values


def first_useful(
    method: Method[S, C], recipe: Recipe[S, C], rows: Rows, changes: Iterable[Change]
) -> Iterator[str]:
    """A sentence of the first change of [release] with which something is learned, and of what."""
    for words, keys in changes:
        try:
            changed = replace(recipe, release=msgspec.structs.replace(recipe.release, **keys))
        except PramanaError:
            continue
        if said := _said(method, changed, rows, words):
            yield said
            return


def without_a_column(method: Method[S, C], recipe: Recipe[S, C], rows: Rows) -> Iterator[str]:
    """The same of leaving one quasi-identifying column out, of those that no named table needs."""
    needed = {name for table in recipe.tables for name in table}
    quasi = [name for name, column in recipe.published.items() if column.role is Role.QUASI_IDENTIFYING]
    for name in quasi if len(quasi) > 1 else ():
        if name not in needed:
            others = {other: column for other, column in recipe.attributes.items() if other != name}
            if said := _said(method, replace(recipe, attributes=others), rows, f"Without {name}"):
                yield said
                return


def _said(method: Method[S, C], recipe: Recipe[S, C], rows: Rows, words: str) -> str:
    try:
        plan = method.plan(recipe, rows)
        rows.encode(plan.attributes)
        worth = plan.publish(rows).usefulness
    except PramanaError:
        return ""
    return "" if worth.useless or worth.best is None else f"{words} {worth.best.words}."
