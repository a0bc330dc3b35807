"""`microaggregate`: k-anonymity of this table by publishing means, medians and modes of small classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import msgspec

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError
from pramana.methods.cell_table import CLASS_NUMBER, CellTable
from pramana.methods.columns import read_from_data, reading_of, resolve
from pramana.methods.microaggregate.classes import (
    Aggregated,
    AggregatedColumn,
    AggregateMeasures,
    MicroaggregateDesign,
    MicroaggregateRecipe,
    MicroaggregateSetting,
    aggregate,
    design_of,
    examine_aggregates,
)
from pramana.methods.protocol import (
    USUAL_KS,
    ColumnUncertainty,
    Examination,
    Explanation,
    Method,
    Plan,
    Publication,
    StatedTables,
    coins_context,
    fields_of_certificate,
    fields_of_recipe,
    first_useful,
    left_out_words,
    same_people,
    stated_tables,
    statement_of,
    without_a_column,
)
from pramana.methods.sensitive import inference_words
from pramana.methods.usefulness import TableWorth, Usefulness, blind_error, tables_asked
from pramana.notions.classes import KAnonymity
from pramana.notions.guarantee import THIS_TABLE, Guarantee
from pramana.pages.content import Grid, Section, Text
from pramana.randomness.samplers import code_dtype
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.kind import Kind

# What microaggregated columns are worth, by the losses their certificate states.


def worth_of_aggregates(
    quasi: Sequence[Attribute], measured: AggregateMeasures, named: Sequence[Sequence[str]]
) -> Usefulness:
    """A number by its distance from the published one, in standard deviations of its column; a category by the
    share of records that show another one; several columns by the worst of them.

    A guess that ignores who is who, the mean for everyone, is off by one standard deviation.
    """
    alone = {a.name: _of_column(a, measured) for a in quasi}
    tables, is_named = tables_asked(named, list(alone))
    worth = []
    for names in tables:
        worst = max((alone[name] for name in names), key=lambda one: one.ratio)
        worth.append(TableWorth(names, worst.cells, worst.error, worst.guess, worst.of))
    return Usefulness(tuple(worth), is_named)


def _of_column(attribute: Attribute, measured: AggregateMeasures) -> TableWorth:
    names = (attribute.name,)
    if attribute.raw:
        return TableWorth(names, None, math.sqrt(measured.lost[attribute.name]), 1.0, "value")
    cells = attribute.coded.size
    changed = measured.changed[
        attribute.name
    ]  # no share is off by more than that; half of it is one of two errors
    one_for_all = measured.classes == 1 and changed > 0
    return TableWorth(names, cells, blind_error(cells) if one_for_all else changed / 2, blind_error(cells))


# A plan of microaggregation. Coins decide among equal rows and the order of publication, and nothing else.


_LOSS = (
    "For a column of numbers: the squared distances of the records' values from the published ones, divided by "
    "those from the column's mean (SSE/SST); 0 is no loss, 1 is as if every record showed one mean. For a column "
    "of categories: the share of records that show another one than their own. Both rounded up to per cents."
)


class MicroaggregateStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of a microaggregation."""

    setting: MicroaggregateDesign
    measured: AggregateMeasures
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class MicroaggregatePlan(Plan):
    """The design, and what it came to on the table.

    A quasi-identifying column without a domain is one of numbers; one with a domain is one of categories.
    """

    whole_table: ClassVar[bool] = True
    design: MicroaggregateDesign
    measured: AggregateMeasures
    aggregated: Aggregated | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.measured.records

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.role is Role.QUASI_IDENTIFYING)

    def raw_names(self) -> list[str]:
        return [a.name for a in self.attributes if a.role is not Role.QUASI_IDENTIFYING]

    def doubt(self, name: str) -> ColumnUncertainty:
        if name in self.measured.lost:
            return ColumnUncertainty(lost=self.measured.lost[name])
        return ColumnUncertainty(moved=self.measured.changed.get(name, 0.0))

    def statement(self) -> JsonObject:
        setting, measured = msgspec.to_builtins(self.design), msgspec.to_builtins(self.measured)
        return {"setting": setting, "measured": measured, **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        assumptions = [
            f"the quasi-identifying columns are all an intruder can know of a person: "
            f"{', '.join(a.name for a in self.quasi)}",
            "this is the only release about these people; another one of the same people may tell classes apart",
        ]
        if raw := self.raw_names():
            assumptions.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
        if seeded:
            assumptions.append("the order of the records comes from a seed and is no secret")
        if self.unit is None or self.unit.largest is None or self.measured.unit is msgspec.UNSET:
            return (self._anonymity(self.measured.k, "record", assumptions),)
        stated = [(self.measured.unit, self.measured.k)]
        if self.measured.persons is not msgspec.UNSET:
            stated.insert(0, ("person", self.measured.persons))
        return tuple(self._anonymity(k, storey, assumptions, self.unit.most(storey)) for storey, k in stated)

    def _anonymity(
        self, k: int, unit: str, assumptions: list[str], most: Mapping[str, int] | None = None
    ) -> KAnonymity:
        statement = "paper 4, Definition 1"
        if unit != "record":
            statement += f", every {unit} counted once in a class"
            tied = f"which published rows are one {unit}'s does not follow from the columns that are published"
            assumptions = [*assumptions, tied]
        return KAnonymity(
            THIS_TABLE,
            statement,
            k=k,
            uncovered=tuple(self.raw_names()),
            assumptions=tuple(assumptions),
            unit=unit,
            most=most,
        )

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    def publish(self, rows: Rows) -> Publication:
        context = coins_context(self.dataset, "microaggregate", self.design, rows.commitment())
        aggregated = self.aggregated or aggregate(rows, self.design, self.attributes, context)
        groups = aggregated.groups
        numbers = groups.class_of.astype(code_dtype(groups.classes + 1))
        rows.whole().attach(CLASS_NUMBER, numbers)
        table = CellTable(self.attributes, aggregated.cells, groups.classes, by_class=False, output=self.output)
        draw = self.draw_in_order(rows, context, [CLASS_NUMBER], "aggregating")
        same = aggregated.measured == self.measured
        measured = Check("measured again", same, "as certified" if same else "other numbers than certified")
        checks = (measured, *same_people(self.unit, rows))
        return Publication(self, draw, table, rows.commitment(), checks=checks, usefulness=self.usefulness())

    def usefulness(self) -> Usefulness:
        return worth_of_aggregates(self.quasi, self.measured, self.tables)

    @property
    def derivation(self) -> str:
        return "as the stated measures have it, which are counted again below"

    def examine(self, bundle: Bundle) -> Examination:
        examination = examine_aggregates(bundle, self.attributes, self.quasi, self.measured)
        return replace(examination, usefulness=self.usefulness())

    def explain(self) -> Explanation:
        treatments = {a.name: {"treatment": self._treatment(a)} for a in self.attributes}
        measured = self.measured
        who = {"person": "people", "household": "households"}.get(str(measured.unit), "records")
        words = (
            f"{measured.classes:,} classes that look different, the smallest of {measured.k:,} {who}; algorithm "
            f"{self.design.algorithm}; no record was left out."
        )
        rows = [
            *({"column": a.name, "lost": _percent(measured.lost[a.name])} for a in self.quasi if a.raw),
            {"column": "all columns of numbers, standardised", "lost": _percent(measured.total)},
            *({"column": a.name, "lost": _percent(measured.changed[a.name])} for a in self.quasi if not a.raw),
        ]
        section = Section("Information loss", [Text(words), Grid(rows), Text(_LOSS, quiet=True)])
        return Explanation(treatments, sections=[section], use=_use(self.design))

    def _treatment(self, attribute: Attribute) -> str:
        if attribute.role is not Role.QUASI_IDENTIFYING:
            return "released unchanged"
        if not attribute.raw:
            return "commonest value of the class"
        return f"{self.design.aggregate} of the class, {self.design.rounding(attribute.name)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def _use(design: MicroaggregateDesign) -> str:
    near = "those of the source, up to rounding" if design.aggregate == "mean" else "near those of the source"
    return (
        f"Numbers that were aggregated are {design.aggregate}s of classes. Their sums and means are {near}; their "
        "variance is smaller, by about the share that was lost."
    )


def _warnings(plan: MicroaggregatePlan, seeded: bool) -> Iterator[str]:
    measured, design = plan.measured, plan.design
    if seeded:
        yield "The key was made from a seed that anyone can guess: the order of the records is no secret."
    yield from left_out_words(plan.unit)
    if not plan.shuffled:
        yield "Published in source order, which may tell which record is whose."
    if plain := [a.name for a in plan.quasi if a.raw and a.name not in design.decimals]:
        words = (
            "whoever knows the values of all others in a class learns the last one"
            if design.aggregate == "mean"
            else "they are true values of people in the classes"
        )
        yield f"{design.aggregate.capitalize()}s are not rounded, and {words}: {', '.join(plain)}. See decimals."
    if measured.inferred:
        yield "k-anonymity alone does not keep sensitive values apart: a class may have one value only."
    yield from inference_words(measured.inferred, measured.single_valued)
    yield from read_from_data(plan.attributes)


# Method `microaggregate`: from a recipe to classes of near rows.


_FEWER = (100, 50, 20, 10, 5, 3, 2)


class MicroaggregateMethod(Method[MicroaggregateSetting, AggregatedColumn]):
    """`microaggregate`."""

    name: ClassVar[str] = "microaggregate"
    counts_people: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    setting = MicroaggregateSetting
    column = AggregatedColumn
    statement = MicroaggregateStatement

    def readings(self, recipe: MicroaggregateRecipe) -> tuple[ColumnReading, ...]:
        design_of(recipe)
        columns = recipe.published.items()
        return tuple(reading_of(name, column, recipe.folder, column.has_categories) for name, column in columns)

    def plan(self, recipe: MicroaggregateRecipe, rows: Rows) -> MicroaggregatePlan:
        design = design_of(recipe)
        attributes = tuple(_attribute(name, column, recipe, rows) for name, column in recipe.published.items())
        rows.encode(attributes)
        context = coins_context(recipe.source.dataset, self.name, design, rows.commitment())
        aggregated = aggregate(rows, design, attributes, context)
        return MicroaggregatePlan(
            **fields_of_recipe(recipe, attributes, rows),
            design=design,
            measured=aggregated.measured,
            aggregated=aggregated,
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
        stated = statement_of(certificate, MicroaggregateStatement)
        if problem := _misfit(certificate, stated.setting, stated.measured):
            raise BundleError("What a certificate says of a microaggregation must be of its columns", problem)
        return MicroaggregatePlan(
            **fields_of_certificate(certificate, stated.tables), design=stated.setting, measured=stated.measured
        )


def _misfit(certificate: Certificate, design: MicroaggregateDesign, measured: AggregateMeasures) -> str:
    """What a certificate states that its table cannot have; empty where there is nothing of the kind."""
    quasi = [a for a in certificate.attributes if a.role is Role.QUASI_IDENTIFYING]
    numbers = {a.name for a in quasi if a.raw}
    sensitive = {a.name for a in certificate.attributes if a.role is Role.SENSITIVE}
    for words, columns, known in (
        ("losses", measured.lost, numbers),
        ("changes", measured.changed, {a.name for a in quasi if not a.raw}),
        ("inferences", measured.inferred, sensitive),
        ("single values", measured.single_valued, sensitive),
        ("decimals", design.decimals, numbers & {*design.decimals}),
    ):
        if set(columns) != known:
            return f"{words} of {', '.join(columns) or 'no column'}"
    counted = None if measured.unit is msgspec.UNSET else measured.unit
    if counted != (None if certificate.unit is None else certificate.unit.largest):
        return f"the unit {counted or 'record'}, which it does not name"
    if not numbers or (design.algorithm == "optimal" and len(numbers) > 1):
        return f"algorithm = {design.algorithm!r} with {len(numbers)} columns of numbers"
    return f"k = {design.k} with {measured.records} records" if design.k > measured.records else ""


def _attribute(name: str, column: AggregatedColumn, recipe: MicroaggregateRecipe, rows: Rows) -> Attribute:
    if column.has_categories:
        return resolve(name, column, recipe.folder, rows)
    return Attribute(name, column.role, None, Kind.NUMBER if column.has_numbers else Kind.NOMINAL)


METHODS = {MicroaggregateMethod.name: MicroaggregateMethod()}
