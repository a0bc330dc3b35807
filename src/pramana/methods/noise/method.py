"""`noise`: random numbers added to columns of numbers, each by itself or so that means and covariances stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import msgspec
import pyarrow as pa

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, PramanaError
from pramana.mechanisms.table import Product
from pramana.methods.columns import unchanged
from pramana.methods.microaggregate.classes import ShownNumbers
from pramana.methods.noise.columns import NoisedRows, NoisedTable, add_noise, context_of, noised_of, worth_of_noise
from pramana.methods.noise.setting import NoisedColumn, NoiseDesign, NoiseRecipe, NoiseSetting, design_of
from pramana.methods.protocol import (
    Doubt,
    Examination,
    Explanation,
    Method,
    Plan,
    Publication,
    StatedTables,
    fields_of_certificate,
    fields_of_recipe,
    stated_tables,
)
from pramana.methods.swap.columns import take_content
from pramana.methods.usefulness import Usefulness
from pramana.notions.descriptions import AddedNoise
from pramana.notions.guarantee import IN_EARNEST, THIS_TABLE, Guarantee
from pramana.pages.content import Grid, Section, Text
from pramana.rows.digest import ContentDigest
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind
from pramana.schema.typed import read_section

# A plan of noise: what is added to which column, and what may be said of it.


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
class NoisePlan(Plan):
    """The design, and how many rows there are."""

    design: NoiseDesign
    rows: int
    noised: NoisedRows | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.rows

    def raw_names(self) -> list[str]:
        return [a.name for a in self.attributes if a.name not in self.design.columns]

    def doubt(self, name: str) -> Doubt:
        """Every number is off, and no bound is sure: normal numbers have none."""
        return Doubt(lost=1.0) if name in self.design.columns else Doubt()

    def statement(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(NoiseStatement(setting=self.design))
        return {"setting": plain["setting"], **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        assumptions = ["nothing is taken to be unknown to anyone: the number says how much was added, and no more"]
        if seeded:
            assumptions.append(f"{IN_EARNEST}: the noise comes from a seed, and anyone can take it off")
        return tuple(
            AddedNoise(
                THIS_TABLE,
                "the law by which the noise is drawn",
                attribute=attribute,
                kind=kind,
                amount=amount,
                uncovered=tuple(self.raw_names()),
                assumptions=tuple(assumptions),
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

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    def publish(self, rows: Rows) -> Publication:
        context = context_of(self.dataset, self.design, rows)
        noised = self.noised or add_noise(rows, self.design, context)
        table = NoisedTable(self.attributes, self.design.columns, noised.integers)
        names = [*map(noised_of, self.design.columns), *self.raw_names()]
        draw = partial(rows.publish, Product({}), context, self.shuffled, names, stage="adding noise")
        return Publication(
            self,
            draw,
            table,
            rows.commitment(),
            usefulness=self.usefulness(),
            notes=noised.loss.sentences(),
        )

    def usefulness(self) -> Usefulness:
        return worth_of_noise(self.design, self.records, self.tables)

    @property
    def derivation(self) -> str:
        return "as stated: only the source and the key tell what was added"

    def examine(self, bundle: Bundle) -> Examination:
        """The content is the certified one, and numbers are numbers; what was added needs the source."""
        digest, records = ContentDigest(), 0
        shown = [ShownNumbers(name) for name in self.design.columns]
        try:
            bundle.check_columns({a.name: None for a in self.attributes})
            for piece in bundle.batches():
                table = pa.table(piece)
                take_content(digest, table)
                for column in shown:
                    for cell in set(table.column(column.name).to_pylist()) - {None, ""}:
                        column.check(cell)
                records += piece.num_rows
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        same = bundle.has_content(digest.hexdigest(sorted(digest.parts)))
        told = "stated, not checked: it needs the source (--source and --key)"
        return Examination(
            (
                Check("content", same, "as certified" if same else "other content"),
                Check("records", records == self.records, f"{records} found"),
                Check("noise", True, told, derived=False),
            ),
            usefulness=self.usefulness(),
        )

    def explain(self) -> Explanation:
        noised = {name: self._treatment(name) for name in self.design.columns}
        treatments = {a.name: {"treatment": noised.get(a.name, "released unchanged")} for a in self.attributes}
        use = _TOGETHER if self.design.kind == "correlated" else _ALONE
        rows = [{"column": n, "noise": words, "decimals": self._decimals(n)} for n, words in noised.items()]
        section = Section("What was added", [Grid(rows), Text(use)], anchor="noise")
        return Explanation(treatments, sections=[section], use=use)

    def _treatment(self, name: str) -> str:
        if name in self.design.spread:
            return f"normal noise with a standard deviation of {self.design.spread[name]:.15g}"
        shared = "correlated" if self.design.kind == "correlated" else "normal"
        return f"{shared} noise of {self.design.amount:.15g} standard deviations"

    def _decimals(self, name: str) -> str:
        places = self.design.decimals.get(name)
        return "as in the source" if places is None else str(places)


def _warnings(plan: NoisePlan, seeded: bool) -> Iterator[str]:
    if seeded:
        yield "The key was made from a seed that anyone can guess: the noise can be taken off."
    yield (
        "No privacy notion bounds what this release tells: a number far from all others stays far from them, and "
        "other columns may tell whose record it is. Where a number is needed, use another method."
    )
    if plan.design.relative:
        yield (
            "Noise is measured in the standard deviation of the source's column, which is computed from the rows: "
            f"{', '.join(plan.design.relative)}. A spread in units tells nothing of them."
        )
    if not plan.shuffled:
        yield "Published in source order, which may tell which record is whose."


def restore_noise(certificate: Certificate) -> NoisePlan:
    stated = read_section(NoiseStatement, certificate.mechanism, "The mechanism of a certificate", BundleError)
    names = {a.name for a in certificate.attributes}
    if (
        any(not a.raw for a in certificate.attributes)
        or not set(stated.setting.columns) <= names
        or stated.setting.problem()
    ):
        raise BundleError("What a certificate says of noise must be of its columns", "otherwise")
    return NoisePlan(
        **fields_of_certificate(certificate, stated.tables),
        design=stated.setting,
        rows=certificate.records,
    )


# Method `noise`: from a recipe to numbers with noise.


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
        return NoisePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            rows=rows.records,
            noised=add_noise(rows, design, context_of(recipe.source.dataset, design, rows)),
        )

    def restore(self, certificate: Certificate) -> NoisePlan:
        return restore_noise(certificate)


def _attribute(name: str, column: NoisedColumn) -> Attribute:
    plain = unchanged(name, column)  # which refuses what goes with a domain
    return Attribute(name, column.role, None, Kind.NUMBER) if column.is_noised else plain


METHODS = {NoiseMethod.name: NoiseMethod()}
