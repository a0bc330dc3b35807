"""What a recipe with method `noise` asks for."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.recipe import Recipe
from pramana.schema.sections import ColumnSection, Setting
from pramana.schema.typed import Flag

Kind = Literal["independent", "correlated"]
Amount = Annotated[float, Meta(gt=0, le=100, extra={"must": "a number above 0 and at most 100"})]
Spread = Annotated[float, Meta(gt=0, le=1e100, extra={"must": "a positive number"})]
Decimals = Annotated[int, Meta(ge=-15, le=15, extra={"must": "a whole number from -15 to 15"})]


class NoiseSetting(Setting, frozen=True, kw_only=True, tag="noise"):
    """method = "noise": normal random numbers are added to columns of numbers."""

    kind: Annotated[
        Kind,
        Meta(description='"independent": each column by itself; "correlated": means and covariances stay.'),
    ] = "independent"
    amount: Annotated[
        Amount | None,
        Meta(description="The noise's standard deviation, in those of a column that states no spread."),
    ] = None
    decimals: Annotated[Decimals | None, Meta(description="Places to round to, where a column has none.")] = None


class NoisedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a table with noise."""

    noise: Annotated[Flag, Meta(description="Whether noise is added to its numbers.")] = False
    spread: Annotated[
        Spread | None, Meta(description="The noise's standard deviation, in the column's own units.")
    ] = None
    decimals: Annotated[Decimals | None, Meta(description="Places to round its numbers to.")] = None

    @property
    def is_noised(self) -> bool:
        return self.noise or self.spread is not None


class NoiseDesign(Form, frozen=True, kw_only=True):
    """The same as a certificate states it; `decimals` is of the columns for which the recipe states them."""

    kind: Kind
    amount: Amount | None
    columns: Annotated[list[str], Meta(min_length=1)]
    spread: dict[str, Spread]
    decimals: dict[str, Decimals]

    @property
    def relative(self) -> list[str]:
        """The columns whose noise is measured in their own standard deviations."""
        return [name for name in self.columns if name not in self.spread]

    def problem(self) -> str:
        """What does not fit together; empty where everything does."""
        if len(set(self.columns)) < len(self.columns):
            return "a column twice"
        if not {*self.spread, *self.decimals} <= set(self.columns):
            return "a column without noise"
        if self.kind == "correlated" and self.spread:
            return 'spread with kind = "correlated"'
        if (self.amount is not None) != bool(self.relative):
            return "no amount" if self.amount is None else "an amount that no column takes"
        return ""


NoiseRecipe = Recipe[NoiseSetting, NoisedColumn]


def design_of(recipe: NoiseRecipe) -> NoiseDesign:
    """Checked with the columns, before any row is read."""
    setting, published = recipe.release, recipe.published
    columns = [name for name, column in published.items() if column.is_noised]
    if not columns:
        raise RecipeError(
            "A recipe must have a column that gets noise",
            "none",
            "Write noise = true, or spread = 500 in its own units, in the section of a column.",
        )
    for name, column in published.items():
        if any(part is not None for part in (column.domain, column.binning, column.hierarchy)):
            raise RecipeError(
                f"With method noise the column {name!r} must be as in the source", "a domain of its own"
            )
    own = {name: column.decimals for name, column in published.items() if column.decimals is not None}
    if others := [name for name in own if name not in columns]:
        raise RecipeError("decimals must be of a column that gets noise", repr(others[0]))
    design = NoiseDesign(
        kind=setting.kind,
        amount=setting.amount,
        columns=columns,
        spread={n: c.spread for n, c in published.items() if c.spread is not None},
        decimals=own if setting.decimals is None else {**dict.fromkeys(columns, setting.decimals), **own},
    )
    if problem := design.problem():
        raise RecipeError(
            "Every column that gets noise must have a spread of its own, or the amount of [release]",
            problem,
            'With kind = "correlated" all columns take the amount.',
        )
    return design
