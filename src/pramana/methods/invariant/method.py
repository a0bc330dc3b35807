"""`invariant`: frequencies kept in expectation, and no match more likely than xi (paper 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pramana.bundle.certificate import Certificate
from pramana.errors import CheckError
from pramana.methods.columns import randomised_attributes, randomised_readings
from pramana.methods.invariant.design import InvariantColumn, InvariantSetting, design_of
from pramana.methods.invariant.plan import InvariantPlan, InvariantStatement, restore_invariant
from pramana.methods.invariant.table_law import law_for
from pramana.methods.protocol import Change, Method, Plan, fields_of_recipe, first_useful
from pramana.methods.recipe import Recipe
from pramana.rows.protocol import ColumnReading, Rows
from pramana.theory import rounding

# Method `invariant`: frequencies kept in expectation, and no match more likely than xi (paper 2).


_XIS = (0.05, 0.1, 0.2, 0.5)
_LARGER = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95)


class InvariantMethod(Method[InvariantSetting, InvariantColumn]):
    """`invariant`: xi for this table, by blocks; or sdcMicro's two stages, or Sinkhorn, with the same numbers."""

    name: ClassVar[str] = "invariant"
    setting = InvariantSetting
    column = InvariantColumn
    statement = InvariantStatement

    def readings(self, recipe: Recipe[InvariantSetting, InvariantColumn]) -> tuple[ColumnReading, ...]:
        return randomised_readings(recipe)

    def plan(self, recipe: Recipe[InvariantSetting, InvariantColumn], rows: Rows) -> InvariantPlan:
        attributes = randomised_attributes(recipe, rows)
        design = design_of(recipe, attributes)
        rows.encode(attributes)
        published = recipe.release.matrix == "published"
        law = law_for(design, attributes, rows, published, recipe.release.k)
        retention = None if law.retention is None else str(law.retention)
        plan = InvariantPlan(
            **fields_of_recipe(recipe, attributes),
            design=msgspec.structs.replace(design, retention=retention),
            total=rows.records,
            summaries=law.summaries,
            k=law.k(rows.records, published),
            published_law=law.mechanism.to_json() if published else None,
            frequencies=law.frequencies if published else None,
            table_law=law,
        )
        if not plan.reached and design.unreached == "refuse":
            raise CheckError(
                f"xi = {float(design.exact_xi or 1):g} must be reached on this table",
                f"{rounding.shown_up(plan.xi)} at best",
                'Allow more transitions, merge rare values, or write unreached = "publish" to go on with that.',
            )
        return plan

    def variants(self, setting: InvariantSetting) -> Mapping[str, Sequence[float]]:
        return {} if setting.xi is None else {"xi": sorted({*_XIS, setting.xi})}

    def advise(
        self, recipe: Recipe[InvariantSetting, InvariantColumn], plan: Plan, rows: Rows | None
    ) -> tuple[str, ...]:
        """Matrices that move less, on the same rows: by the key that decides how much."""
        del plan
        if rows is None:
            return ()
        setting = recipe.release
        key = {"blocks": "xi", "two-stage": "diagonal"}.get(setting.kind, "retention")
        own = {"xi": setting.xi, "diagonal": setting.diagonal, "retention": setting.retention}[key]
        changes: list[Change] = [
            (f"With {key} = {value:g}", {key: value, **({"k": None} if key == "retention" else {})})
            for value in _LARGER
            if own is None or value > own
        ]
        return tuple(first_useful(self, recipe, rows, changes))

    def restore(self, certificate: Certificate) -> InvariantPlan:
        return restore_invariant(certificate)


METHODS = {InvariantMethod.name: InvariantMethod()}
