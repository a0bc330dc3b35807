"""`swap`: values exchanged between records, every column by itself as in the source."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

import msgspec
import pyarrow as pa
from msgspec import Meta

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, PramanaError
from pramana.mechanisms.table import Product
from pramana.methods.columns import unchanged
from pramana.methods.protocol import (
    Capabilities,
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
from pramana.methods.swap.columns import SwappedRows, SwappedTable, coded, context_of, swap_rows, take_content
from pramana.methods.swap.setting import SwapDesign, SwappedColumn, SwapRecipe, SwapSetting, design_of
from pramana.notions.descriptions import Swapping
from pramana.notions.guarantee import IN_EARNEST, THIS_TABLE, Guarantee
from pramana.pages.content import Grid, Section, Text
from pramana.rows.digest import ContentDigest
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.typed import Count, Share, read_section

# A plan of swapping: what is exchanged, for how many records, and what may be said of it.


_BILLION = 1e9
_WORTH = (
    "Every exchanged column has each value as often as the source: counts, means and quantiles of it alone are "
    "exact. What goes with what is blurred for the records that took part, and whose they are is not told."
)


class SwapMeasures(Form, frozen=True, kw_only=True):
    """How many records take part, at least, and by column how many show another value (up to hundredths)."""

    records: Count
    rate: Share
    moved: dict[str, Annotated[float, Meta(ge=0, le=1)]]


class SwapStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of exchanged values."""

    setting: SwapDesign
    measured: SwapMeasures
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapPlan(Plan):
    """The design, and what it came to."""

    design: SwapDesign
    measured: SwapMeasures
    swapped: SwappedRows | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.measured.records

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def raw_names(self) -> list[str]:
        return [a.name for a in self.attributes if a.name not in self.design.columns]

    def doubt(self, name: str) -> Doubt:
        return Doubt(moved=self.measured.moved.get(name, 0.0))

    def statement(self) -> JsonObject:
        plain: JsonObject = msgspec.to_builtins(SwapStatement(setting=self.design, measured=self.measured))
        return {"setting": plain["setting"], "measured": plain["measured"], **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        assumptions = [
            "nothing is taken to be unknown to anyone: the number says how much was exchanged, and no more"
        ]
        if seeded:
            assumptions.append(f"{IN_EARNEST}: who exchanged with whom comes from a seed and is no secret")
        return (
            Swapping(
                THIS_TABLE,
                "counted as the values were exchanged",
                attribute=" and ".join(self.design.columns),
                kind=self.design.kind,
                rate=self.measured.rate,
                uncovered=tuple(self.raw_names()),
                assumptions=tuple(assumptions),
            ),
        )

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    def publish(self, rows: Rows) -> Publication:
        context = context_of(self.dataset, self.design, rows)
        swapped = self.swapped or swap_rows(rows, self.design, context)
        for name, codes in swapped.codes.items():
            rows.whole().attach(coded(name), (), codes)
        table = SwappedTable(self.attributes, swapped.columns)
        names = [*(coded(name) for name in swapped.codes), *self.raw_names()]
        draw = partial(rows.publish, Product({}), context, self.shuffled, names, stage="exchanging")
        same = measures_of(swapped, rows.records) == self.measured
        check = Check("exchanged again", same, "as certified" if same else "other numbers than certified")
        return Publication(self, draw, table, rows.commitment(), checks=(check,))

    @property
    def derivation(self) -> str:
        return "as stated: only the source and the key tell who exchanged"

    def examine(self, bundle: Bundle) -> Examination:
        """The content is the certified one; what was exchanged needs the source."""
        digest, records = ContentDigest(), 0
        try:
            bundle.check_columns({a.name: None for a in self.attributes})
            for piece in bundle.batches():
                take_content(digest, pa.table(piece))
                records += piece.num_rows
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        same = bundle.has_content(digest.hexdigest(sorted(digest.parts)))
        told = "stated, not checked: they need the source (--source and --key)"
        return Examination(
            (
                Check("content", same, "as certified" if same else "other content"),
                Check("records", records == self.records, f"{records} found"),
                Check("exchanges", True, told, derived=False),
            )
        )

    def explain(self) -> Explanation:
        how = (
            f"exchanged with a record at most {100 * (self.design.range or 0):g}% of the ranks away"
            if self.design.kind == "rank"
            else "exchanged between two records"
        )
        treatments = {
            a.name: {"treatment": how if a.name in self.design.columns else "released unchanged"}
            for a in self.attributes
        }
        rows = [
            {"column": name, "records with another value": f"at most {100 * share:.0f}%"}
            for name, share in sorted(self.measured.moved.items())
        ]
        section = Section("What was exchanged", [Grid(rows), Text(_WORTH)], anchor="exchanged")
        return Explanation(treatments, sections=[section], use=_WORTH)


def measures_of(swapped: SwappedRows, records: int) -> SwapMeasures:
    rate = math.floor(swapped.rate * _BILLION) / _BILLION
    return SwapMeasures(records=records, rate=rate, moved=dict(swapped.moved))


def _warnings(plan: SwapPlan, seeded: bool) -> Iterator[str]:
    if seeded:
        yield "The key was made from a seed that anyone can guess: who exchanged with whom is no secret."
    yield (
        "No privacy notion bounds what this release tells: a value that few people have is published as it is, "
        "and most records may be as in the source. Where a number is needed, use another method."
    )
    if not plan.shuffled:
        yield "Published in source order, which may tell which record is whose."


def restore_swap(certificate: Certificate) -> SwapPlan:
    stated = read_section(SwapStatement, certificate.mechanism, "The mechanism of a certificate", BundleError)
    names = [a.name for a in certificate.attributes]
    if (
        any(not a.raw for a in certificate.attributes)
        or set(stated.measured.moved) != set(stated.setting.columns)
        or not {*stated.setting.columns, *stated.setting.similar} <= set(names)
        or stated.measured.records != certificate.records
        or (stated.setting.range is not None) != (stated.setting.kind == "rank")
    ):
        raise BundleError("What a certificate says of exchanged values must be of its columns", "otherwise")
    return SwapPlan(
        **fields_of_certificate(certificate, stated.tables),
        design=stated.setting,
        measured=stated.measured,
    )


# Method `swap`: from a recipe to exchanged values.


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
        rows.encode(attributes)
        swapped = swap_rows(rows, design, context_of(recipe.source.dataset, design, rows))
        return SwapPlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            measured=measures_of(swapped, rows.records),
            swapped=swapped,
        )

    def restore(self, certificate: Certificate) -> SwapPlan:
        return restore_swap(certificate)


METHODS = {SwapMethod.name: SwapMethod()}
