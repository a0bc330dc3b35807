"""A plan of presence: the range, the design, the columns with their levels, and what they came to (paper 4).

Either one file, in which a column marks who of the public table is present, or two: the private table in [source],
whose rows are found in the table `public` by all quasi-identifying columns. Published are the private rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

import msgspec
import numpy as np
import pyarrow as pa

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, SourceError
from pramana.files.store_path import AnyPath
from pramana.io.columns import numbers
from pramana.io.source import Source
from pramana.methods.cell_table import CLASS_NUMBER, MARK, CellTable, check_cells, looks_by_class
from pramana.methods.cells import CLASS, COMPANION, companion, label_column, labels_of, list_column
from pramana.methods.columns import Quasi, QuasiForm, read_from_data
from pramana.methods.presence.algorithms import Chosen, PresenceDesign, PresenceDesignForm
from pramana.methods.presence.explanation import (
    Reached,
    examine_presence,
    explanation_of_presence,
    guarantee_of_presence,
    shown_columns,
    warnings_of_presence,
)
from pramana.methods.presence.reversal import Seen, reversed_of
from pramana.methods.presence.search import (
    PresentClasses,
    Presented,
    at_presence_levels,
    compared,
    digest_of_pair,
    pair_of,
    presented,
)
from pramana.methods.presence.shaping import Presence
from pramana.methods.protocol import (
    Examination,
    Explanation,
    Plan,
    Publication,
    StatedTables,
    coins_context,
    stated_tables,
)
from pramana.methods.usefulness import Usefulness, worth_of_cells
from pramana.notions.guarantee import Guarantee
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column
from pramana.rows.protocol import ColumnReading, Columns, Rows
from pramana.schema.domain import Attribute
from pramana.schema.typed import Count, Ordinal

_DIGITS = 1e9  # probabilities are rounded outwards at the ninth place


class PresenceStatement(Form, frozen=True, kw_only=True):
    """The certificate's statement of a presence release."""

    setting: PresenceDesignForm
    levels: list[Ordinal]
    levels_chosen: Chosen
    quasi: list[QuasiForm]
    people: Count
    flag: str | None
    public: str | None
    reached: Reached
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class PresencePlan(Plan):
    """What is wanted and, once it is published, what was reached."""

    wanted: Presence
    design: PresenceDesign
    quasi: tuple[Quasi, ...]
    levels: tuple[int, ...]
    present: int
    people: int
    flag: str | None  # the column that marks who is present; None with two files
    public_name: str | None
    chosen: Chosen = "public"  # how the levels came about
    compare: bool = False  # whether the certificate says what the other algorithms would have gained
    public: Rows | None = field(default=None, repr=False)  # with two files, at the holder's only, like these:
    public_path: AnyPath | None = field(default=None, repr=False)
    searched: PresentClasses | None = field(default=None, repr=False)
    measured: Reached | None = None  # known when the noise is drawn

    @property
    def records(self) -> int:
        return self.present

    @property
    def presence(self) -> PresencePlan:
        return self

    @property
    def kind(self) -> str:
        """Whether a cell is one label, or a distribution."""
        return "hierarchy" if self.design.algorithm == "spalm" and self.design.start == "hierarchy" else "pdf"

    @property
    def celled(self) -> tuple[Attribute, ...]:
        return tuple(q.attribute for q in self.quasi)

    @property
    def source_records(self) -> int:
        return self.people if self.flag else self.present

    def readings(self) -> tuple[ColumnReading, ...]:
        marks = () if self.flag is None else (ColumnReading(self.flag),)
        return (*super().readings(), *marks)

    def beside(self, source: AnyPath | None) -> PresencePlan:
        """The plan with the public table, which lies beside the source under its name."""
        if self.flag or self.public_name is None:
            return self
        if source is None:
            raise SourceError(f"The public table {self.public_name} must lie beside the source", "no file")
        path = source.parent / self.public_name
        if not path.exists():
            raise SourceError(f"The source {path} must exist", "no such file")
        return replace(self, public_path=path)

    @property
    def reached(self) -> Reached:
        if self.measured is None:
            raise BundleError("A plan must be published before it is certified", "one that was not")
        return self.measured

    def _setting(self) -> JsonObject:
        return {"delta": [str(self.wanted.lowest), str(self.wanted.highest)], **asdict(self.design)}

    def statement(self) -> JsonObject:
        return {
            "setting": self._setting(),
            "levels": list(self.levels),
            "levels_chosen": self.chosen,
            "quasi": [q.to_json() for q in self.quasi],
            "people": self.people,
            "flag": self.flag,
            "public": self.public_name,
            "reached": msgspec.to_builtins(self.reached),
            **stated_tables(self.tables),
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return (guarantee_of_presence(self, seeded),)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return (*warnings_of_presence(self, seeded), *read_from_data(self.attributes, "the public table"))

    @property
    def derivation(self) -> str:
        return "as stated, not checked without the public table"

    def examine(self, bundle: Bundle) -> Examination:
        return examine_presence(self, bundle)

    @property
    def companions(self) -> tuple[str, ...]:
        return (COMPANION,) if self.output == "csv" and self.kind == "pdf" else ()

    def _opened_public(self, rows: Rows) -> Rows | None:
        if self.public is not None or self.public_path is None:
            return self.public
        public = rows.open_reference_table(
            Source(path=self.public_path), [ColumnReading.of(q.attribute) for q in self.quasi]
        )
        public.encode([q.attribute for q in self.quasi])
        return public

    def publish(self, rows: Rows) -> Publication:
        public = self._opened_public(rows)
        classes = self.searched or self._found_again(rows, public)
        tables = digest_of_pair(self.quasi, classes.pair, rows, public)
        private = rows.marked(MARK) if self.flag else rows
        commitment = private.commitment()
        # with one key and the same noise on two tables, their difference would be the person by whom they differ
        bound_to = {"setting": self._setting(), "levels": list(self.levels), "tables": tables}
        context = coins_context(self.dataset, "presence", bound_to, commitment)
        shown = presented(classes, self.design, rows.stream, context)
        check_cells(self.quasi, classes.private, shown.cells, intervals=False)
        finder, quasi = classes.finder, tuple(q.name for q in self.quasi)

        def number(columns: Columns) -> Codes:
            return finder.find([columns[name] for name in quasi])

        private.derive(CLASS_NUMBER, quasi, number)
        cells, extra = _columns(self, shown)
        table = CellTable(self.attributes, cells, classes.classes, by_class=CLASS in cells, output=self.output)
        draw = self.draw_in_order(private, context, [CLASS_NUMBER], "generalising")
        reached = _reached(shown, self.compare)
        same = self.measured is None or reached == self.measured
        words = "as computed from the two tables" if same else "differ from those of the two tables"
        check = Check("chances of being present, and reversal, made again", same, words)
        plan = replace(self, measured=reached)
        return Publication(plan, draw, table, commitment, extra, (check,), self._worth(classes, shown, cells))

    def _worth(self, classes: PresentClasses, shown: Presented, cells: Mapping[str, Column]) -> Usefulness:
        """Distributions follow the public table, or were shaped: what they tell of the rows is their leaves."""
        looks = looks_by_class(shown_columns(self), shown.cells, cells)
        return worth_of_cells(looks, classes.present, 0, self.tables, exact=self.design.tells_counts)

    def _found_again(self, rows: Rows, public: Rows | None) -> PresentClasses:
        """The classes at the certified levels, from the two tables."""
        pair = pair_of(self.quasi, rows, public, self.flag)
        if pair.people_present != self.present or pair.people != self.people:
            raise SourceError(
                f"The tables must have {self.present} present of {self.people} people",
                f"{pair.people_present} of {pair.people}",
            )
        return at_presence_levels(pair, self.wanted, self.levels)

    def explain(self) -> Explanation:
        return explanation_of_presence(self)


def _reached(result: Presented, compare: bool) -> Reached:
    low, high = result.existence
    wanted = result.classes.wanted
    expected, uniform = result.expected_costs
    # what other algorithms would have gained comes from the same counts, and may be told only of public ones
    all_shown = compare and result.setting.mode == "public"
    shown = compared(result) if all_shown else {result.setting.algorithm: result}
    gains = {name: _finite(one.expected_gain) for name, one in sorted(shown.items())}  # as JSON has them
    return Reached(
        lowest=_outward(low, math.floor, float(wanted.lowest)),
        highest=_outward(high, math.ceil, float(wanted.highest)),
        classes=result.classes.classes,
        alone=result.classes.alone,
        expected_cost=_finite(expected),
        expected_cost_uniform=uniform,
        expected_gains=gains,
        reversal=reversed_of(Seen.of(result)),
    )


def _finite(value: float) -> float | None:
    """Private cells may exclude values that someone of the class has: their expected cost has no bound."""
    return value if math.isfinite(value) else None


def _outward(chance: float, rounded: Callable[[float], int], end: float) -> float:
    """Rounded outwards at the ninth place, except that an end of the range that is reached is not passed."""
    return end if abs(chance - end) < 1 / _DIGITS else rounded(chance * _DIGITS) / _DIGITS


def _columns(plan: PresencePlan, result: Presented) -> tuple[dict[str, Column], dict[str, pa.Table]]:
    """The published cells by class, and the companion of a CSV."""
    if plan.kind == "hierarchy":
        parts = zip(plan.quasi, result.classes.public, plan.levels, strict=True)
        return {q.name: label_column(labels_of(q.ladder, q.labels, c, level)) for q, c, level in parts}, {}
    if plan.output == "csv":
        table = companion(plan.quasi, result.cells)
        return {CLASS: numbers(np.arange(result.classes.classes))}, {COMPANION: table}
    return {q.name: list_column(c, q.leaf_labels, True) for q, c in zip(plan.quasi, result.cells, strict=True)}, {}
