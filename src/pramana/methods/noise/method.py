"""`noise`: random numbers added to columns of numbers, each by itself or so that means and covariances stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import msgspec
import pyarrow as pa

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Form
from pramana.errors import BundleError
from pramana.methods.columns import ShownNumbers, unchanged
from pramana.methods.noise.columns import (
    NoisedColumn,
    NoiseDesign,
    NoisedRows,
    NoiseRecipe,
    NoiseSetting,
    add_noise,
    design_of,
    noised_of,
    published_numbers,
    worth_of_noise,
)
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
from pramana.methods.usefulness import Usefulness
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.notions.method_notions import AddedNoise
from pramana.pages.content import Cell
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind

_ALONE = (
    "Means of columns with noise are right in expectation. Their variances are too large by that of the noise: "
    "take it off (with noise in standard deviations: divide by 1 + amount squared). Covariances of two columns "
    "are right; slopes on a column with noise are too small by the same factor as its variance is too large."
)
_TOGETHER = (
    "Means, variances, covariances, correlations and regressions among the columns with noise are right in "
    "expectation, as they are published. Covariances with other columns, and distances of groups from the mean, "
    "are too small: multiply them by the root of 1 + amount squared. Medians, tails and shares are off in any "
    "case."
)


class NoiseStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of noise: its law, and nothing measured in the source."""

    setting: NoiseDesign
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisePlan(PerturbedPlan):
    """The design, and how many rows there are."""

    number: ClassVar[str] = "added"
    secret: ClassVar[tuple[str, str]] = (
        "the noise can be taken off",
        "the noise comes from a seed, and anyone can take it off",
    )
    warning: ClassVar[str] = (
        "a number far from all others stays far from them, and other columns may tell whose record it is"
    )
    unchecked: ClassVar[tuple[str, str]] = ("noise", "it needs")
    design: NoiseDesign
    rows: int
    noised: NoisedRows | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.rows

    def doubt(self, name: str) -> ColumnUncertainty:
        """Every number is off, and no bound is sure: normal numbers have none."""
        return ColumnUncertainty(lost=1.0) if name in self.design.columns else ColumnUncertainty()

    def statement(self) -> JsonObject:
        return {"setting": msgspec.to_builtins(self.design), **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return tuple(
            AddedNoise(
                THIS_TABLE,
                "the law by which the noise is drawn",
                attribute=attribute,
                kind=kind,
                amount=amount,
                uncovered=tuple(self.raw_names()),
                assumptions=self.assumptions(seeded),
            )
            for attribute, kind, amount in self._amounts()
        )

    def _amounts(self) -> Iterator[tuple[str, str, float]]:
        """By column, how its noise is measured and how much it is; of correlated noise all columns at once."""
        if self.design.kind == "correlated" and self.design.amount is not None:
            yield " and ".join(self.design.columns), "correlated", self.design.amount
            return
        for name in self.design.columns:
            if name in self.design.spread:
                yield name, "units", self.design.spread[name]
            elif self.design.amount is not None:
                yield name, "deviations", self.design.amount

    def further_warnings(self) -> tuple[str, ...]:
        if not self.design.relative:
            return ()
        return (
            "Noise is measured in the standard deviation of the source's column, which is computed from the rows: "
            f"{', '.join(self.design.relative)}. A spread in units tells nothing of them.",
        )

    def publish(self, rows: Rows) -> Publication:
        context = coins_context(self.dataset, "noise", self.design, rows.commitment())
        noised, names = self.noised or add_noise(rows, self.design, context), self.design.columns
        changed = {name: partial(published_numbers, name, name in noised.integers) for name in names}
        return Publication(
            self,
            self.draw_in_order(rows, context, [noised_of(name) for name in names], "adding noise"),
            PerturbedTable([a.name for a in self.attributes], changed),
            rows.commitment(),
            usefulness=self.usefulness(),
            notes=noised.loss.sentences(),
        )

    def usefulness(self) -> Usefulness:
        return worth_of_noise(self.design, self.records, self.tables)

    @property
    def derivation(self) -> str:
        return "as stated: only the source and the key tell what was added"

    def check_piece(self, table: pa.Table) -> None:
        for name in self.design.columns:
            for cell in set(table.column(name).to_pylist()) - {None, ""}:
                ShownNumbers(name).check(cell)

    def explain(self) -> Explanation:
        use = _TOGETHER if self.design.kind == "correlated" else _ALONE
        rows: list[dict[str, Cell]] = [
            {"column": name, "noise": self.treatment(name), "decimals": self._decimals(name)}
            for name in self.design.columns
        ]
        return self.explained("What was added", "noise", rows, use)

    def treatment(self, name: str) -> str:
        if name in self.design.spread:
            return f"normal noise with a standard deviation of {self.design.spread[name]:.15g}"
        shared = "correlated" if self.design.kind == "correlated" else "normal"
        return f"{shared} noise of {self.design.amount:.15g} standard deviations"

    def _decimals(self, name: str) -> str:
        places = self.design.decimals.get(name)
        return "as in the source" if places is None else str(places)


class NoiseMethod(Method[NoiseSetting, NoisedColumn]):
    """`noise`."""

    name: ClassVar[str] = "noise"
    setting = NoiseSetting
    column = NoisedColumn
    statement = NoiseStatement

    def readings(self, recipe: NoiseRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        return tuple(ColumnReading(name) for name in recipe.published)

    def plan(self, recipe: NoiseRecipe, rows: Rows) -> NoisePlan:
        design = design_of(recipe)
        attributes = tuple(_attribute(name, column) for name, column in recipe.published.items())
        rows.encode(attributes)
        context = coins_context(recipe.source.dataset, self.name, design, rows.commitment())
        return NoisePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            rows=rows.records,
            noised=add_noise(rows, design, context),
        )

    def restore(self, certificate: Certificate) -> NoisePlan:
        stated = statement_of(certificate, NoiseStatement)
        if problem := misfit(certificate, stated.setting.columns) or stated.setting.problem():
            raise BundleError("What a certificate says of noise must be of its columns", problem)
        return NoisePlan(
            **fields_of_certificate(certificate, stated.tables), design=stated.setting, rows=certificate.records
        )


def _attribute(name: str, column: NoisedColumn) -> Attribute:
    plain = unchanged(name, column)  # which refuses what goes with a domain
    return Attribute(name, column.role, None, Kind.NUMBER) if column.is_noised else plain


METHODS = {NoiseMethod.name: NoiseMethod()}
