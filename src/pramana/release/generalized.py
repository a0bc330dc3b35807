"""Method `generalize`: k-anonymity of this table, with what the classes look like inside in their cells (paper 4).

The plan holds the levels of a full-domain solution; a multidimensional one is found again from its setting, which
is deterministic. No coin is thrown: the key only decides the order in which records are published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.engines import BatchEngine, LocalEngine, Progress, Spool, commitment_to
from pramana.errors import BundleError, RecipeError, UnreachableError
from pramana.generalize import (
    CLASS,
    COMPANION,
    Generalised,
    common_levels,
    companion,
    interval_column,
    label_column,
    labels_of,
    list_column,
)
from pramana.randomness import Codes, Key
from pramana.release.bundle import Bundle
from pramana.release.certificate import Certificate
from pramana.release.generalized_columns import Quasi, Sensitive, check_hierarchy, quasi_of, sensitive_of
from pramana.release.generalized_examined import examined
from pramana.release.generalized_measured import InClasses, Measured, measured
from pramana.release.generalized_search import goes_by_class, population_of, solve
from pramana.release.generalized_setting import Setting, read_setting
from pramana.release.generalized_streamed import (
    CellTable,
    SpooledRows,
    StreamedCells,
    held_in,
    solve_counted,
    stream_cells,
)
from pramana.release.method import Published
from pramana.release.resolve import dropped, published, read_from_data
from pramana.release.streamed import StreamedTable
from pramana.schema import Attribute, AttributeRecipe, Recipe, Role
from pramana.sources import Table, encode, numbers, raw_column, write_table
from pramana.theory import Guarantee, rounding


@dataclass(frozen=True, eq=False)
class GeneralizedPlan:
    """The setting, the columns with their levels, and what they came to on the table."""

    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    setting: Setting
    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    source_records: int
    output: str
    levels: tuple[int, ...] | None
    measured: Measured
    dataset: str = ""
    shuffled: bool = True
    made: Generalised | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.measured.records

    @property
    def by_class(self) -> bool:
        """Whether the cells stand in a companion table."""
        return self.measured.by_class

    @property
    def single_values(self) -> bool:
        """Whether a cell is one label, and not a set, an interval or a distribution."""
        return self.setting.cells == "hierarchy"

    @property
    def context(self) -> str:
        """What the order of the records is bound to."""
        return f"{self.dataset}\ngeneralize"

    def statement(self) -> dict[str, Any]:
        return {
            "setting": self.setting.to_json(),
            "levels": None if self.levels is None else list(self.levels),
            "quasi": [q.to_json() for q in self.quasi],
            "sensitive": [s.to_json() for s in self.sensitive],
            "source_records": self.source_records,
            "measured": self.measured.to_json(),
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        raw = [a.name for a in self.attributes if a.raw]
        gaps = [s.name for s in self.sensitive if s.missing]
        return self.measured.guarantees(self.setting, raw, seeded, gaps)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        return tuple(_warnings(self, seeded))

    def examine(self, bundle: Bundle) -> list[tuple[str, bool, str]]:
        """What `verify` counts again in the published data: name, whether it holds, detail."""
        return examined(bundle, self.quasi, self.sensitive, self.measured)

    def run(
        self, table: Table, key: Key, engine: LocalEngine, progress: Progress, show: bool = False
    ) -> Published:
        codes = _codes(self.quasi, table, show)
        raw = {a.name: raw_column(table.column(a.name), None) for a in self.attributes if a.raw}
        commitment = commitment_to({**codes, **raw}, key)
        made = self.made
        if made is None:
            progress("generalising", 0, 1)
            secret = _sensitive_codes(self.sensitive, table)
            made = solve(self.setting, self.quasi, codes, self.sensitive, secret, self.levels)
        order = np.arange(table.records)
        if self.shuffled:
            order = engine.order(key, self.context, table.records).astype(np.int64)
        order = order[made.class_of[order] >= 0]
        class_of = made.class_of[order]
        cells, extra = columns_by_class(self, made)
        places = numbers(order)
        shown = CellTable(self.attributes, cells, self.by_class, self.output)
        found = shown.made(class_of, {name: column.take(places) for name, column in raw.items()})
        return Published(found, shown.content(), commitment, {}, extra)

    @property
    def refusal(self) -> RecipeError | None:
        """Why a table cannot stream through with this setting."""
        return _refusal(self.setting)

    def stream(self, rows: Spool, key: Key, engine: BatchEngine, progress: Progress) -> StreamedCells:
        """The same bytes as `run`, of a table that need not fit in memory."""
        counted = SpooledRows(rows, engine, progress)
        made = self.made
        if made is None:
            progress("generalising", 0, 1)
            made = solve_counted(counted, self.setting, self.quasi, self.sensitive, self.levels)
        cells, extra = columns_by_class(self, made)
        shown = CellTable(self.attributes, cells, self.by_class, self.output)
        return stream_cells(counted, self.quasi, made, shown, extra, key, (self.context, self.shuffled))


def _refusal(setting: Setting) -> RecipeError | None:
    if setting.algorithm == "incognito":
        return None
    return RecipeError(
        'Within a bound on memory the algorithm must be "incognito", which streams',
        f'"{setting.algorithm}", which needs all rows at once',
    )


def _codes(quasi: Sequence[Quasi], table: Table, show: bool = False) -> dict[str, Codes]:
    return {q.name: encode(table.column(q.name), q.attribute.coded, q.name, show) for q in quasi}


def _sensitive_codes(sensitive: Sequence[Sensitive], table: Table) -> list[Codes]:
    return [s.codes_of(table.column(s.name)) for s in sensitive]


def columns_by_class(plan: GeneralizedPlan, made: Generalised) -> tuple[dict[str, Any], dict[str, Any]]:
    """The published cells by class, and the companion where there is one."""
    kind, text = plan.setting.cells, plan.output == "csv"
    cells = made.cells(kind, plan.setting.intermediate)
    if plan.by_class:
        by_name = {q.name: c for q, c in zip(plan.quasi, cells, strict=True)}
        table = companion(by_name, {q.name: q.leaf_labels for q in plan.quasi})
        return {CLASS: pa.array(np.arange(made.classes))}, {
            COMPANION: lambda path: write_table(table, path, "csv")
        }
    columns: dict[str, Any] = {}
    for a, (q, c) in enumerate(zip(plan.quasi, cells, strict=True)):
        if kind == "hierarchy":
            level = made.levels[a] if made.levels is not None else common_levels(q.ladder, made.pdf[a])
            columns[q.name] = label_column(labels_of(q.ladder, q.labels, made.pdf[a], level))
        elif kind == "interval":
            columns[q.name] = interval_column(c, q.leaf_labels, text)
        else:
            columns[q.name] = list_column(c, q.leaf_labels, kind == "pdf")
    return columns, {}


def _warnings(plan: GeneralizedPlan, seeded: bool) -> list[str]:
    found = []
    if seeded:
        found.append("The key was made from a seed that anyone can guess: the order of the records is no secret.")
    if plan.source_records > plan.records:
        found.append(f"{plan.source_records - plan.records} of {plan.source_records} records were suppressed.")
    if not plan.shuffled:
        found.append("Published in source order, which may tell which record is whose.")
    if not plan.setting.looks_at_sensitive and plan.sensitive:
        found.append(
            "k-anonymity alone does not keep sensitive values apart: a class may have one value only. See l and t."
        )
    for name, share in sorted(plan.measured.inferred.items()):  # in the order a certificate has them
        found.append(
            f"Anyone who knows a person's quasi-identifiers can infer their {name} with a confidence of up to "
            f"{rounding.shown_up(share, 4)}"
            + (f"; {plan.measured.single_valued} classes have one value only." if share == 1 else ".")
        )
    if plan.setting.cells == "pdf":
        found.append(
            "The cells tell how often each value occurs in a class. That is no secret under k-anonymity when it "
            "is known who is in the table; where being in it is the secret, use method presence."
        )
    found += read_from_data(plan.attributes)
    return found


@dataclass(frozen=True)
class GeneralizeMethod:
    """`generalize`."""

    def columns(self, recipe: Recipe) -> list[str]:
        return [a.name for a in published(recipe)]

    def randomised(self, attribute: AttributeRecipe) -> bool:
        return attribute.role is Role.QUASI_IDENTIFYING

    def known(self, recipe: Recipe) -> dict[str, Attribute]:
        """The columns whose domains a saved solution has; the others must have hierarchies."""
        setting = read_setting(recipe)
        saved = _saved(recipe, setting)
        found = {} if saved is None else {q.name: q.attribute for q in saved.quasi}
        for a in published(recipe):
            if a.role is Role.QUASI_IDENTIFYING and a.name not in found:
                check_hierarchy(a, setting.algorithm)
        return found

    def refusal(self, recipe: Recipe) -> RecipeError | None:
        return _refusal(read_setting(recipe))

    def plan_streamed(self, recipe: Recipe, table: StreamedTable) -> GeneralizedPlan:
        rows = SpooledRows(table.rows, table.engine)
        sensitive = [a.name for a in published(recipe) if a.role is Role.SENSITIVE]
        chosen = choose(recipe, Table({**table.seen.columns, **rows.values(sensitive)}, table.records))
        table.settle(chosen.attributes)
        made = solve_counted(rows, chosen.setting, chosen.quasi, chosen.sensitive, chosen.levels)
        return plan_made(
            recipe, chosen, table.records, made, lambda: held_in(rows, chosen.quasi, chosen.sensitive, made)
        )

    def plan(self, recipe: Recipe, table: Table) -> GeneralizedPlan:
        chosen = choose(recipe, table)
        codes, secret = _codes(chosen.quasi, table), _sensitive_codes(chosen.sensitive, table)
        return plan_of(recipe, chosen, table.records, codes, secret)

    def plan_from(self, certificate: Certificate) -> GeneralizedPlan:
        statement = certificate.mechanism
        try:
            by_name = {a.name: a for a in certificate.attributes}
            quasi = tuple(Quasi.from_json(q, by_name[q["name"]]) for q in statement["quasi"])
            levels = statement["levels"]
            return GeneralizedPlan(
                certificate.attributes,
                certificate.dropped,
                Setting.from_json(statement["setting"]),
                quasi,
                tuple(Sensitive.from_json(s) for s in statement["sensitive"]),
                int(statement["source_records"]),
                certificate.output,
                None if levels is None else tuple(int(i) for i in levels),
                Measured.from_json(statement["measured"]),
                certificate.dataset,
                certificate.shuffled,
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise BundleError("The certificate must state its generalisation", "something else") from None


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a recipe says of its columns, with the domains of those whose values had to be looked at."""

    setting: Setting
    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    attributes: tuple[Attribute, ...]
    levels: tuple[int, ...] | None  # of a saved solution


