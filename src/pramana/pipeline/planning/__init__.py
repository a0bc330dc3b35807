"""`pramana plan`: what tables will be worth, before anything is published."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

from pramana.errors import RecipeError
from pramana.methods.retention import DrawnSetting
from pramana.pipeline.opening import RecipeLike, read_recipe
from pramana.pipeline.planning.by_law import plan_by_law
from pramana.pipeline.planning.by_rows import plan_by_rows
from pramana.pipeline.planning.outlook import Choice, Comparison, Outlook
from pramana.pipeline.planning.reading import Asked

__all__ = ["Choice", "Comparison", "Outlook", "plan"]


@overload
def plan(
    recipe: RecipeLike,
    *,
    records: int | None = None,
    ks: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    with_data: bool = False,
    data: object = None,
    space: bool = False,
) -> Outlook: ...


@overload
def plan(
    recipe: list[RecipeLike] | tuple[RecipeLike, ...],
    *,
    records: int | None = None,
    ks: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    with_data: bool = False,
    data: object = None,
    space: bool = False,
) -> Comparison: ...


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

    By retention no row decides: the number of records is given, or stated in the recipe, or counted in its source;
    `with_data` lets the holder take the true table's shape into account. The other methods look at the table, and
    what they find tells of it; so does every plan for people of several rows, whose numbers of rows decide.
    Where no `ks` or `epsilons` are given, usual ones and the recipe's own are shown.
    With `space`, `Outlook.space` has every node that a generalisation could be published at.

    >>> pramana.plan("recipe.toml").usefulness.sentences()  # doctest: +SKIP
    ['The share of a value of age is known to within 0.4 points.']
    """
    asked = Asked(records, ks, epsilons, with_data, data, space)
    if isinstance(recipe, list | tuple):
        if not recipe:
            raise RecipeError("A plan must have a recipe", "none")
        return Comparison(tuple(_plan(one, asked, f"recipe {i}") for i, one in enumerate(recipe, 1)))
    return _plan(recipe, asked, "recipe")


def _plan(recipe: RecipeLike, asked: Asked, title: str) -> Outlook:
    read = read_recipe(recipe)
    setting = read.release
    if isinstance(setting, DrawnSetting):
        if asked.space:
            raise RecipeError("A space of solutions must be of a generalisation", repr(read.method))
        found = plan_by_law(read, setting, asked)
    else:
        found = plan_by_rows(read, asked)
    return replace(found, title=Path(recipe).name if isinstance(recipe, str | os.PathLike) else title)
