"""Method `presence`: that someone is in the table stays uncertain, for these two tables (paper 4, section V).

Either one file, in which a column marks who of the public table is present, or two: the private table in [source],
whose rows are found in the table `public` by all quasi-identifying columns. Published are the private rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import BundleError, RecipeError, SourceError
from pramana.generalize import (
    CLASS,
    COMPANION,
    Layout,
    Pair,
    Presence,
    PresenceSetting,
    Presented,
    Seen,
    at_presence_levels,
    companion,
    compared,
    label_column,
    labels_of,
    list_column,
    matched,
    presented,
    reversed_of,
    spalm,
)
from pramana.randomness import Codes, Key
from pramana.release.bundle import Bundle
from pramana.release.certificate import Certificate
from pramana.release.generalized_columns import Quasi, quasi_of
from pramana.release.generalized_measured import content_by_class
from pramana.release.method import Published
from pramana.release.presence_check import examined_presence
from pramana.release.presence_setting import read_levels, read_presence, setting_from_json, setting_to_json
from pramana.release.presence_words import Reached, presence_guarantees, presence_warnings
from pramana.release.resolve import dropped, published, read_from_data
from pramana.rows import LocalEngine, Progress, commitment_to, digest_of_columns
from pramana.schema import Attribute, Recipe, Role
from pramana.sources import Source, Table, domain_from_data, encode, numbers, raw_column, write_table
from pramana.theory import Guarantee

_DIGITS = 1e9  # probabilities are rounded outwards at the ninth place


@dataclass(frozen=True, eq=False)
class PresencePlan:
    """The range, the setting, the columns with their levels, and what they came to on the two tables."""

    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    wanted: Presence
    setting: PresenceSetting
    quasi: tuple[Quasi, ...]
    levels: tuple[int, ...]
    records: int
    people: int
    output: str
    flag: str | None  # the column that marks who is present; None with two files
    public_name: str | None
    dataset: str = ""
    shuffled: bool = True
    given: bool = False  # the levels stood in the recipe and were not searched
    public: Table | None = field(default=None, repr=False)  # with two files, at the holder's only
    reached: list[Reached] = field(default_factory=list)  # filled by `run`: noise is drawn there

    @property
    def single_values(self) -> bool:
        """Whether a cell is one label, and not a distribution."""
        return self.setting.algorithm == "spalm" and self.setting.start == "hierarchy"

    @property
    def source_records(self) -> int:
        return self.people if self.flag else self.records

    @property
    def source_columns(self) -> list[str]:
        return [a.name for a in self.attributes] + ([self.flag] if self.flag else [])

    def beside(self, source: Any) -> PresencePlan:
        """The plan with the public table, which lies beside the source under its name."""
        if self.flag or self.public_name is None:
            return self
        if not isinstance(source, str | Path):
            raise SourceError(f"The public table {self.public_name} must lie beside the source", "no file")
        place = Path(source).parent / self.public_name
        return replace(self, public=Source(path=place).read([q.name for q in self.quasi]))

    def statement(self) -> dict[str, Any]:
        return {
            "setting": setting_to_json(self.wanted, self.setting),
            "levels": list(self.levels),
            "levels_given": self.given,
            "quasi": [q.to_json() for q in self.quasi],
            "people": self.people,
            "flag": self.flag,
            "public": self.public_name,
            "reached": self._reached.to_json(),
        }

    @property
    def _reached(self) -> Reached:
        if not self.reached:
            raise BundleError("A plan must be run before it is certified", "one that was not")
        return self.reached[0]

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        raw = [a.name for a in self.attributes if a.raw]
        return presence_guarantees(
            self.wanted, self.setting, self._reached, len(self.quasi), raw, seeded, self.given
        )

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        found = presence_warnings(self.setting, self._reached, self.shuffled, seeded)
        return (*found, *read_from_data(self.attributes, "the public table"))

    def examine(self, bundle: Bundle) -> list[tuple[str, bool, str]]:
        return examined_presence(bundle, self.quasi, self.records, self._reached)

    def pair(self, table: Table, show: bool = False) -> tuple[Pair, NDArray[np.int64]]:
        """Both tables as codes, and for each private row whose of the public table it is."""
        return _pair(self.quasi, table, self.public, self.flag, show)

    def run(
        self, table: Table, key: Key, engine: LocalEngine, progress: Progress, show: bool = False
    ) -> Published:
        pair, row_of = self.pair(table, show)
        if len(row_of) != self.records or len(pair.present) != self.people:
            raise SourceError(
                f"The tables must have {self.records} present of {self.people} people",
                f"{len(row_of)} of {len(pair.present)}",
            )
        rows = np.flatnonzero(pair.present) if self.flag else np.arange(len(row_of))
        raw = {a.name: raw_column(table.column(a.name), pa.array(rows)) for a in self.attributes if a.raw}
        coded = {q.name: column[row_of] for q, column in zip(self.quasi, pair.columns, strict=True)}
        commitment = commitment_to({**coded, **raw}, key)
        progress("generalising", 0, 1)
        classes = at_presence_levels(pair, self.wanted, self.levels)
        made = presented(classes, self.setting, key, self.dataset)
        self.reached[:] = [_reached(made)]
        order = np.arange(self.records)
        if self.shuffled:
            order = engine.order(key, f"{self.dataset}\npresence", self.records).astype(np.int64)
        class_of = classes.class_of[row_of[order]]
        cells, extra = _columns(self, made)
        columns: dict[str, Any] = {}
        content: dict[str, Any] = {}
        for name, column in cells.items():
            content |= content_by_class(name, column, class_of)
            columns[name] = column.take(numbers(class_of))
        for a in self.attributes:
            if a.raw:
                columns[a.name] = raw_column(table.column(a.name), pa.array(rows[order]))
                if self.output == "parquet":
                    content[a.name] = columns[a.name]
        digest = digest_of_columns({name: content[name] for name in sorted(content)})
        return Published(pa.table(columns), digest, commitment, {}, extra)


def _reached(made: Presented) -> Reached:
    low, high = made.existence
    wanted = made.classes.wanted
    mine, uniform = made.expected_costs
    # what other algorithms would have gained comes from the same counts, and may be told only of public ones
    shown = compared(made) if made.setting.mode == "public" else {made.setting.algorithm: made}
    gains = {name: _finite(one.expected_gain) for name, one in shown.items()}
    return Reached(
        lowest=_outward(low, math.floor, float(wanted.lowest)),
        highest=_outward(high, math.ceil, float(wanted.highest)),
        classes=made.classes.classes,
        alone=made.classes.alone,
        expected_cost=_finite(mine),
        expected_cost_uniform=uniform,
        expected_gains=gains,
        reversal=reversed_of(Seen.of(made)).to_json(),
    )


def _finite(value: float) -> float | None:
    """Private cells may exclude values that someone of the class has: their expected cost has no bound."""
    return value if math.isfinite(value) else None


def _outward(chance: float, rounded: Callable[[float], int], end: float) -> float:
    """Rounded outwards at the ninth place, except that an end of the range that is reached is not passed."""
    return end if abs(chance - end) < 1 / _DIGITS else rounded(chance * _DIGITS) / _DIGITS


def _columns(plan: PresencePlan, made: Presented) -> tuple[dict[str, Any], dict[str, Any]]:
    """The published cells by class, and the companion of a CSV."""
    if plan.single_values:
        parts = zip(plan.quasi, made.classes.public, made.levels, strict=True)
        return {q.name: label_column(labels_of(q.ladder, q.labels, c, level)) for q, c, level in parts}, {}
    if plan.output == "csv":
        by_name = {q.name: c for q, c in zip(plan.quasi, made.cells, strict=True)}
        table = companion(by_name, {q.name: q.leaf_labels for q in plan.quasi})
        numbers = pa.array(np.arange(made.classes.classes))
        return {CLASS: numbers}, {COMPANION: lambda path: write_table(table, path, "csv")}
    return {q.name: list_column(c, q.leaf_labels, True) for q, c in zip(plan.quasi, made.cells, strict=True)}, {}


def _pair(
    quasi: Sequence[Quasi], table: Table, public: Table | None, flag: str | None, show: bool = False
) -> tuple[Pair, NDArray[np.int64]]:
    layout = Layout(tuple(q.ladder for q in quasi))
    mine = [encode(table.column(q.name), q.attribute.coded, q.name, show) for q in quasi]
    if flag is not None:
        present = marked(table.column(flag), flag)
        return Pair(layout, tuple(mine), present), np.flatnonzero(present)
    if public is None:
        raise SourceError("The public table must be at hand", "none")
    everyone: list[Codes] = [encode(public.column(q.name), q.attribute.coded, q.name, show) for q in quasi]
    present, row_of = matched(layout, everyone, mine)
    return Pair(layout, tuple(everyone), present), row_of


def marked(column: Any, name: str) -> NDArray[np.bool_]:
    """A column of 1 and 0 (or true and false) as marks."""
    domain = domain_from_data(column)
    known = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}
    if domain.missing or not all(label.strip().lower() in known for label in domain.labels):
        raise SourceError(f"The column {name!r} must mark who is present by 1 and 0", "other values")
    meaning = np.array([known[label.strip().lower()] for label in domain.labels])
    return np.asarray(meaning[encode(column, domain, name)])


@dataclass(frozen=True)
class PresenceMethod:
    """`presence`."""

    def source_options(self, recipe: Recipe) -> Mapping[str, Any]:
        """With a mark of presence the public table is the source."""
        public = _public_path(recipe)
        if "present" not in recipe.options or public is None:
            return recipe.source
        return {**recipe.source, "path": public}

    def columns(self, recipe: Recipe) -> list[str]:
        flag = _flag(recipe)
        names = [a.name for a in published(recipe)]
        if flag in names:
            raise RecipeError(f"The column {flag!r} marks presence and must not be published", "an attribute")
        return names + ([] if flag is None else [flag])

    def plan(self, recipe: Recipe, table: Table) -> PresencePlan:
        wanted, setting, measure = read_presence(recipe)
        flag, place = _flag(recipe), _public_path(recipe)
        if flag is None and place is None:
            raise RecipeError(
                "Method presence must have a public table",
                "none",
                'Write public = "everyone.csv", or present = "column" for one that marks who is present.',
            )
        names = [a.name for a in published(recipe) if a.role is Role.QUASI_IDENTIFYING]
        if not names:
            raise RecipeError("A recipe must have at least one quasi-identifying column", "none")
        public = None if flag is not None or place is None else Source(path=place).read(names)
        attributes, quasi = [], []
        for a in published(recipe):
            if a.role is Role.QUASI_IDENTIFYING:
                quasi.append(quasi_of(a, table if public is None else public, "presence"))
                attributes.append(quasi[-1].attribute)
            else:
                attributes.append(Attribute(a.name, a.role, None))
        pair, row_of = _pair(quasi, table, public, flag)
        given = read_levels(recipe, {q.name: q.ladder.height for q in quasi})
        if given is None:
            levels = spalm(pair, wanted, measure, _weights(recipe), setting).levels
        else:
            levels = given
            _check_given(pair, wanted, setting, levels)
        if recipe.format == "csv" and any(a.name == CLASS for a in attributes):
            raise RecipeError(f"No column may be called {CLASS!r} where cells go by class", "one that is")
        return PresencePlan(
            tuple(attributes),
            dropped(recipe),
            wanted,
            setting,
            tuple(quasi),
            tuple(levels),
            len(row_of),
            len(pair.present),
            recipe.format,
            flag,
            None if public is None or place is None else place.name,
            recipe.source.get("dataset", ""),
            recipe.shuffle,
            given is not None,
            public,
        )

    def plan_from(self, certificate: Certificate) -> PresencePlan:
        statement = certificate.mechanism
        try:
            by_name = {a.name: a for a in certificate.attributes}
            quasi = tuple(Quasi.from_json(q, by_name[q["name"]]) for q in statement["quasi"])
            wanted, setting = setting_from_json(statement["setting"])
            flag, name = statement["flag"], statement["public"]
            return PresencePlan(
                certificate.attributes,
                certificate.dropped,
                wanted,
                setting,
                quasi,
                tuple(int(i) for i in statement["levels"]),
                certificate.records,
                int(statement["people"]),
                certificate.output,
                None if flag is None else str(flag),
                None if name is None else Path(str(name)).name,
                certificate.dataset,
                certificate.shuffled,
                bool(statement["levels_given"]),
                reached=[Reached.from_json(statement["reached"])],
            )
        except (KeyError, TypeError, ValueError, IndexError, RecipeError):
            raise BundleError("The certificate must state how presence was reached", "something else") from None


def _check_given(pair: Pair, wanted: Presence, setting: PresenceSetting, levels: tuple[int, ...]) -> None:
    """What does not hold at levels that were not searched is said before anything is made."""
    classes = at_presence_levels(pair, wanted, levels)
    if setting.start == "pdf":
        presented(classes, setting)


def _flag(recipe: Recipe) -> str | None:
    flag = recipe.options.get("present")
    if flag is not None and not isinstance(flag, str):
        raise RecipeError("present must name the column that marks who is present", repr(flag)[:80])
    return flag


def _public_path(recipe: Recipe) -> Path | None:
    place = recipe.options.get("public")
    if place is None:
        return None
    if not isinstance(place, str) or not place:
        raise RecipeError("public must be the file of the public table", repr(place)[:80])
    return recipe.folder / place


def _weights(recipe: Recipe) -> dict[str, float] | None:
    from pramana.release.generalized_setting import read_weights

    return read_weights(recipe) or None
