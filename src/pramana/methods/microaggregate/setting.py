"""What a recipe with method `microaggregate` asks for."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.recipe import Recipe
from pramana.schema.domain import Role
from pramana.schema.sections import ColumnSection, Setting

Algorithm = Literal["mdav", "optimal"]
Aggregate = Literal["mean", "median"]
K = Annotated[int, Meta(ge=2, extra={"must": "a whole number of at least 2"})]
Decimals = Annotated[int, Meta(ge=-15, le=15, extra={"must": "a whole number from -15 to 15"})]


class MicroaggregateSetting(Setting, frozen=True, kw_only=True, tag="microaggregate"):
    """method = "microaggregate": k-anonymity of this table, by means or medians of small classes."""

    k: K
    algorithm: Annotated[Algorithm, Meta(description='"optimal" takes one column of numbers.')] = "mdav"
    aggregate: Annotated[Aggregate, Meta(description="What of a class is published.")] = "mean"
    decimals: Annotated[Decimals | None, Meta(description="Places to round to, where a column has none.")] = None


class AggregatedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a microaggregated table."""

    decimals: Annotated[Decimals | None, Meta(description="Places to round its numbers to.")] = None

    @property
    def is_quasi(self) -> bool:
        return self.role is Role.QUASI_IDENTIFYING

    @property
    def has_categories(self) -> bool:
        """Whether it is published by its commonest values: an intruder may know it, and it has a domain."""
        stated = (self.domain, self.binning, self.hierarchy)
        return self.is_quasi and any(part is not None for part in stated)

    @property
    def has_numbers(self) -> bool:
        return self.is_quasi and not self.has_categories


class MicroaggregateDesign(Form, frozen=True, kw_only=True):
    """The same as a certificate states it; `decimals` is of the columns that are rounded."""

    k: K
    algorithm: Algorithm
    aggregate: Aggregate
    decimals: dict[str, Decimals]

    def rounding(self, name: str) -> str:
        """In words."""
        places = self.decimals.get(name)
        if places is None:
            return "not rounded"
        return f"to {places} decimals" if places >= 0 else f"to multiples of {10**-places:,}"


MicroaggregateRecipe = Recipe[MicroaggregateSetting, AggregatedColumn]


def design_of(recipe: MicroaggregateRecipe) -> MicroaggregateDesign:
    """Checked with the columns, before any row is read."""
    setting, columns = recipe.release, recipe.published
    numbers = [name for name, column in columns.items() if column.has_numbers]
    if not numbers:
        raise RecipeError(
            "A recipe must have a quasi-identifying column of numbers, by which rows are put into classes",
            "none",
            "A column of numbers is one without domain, bins and hierarchy; without any, use method generalize.",
        )
    if setting.algorithm == "optimal" and len(numbers) > 1:
        raise RecipeError(
            'algorithm = "optimal" must have exactly one quasi-identifying column of numbers',
            f"{len(numbers)}",
            'Use algorithm = "mdav" for several.',
        )
    own = {name: column.decimals for name, column in columns.items() if column.decimals is not None}
    if others := [name for name in own if name not in numbers]:
        raise RecipeError("decimals must be of a quasi-identifying column of numbers", repr(others[0]))
    places = own if setting.decimals is None else {**dict.fromkeys(numbers, setting.decimals), **own}
    return MicroaggregateDesign(
        k=setting.k, algorithm=setting.algorithm, aggregate=setting.aggregate, decimals=places
    )
