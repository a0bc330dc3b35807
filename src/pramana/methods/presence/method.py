"""`presence`: that someone is in the table stays uncertain, for these two tables (paper 4, section V)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, InputError, RecipeError
from pramana.files.locations import named_in
from pramana.io.source import Source
from pramana.methods.cells import CLASS
from pramana.methods.columns import (
    ClassifiedColumn,
    GivenLevels,
    check_levels,
    levels_given,
    quasi_of,
    reading_of,
    restored_quasi,
    unchanged,
)
from pramana.methods.generalize.setting import weights_of
from pramana.methods.presence.algorithms import Algorithm, CellKind, Chosen, Mode, PresenceDesign
from pramana.methods.presence.plan import PresencePlan, PresenceStatement
from pramana.methods.presence.search import (
    SPREAD,
    at_presence_levels,
    levels_from_public,
    pair_of,
    presented,
    spalm,
)
from pramana.methods.presence.shaping import Presence
from pramana.methods.protocol import (
    Change,
    Method,
    Plan,
    fields_of_certificate,
    fields_of_recipe,
    first_useful,
    statement_of,
    without_a_column,
)
from pramana.methods.recipe import Recipe
from pramana.rows.protocol import ColumnReading, Rows
from pramana.schema.domain import Role
from pramana.schema.sections import Setting, SourceSection, Weights
from pramana.schema.typed import Count, FilePath, Flag, PlainText, Positive

Range = Annotated[tuple[float, float], Meta(extra={"must": "two numbers, such as delta = [0.01, 0.5]"})]


class PresenceSetting(Setting, frozen=True, kw_only=True, tag="presence"):
    """method = "presence": that someone is in the table stays uncertain, for these two tables."""

    delta: Range
    public: Annotated[FilePath | None, Meta(description="The table of everyone.")] = None
    present: Annotated[PlainText | None, Meta(description="The column that marks who is present by 1 and 0.")] = (
        None
    )
    algorithm: Algorithm = "optimal"
    cells: CellKind = "hierarchy"
    mode: Mode = "public"
    noise_epsilon: Positive | None = None
    quantum: Count | None = None
    measure: Literal["loss", "entropy", "precision"] = "loss"
    weights: Weights = {}
    levels: GivenLevels | None = None
    choose: Annotated[
        Literal["public", "searched"],
        Meta(description="How levels that are not given are chosen: from public knowledge or on the table."),
    ] = "public"
    spread: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(
            description="By which factor classes may differ from the overall share, as levels are chosen.",
            extra={"must": "a number of at least 1"},
        ),
    ] = None
    suppression: Annotated[float, Meta(ge=0)] = 0.0
    compare: Annotated[Flag, Meta(description="Whether to say what the other algorithms would gain.")] = False

    def __post_init__(self) -> None:
        if self.suppression != 0:
            raise RecipeError(
                "With method presence nothing may be suppressed: what is left out tells of its people as well",
                f"suppression = {self.suppression!r}",
            )
        if self.compare and self.mode != "public":
            raise RecipeError(
                'compare must go with mode = "public": what other algorithms gain comes from the counts, too',
                f"mode = {self.mode!r}",
            )
        if self.spread is not None and (self.choose != "public" or self.levels is not None):
            how = "levels that are given" if self.levels is not None else "levels that are searched"
            raise RecipeError('spread must go with choose = "public"', how)
        if self.quantum is not None and self.mode != "quantised":
            raise RecipeError('quantum must go with mode = "quantised"', f"mode = {self.mode!r}")
        if self.mode == "noised" and self.noise_epsilon is None:
            raise RecipeError(
                'With mode = "noised" a recipe must state noise_epsilon', "none", "Write noise_epsilon = 1.0."
            )

    @property
    def wanted(self) -> Presence:
        return Presence.of(*self.delta)

    @property
    def chosen(self) -> Chosen:
        return "given" if self.levels is not None else self.choose

    @property
    def design(self) -> PresenceDesign:
        quantum = PresenceDesign().quantum if self.quantum is None else self.quantum
        return PresenceDesign(self.algorithm, self.mode, self.cells, quantum=quantum, epsilon=self.noise_epsilon)


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
        public_path = None  # where the public table is not the source itself
        if flag is None:
            if setting.public is None:
                raise RecipeError(
                    "Method presence must have a public table",
                    "none",
                    'Write public = "everyone.csv", or present = "column" for one that marks who is present.',
                )
            public_path = named_in(recipe.folder, setting.public, "release.public")
        columns = {n: c for n, c in recipe.published.items() if c.role is Role.QUASI_IDENTIFYING}
        if not columns:
            raise RecipeError("A recipe must have at least one quasi-identifying column", "none")
        public = None
        if public_path is not None:
            public = rows.open_reference_table(Source(path=public_path), _readings(recipe, columns))
        quasi = tuple(quasi_of(n, c, recipe.folder, public or rows) for n, c in columns.items())
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
        if levels is None:
            classes = spalm(pair, wanted, setting.measure, weights, design)
        else:  # what does not hold at levels that were not searched is said before anything is made
            classes = at_presence_levels(pair, wanted, levels)
            if design.start == "pdf":
                presented(classes, design)
        if recipe.output.data_format == "csv" and CLASS in recipe.published:
            raise RecipeError(f"A column must not be called {CLASS!r} where cells go by class", repr(CLASS))
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
        stated = statement_of(certificate, PresenceStatement)
        try:
            quasi = restored_quasi(stated.quasi, certificate.attributes)
            wanted, design = stated.setting.wanted, stated.setting.design
        except (InputError, ValueError, IndexError) as error:
            raise BundleError(
                "The certificate must state how presence was reached", type(error).__name__
            ) from None
        check_levels(stated.levels, quasi)
        if (stated.flag is None) == (stated.public is None):
            got = "neither" if stated.flag is None else "both"
            raise BundleError("The certificate must name a public table or a mark of presence", got)
        return PresencePlan(
            **fields_of_certificate(certificate, stated.tables),
            wanted=wanted,
            design=design,
            quasi=quasi,
            levels=tuple(stated.levels),
            present=certificate.records,
            people=stated.people,
            flag=stated.flag,
            public_name=None if stated.public is None else Path(stated.public).name,
            chosen=stated.levels_chosen,
            compare=len(stated.reached.expected_gains) > 1,
            measured=stated.reached,
        )


def _readings(recipe: PresenceRecipe, columns: Mapping[str, ClassifiedColumn]) -> tuple[ColumnReading, ...]:
    return tuple(
        reading_of(name, column, recipe.folder, column.role is Role.QUASI_IDENTIFYING)
        for name, column in columns.items()
    )


METHODS = {PresenceMethod.name: PresenceMethod()}
