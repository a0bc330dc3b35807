"""Method `noise`: from a recipe to numbers with noise."""

from __future__ import annotations

from typing import ClassVar

from pramana.bundle import Certificate
from pramana.methods.columns import unchanged
from pramana.methods.noise.columns import add_noise, context_of
from pramana.methods.noise.plan import NoisePlan, NoiseStatement, restore_noise
from pramana.methods.noise.setting import NoisedColumn, NoiseRecipe, NoiseSetting, design_of
from pramana.methods.protocol import Capabilities, Method, fields_of_recipe
from pramana.rows import ColumnReading, Rows
from pramana.schema import Attribute, Kind


class NoiseMethod(Method[NoiseSetting, NoisedColumn]):
    """`noise`."""

    name: ClassVar[str] = "noise"
    setting = NoiseSetting
    column = NoisedColumn
    statement = NoiseStatement

    def capabilities(self, setting: NoiseSetting) -> Capabilities:
        del setting
        return Capabilities(streams=True, spark=True)

    def readings(self, recipe: NoiseRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        return tuple(ColumnReading(name) for name in recipe.published)

    def plan(self, recipe: NoiseRecipe, rows: Rows) -> NoisePlan:
        design = design_of(recipe)
        attributes = tuple(_attribute(name, column) for name, column in recipe.published.items())
        rows.settle(attributes)
        return NoisePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            rows=rows.records,
            noised=add_noise(rows, design, context_of(recipe.source.dataset, design, rows)),
            tables=recipe.tables,
        )

    def restore(self, certificate: Certificate) -> NoisePlan:
        return restore_noise(certificate)


def _attribute(name: str, column: NoisedColumn) -> Attribute:
    plain = unchanged(name, column)  # which refuses what goes with a domain
    return Attribute(name, column.role, None, Kind.NUMBER) if column.is_noised else plain
