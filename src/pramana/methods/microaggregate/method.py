"""Method `microaggregate`: from a recipe to classes of near rows."""

from __future__ import annotations

from typing import ClassVar

from pramana.bundle import Certificate
from pramana.errors import RecipeError
from pramana.methods.columns import reading_of, resolve
from pramana.methods.microaggregate.classes import aggregate
from pramana.methods.microaggregate.plan import MicroaggregatePlan, context_of, restore_microaggregation
from pramana.methods.microaggregate.setting import MicroaggregateSetting, design_of
from pramana.methods.protocol import Capabilities, Method
from pramana.methods.recipe import Recipe
from pramana.rows import ColumnReading, Rows
from pramana.schema import Attribute, ColumnSection, Kind, Role

MicroaggregateRecipe = Recipe[MicroaggregateSetting, ColumnSection]


class MicroaggregateMethod(Method[MicroaggregateSetting, ColumnSection]):
    """`microaggregate`."""

    name: ClassVar[str] = "microaggregate"
    setting = MicroaggregateSetting
    column = ColumnSection

    def capabilities(self, setting: MicroaggregateSetting) -> Capabilities:
        del setting
        return Capabilities()

    def readings(self, recipe: MicroaggregateRecipe) -> tuple[ColumnReading, ...]:
        _check_columns(recipe)
        columns = recipe.published.items()
        return tuple(reading_of(name, column, recipe.folder, _has_categories(column)) for name, column in columns)

    def plan(self, recipe: MicroaggregateRecipe, rows: Rows) -> MicroaggregatePlan:
        _check_columns(recipe)
        attributes = tuple(_attribute(name, column, recipe, rows) for name, column in recipe.published.items())
        rows.settle(attributes)
        design = design_of(recipe.release)
        aggregated = aggregate(rows, design, attributes, context_of(recipe.source.dataset, rows))
        return MicroaggregatePlan(
            attributes=attributes,
            dropped=recipe.dropped,
            dataset=recipe.source.dataset,
            shuffled=recipe.release.shuffle,
            output=recipe.output.format,
            design=design,
            measured=aggregated.measured,
            aggregated=aggregated,
        )

    def restore(self, certificate: Certificate) -> MicroaggregatePlan:
        return restore_microaggregation(certificate)


def _is_quasi(column: ColumnSection) -> bool:
    return column.role is Role.QUASI_IDENTIFYING


def _has_categories(column: ColumnSection) -> bool:
    """Whether a column is published by its commonest values: one that an intruder may know, with a domain."""
    stated = (column.domain, column.bins, column.hierarchy)
    return _is_quasi(column) and any(part is not None for part in stated)


def _attribute(name: str, column: ColumnSection, recipe: MicroaggregateRecipe, rows: Rows) -> Attribute:
    if _has_categories(column):
        return resolve(name, column, recipe.folder, rows)
    return Attribute(name, column.role, None, Kind.NUMBER if _is_quasi(column) else Kind.NOMINAL)


def _check_columns(recipe: MicroaggregateRecipe) -> None:
    numbers = [n for n, c in recipe.published.items() if _is_quasi(c) and not _has_categories(c)]
    if not numbers:
        raise RecipeError(
            "A recipe must have a quasi-identifying column of numbers, by which rows are put into classes",
            "none",
            "A column of numbers is one without domain, bins and hierarchy; without any, use method generalize.",
        )
    if recipe.release.algorithm == "optimal" and len(numbers) > 1:
        raise RecipeError(
            'algorithm = "optimal" must have exactly one quasi-identifying column of numbers',
            f"{len(numbers)}",
            'Use algorithm = "mdav" for several.',
        )
