"""Method `microaggregate`: from a recipe to classes of near rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pramana.bundle import Certificate
from pramana.methods.columns import reading_of, resolve
from pramana.methods.microaggregate.classes import aggregate
from pramana.methods.microaggregate.plan import (
    MicroaggregatePlan,
    MicroaggregateStatement,
    context_of,
    restore_microaggregation,
)
from pramana.methods.microaggregate.setting import (
    AggregatedColumn,
    MicroaggregateRecipe,
    MicroaggregateSetting,
    design_of,
)
from pramana.methods.protocol import USUAL_KS, Capabilities, Method, Plan, fields_of_recipe
from pramana.methods.trials import first_useful, without_a_column
from pramana.rows import ColumnReading, Rows
from pramana.schema import Attribute, Kind

_FEWER = (100, 50, 20, 10, 5, 3, 2)


class MicroaggregateMethod(Method[MicroaggregateSetting, AggregatedColumn]):
    """`microaggregate`."""

    name: ClassVar[str] = "microaggregate"
    counts_people: ClassVar[bool] = True
    setting = MicroaggregateSetting
    column = AggregatedColumn
    statement = MicroaggregateStatement

    def capabilities(self, setting: MicroaggregateSetting) -> Capabilities:
        del setting
        return Capabilities()

    def readings(self, recipe: MicroaggregateRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        columns = recipe.published.items()
        return tuple(reading_of(name, column, recipe.folder, column.has_categories) for name, column in columns)

    def plan(self, recipe: MicroaggregateRecipe, rows: Rows) -> MicroaggregatePlan:
        design = design_of(recipe)
        attributes = tuple(_attribute(name, column, recipe, rows) for name, column in recipe.published.items())
        rows.settle(attributes)
        aggregated = aggregate(rows, design, attributes, context_of(recipe.source.dataset, design, rows))
        return MicroaggregatePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            measured=aggregated.measured,
            aggregated=aggregated,
            tables=recipe.tables,
        )

    def variants(self, setting: MicroaggregateSetting) -> Mapping[str, Sequence[float]]:
        return {"k": sorted({*USUAL_KS, float(setting.k)})}

    def advise(self, recipe: MicroaggregateRecipe, plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        """A smaller k on the same rows, or a column less to be near in."""
        del plan
        if rows is None:
            return ()
        fewer = [(f"With k = {k}", {"k": k}) for k in _FEWER if k < recipe.release.k]
        return (*first_useful(self, recipe, rows, fewer), *without_a_column(self, recipe, rows))

    def restore(self, certificate: Certificate) -> MicroaggregatePlan:
        return restore_microaggregation(certificate)


def _attribute(name: str, column: AggregatedColumn, recipe: MicroaggregateRecipe, rows: Rows) -> Attribute:
    if column.has_categories:
        return resolve(name, column, recipe.folder, rows)
    return Attribute(name, column.role, None, Kind.NUMBER if column.has_numbers else Kind.NOMINAL)
