"""coin = "best": the way to keep the promise that serves the named tables best, chosen from public numbers alone.

The certificate states what was asked for and every coarsening that was allowed, so that `verify` chooses again and
compares. No row decides anything of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pramana.bundle.certificate import JsonObject
from pramana.bundle.form import Check
from pramana.errors import BundleError, InputError, RecipeError
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Mechanism
from pramana.mechanisms.units import UnitDraws
from pramana.methods.columns import coarser_domains, sizes_of
from pramana.methods.recipe import Recipe
from pramana.methods.retention.calibration import Wanted
from pramana.methods.retention.setting import ChoiceForm, RetentionColumn, RetentionSetting
from pramana.methods.retention.units import around_units, calibrated_for_units
from pramana.schema.domain import Attribute, Domain

if TYPE_CHECKING:
    from pramana.methods.retention.frontier import Candidate
    from pramana.methods.retention.spending import Coarsening, SpendingQuestion

RetentionRecipe = Recipe[RetentionSetting, RetentionColumn]


@dataclass(frozen=True)
class CoinChoice:
    """What a law was chosen from: the promise, the number of records, and the coarsenings, with those taken."""

    k: float | None
    epsilon: float | None
    central: float | None
    records: int
    coarser: Mapping[str, tuple[Coarsening, ...]] = field(default_factory=dict)
    taken: Mapping[str, int] = field(default_factory=dict)

    def question(self, published: Mapping[str, int], tables: Sequence[Sequence[str]]) -> SpendingQuestion:
        """In the finest values: of attributes that may be coarser, as many as the coarsenings stand for."""
        from pramana.methods.retention.spending import SpendingQuestion

        finest = {name: ways[0].finest for name, ways in self.coarser.items()}
        sizes = {name: finest.get(name, size) for name, size in published.items()}
        return SpendingQuestion(sizes, tables, self.records, self.coarser)

    def wanted(self, around: Circumstances) -> Wanted:
        return Wanted(replace(around, records=self.records), self.k, self.epsilon, self.central)

    def to_json(self) -> JsonObject:
        return {
            "k": self.k,
            "epsilon": self.epsilon,
            "central": self.central,
            "records": self.records,
            "coarser": {name: [list(way.merged) for way in ways] for name, ways in self.coarser.items()},
            "taken": dict(self.taken),
        }

    @classmethod
    def of_form(cls, form: ChoiceForm, published: Mapping[str, int]) -> CoinChoice:
        from pramana.methods.retention.spending import Coarsening

        try:
            coarser = {name: tuple(Coarsening(tuple(way)) for way in ways) for name, ways in form.coarser.items()}
        except InputError as error:
            raise BundleError(error.what, error.got) from None
        for name, ways in coarser.items():
            taken = form.taken.get(name)
            fits = name in published and ways and len({way.finest for way in ways}) == 1
            if not fits or (taken is not None and not 0 <= taken < len(ways)):
                raise BundleError("The coarsenings of a certificate must fit its columns", repr(name))
            if published[name] != (ways[0].finest if taken is None else ways[taken].size):
                raise BundleError("The coarsenings of a certificate must fit its domains", repr(name))
        if strange := set(form.taken) - set(coarser):
            raise BundleError("A column can be coarsened in a way that is stated", repr(min(strange)))
        return cls(form.k, form.epsilon, form.central, form.records, coarser, dict(form.taken))


@dataclass(frozen=True)
class Options:
    """The attributes as the recipe has them, and the coarser domains that its columns allow."""

    attributes: tuple[Attribute, ...]
    domains: Mapping[str, tuple[Domain, ...]]

    def coarsenings(self) -> dict[str, tuple[Coarsening, ...]]:
        finest = {a.name: a.coded for a in self.attributes if not a.raw}
        return {n: tuple(_merged(finest[n], one) for one in ways) for n, ways in self.domains.items()}

    def published(self, taken: Mapping[str, int]) -> tuple[Attribute, ...]:
        return tuple(
            replace(a, domain=self.domains[a.name][taken[a.name]]) if a.name in taken else a
            for a in self.attributes
        )


def _merged(finest: Domain, coarse: Domain) -> Coarsening:
    from pramana.methods.retention.spending import Coarsening

    counts = [0] * coarse.size
    for code in finest.codes_in(coarse):
        counts[code] += 1
    return Coarsening(tuple(counts))


def options_of(recipe: RetentionRecipe, attributes: tuple[Attribute, ...]) -> Options:
    """Which columns may be published coarser, and how."""
    own = {name: column for name, column in recipe.published.items() if column.coarsen}
    if own and recipe.release.coin != "best":
        raise RecipeError(
            'coarsen must go with coin = "best", which decides on it', f"coin = {recipe.release.coin!r}"
        )
    domains = {}
    for a in attributes:
        if a.name in own:
            if a.raw:
                raise RecipeError(f"The column {a.name!r} must be randomised to be coarsened", "a raw one")
            ways = coarser_domains(a.name, own[a.name], recipe.folder, a.coded)
            if ways:
                domains[a.name] = ways
    return Options(attributes, domains)


def ways_to_spend(
    recipe: RetentionRecipe,
    attributes: tuple[Attribute, ...],
    around: Circumstances,
    draws: UnitDraws | None,
) -> tuple[Candidate, ...]:
    """The frontier of a recipe's promise, whatever coin it names; for people of several rows there is one way."""
    from pramana.methods.retention.frontier import frontier, way_of_units

    allowed = options_of(recipe, attributes) if recipe.release.coin == "best" else Options(attributes, {})
    asked, sizes = _asked(recipe.release, around.records, allowed), sizes_of(attributes)
    question = asked.question(sizes, recipe.tables)
    if draws is None:
        return frontier(question, asked.wanted(around))
    units = around_units(around, draws)
    wanted = replace(asked, records=units.records).wanted(units)
    return (way_of_units(question, wanted, calibrated_for_units(sizes, wanted, draws), draws),)


def chosen_law(
    recipe: RetentionRecipe, attributes: tuple[Attribute, ...], around: Circumstances
) -> tuple[Mechanism, tuple[Attribute, ...], CoinChoice]:
    """The law, the attributes as they will be published, and what it was chosen from."""
    from pramana.methods.retention.frontier import best_candidate

    allowed = options_of(recipe, attributes)
    asked = _asked(recipe.release, around.records, allowed)
    best = best_candidate(asked.question(sizes_of(attributes), recipe.tables), asked.wanted(around))
    return best.law, allowed.published(best.coarsened), replace(asked, taken=dict(best.coarsened))


def _asked(release: RetentionSetting, records: int, allowed: Options) -> CoinChoice:
    return CoinChoice(release.k, release.epsilon, release.central_epsilon, records, allowed.coarsenings())


def check_choice(
    choice: CoinChoice,
    law: Mechanism,
    sizes: Mapping[str, int],
    tables: Sequence[Sequence[str]],
    around: Circumstances,
) -> Check:
    """Chosen again from what the certificate states: the same law and the same coarsenings?"""
    from pramana.methods.retention.frontier import best_candidate

    try:
        again = best_candidate(choice.question(sizes, tables), choice.wanted(around))
    except InputError as error:
        return Check("choice of the coin", False, str(error))
    same = again.law.to_json() == law.to_json() and dict(again.coarsened) == dict(choice.taken)
    told = f"the best of those that keep the promise: {again.words}" if same else "another would be chosen"
    return Check("choice of the coin", same, told)
