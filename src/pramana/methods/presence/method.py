"""`presence`: that someone is in the table stays uncertain, for these two tables (paper 4, section V)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from pramana.bundle.certificate import Certificate
from pramana.errors import RecipeError
from pramana.files.locations import named_in
from pramana.files.store_path import AnyPath
from pramana.io.source import Source
from pramana.methods.cells import CLASS
from pramana.methods.columns import ClassifiedColumn, levels_given, quasi_of, reading_of, unchanged
from pramana.methods.generalize.setting import weights_of
from pramana.methods.presence.algorithms import PresenceDesign
from pramana.methods.presence.choice import SPREAD, levels_from_public, pair_of
from pramana.methods.presence.plan import PresencePlan, PresenceStatement, restore_presence
from pramana.methods.presence.search import Pair, PresentClasses, at_presence_levels, presented, spalm
from pramana.methods.presence.setting import PresenceSetting
from pramana.methods.presence.shaping import Presence
from pramana.methods.protocol import Method, Plan, fields_of_recipe
from pramana.methods.recipe import Recipe
from pramana.methods.trials import Change, first_useful, without_a_column
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Role
from pramana.schema.sections import SourceSection

# Method `presence`: from a recipe to levels at which nobody can say who is in the table (paper 4, section V).


_WIDER = (0.25, 0.5, 0.75, 0.9)  # of the way from the stated range to all chances there are
PresenceRecipe = Recipe[PresenceSetting, ClassifiedColumn]


class PresenceMethod(Method[PresenceSetting, ClassifiedColumn]):
    """`presence`."""

    name: ClassVar[str] = "presence"
    setting = PresenceSetting
    column = ClassifiedColumn
    statement = PresenceStatement

    def source(self, recipe: PresenceRecipe) -> SourceSection:
        """With a mark of presence the public table is the source."""
        if recipe.release.present is None or recipe.release.public is None:
            return recipe.source
        return msgspec.structs.replace(
            recipe.source, path=str(named_in(recipe.folder, recipe.release.public, "release.public"))
        )

    def readings(self, recipe: PresenceRecipe) -> tuple[ColumnReading, ...]:
        """What a domain that is not stated is shows in the public table."""
        flag = recipe.release.present
        if flag in recipe.published:
            raise RecipeError(f"The column {flag!r} marks presence and must not be published", "an attribute")
        marks = () if flag is None else (ColumnReading(flag),)
        return (*_readings(recipe, recipe.published), *marks)

    def plan(self, recipe: PresenceRecipe, rows: Rows) -> PresencePlan:
        setting = recipe.release
        wanted, design, flag = setting.wanted, setting.design, setting.present
        public_path = _public_path(recipe)
        columns = {n: c for n, c in recipe.published.items() if c.role is Role.QUASI_IDENTIFYING}
        if not columns:
            raise RecipeError("A recipe must have at least one quasi-identifying column", "none")
        public = None if public_path is None else rows.beside(Source(path=public_path), _readings(recipe, columns))
        quasi = tuple(
            quasi_of(n, c, recipe.folder, rows if public is None else public) for n, c in columns.items()
        )
        by_name = {q.name: q.attribute for q in quasi}
        attributes = tuple(
            by_name.get(name) or unchanged(name, column) for name, column in recipe.published.items()
        )
        if public is not None:
            public.encode([q.attribute for q in quasi])
        rows.encode(attributes)
        pair = pair_of(quasi, rows, public, flag)
        levels = levels_given(setting.levels, {q.name: q.ladder.height for q in quasi})
        weights = weights_of(setting.weights, recipe) or None
        if levels is None and setting.chosen == "public":
            levels = levels_from_public(pair, wanted, setting.measure, weights, setting.spread or SPREAD)
        if levels is not None:
            classes = _unsearched(pair, wanted, design, levels)
        else:
            classes = spalm(pair, wanted, setting.measure, weights, design)
        if recipe.output.data_format == "csv" and CLASS in recipe.published:
            raise RecipeError(f"No column may be called {CLASS!r} where cells go by class", "one that is")
        return PresencePlan(
            **fields_of_recipe(recipe, attributes),
            wanted=wanted,
            design=design,
            quasi=quasi,
            levels=classes.levels,
            present=pair.people_present,
            people=pair.people,
            flag=flag,
            public_name=None if public_path is None else public_path.name,
            chosen=setting.chosen,
            compare=setting.compare,
            public=public,
            searched=classes,
        )

    def advise(self, recipe: PresenceRecipe, plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        """Levels that are not given, a wider range, or a column less, on the same two tables."""
        del plan
        if rows is None:
            return ()
        lower, upper = recipe.release.delta
        changes: list[Change] = []
        if recipe.release.levels is not None:
            changes.append(("With levels left out", {"levels": None}))
        for part in _WIDER:
            wider = (round(lower * (1 - part), 4), round(upper + (1 - upper) * part, 4))
            changes.append((f"With delta = [{wider[0]:g}, {wider[1]:g}]", {"delta": wider, "levels": None}))
        return (*first_useful(self, recipe, rows, changes), *without_a_column(self, recipe, rows))

    def restore(self, certificate: Certificate) -> PresencePlan:
        return restore_presence(certificate)


def _readings(recipe: PresenceRecipe, columns: Mapping[str, ClassifiedColumn]) -> tuple[ColumnReading, ...]:
    return tuple(
        reading_of(name, column, recipe.folder, column.role is Role.QUASI_IDENTIFYING)
        for name, column in columns.items()
    )


def _public_path(recipe: PresenceRecipe) -> AnyPath | None:
    """The file of the public table, where it is not the source itself."""
    if recipe.release.present is not None:
        return None
    if recipe.release.public is None:
        raise RecipeError(
            "Method presence must have a public table",
            "none",
            'Write public = "everyone.csv", or present = "column" for one that marks who is present.',
        )
    return named_in(recipe.folder, recipe.release.public, "release.public")


def _unsearched(pair: Pair, wanted: Presence, design: PresenceDesign, levels: tuple[int, ...]) -> PresentClasses:
    """What does not hold at levels that were not searched is said before anything is made."""
    classes = at_presence_levels(pair, wanted, levels)
    if design.start == "pdf":
        presented(classes, design)
    return classes


METHODS = {PresenceMethod.name: PresenceMethod()}