def choose(recipe: Recipe, table: Table) -> Chosen:
    """`table` need only hold the values that occur, once each."""
    setting = read_setting(recipe)
    saved = _saved(recipe, setting)
    known = {} if saved is None else {q.name: q for q in saved.quasi}
    quasi, sensitive, attributes = [], [], []
    for a in published(recipe):
        if a.role is Role.QUASI_IDENTIFYING:
            quasi.append(known.get(a.name) or quasi_of(a, table, setting.algorithm))
            attributes.append(quasi[-1].attribute)
        else:
            if a.role is Role.SENSITIVE:
                sensitive.append(sensitive_of(a, table, setting))
            attributes.append(Attribute(a.name, a.role, None))
    if not quasi:
        raise RecipeError("A recipe must have at least one quasi-identifying column", "none")
    levels = None if saved is None else _levels_of(saved, quasi)
    return Chosen(setting, tuple(quasi), tuple(sensitive), tuple(attributes), levels)


def plan_of(
    recipe: Recipe, chosen: Chosen, records: int, codes: Mapping[str, Codes], secret: Sequence[Codes]
) -> GeneralizedPlan:
    """The best classes of rows with these codes, in whatever order."""
    made = solve(chosen.setting, chosen.quasi, codes, chosen.sensitive, secret, chosen.levels)
    return plan_made(recipe, chosen, records, made, lambda: [InClasses(made.class_of, code) for code in secret])


