"""`levels`: the sensitive attributes at one level of many, the others as they are (paper 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Form
from pramana.errors import BundleError, MatrixError, RecipeError, UnreachableError
from pramana.mechanisms.guarantees import DEFAULT_DELTA, Circumstances, level_guarantees
from pramana.mechanisms.levels import AtLevel, LevelDesign, LevelSource, Replacement, Uniform, Weighted
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import Product, RecordRetention
from pramana.methods.columns import Values, reading_of, resolve, unchanged
from pramana.methods.protocol import (
    Capabilities,
    Explanation,
    Law,
    Method,
    Plan,
    Publication,
    Version,
    fields_of_certificate,
    fields_of_recipe,
    statement_of,
)
from pramana.methods.recipe import Recipe
from pramana.methods.retention.advice import advice_for_retention
from pramana.methods.retention.calibration import Wanted
from pramana.methods.retention.explanation import explanation_of_law
from pramana.methods.retention.plan import (
    RandomisedPlan,
    check_sizes,
    circumstances_for,
    circumstances_of,
    law_in_order,
)
from pramana.methods.retention.setting import Delta, Epsilon, K
from pramana.notions.guarantee import Guarantee
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.sections import RandomisedColumn, Setting
from pramana.schema.typed import Count, Flag, Positive, Share, Text
from pramana.theory.levels import GRID, Level


class LevelsStatement(Form, frozen=True, kw_only=True):
    """`law` is the design and the level, which `mechanism_from_json` reads."""

    law: dict[str, Any]
    out_of: str
    delta: Annotated[float, Meta(gt=0, lt=1)]
    candidates: Count | None
    tables: list[list[str]]
    keyed: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelPlan(RandomisedPlan):
    """One version. Its coins are bound to the dataset and the design and not to the level."""

    mechanism: AtLevel
    keyed: bool = True
    recorded: LevelSource | None = None  # where versions come from if not from the key

    @property
    def law(self) -> Law | None:
        single = self.mechanism.as_single()
        return single if isinstance(single, Product | RecordRetention) else None

    @property
    def version(self) -> Version | None:
        return Version(f"{self.dataset}\n{self.mechanism.design.digest}", self.mechanism.level.retention)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(streams=self.keyed, spark=self.keyed, reason="whose versions come from a history")

    def context(self, commitment: str = "") -> str:
        return f"{self.dataset}\n{self.mechanism.design.digest}\n{commitment}"

    def statement(self) -> JsonObject:
        return {**super().statement(), "out_of": str(GRID), "keyed": self.keyed}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        around = replace(self.circumstances, seeded=seeded)
        return level_guarantees(self.mechanism, around, self.linkable, self.keyed)

    @property
    def linkable(self) -> bool:
        """Whether quasi-identifiers are perturbed, and none is released as it is: Pk then speaks of someone."""
        linked = [a for a in self.attributes if a.role is Role.QUASI_IDENTIFYING]
        return bool(linked) and not any(a.raw for a in linked)

    def explain(self) -> Explanation:
        with_k = self.shuffled and self.linkable
        explanation = explanation_of_law(self.law, self.attributes, self.records, self.tables, with_k)
        level = f"This is the version at level {self.mechanism.level}; other levels are other versions."
        return replace(explanation, notes=(level, *explanation.notes))

    def version_in_order(self, rows: Rows) -> dict[str, Codes]:
        """The published codes in the order of the source, for the holder's own checks."""
        names = list(self.mechanism.sizes)
        publication = replace(self, shuffled=False).publish(rows)
        pieces = list(publication.pieces())
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}

    def publish(self, rows: Rows) -> Publication:
        if self.keyed:
            return super().publish(rows)
        if self.recorded is None:
            raise BundleError(
                "A version drawn from a history must be looked up in it", "a key", "Ask the ledger for it again."
            )
        whole = rows.whole()
        version = self.recorded.version(self.mechanism.level, whole.codes(self.mechanism.sizes))
        for name, codes in version.items():
            whole.attach(name, codes)
        return self.publish_drawn(rows, Product({}), self.context(rows.commitment()))


# What a recipe says of releases at levels.


Shares = Annotated[
    list[Annotated[float, Meta(ge=0)]], Meta(extra={"must": "a list of shares, one for each value of the domain"})
]
Allowances = Annotated[
    dict[str, str | float], Meta(extra={"must": 'a section that maps recipients to levels, "*" for everybody'})
]
TotalEpsilon = Annotated[Positive, Meta(lt=1e6, extra={"must": "a positive number"})]


class LevelsSetting(Setting, frozen=True, kw_only=True, tag="levels"):
    """method = "levels": the sensitive columns at one level of many, the others as they are."""

    retention: Annotated[Share | None, Meta(description="The level of a release without a ledger.")] = None
    k: K = None
    epsilon: Epsilon = None
    delta: Delta = None
    together: Annotated[Flag, Meta(extra={"must": "true (one chain for all perturbed columns) or false"})] = False
    history: Annotated[Flag, Meta(description="Versions are drawn from a history, not from the key.")] = False
    people: Annotated[Text, Meta(description="About whom the releases are, for totals.")] = ""
    allowances: Allowances = {}
    total_epsilon: TotalEpsilon | None = None


class LevelsColumn(RandomisedColumn, frozen=True, kw_only=True):
    """A column of a release at levels."""

    distribution: Annotated[
        Shares | None, Meta(description="What values are replaced by; uniform if not given.")
    ] = None


# Method `levels`: from a recipe to a design, and to a version at one level of it (paper 3).


LevelsRecipe = Recipe[LevelsSetting, LevelsColumn]
_LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7)


