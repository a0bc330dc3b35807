"""Method `generalize`: k-anonymity of this table, with what the classes look like inside in their cells (paper 4).

The plan holds the levels of a full-domain solution; a multidimensional one is found again from its setting, which
is deterministic. No coin is thrown: the key only decides the order in which records are published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.engines import LocalEngine, Progress, commitment_to, digest_of_columns
from pramana.errors import BundleError, RecipeError, UnreachableError
from pramana.generalize import (
    CLASS,
    COMPANION,
    Generalised,
    Layout,
    at_levels,
    common_levels,
    companion,
    full_domain,
    grouped_for,
    interval_column,
    label_column,
    labels_of,
    list_column,
    multidimensional,
)
from pramana.randomness import Codes, Key
from pramana.release.bundle import Bundle
from pramana.release.certificate import Certificate
from pramana.release.generalized_columns import Quasi, Sensitive, quasi_of, sensitive_of
from pramana.release.generalized_measured import Measured, content_by_class, examined, measured
from pramana.release.generalized_setting import Setting, read_setting
from pramana.release.method import Published
from pramana.release.resolve import dropped, published
from pramana.schema import Attribute, Recipe, Role
from pramana.sources import Source, Table, encode, numbers, raw_column, write_table
from pramana.theory import Guarantee

MOST_ENTRIES = 20_000_000  # entries of lists in one Parquet file; beyond, cells go to the companion


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
        return self.measured.guarantees(self.setting, [a.name for a in self.attributes if a.raw], seeded)

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
            made = _solve(self.setting, self.quasi, codes, self.sensitive, secret, self.levels)
        order = np.arange(table.records)
        if self.shuffled:
            order = engine.order(key, self.context, table.records).astype(np.int64)
        order = order[made.class_of[order] >= 0]
        class_of = made.class_of[order]
        cells, extra = columns_by_class(self, made)
        places = numbers(order)
        columns: dict[str, Any] = {}
        content: dict[str, Any] = {}
        for name in [CLASS] if self.by_class else [a.name for a in self.attributes]:
            if name in cells:
                content |= content_by_class(name, cells[name], class_of)
                columns[name] = cells[name].take(numbers(class_of))
            else:
                columns[name] = raw_column(table.column(name), places)
        for a in self.attributes if self.by_class else ():
            if a.raw:
                columns[a.name] = raw_column(table.column(a.name), places)
        if self.output == "parquet":
            content |= {a.name: columns[a.name] for a in self.attributes if a.raw}
        digest = digest_of_columns({name: content[name] for name in sorted(content)})
        found = pa.table(columns)
        return Published(found, digest, commitment, {}, extra)


def _codes(quasi: Sequence[Quasi], table: Table, show: bool = False) -> dict[str, Codes]:
    return {q.name: encode(table.column(q.name), q.attribute.coded, q.name, show) for q in quasi}


def _sensitive_codes(sensitive: Sequence[Sensitive], table: Table) -> list[Codes]:
    return [s.codes_of(table.column(s.name)) for s in sensitive]


def _solve(
    setting: Setting,
    quasi: Sequence[Quasi],
    codes: Mapping[str, Codes],
    sensitive: Sequence[Sensitive],
    sensitive_codes: Sequence[Codes],
    levels: tuple[int, ...] | None,
) -> Generalised:
    """The classes; with `levels` those of a known full-domain solution."""
    columns = [codes[q.name] for q in quasi]
    ladders = tuple(q.ladder for q in quasi)
    rows = len(columns[0])
    if setting.k > rows:
        raise UnreachableError(f"k must be at most the number of rows, {rows}", str(setting.k))
    looked = [(code, s.size, s.parents) for code, s in zip(sensitive_codes, sensitive, strict=True)]
    condition = setting.condition(looked if setting.looks_at_sensitive else [])
    if setting.algorithm != "incognito":
        if setting.looks_at_sensitive and len(looked) > 1:
            raise RecipeError(
                f"The algorithm {setting.algorithm} takes l and t of one sensitive column", f"{len(looked)}"
            )
        return multidimensional(
            ladders,
            columns,
            setting.k,
            setting.algorithm,
            ordered=[q.ordered for q in quasi],
            weights=setting.weights,
            condition=condition if setting.looks_at_sensitive else None,
            sensitive=(looked[0][0], looked[0][1]) if setting.looks_at_sensitive else None,
        )
    layout = Layout(ladders)
    pairs = [(code, size) for code, size, _ in looked] if setting.looks_at_sensitive else []
    base, index = grouped_for(layout, columns, pairs)
    if levels is not None:
        return at_levels(layout, columns, base, index, condition, levels)
    limit = int(setting.suppression * rows)
    return full_domain(
        layout,
        columns,
        base,
        index,
        condition,
        measure=setting.measure,
        limit=limit,
        weights=setting.weights or None,
    )


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
    for name, share in plan.measured.inferred.items():
        found.append(
            f"Who knows a person's quasi-identifiers can infer their {name} with a confidence of up to {share:.4g}"
            + (f"; {plan.measured.single_valued} classes have one value only." if share == 1 else ".")
        )
    if plan.setting.cells == "pdf":
        found.append(
            "The cells tell how often each value occurs in a class. That is no secret under k-anonymity when it "
            "is known who is in the table; where being in it is the secret, use method presence."
        )
    return found


@dataclass(frozen=True)
class GeneralizeMethod:
    """`generalize`."""

    def columns(self, recipe: Recipe) -> list[str]:
        return [a.name for a in published(recipe)]

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
    setting, quasi = chosen.setting, chosen.quasi
    made = _solve(setting, quasi, codes, chosen.sensitive, secret, chosen.levels)
    if made.suppressed > int(setting.suppression * records):
        raise UnreachableError(
            f"The saved levels must suppress at most {int(setting.suppression * records)} of these rows",
            f"{made.suppressed} in classes that fail the conditions",
            "Allow more suppression, add rows, or search anew by leaving solution out.",
        )
    by_class = _goes_by_class(setting, made, recipe.format)
    if by_class and any(a.name == CLASS for a in chosen.attributes):
        raise RecipeError(f"No column may be called {CLASS!r} where cells go by class", "one that is")
    return GeneralizedPlan(
        chosen.attributes,
        dropped(recipe),
        setting,
        quasi,
        chosen.sensitive,
        records,
        recipe.format,
        made.levels,
        measured(made, setting, chosen.sensitive, secret, by_class, _population(recipe, quasi, made)),
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


def _goes_by_class(setting: Setting, made: Generalised, output: str) -> bool:
    if setting.cells not in ("set", "pdf"):
        return False
    entries = sum(int((cells.sizes * made.sizes).sum()) for cells in made.pdf)
    return output == "csv" or entries > MOST_ENTRIES


def _population(recipe: Recipe, quasi: Sequence[Quasi], made: Generalised) -> NDArray[np.int64] | None:
    """Class sizes in the table of everyone the records could be, for the journalist's risk."""
    place = recipe.options.get("population")
    if place is None:
        return None
    if not isinstance(place, str) or made.levels is None:
        raise RecipeError('population must be a file, with algorithm = "incognito"', repr(place))
    everyone = Source(path=Path(recipe.folder / place)).read([q.name for q in quasi])
    codes = _codes(quasi, everyone)
    keys = np.zeros(everyone.records, np.int64)
    mine = np.zeros(made.classes, np.int64)
    for q, level, cells in zip(quasi, made.levels, made.pdf, strict=True):
        labels, size = q.ladder.maps[level], q.ladder.sizes[level]
        keys = keys * size + labels[codes[q.name]]
        mine = mine * size + labels[cells.values[cells.first[:-1]]]
    found, counts = np.unique(keys, return_counts=True)
    at = np.minimum(np.searchsorted(found, mine), len(found) - 1)
    sizes = np.where(found[at] == mine, counts[at], 0)
    if bool((sizes < made.sizes).any()):
        raise RecipeError("The population must contain every record of the table", "a class with fewer people")
    return np.asarray(sizes, np.int64)
