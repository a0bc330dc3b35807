"""Method `levels`: the sensitive attributes at one level of many, the others as they are (paper 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pramana.calibration import Wanted
from pramana.errors import BundleError, InputError, MatrixError, RecipeError, UnreachableError
from pramana.mechanisms import (
    DEFAULT_DELTA,
    AtLevel,
    Circumstances,
    LevelDesign,
    LevelSource,
    Replacement,
    Uniform,
    Weighted,
    level_guarantees,
)
from pramana.randomness import Codes, Key
from pramana.release.certificate import Certificate
from pramana.release.randomised import RandomisedPlan, conditions
from pramana.release.resolve import dropped, published, resolve
from pramana.release.streamed import Streamed, StreamedTable
from pramana.rows import BatchEngine, LocalEngine, Progress, Spool
from pramana.schema import Attribute, AttributeRecipe, Recipe, Role
from pramana.sources import Table
from pramana.theory import GRID, Guarantee, Level


@dataclass(frozen=True)
class LevelPlan(RandomisedPlan):
    """One version. Its coins are bound to the dataset and the design and not to the level."""

    keyed: bool = True
    source: LevelSource | None = None  # where versions come from if not from the key

    @property
    def version(self) -> AtLevel:
        assert isinstance(self.mechanism, AtLevel)
        return self.mechanism

    def context(self, commitment: str = "") -> str:
        return f"{self.dataset}\n{self.version.design.digest}\n{commitment}"

    def statement(self) -> dict[str, Any]:
        return {**super().statement(), "out_of": str(GRID), "keyed": self.keyed}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        linked = [a for a in self.attributes if a.role is Role.QUASI_IDENTIFYING]
        linkable = bool(linked) and not any(a.raw for a in linked)
        circumstances = replace(self.circumstances, seeded=seeded)
        return level_guarantees(self.version, circumstances, linkable, self.keyed)

    def draw(
        self, codes: Mapping[str, Codes], key: Key, context: str, engine: LocalEngine, progress: Progress
    ) -> dict[str, Codes]:
        if self.keyed:
            return super().draw(codes, key, context, engine, progress)
        if self.source is None:
            raise BundleError(
                "A version drawn from a history must be looked up in it", "a key", "Ask the ledger for it again."
            )
        return self.source.version(self.version.level, codes)

    def stream(self, rows: Spool, key: Key, engine: BatchEngine, progress: Progress) -> Streamed:
        if not self.keyed:
            raise BundleError("A version drawn from a history must fit in memory", "a bound on memory")
        return super().stream(rows, key, engine, progress)


@dataclass(frozen=True)
class LevelMethod:
    """`levels`: at the recipe's retention, or at the highest level that reaches its k and epsilon."""

    def columns(self, recipe: Recipe) -> list[str]:
        return [a.name for a in published(recipe)]

    def randomised(self, attribute: AttributeRecipe) -> bool:
        return _perturbed(attribute)

    def plan_streamed(self, recipe: Recipe, table: StreamedTable) -> LevelPlan:
        return self.plan(recipe, table.seen)

    def plan(self, recipe: Recipe, table: Table) -> LevelPlan:
        if not is_keyed(recipe):
            raise RecipeError(
                "Versions with a history must be issued from a ledger", "history = true", "Use `pramana levels`."
            )
        attributes = attributes_of(recipe, table)
        design = design_of(recipe, attributes)
        circumstances = circumstances_of(recipe, attributes, table)
        level = _level(recipe, design, circumstances)
        return LevelPlan(
            attributes, dropped(recipe), AtLevel(design, level), circumstances, recipe.source.get("dataset", "")
        )

    def plan_from(self, certificate: Certificate) -> LevelPlan:
        statement = certificate.mechanism
        try:
            version = AtLevel.from_json(statement["law"])
            delta, candidates = float(statement["delta"]), statement["candidates"]
            keyed = statement["keyed"] is True
        except (KeyError, TypeError, ValueError, InputError):
            raise BundleError("The certificate must state its level and design", "something else") from None
        if {a.name: a.coded.size for a in certificate.attributes if not a.raw} != version.sizes:
            raise BundleError("The law of a certificate must fit its domains", "other sizes")
        circumstances = conditions(
            certificate.attributes, certificate.records, certificate.shuffled, delta, candidates
        )
        return LevelPlan(
            certificate.attributes, certificate.dropped, version, circumstances, certificate.dataset, keyed
        )


def is_keyed(recipe: Recipe) -> bool:
    history = recipe.options.get("history", False)
    if not isinstance(history, bool):
        raise RecipeError("history must be true or false", repr(history))
    return not history


def attributes_of(recipe: Recipe, table: Table) -> tuple[Attribute, ...]:
    """Sensitive attributes are perturbed unless the recipe says otherwise; others only where it asks for it."""
    return tuple(resolve(a, table, _perturbed(a)) for a in published(recipe))


def _perturbed(attribute: AttributeRecipe) -> bool:
    return attribute.role is Role.SENSITIVE if attribute.randomise is None else attribute.randomise


def design_of(recipe: Recipe, attributes: tuple[Attribute, ...]) -> LevelDesign:
    together = recipe.options.get("together", False)
    if not isinstance(together, bool):
        raise RecipeError("together must be true (one chain for all perturbed columns) or false", repr(together))
    laws = {a.name: _law(recipe.attribute(a.name), a.coded.size) for a in attributes if not a.raw}
    try:
        return LevelDesign(laws, together)
    except MatrixError:
        raise RecipeError(
            "A recipe with levels must perturb at least one column", "none", 'Give one the role "sensitive".'
        ) from None


def _law(attribute: AttributeRecipe, size: int) -> Replacement:
    """Uniform, or the attribute's own `distribution`: one share per value of its domain, missing last."""
    stated = attribute.options.get("distribution")
    if stated is None:
        return Uniform(size)
    if not isinstance(stated, list) or not all(
        isinstance(x, int | float) and not isinstance(x, bool) and x >= 0 for x in stated
    ):
        raise RecipeError(f"The distribution of {attribute.name!r} must be a list of shares", repr(stated)[:80])
    if len(stated) != size:
        raise RecipeError(
            f"The distribution of {attribute.name!r} must have one share for each of its {size} values",
            str(len(stated)),
        )
    return Weighted.of([float(x) for x in stated])


def circumstances_of(recipe: Recipe, attributes: tuple[Attribute, ...], table: Table) -> Circumstances:
    delta = DEFAULT_DELTA if recipe.delta is None else recipe.delta
    if isinstance(delta, bool) or not isinstance(delta, float) or not 0 < delta < 1:
        raise RecipeError("delta must be a number between 0 and 1", repr(delta))
    return conditions(attributes, table.records, recipe.shuffle, delta, None)


def _level(recipe: Recipe, design: LevelDesign, circumstances: Circumstances) -> Level:
    wanted = None
    if recipe.k is not None or recipe.epsilon is not None:
        wanted = Wanted(circumstances, recipe.k, recipe.epsilon)
    if recipe.retention is not None:
        level = Level.of(recipe.retention)
        if wanted is not None and not wanted.is_kept_by(AtLevel(design, level)):
            raise UnreachableError(
                f"The stated level must reach k = {recipe.k}, epsilon = {recipe.epsilon}", str(level)
            )
        return level
    if wanted is None:
        raise RecipeError(
            "A release at a level must state its retention, k or epsilon",
            "none of them",
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
        raise UnreachableError(f"Some level must reach k = {recipe.k}, epsilon = {recipe.epsilon}", "none")
    return Level(low)