def plan_made(
    recipe: Recipe, chosen: Chosen, records: int, made: Generalised, held: Callable[[], Sequence[InClasses]]
) -> GeneralizedPlan:
    """The plan of classes that are known; `held` tells what is in them, once they are found to do."""
    setting, quasi = chosen.setting, chosen.quasi
    if made.suppressed > int(setting.suppression * records):
        raise UnreachableError(
            f"The saved levels must suppress at most {int(setting.suppression * records)} of these rows",
            f"{made.suppressed} in classes that fail the conditions",
            "Allow more suppression, add rows, or search anew by leaving solution out.",
        )
    by_class = goes_by_class(setting, made, recipe.format)
    if by_class and any(a.name == CLASS for a in chosen.attributes):
        raise RecipeError(f"No column may be called {CLASS!r} where cells go by class", "one that is")
    population = population_of(recipe, quasi, made)
    return GeneralizedPlan(
        chosen.attributes,
        dropped(recipe),
        setting,
        quasi,
        chosen.sensitive,
        records,
        recipe.format,
        made.levels,
        measured(made, setting, chosen.sensitive, held(), by_class, population),
        recipe.source.get("dataset", ""),
        recipe.shuffle,
        made,
    )


def _saved(recipe: Recipe, setting: Setting) -> GeneralizedPlan | None:
    """The full-domain solution of an earlier bundle, to be applied to these rows."""
    place = recipe.options.get("solution")
    if place is None:
        return None
    if not isinstance(place, str):
        raise RecipeError("solution must be the folder of an earlier bundle", repr(place))
    certificate = Bundle.open(recipe.folder / place).certificate
    if certificate.method != "generalize" or setting.algorithm != "incognito":
        raise RecipeError(
            'solution must be a bundle of method "generalize", with algorithm = "incognito"', certificate.method
        )
    return GeneralizeMethod().plan_from(certificate)


def _levels_of(saved: GeneralizedPlan, quasi: Sequence[Quasi]) -> tuple[int, ...]:
    if saved.levels is None:
        raise RecipeError("The solution must have levels", "classes of a multidimensional partition")
    by_name = dict(zip((q.name for q in saved.quasi), saved.levels, strict=True))
    if sorted(by_name) != sorted(q.name for q in quasi):
        raise RecipeError("The solution must be of the same quasi-identifying columns", "others")
    return tuple(by_name[q.name] for q in quasi)
