"""Method `swap`: from a recipe to exchanged values."""

from __future__ import annotations

from typing import ClassVar

from pramana.bundle import Certificate
from pramana.methods.columns import unchanged
from pramana.methods.protocol import Capabilities, Method, fields_of_recipe
from pramana.methods.swap.columns import context_of, swap_rows
from pramana.methods.swap.plan import SwapPlan, SwapStatement, measures_of, restore_swap
from pramana.methods.swap.setting import SwappedColumn, SwapRecipe, SwapSetting, design_of
from pramana.rows import ColumnReading, Rows


class SwapMethod(Method[SwapSetting, SwappedColumn]):
    """`swap`."""

    name: ClassVar[str] = "swap"
    setting = SwapSetting
    column = SwappedColumn
    statement = SwapStatement

    def capabilities(self, setting: SwapSetting) -> Capabilities:
        del setting
        return Capabilities()

    def readings(self, recipe: SwapRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        return tuple(ColumnReading(name) for name in recipe.published)

    def plan(self, recipe: SwapRecipe, rows: Rows) -> SwapPlan:
        design = design_of(recipe)
        attributes = tuple(unchanged(name, column) for name, column in recipe.published.items())
        rows.settle(attributes)
        swapped = swap_rows(rows, design, context_of(recipe.source.dataset, design, rows))
        return SwapPlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            measured=measures_of(swapped, rows.records),
            swapped=swapped,
            tables=recipe.tables,
        )

    def restore(self, certificate: Certificate) -> SwapPlan:
        return restore_swap(certificate)
