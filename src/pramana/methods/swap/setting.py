"""What a recipe with method `swap` asks for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.recipe import Recipe
from pramana.schema.sections import ColumnSection, Setting
from pramana.schema.typed import Count, Flag

Kind = Literal["rank", "record"]
Rate = Annotated[float, Meta(gt=0, le=1, extra={"must": "a share of the records above 0"})]


class SwapSetting(Setting, frozen=True, kw_only=True, tag="swap"):
    """method = "swap": values are exchanged between records, each column on its own or several together."""

    rate: Annotated[Rate, Meta(description="The share of records that exchange their values, at least.")]
    kind: Annotated[
        Kind, Meta(description='"rank": with a record of near rank, column by column; "record": all at once.')
    ] = "rank"
    range: Annotated[Rate | None, Meta(description="How far apart ranks may be, as a share of the records.")] = (
        None
    )
    similar: Annotated[
        list[str], Meta(extra={"must": "a list of columns in which records that exchange must agree"})
    ] = msgspec.field(default_factory=list)
    below: Annotated[
        Count | None, Meta(description="Records that fewer than so many are like exchange first.")
    ] = None


class SwappedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a table with exchanged values."""

    swap: Annotated[Flag, Meta(description="Whether its values are exchanged.")] = False


class SwapDesign(Form, frozen=True, kw_only=True):
    """The same as a certificate states it."""

    kind: Kind
    rate: Rate
    range: Rate | None
    similar: list[str]
    below: Count | None
    columns: Annotated[list[str], Meta(min_length=1)]


SwapRecipe = Recipe[SwapSetting, SwappedColumn]
USUAL_RANGE = 0.05


def design_of(recipe: SwapRecipe) -> SwapDesign:
    """Checked with the columns, before any row is read."""
    setting = recipe.release
    columns = [name for name, column in recipe.published.items() if column.swap]
    if not columns:
        raise RecipeError("A recipe must have a column to exchange", "none", "Write swap = true in its section.")
    for name, column in recipe.published.items():
        if any(part is not None for part in (column.domain, column.binning, column.hierarchy)):
            raise RecipeError(
                f"With method swap the column {name!r} must be as in the source", "a domain of its own"
            )
    if setting.kind == "rank":
        asked = [key for key in ("similar", "below") if msgspec.structs.asdict(setting)[key]]
        if asked:
            raise RecipeError(f'{asked[0]} must go with kind = "record"', 'kind = "rank"')
    elif setting.range is not None:
        raise RecipeError('range must go with kind = "rank"', 'kind = "record"')
    for name in setting.similar:
        if name not in recipe.published or name in columns:
            raise RecipeError("similar must name published columns that are not exchanged", repr(name))
    wide = (USUAL_RANGE if setting.range is None else setting.range) if setting.kind == "rank" else None
    return SwapDesign(
        kind=setting.kind,
        rate=setting.rate,
        range=wide,
        similar=list(setting.similar),
        below=setting.below,
        columns=columns,
    )
