"""`swap`: values exchanged between records, every column by itself as in the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError
from pramana.methods.columns import coded, unchanged
from pramana.methods.perturbed import PerturbedPlan, PerturbedTable, misfit
from pramana.methods.protocol import (
    ColumnUncertainty,
    Explanation,
    Method,
    Publication,
    StatedTables,
    coins_context,
    fields_of_certificate,
    fields_of_recipe,
    stated_tables,
    statement_of,
)
from pramana.methods.swap.columns import (
    SwapDesign,
    SwapMeasures,
    SwappedColumn,
    SwappedRows,
    SwapRecipe,
    SwapSetting,
    design_of,
    swap_rows,
)
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.notions.method_notions import Swapping
from pramana.pages.content import Cell
from pramana.rows.protocol import ColumnReading, Rows

_WORTH = (
    "Every exchanged column has each value as often as the source: counts, means and quantiles of it alone are "
    "exact. What goes with what is blurred for the records that took part, and whose they are is not told."
)


class SwapStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of exchanged values."""

    setting: SwapDesign
    measured: SwapMeasures
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapPlan(PerturbedPlan):
    """The design, and what it came to."""

    whole_table: ClassVar[bool] = True
    number: ClassVar[str] = "exchanged"
    secret: ClassVar[tuple[str, str]] = (
        "who exchanged with whom is no secret",
        "who exchanged with whom comes from a seed and is no secret",
    )
    warning: ClassVar[str] = (
        "a value that few people have is published as it is, and most records may be as in the source"
    )
    unchecked: ClassVar[tuple[str, str]] = ("exchanges", "they need")
    design: SwapDesign
    measured: SwapMeasures
    swapped: SwappedRows | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.measured.records

    def doubt(self, name: str) -> ColumnUncertainty:
        return ColumnUncertainty(moved=self.measured.moved.get(name, 0.0))

    def statement(self) -> JsonObject:
        setting, measured = msgspec.to_builtins(self.design), msgspec.to_builtins(self.measured)
        return {"setting": setting, "measured": measured, **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return (
            Swapping(
                THIS_TABLE,
                "counted as the values were exchanged",
                attribute=" and ".join(self.design.columns),
                kind=self.design.kind,
                rate=self.measured.rate,
                uncovered=tuple(self.raw_names()),
                assumptions=self.assumptions(seeded),
            ),
        )

    def publish(self, rows: Rows) -> Publication:
        context = coins_context(self.dataset, "swap", self.design, rows.commitment())
        swapped = self.swapped or swap_rows(rows, self.design, context)
        for name, codes in swapped.codes.items():
            rows.whole().attach(coded(name), codes)
        changed = {name: column.published for name, column in swapped.columns.items()}
        table = PerturbedTable([a.name for a in self.attributes], changed)
        draw = self.draw_in_order(rows, context, [coded(name) for name in swapped.codes], "exchanging")
        same = swapped.measured == self.measured
        check = Check("exchanged again", same, "as certified" if same else "other numbers than certified")
        return Publication(self, draw, table, rows.commitment(), checks=(check,))

    @property
    def derivation(self) -> str:
        return "as stated: only the source and the key tell who exchanged"

    def treatment(self, name: str) -> str:
        del name
        if self.design.kind == "rank":
            return f"exchanged with a record at most {100 * (self.design.range or 0):g}% of the ranks away"
        return "exchanged between two records"

    def explain(self) -> Explanation:
        rows: list[dict[str, Cell]] = [
            {"column": name, "records with another value": f"at most {100 * share:.0f}%"}
            for name, share in sorted(self.measured.moved.items())
        ]
        return self.explained("What was exchanged", "exchanged", rows, _WORTH)


class SwapMethod(Method[SwapSetting, SwappedColumn]):
    """`swap`."""

    name: ClassVar[str] = "swap"
    whole_table: ClassVar[bool] = True
    setting = SwapSetting
    column = SwappedColumn
    statement = SwapStatement

    def readings(self, recipe: SwapRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        return tuple(ColumnReading(name) for name in recipe.published)

    def plan(self, recipe: SwapRecipe, rows: Rows) -> SwapPlan:
        design = design_of(recipe)
        attributes = tuple(unchanged(name, column) for name, column in recipe.published.items())
        rows.encode(attributes)
        swapped = swap_rows(
            rows, design, coins_context(recipe.source.dataset, self.name, design, rows.commitment())
        )
        return SwapPlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            measured=swapped.measured,
            swapped=swapped,
        )

    def restore(self, certificate: Certificate) -> SwapPlan:
        stated = statement_of(certificate, SwapStatement)
        design, measured = stated.setting, stated.measured
        problem = misfit(certificate, [*design.columns, *design.similar])
        if set(measured.moved) != set(design.columns):
            problem = problem or "measures of other columns than those exchanged"
        if measured.records != certificate.records:
            problem = (
                problem or f"{measured.records} records in its measures and {certificate.records} in its data"
            )
        if (design.range is not None) != (design.kind == "rank"):
            problem = problem or f"kind = {design.kind!r} with range = {design.range}"
        if problem:
            raise BundleError("What a certificate says of exchanged values must be of its columns", problem)
        return SwapPlan(**fields_of_certificate(certificate, stated.tables), design=design, measured=measured)


METHODS = {SwapMethod.name: SwapMethod()}
