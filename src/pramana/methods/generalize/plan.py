"""A plan of generalisation: k-anonymity of this table, with what the classes look like inside (paper 4).

The plan holds the levels of a full-domain solution; a multidimensional one is found again from its design, which
is deterministic. No coin is thrown: the key only decides the order in which records are published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, SchemaError, SourceError
from pramana.files.store_path import AnyPath
from pramana.io.columns import numbers
from pramana.methods.cell_table import CLASS_NUMBER, CellTable, check_cells, looks_by_class
from pramana.methods.cells import (
    CLASS,
    COMPANION,
    Cells,
    common_levels,
    companion,
    interval_column,
    label_column,
    labels_of,
    list_column,
)
from pramana.methods.columns import Quasi, QuasiForm, read_from_data, restored_quasi
from pramana.methods.generalize.examination import examine_classes, shown_columns
from pramana.methods.generalize.explanation import explanation_of_classes
from pramana.methods.generalize.lines import PopulationLines, read_population
from pramana.methods.generalize.measured import Measured, measure, measured_alike, sensitive_in_classes
from pramana.methods.generalize.recoding import Generalised
from pramana.methods.generalize.search import ClassTask, Searched, solve
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.protocol import (
    Capabilities,
    Examination,
    Explanation,
    Plan,
    Publication,
    StatedTables,
    coins_context,
    fields_of_certificate,
    left_out_words,
    same_people,
    stated_tables,
    statement_of,
)
from pramana.methods.sensitive import Sensitive, SensitiveForm, inference_words, units_in_classes
from pramana.methods.usefulness import Usefulness, worth_of_cells
from pramana.notions.guarantee import Guarantee
from pramana.rows.digest import Column
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.typed import Count, Ordinal


class GeneralizeStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of a generalisation."""

    setting: GeneralizeDesign
    levels: list[Ordinal] | None
    quasi: list[QuasiForm]
    sensitive: list[SensitiveForm]
    source_records: Ordinal
    measured: Measured
    tables: StatedTables = ()
    people: Count | UnsetType = UNSET  # of the source, where a subset of it is published
    population: str | UnsetType = UNSET  # the file that people were counted in


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralizePlan(Plan):
    """The design, the columns with their levels, and what they came to on the table."""

    design: GeneralizeDesign
    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    of_source: int  # records
    levels: tuple[int, ...] | None
    measured: Measured
    people: int | None = None  # rows of the source, where a subset of it is published
    population_name: str | None = None  # the file that people were counted in
    population: PopulationLines | None = field(default=None, repr=False)  # at the holder's only, like the classes
    generalised: Generalised | None = field(default=None, repr=False)

    @property
    def records(self) -> int:
        return self.measured.records

    @property
    def source_records(self) -> int:
        return self.of_source if self.people is None else self.people

    def readings(self) -> tuple[ColumnReading, ...]:
        marks = () if self.design.subset is None else (ColumnReading(self.design.subset),)
        return (*super().readings(), *marks)

    def beside(self, source: AnyPath | None) -> GeneralizePlan:
        """The plan with its population, which lies beside the source under its name."""
        if self.population_name is None:
            return self
        if source is None:
            raise SourceError(
                f"The population {self.population_name} must lie beside the source", "no source file"
            )
        return replace(self, population=read_population(source.parent / self.population_name, self.quasi))

    @property
    def by_class(self) -> bool:
        """Whether the cells stand in a companion table."""
        return self.measured.by_class

    @property
    def celled(self) -> tuple[Attribute, ...]:
        return tuple(q.attribute for q in self.quasi)

    @property
    def capabilities(self) -> Capabilities:
        return self.design.capabilities

    def context(self, commitment: str) -> str:
        """What the order of the records is bound to: dataset, setting, levels and source.

        Else two releases under one key could be joined by the places of their records.
        """
        solution = {"setting": self.design, "levels": self.levels}
        return coins_context(self.dataset, "generalize", solution, commitment)

    def statement(self) -> JsonObject:
        return {
            "setting": msgspec.to_builtins(self.design),
            "levels": None if self.levels is None else list(self.levels),
            "quasi": [q.to_json() for q in self.quasi],
            "sensitive": [s.to_json() for s in self.sensitive],
            "source_records": self.of_source,
            "measured": msgspec.to_builtins(self.measured),
            **stated_tables(self.tables),
            **({} if self.people is None else {"people": self.people}),
            **({} if self.population_name is None else {"population": self.population_name}),
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return self.measured.guarantees(self, seeded)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    @property
    def derivation(self) -> str:
        return "as the stated measures have it, which are counted again below"

    def examine(self, bundle: Bundle) -> Examination:
        return examine_classes(bundle, self)

    @property
    def companions(self) -> tuple[str, ...]:
        return (COMPANION,) if self.by_class else ()

    def publish(self, rows: Rows) -> Publication:
        generalised = self.generalised
        checks: tuple[Check, ...] = ()
        if generalised is None:
            sensitive = [s.in_rows(rows) for s in self.sensitive]
            searched = solve(ClassTask(rows, self.design, self.quasi, sensitive, self.population), self.levels)
            generalised = searched.generalised
            checks = (self._compared(rows, sensitive, searched), *same_people(self.unit, rows))
        shown = generalised.cells(self.design.cells, self.design.intermediate)
        check_cells(self.quasi, generalised.pdf, shown, intervals=self.design.cells == "interval")
        cells, extra = columns_by_class(self, generalised)
        table = CellTable(self.attributes, cells, generalised.classes, by_class=self.by_class, output=self.output)
        commitment = rows.commitment()
        draw = self.draw_in_order(rows, self.context(commitment), [CLASS_NUMBER], "generalising")
        return Publication(self, draw, table, commitment, extra, checks, self._worth(generalised, shown, cells))

    def _worth(self, generalised: Generalised, shown: Sequence[Cells], cells: Mapping[str, Column]) -> Usefulness:
        looks = looks_by_class(shown_columns(self.quasi, self.design, self.levels), shown, cells)
        left_out = self.of_source - self.records
        return worth_of_cells(looks, generalised.sizes, left_out, self.tables, self.design.exact_cells)

    def _compared(self, rows: Rows, sensitive: Sequence[Sensitive], searched: Searched) -> Check:
        """Everything that was measured, beside what the certificate states.

        A population that only the journalist's risk needs is not at hand.
        """
        generalised = searched.generalised
        in_classes = sensitive_in_classes(rows, sensitive, generalised)
        units = units_in_classes(rows, sensitive, generalised.classes)
        again = measure(
            generalised, self.design, self.quasi, sensitive, in_classes, self.by_class, searched.population, units
        )
        same = measured_alike(again, self.measured)
        return Check("measures", same, "as derived from the source" if same else "differ from those of the source")

    def explain(self) -> Explanation:
        return explanation_of_classes(self)


def columns_by_class(
    plan: GeneralizePlan, generalised: Generalised
) -> tuple[dict[str, Column], dict[str, pa.Table]]:
    """The published cells by class, and the companion where there is one."""
    kind, text = plan.design.cells, plan.output == "csv"
    cells = generalised.cells(kind, plan.design.intermediate)
    if plan.by_class:
        return {CLASS: numbers(np.arange(generalised.classes))}, {COMPANION: companion(plan.quasi, cells)}
    columns: dict[str, Column] = {}
    for a, (q, c) in enumerate(zip(plan.quasi, cells, strict=True)):
        if kind == "hierarchy":
            level = generalised.shown_level(a)
            if level is None:
                level = common_levels(q.ladder, generalised.pdf[a])
            columns[q.name] = label_column(labels_of(q.ladder, q.labels, generalised.pdf[a], level))
        elif kind == "interval":
            columns[q.name] = interval_column(c, q.leaf_labels, text)
        else:
            columns[q.name] = list_column(c, q.leaf_labels, kind == "pdf")
    return columns, {}


def _warnings(plan: GeneralizePlan, seeded: bool) -> list[str]:
    warnings: list[str] = []
    if seeded:
        warnings.append(
            "The key was made from a seed that anyone can guess: the order of the records is no secret."
        )
    if plan.of_source > plan.records:
        warnings.append(f"{plan.of_source - plan.records} of {plan.of_source} records were suppressed.")
    warnings += left_out_words(plan.unit)
    if plan.measured.cells is not None:
        warnings += plan.measured.cells.words(plan.records)
    if not plan.shuffled:
        warnings.append("Published in source order, which may tell which record is whose.")
    if not plan.design.looks_at_sensitive and plan.sensitive:
        warnings.append(
            "k-anonymity alone does not keep sensitive values apart: a class may have one value only. See l and t."
        )
    warnings += inference_words(plan.measured.inferred, plan.measured.single_valued)
    if plan.design.cells == "pdf":
        warnings.append(
            "The cells tell how often each value occurs in a class. That is no secret under k-anonymity when it "
            "is known who is in the table; where being in it is the secret, use method presence."
        )
    warnings += read_from_data(plan.attributes)
    return warnings


def restore_generalisation(certificate: Certificate) -> GeneralizePlan:
    stated = statement_of(certificate, GeneralizeStatement)
    try:
        quasi = restored_quasi(stated.quasi, certificate.attributes)
        sensitive = tuple(Sensitive.of_form(s) for s in stated.sensitive)
    except (SchemaError, ValueError, IndexError) as error:
        raise BundleError("The certificate must state its generalisation", type(error).__name__) from None
    raw = [a.name for a in certificate.attributes if a.role is Role.SENSITIVE and a.raw]
    setting, measured, levels = stated.setting, stated.measured, stated.levels
    people = None if stated.people is UNSET else stated.people
    along_tree = setting.t is not None and setting.t_distance == "hierarchical"
    several = setting.cells in ("set", "pdf")
    by_class, unit = measured.by_class, None if certificate.unit is None else certificate.unit.largest
    heights = [q.ladder.height for q in quasi]
    records = f"{certificate.records}, {measured.records} measured, {stated.source_records} of the source"
    for wrong, must, got in (
        (
            [s.name for s in sensitive] != raw,
            "The certificate must state its sensitive columns, in their order",
            f"{len(sensitive)} columns that differ",
        ),
        (
            (people is not None) != (setting.subset is not None) or (people or math.inf) < stated.source_records,
            "The certificate must state the people of whom a subset was published",
            f"people = {people}",
        ),
        (
            any((s.parents is not None) != along_tree for s in sensitive),
            "The certificate must state trees where distances follow them, and nowhere else",
            f"t_distance = {setting.t_distance!r}",
        ),
        (
            certificate.records != measured.records or stated.source_records < certificate.records,
            "The certificate must state one number of records",
            records,
        ),
        (
            measured.counted_unit != unit,
            "The certificate must measure the unit that it names",
            measured.counted_unit or "records",
        ),
        (
            (by_class and not several) or (certificate.output == "csv" and several != by_class),
            "Cells must go by class where a CSV cannot hold them",
            f"by_class = {by_class}",
        ),
        (
            (levels is not None) != (setting.algorithm == "incognito"),
            "Levels must be stated of a full-domain generalisation, and of no other",
            f"algorithm = {setting.algorithm!r}",
        ),
        (
            levels is not None
            and (len(levels) != len(quasi) or any(level >= h for level, h in zip(levels, heights, strict=False))),
            "The levels of a certificate must be levels of its columns",
            f"{levels}",
        ),
    ):
        if wrong:
            raise BundleError(must, got)
    return GeneralizePlan(
        **fields_of_certificate(certificate, stated.tables),
        design=setting,
        quasi=quasi,
        sensitive=sensitive,
        of_source=stated.source_records,
        levels=None if levels is None else tuple(levels),
        measured=measured,
        people=people,
        population_name=None if stated.population is UNSET else Path(stated.population).name,
    )