class LevelsMethod(Method[LevelsSetting, LevelsColumn]):
    """`levels`: at the recipe's retention, or at the highest level that reaches its k and epsilon."""

    name: ClassVar[str] = "levels"
    setting = LevelsSetting
    column = LevelsColumn
    statement = LevelsStatement

    def capabilities(self, setting: LevelsSetting) -> Capabilities:
        if setting.history:
            return Capabilities(reason="which draws versions from a history")
        return Capabilities(streams=True, spark=True)

    def readings(self, recipe: LevelsRecipe) -> tuple[ColumnReading, ...]:
        columns = recipe.published.items()
        return tuple(reading_of(name, column, recipe.folder, _is_perturbed(column)) for name, column in columns)

    def plan(self, recipe: LevelsRecipe, rows: Rows) -> LevelPlan:
        if recipe.release.history:
            raise RecipeError(
                "Versions with a history must be issued from a ledger", "history = true", "Use `pramana levels`."
            )
        attributes = attributes_at_levels(recipe, rows)
        design = design_of(recipe, attributes)
        around = _circumstances(recipe.release, attributes, rows.records)
        level = _level(recipe.release, design, around)
        return version_at(recipe, attributes, design, level, rows.records, recipe.source.dataset)

    def variants(self, setting: LevelsSetting) -> Mapping[str, Sequence[float]]:
        if setting.retention is None:
            return {name: [value] for name, value in (("k", setting.k), ("epsilon", setting.epsilon)) if value}
        return {"retention": sorted({*_LEVELS, setting.retention})}

    def advise(self, recipe: LevelsRecipe, plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        del rows
        return advice_for_retention(plan, recipe.tables)

    def restore(self, certificate: Certificate) -> LevelPlan:
        stated = statement_of(certificate, LevelsStatement)
        try:
            version = mechanism_from_json(law_in_order(stated.law, certificate.attributes))
        except MatrixError as error:
            raise BundleError(error.what, error.got) from None
        if not isinstance(version, AtLevel):
            raise BundleError(
                "The law of a version must state its level and design", f"coin = {stated.law['coin']!r}"
            )
        if stated.out_of != str(GRID):
            raise BundleError(f"The level of a certificate must be out of {GRID}", stated.out_of)
        check_sizes(version, certificate)
        return LevelPlan(
            **fields_of_certificate(certificate, stated.tables),
            mechanism=version,
            circumstances=circumstances_of(certificate, stated.delta, stated.candidates),
            keyed=stated.keyed,
        )


def version_at(
    recipe: LevelsRecipe,
    attributes: tuple[Attribute, ...],
    design: LevelDesign,
    level: Level,
    records: int,
    dataset: str,
) -> LevelPlan:
    """The plan of one version."""
    fields = fields_of_recipe(recipe, attributes)
    fields["dataset"] = dataset
    return LevelPlan(
        **fields,
        mechanism=AtLevel(design, level),
        circumstances=_circumstances(recipe.release, attributes, records),
        keyed=not recipe.release.history,
    )


def attributes_at_levels(recipe: LevelsRecipe, rows: Values) -> tuple[Attribute, ...]:
    """Sensitive attributes are perturbed unless the recipe says otherwise; others only where it asks for it."""
    return tuple(
        resolve(name, column, recipe.folder, rows) if _is_perturbed(column) else unchanged(name, column)
        for name, column in recipe.published.items()
    )


def _is_perturbed(column: LevelsColumn) -> bool:
    return column.role is Role.SENSITIVE if column.randomise is None else column.randomise


def design_of(recipe: LevelsRecipe, attributes: tuple[Attribute, ...]) -> LevelDesign:
    laws = {a.name: _law(a.name, recipe.attributes[a.name], a.coded.size) for a in attributes if not a.raw}
    try:
        return LevelDesign(laws, recipe.release.together)
    except MatrixError:
        raise RecipeError(
            "A recipe with levels must perturb at least one column", "none", 'Give one the role "sensitive".'
        ) from None


def _law(name: str, column: LevelsColumn, size: int) -> Replacement:
    """Uniform, or the attribute's own `distribution`: one share per value of its domain, missing last."""
    if column.distribution is None:
        return Uniform(size)
    if len(column.distribution) != size:
        raise RecipeError(
            f"The distribution of {name!r} must have one share for each of its {size} values",
            str(len(column.distribution)),
        )
    return Weighted.of(column.distribution)


def _circumstances(setting: LevelsSetting, attributes: tuple[Attribute, ...], records: int) -> Circumstances:
    delta = DEFAULT_DELTA if setting.delta is None else setting.delta
    return circumstances_for(attributes, records, setting.shuffle, delta, None)


def _level(setting: LevelsSetting, design: LevelDesign, circumstances: Circumstances) -> Level:
    wanted = None
    if setting.k is not None or setting.epsilon is not None:
        wanted = Wanted(circumstances, setting.k, setting.epsilon)
    if setting.retention is not None:
        level = Level.of(setting.retention)
        if wanted is not None and not wanted.is_kept_by(AtLevel(design, level)):
            raise UnreachableError(
                f"The stated level must reach k = {setting.k}, epsilon = {setting.epsilon}", str(level)
            )
        return level
    if wanted is None:
        raise RecipeError(
            "A release at a level must state its retention, k or epsilon",
            "none of the three",
            "Write one of them in [release]; or register the recipe with `pramana levels create`, and state a "
            "level for each recipient with `pramana levels issue`.",
        )
    low, high = -1, GRID  # kept at low, not at high
    if wanted.is_kept_by(AtLevel(design, Level(GRID))):
        return Level(GRID)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wanted.is_kept_by(AtLevel(design, Level(middle))) else (low, middle)
    if low < 0:
        raise UnreachableError(f"Some level must reach k = {setting.k}, epsilon = {setting.epsilon}", "none")
    return Level(low)


METHODS = {LevelsMethod.name: LevelsMethod()}
