"""coin = "best": the way to keep the promise that serves the named tables best, chosen from public numbers alone.

The certificate states what was asked for and every coarsening that was allowed, so that `verify` chooses again and
compares. No row decides anything of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

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
    from pramana.methods.retention.spending import SpendingQuestion

RetentionRecipe = Recipe[RetentionSetting, RetentionColumn]


def check_fit(choice: ChoiceForm, published: Mapping[str, int]) -> None:
    """Refuse coarsenings that a certificate's columns and domains do not have."""
    from pramana.methods.retention.spending import Coarsening

    for name, stated in choice.coarser.items():
        try:
            ways = [Coarsening(tuple(way)) for way in stated]
        except InputError as error:
            raise BundleError(error.what, error.got) from None
        taken = choice.taken.get(name)
        fits = name in published and ways and len({way.finest for way in ways}) == 1
        if not fits or (taken is not None and not 0 <= taken < len(ways)):
            raise BundleError("The coarsenings of a certificate must fit its columns", repr(name))
        if published[name] != (ways[0].finest if taken is None else ways[taken].size):
            raise BundleError("The coarsenings of a certificate must fit its domains", repr(name))
    if strange := set(choice.taken) - set(choice.coarser):
        raise BundleError("A column can be coarsened in a way that is stated", repr(min(strange)))


def _question(
    choice: ChoiceForm, published: Mapping[str, int], tables: Sequence[Sequence[str]]
) -> SpendingQuestion:
    """In the finest values: of attributes that may be coarser, as many as the coarsenings stand for."""
    from pramana.methods.retention.spending import Coarsening, SpendingQuestion

    coarser = {name: tuple(Coarsening(tuple(way)) for way in ways) for name, ways in choice.coarser.items()}
    sizes = {name: coarser[name][0].finest if name in coarser else size for name, size in published.items()}
    return SpendingQuestion(sizes, tables, choice.records, coarser)


def _wanted(choice: ChoiceForm, around: Circumstances) -> Wanted:
    return Wanted(replace(around, records=choice.records), choice.k, choice.epsilon, choice.central)


def _best(
    choice: ChoiceForm, published: Mapping[str, int], tables: Sequence[Sequence[str]], around: Circumstances
) -> Candidate:
    """The way that serves the tables best of those that keep the promise."""
    from pramana.methods.retention.frontier import best_candidate

    return best_candidate(_question(choice, published, tables), _wanted(choice, around))


@dataclass(frozen=True)
class Options:
    """The attributes as the recipe has them, and the coarser domains that its columns allow."""

    attributes: tuple[Attribute, ...]
    domains: Mapping[str, tuple[Domain, ...]]

    def coarsenings(self) -> dict[str, list[list[int]]]:
        """By column, of each coarser domain, how many of the finest values each of its own stands for."""
        finest = {a.name: a.coded for a in self.attributes if not a.raw}
        return {
            name: [np.bincount(finest[name].codes_in(coarse), minlength=coarse.size).tolist() for coarse in ways]
            for name, ways in self.domains.items()
        }

    def published(self, taken: Mapping[str, int]) -> tuple[Attribute, ...]:
        return tuple(
            replace(a, domain=self.domains[a.name][taken[a.name]]) if a.name in taken else a
            for a in self.attributes
        )


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
    question = _question(asked, sizes, recipe.tables)
    if draws is None:
        return frontier(question, _wanted(asked, around))
    units = around_units(around, draws)
    wanted = _wanted(structs.replace(asked, records=units.records), units)
    return (way_of_units(question, wanted, calibrated_for_units(sizes, wanted, draws), draws),)


def chosen_law(
    recipe: RetentionRecipe, attributes: tuple[Attribute, ...], around: Circumstances
) -> tuple[Mechanism, tuple[Attribute, ...], ChoiceForm]:
    """The law, the attributes as they will be published, and what it was chosen from."""
    allowed = options_of(recipe, attributes)
    asked = _asked(recipe.release, around.records, allowed)
    best = _best(asked, sizes_of(attributes), recipe.tables, around)
    return best.law, allowed.published(best.coarsened), structs.replace(asked, taken=dict(best.coarsened))


def _asked(release: RetentionSetting, records: int, allowed: Options) -> ChoiceForm:
    return ChoiceForm(
        k=release.k,
        epsilon=release.epsilon,
        central=release.central_epsilon,
        records=records,
        coarser=allowed.coarsenings(),
        taken={},
    )


def check_choice(
    choice: ChoiceForm,
    law: Mechanism,
    sizes: Mapping[str, int],
    tables: Sequence[Sequence[str]],
    around: Circumstances,
) -> Check:
    """Chosen again from what the certificate states: the same law and the same coarsenings?"""
    try:
        again = _best(choice, sizes, tables, around)
    except InputError as error:
        return Check("choice of the coin", False, str(error))
    same = again.law.to_json() == law.to_json() and dict(again.coarsened) == dict(choice.taken)
    detail = f"the best of those that keep the promise: {again.words}" if same else "another would be chosen"
    return Check("choice of the coin", same, detail)
