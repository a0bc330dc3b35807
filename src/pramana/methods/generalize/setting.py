"""What a recipe with method `generalize` asks for, read and checked before the data is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.errors import RecipeError
from pramana.methods.columns import ClassifiedColumn, GivenLevels
from pramana.methods.generalize.class_models import (
    Alike,
    Disclosing,
    FewUniques,
    Game,
    LeftOutPresent,
    Mapped,
    MeanRiskWithin,
    Profitable,
    ShareOfPeople,
    TableCondition,
    Together,
    UniquesModel,
)
from pramana.methods.generalize.conditions import (
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    On,
    RecursiveDiverse,
)
from pramana.methods.generalize.measures import CLASSIFICATION, EVEN, FACTORED, SEPARABLE
from pramana.methods.presence.shaping import Presence
from pramana.methods.protocol import Capabilities
from pramana.methods.recipe import Recipe
from pramana.schema.domain import Role
from pramana.schema.sections import Setting, Weights
from pramana.schema.typed import Count, FilePath, Flag, PlainText, Positive, keys_of

# What a recipe may ask of classes beyond k, l and t, what goes together, and the condition it comes to.


BKind = Literal["basic", "enhanced"]
Factor = Annotated[float, Meta(ge=0, le=1, extra={"must": "a number from 0 to 1"})]
Probability = Annotated[float, Meta(ge=0, le=1, extra={"must": "a number from 0 to 1"})]
Range = Annotated[tuple[float, float], Meta(extra={"must": "two numbers, such as delta = [0.01, 0.5]"})]


class ProfitSection(Form, frozen=True, kw_only=True):
    """profit = { ... }: what publisher and intruder stand to gain and to lose by a record."""

    benefit: Annotated[float, Meta(gt=0, description="What a record as it is in the source is worth to publish.")]
    loss: Annotated[float, Meta(ge=0, description="What the publisher loses by a record that is found.")]
    gain: Annotated[float, Meta(ge=0, description="What an intruder gains by finding it.")]
    cost: Annotated[float, Meta(ge=0, description="What an attack on a record costs.")]
    intruder: Annotated[
        Literal["prosecutor", "journalist"],
        Meta(description="Who knows that a person is in the table, or does not."),
    ] = "prosecutor"
    attacked: Annotated[Flag, Meta(description="Whether attacks that pay an intruder are put up with.")] = True

    @property
    def game(self) -> Game:
        return Game(self.benefit, self.loss, self.gain, self.cost, self.attacked)


class ModelsAsked(Protocol):
    """The keys of a setting that this module knows."""

    @property
    def algorithm(self) -> str: ...
    @property
    def cells(self) -> str: ...
    @property
    def suppress(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def b_likeness(self) -> float | None: ...
    @property
    def b_kind(self) -> str: ...
    @property
    def k_map(self) -> int | None: ...
    @property
    def delta(self) -> tuple[float, float] | None: ...
    @property
    def average_risk(self) -> float | None: ...
    @property
    def population_uniques(self) -> float | None: ...
    @property
    def population_size(self) -> int | None: ...
    @property
    def uniques_model(self) -> UniquesModel: ...
    @property
    def gs_factor(self) -> float: ...
    @property
    def profit(self) -> ProfitSection | None: ...
    @property
    def target(self) -> str | None: ...
    @property
    def factors(self) -> Mapping[str, float]: ...
    @property
    def subset(self) -> str | None: ...


def wanted_presence(delta: tuple[float, float]) -> Presence:
    return Presence.of(*delta)


def whole_table_keys(design: ModelsAsked) -> list[str]:
    """The keys, of those that are stated, that only a search over levels can keep."""
    stated = {
        "k_map": design.k_map,
        "delta": design.delta,
        "average_risk": design.average_risk,
        "population_uniques": design.population_uniques,
        "profit": design.profit,
        "target": design.target,
        "subset": design.subset,
        "gs_factor": None if design.gs_factor == EVEN and not design.factors else design.gs_factor,
    }
    return [key for key, value in stated.items() if value is not None]


def check_models(design: ModelsAsked) -> None:
    """Refuse what does not go together."""
    for key in whole_table_keys(design):
        if design.algorithm != "incognito" or design.suppress == "cells":
            other = (
                f"algorithm = {design.algorithm!r}" if design.algorithm != "incognito" else 'suppress = "cells"'
            )
            raise RecipeError(f'{key} must go with algorithm = "incognito" and suppress = "rows"', other)
    if (design.gs_factor != EVEN or design.factors) and design.measure not in FACTORED:
        raise RecipeError(
            f"gs_factor must go with one of the measures {', '.join(FACTORED)}", repr(design.measure)
        )
    if design.delta is not None:
        wanted_presence(design.delta)
        if design.cells != "hierarchy":
            raise RecipeError(
                'delta must go with cells = "hierarchy"',
                f"cells = {design.cells!r}",
                "Distributions tell more of who is present: method presence has them.",
            )
    if design.average_risk is not None and not design.average_risk > 0:
        raise RecipeError("average_risk must be above 0", f"{design.average_risk:g}")
    if (design.population_uniques is None) != (design.population_size is None):
        missing = "population_size" if design.population_size is None else "population_uniques"
        raise RecipeError("population_uniques and population_size must go together", f"no {missing}")
    if design.population_uniques is None and design.uniques_model != "dankar":
        raise RecipeError("uniques_model must go with population_uniques", "none")
    if (design.measure == CLASSIFICATION) != (design.target is not None):
        raise RecipeError(
            'target must go with measure = "classification", and it with a target',
            f"measure = {design.measure!r}" if design.target is not None else "no target",
        )
    if design.profit is not None and design.cells != "hierarchy":
        raise RecipeError('profit must go with cells = "hierarchy"', f"cells = {design.cells!r}")
    if design.b_likeness is None and design.b_kind != "basic":
        raise RecipeError("b_kind must go with b_likeness", "none")


def table_condition(design: ModelsAsked, people: int, present: int) -> TableCondition | None:
    conditions: list[TableCondition] = []
    if design.average_risk is not None:
        conditions.append(MeanRiskWithin(Fraction(str(design.average_risk))))
    if design.population_uniques is not None and design.population_size is not None:
        if design.population_size < present:
            raise RecipeError(
                f"population_size must be at least the {present} records of the table", str(design.population_size)
            )
        conditions.append(FewUniques(design.population_uniques, design.population_size, design.uniques_model))
    if design.profit is not None:
        conditions.append(Profitable(design.profit.game, design.profit.intruder == "journalist"))
    if design.delta is not None:
        conditions.append(LeftOutPresent(wanted_presence(design.delta), people, present))
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else Together(tuple(conditions))


Algorithm = Literal["incognito", "local", "mondrian", "mondrian-relaxed", "kl"]
CellKind = Literal["pdf", "set", "interval", "hierarchy"]
Measure = Literal["loss", "entropy", "precision", "discernibility", "class-size", "kl", "classification"]
Steps = Annotated[tuple[int, int], Meta(extra={"must": "a step and the number of steps, such as [2, 3]"})]
Suppression = Annotated[float, Meta(ge=0, lt=1, extra={"must": "a share of the rows from 0 to below 1"})]
Suppress = Literal["rows", "cells"]
TDistance = Literal["equal", "hierarchical", "ordered"]


class GeneralizedColumn(ClassifiedColumn, frozen=True, kw_only=True):
    """A column of a generalised table."""

    gs_factor: Annotated[
        Factor | None, Meta(description="What suppressing its cells counts against generalising them.")
    ] = None


class GeneralizeSetting(Setting, frozen=True, kw_only=True, tag="generalize"):
    """method = "generalize": k-anonymity of this table, and what its classes look like inside."""

    k: Annotated[Count, Meta(extra={"must": "a whole number of at least 1"})]
    algorithm: Algorithm = "incognito"
    cells: CellKind = "pdf"
    suppression: Suppression = 0.0
    suppress: Annotated[
        Suppress,
        Meta(description='"cells": single cells show the top of their hierarchy, and no record is left out.'),
    ] = "rows"
    measure: Measure = "loss"
    weights: Weights = {}
    target: Annotated[
        PlainText | None, Meta(description='The column that measure = "classification" is to be learnt from.')
    ] = None
    levels: Annotated[GivenLevels | None, Meta(description="A node of the space of solutions; no search.")] = None
    l: Annotated[float, Meta(ge=1)] | None = None  # noqa: E741 - the notion's own name
    l_kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: Annotated[float, Meta(gt=0)] | None = None
    t: Annotated[float, Meta(ge=0, le=1)] | None = None
    t_distance: TDistance = "equal"
    d_disclosure: Annotated[
        Positive | None, Meta(description="Sensitive values: within 2^-d and 2^d of their share of the table.")
    ] = None
    b_likeness: Annotated[
        Positive | None, Meta(description="Sensitive values: at most 1 + b times their share of the table.")
    ] = None
    b_kind: BKind = "basic"
    k_map: Annotated[Count | None, Meta(description="People of the population that a record could be.")] = None
    delta: Annotated[
        Range | None, Meta(description="The share of a class's people who are in the table: delta-presence.")
    ] = None
    average_risk: Annotated[Probability | None, Meta(description="Classes over records, at most.")] = None
    population_uniques: Annotated[
        Probability | None, Meta(description="The estimated share of the population that is unique, at most.")
    ] = None
    population_size: Annotated[Count | None, Meta(description="People of whom the table is a sample.")] = None
    uniques_model: UniquesModel = "dankar"
    profit: Annotated[
        ProfitSection | None, Meta(description="Publishing every record must pay, in a game with an intruder.")
    ] = None
    gs_factor: Annotated[Factor, Meta(description="Below 0.5 suppressing counts less, above it generalising.")] = (
        EVEN
    )
    intermediate: Steps | None = None
    subset: Annotated[
        PlainText | None, Meta(description="The column that marks by 1 which rows are published, of a population.")
    ] = None
    population: Annotated[FilePath | None, Meta(description="Everyone the records could be.")] = None
    solution: Annotated[FilePath | None, Meta(description="An earlier bundle whose levels are used.")] = None


class GeneralizeDesign(Form, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions, algorithm, and what stands in the cells; part of the certificate."""

    k: Count
    algorithm: Algorithm
    cells: CellKind
    suppression: Suppression
    measure: Measure
    weights: dict[str, float]
    l: Annotated[float, Meta(ge=1)] | None  # noqa: E741
    l_kind: Literal["distinct", "entropy", "recursive"]
    c: Annotated[float, Meta(gt=0)] | None
    t: Annotated[float, Meta(ge=0, le=1)] | None
    t_distance: TDistance
    intermediate: Steps | None
    suppress: Suppress = "rows"
    d_disclosure: Positive | None = None
    b_likeness: Positive | None = None
    b_kind: BKind = "basic"
    k_map: Count | None = None
    delta: Range | None = None
    average_risk: Probability | None = None
    population_uniques: Probability | None = None
    population_size: Count | None = None
    uniques_model: UniquesModel = "dankar"
    gs_factor: Factor = EVEN
    factors: dict[str, Factor] = {}  # of columns that have their own
    subset: PlainText | None = None
    profit: ProfitSection | None = None
    target: PlainText | None = None

    def __post_init__(self) -> None:
        if self.suppression and self.algorithm != "incognito":
            raise RecipeError(
                f"The algorithm {self.algorithm} suppresses nothing",
                f"suppression = {self.suppression}",
                'Remove suppression, or use algorithm = "incognito".',
            )
        if self.suppress == "cells":
            self._check_cells()
        if self.l is not None and self.l_kind == "recursive" and self.c is None:
            raise RecipeError("Recursive l-diversity must state c", "none")
        if self.c is not None and (self.l is None or self.l_kind != "recursive"):
            kind = "no l" if self.l is None else f'l_kind = "{self.l_kind}"'
            raise RecipeError('c must go with l and l_kind = "recursive"', kind)
        if self.intermediate is not None:
            step, steps = self.intermediate
            if self.cells != "pdf":
                raise RecipeError('intermediate must go with cells = "pdf"', repr(self.cells))
            if not 0 <= step <= steps or steps < 1:
                raise RecipeError(
                    "intermediate must be a step and the number of steps, such as [2, 3]", f"[{step}, {steps}]"
                )
        self._diverse()
        check_models(self)

    def _check_cells(self) -> None:
        if self.algorithm != "incognito":
            raise RecipeError(
                'suppress = "cells" must go with algorithm = "incognito", whose columns have one level each',
                repr(self.algorithm),
            )
        if self.cells != "hierarchy":
            raise RecipeError(
                'suppress = "cells" must go with cells = "hierarchy", whose labels have a top',
                f"cells = {self.cells!r}",
            )
        if self.measure not in SEPARABLE:
            raise RecipeError(
                f'With suppress = "cells" the measure must be one of {", ".join(SEPARABLE)}', repr(self.measure)
            )

    @property
    def capabilities(self) -> Capabilities:
        """Incognito rolls up counts; the others that need no more than counts cut between values."""
        by_counts = self.algorithm == "incognito" or self.cuts_between_values
        told = "which needs all rows at once: it cuts between rows of the same values"
        return Capabilities(by_counts, by_counts, reason=f'with algorithm = "{self.algorithm}", {told}')

    @property
    def cuts_between_values(self) -> bool:
        """Whether rows of the same values are in the same class, though classes have levels of their own."""
        return self.algorithm in ("mondrian", "local")

    @property
    def exact_cells(self) -> bool:
        """Whether cells tell how often each value occurs in their class; a known step between can be undone."""
        return self.cells == "pdf" and (self.intermediate is None or self.intermediate[0] > 0)

    @property
    def looks_at_sensitive(self) -> bool:
        return any(asked is not None for asked in (self.l, self.t, self.d_disclosure, self.b_likeness))

    @property
    def compares_people(self) -> bool:
        """Whether classes are held against a population table."""
        return self.k_map is not None or self.delta is not None or self.journalist

    @property
    def journalist(self) -> bool:
        """Whether the intruder of the game picks from the people of the population."""
        return self.profit is not None and self.profit.intruder == "journalist"

    def table(self, people: int, present: int) -> TableCondition | None:
        """What all published classes must satisfy together; of a population so many people are present."""
        return table_condition(self, people, present)

    def factors_of(self, names: Sequence[str]) -> dict[str, float] | None:
        """Of each column its own, or that of all; None where suppressing and generalising count the same."""
        factors = {name: self.factors.get(name, self.gs_factor) for name in names}
        return None if set(factors.values()) == {EVEN} else factors

    def _diverse(self) -> Condition | None:
        if self.l is None:
            return None
        if self.l_kind == "entropy":
            return EntropyDiverse(self.l)
        if self.l != int(self.l):
            raise RecipeError(f"l must be a whole number with l_kind = {self.l_kind!r}", str(self.l))
        if self.l_kind == "recursive":
            return RecursiveDiverse(self.c or 0.0, int(self.l))
        return DistinctDiverse(int(self.l))

    def condition(self, sensitive: list[tuple[NDArray[np.int64], tuple[Any, ...] | None]]) -> Condition:
        """`sensitive`: how often each value occurs and, for the hierarchical distance, its tree."""
        conditions = [condition for _, condition in self.named_conditions(sensitive)]
        return conditions[0] if len(conditions) == 1 else All(tuple(conditions))

    def named_conditions(
        self, sensitive: list[tuple[NDArray[np.int64], tuple[Any, ...] | None]]
    ) -> list[tuple[str, Condition]]:
        """The same one by one, under the keys of [release]; several sensitive columns are numbered."""
        conditions: list[tuple[str, Condition]] = [("k", KAnonymous(self.k))]
        if self.k_map is not None:
            conditions.append(("k_map", Mapped(self.k_map)))
        if self.delta is not None:
            conditions.append(("delta", ShareOfPeople(wanted_presence(self.delta))))
        start = 1
        for which, (totals, parents) in enumerate(sensitive):
            here = range(start, start + len(totals))
            start += len(totals)
            diverse, number = self._diverse(), f" {which + 1}" if len(sensitive) > 1 else ""
            if diverse is not None:
                conditions.append((f"l{number}", On(diverse, here, which)))
            if self.t is not None:
                close = Close(self.t, totals, parents, self.t_distance == "ordered")
                conditions.append((f"t{number}", On(close, here, which)))
            if self.d_disclosure is not None:
                disclosing = Disclosing(self.d_disclosure, totals)
                conditions.append((f"d_disclosure{number}", On(disclosing, here, which)))
            if self.b_likeness is not None:
                alike = Alike(self.b_likeness, totals, self.b_kind == "enhanced")
                conditions.append((f"b_likeness{number}", On(alike, here, which)))
        return conditions


def design_in(setting: GeneralizeSetting) -> GeneralizeDesign:
    stated = msgspec.structs.asdict(setting)
    return GeneralizeDesign(**{key: stated[key] for key in keys_of(GeneralizeDesign) if key in stated})


def design_of(recipe: Recipe[GeneralizeSetting, GeneralizedColumn]) -> GeneralizeDesign:
    setting = recipe.release
    design = design_in(setting)
    if design.looks_at_sensitive and not any(
        column.role is Role.SENSITIVE for column in recipe.attributes.values()
    ):
        raise RecipeError("l, t, d_disclosure and b_likeness must have a sensitive column", "none")
    if setting.subset is not None and setting.subset in recipe.attributes:
        raise RecipeError(
            f"The column {setting.subset!r} marks the subset and must have no section of its own", "an attribute"
        )
    if setting.subset is not None and setting.population is not None:
        raise RecipeError("With a subset the source is the population", "a population of its own as well")
    if design.target is not None and (
        design.target not in recipe.published or recipe.published[design.target].role is Role.QUASI_IDENTIFYING
    ):
        raise RecipeError("target must be a published column that is not quasi-identifying", repr(design.target))
    if design.compares_people and setting.subset is None and setting.population is None:
        key = "k_map" if design.k_map is not None else "delta" if design.delta is not None else "profit"
        raise RecipeError(
            f"{key} must be counted in a population",
            "none",
            'Write population = "everyone.csv", or subset = "column" where the source has everyone.',
        )
    factors = {}
    for name, column in recipe.published.items():
        if column.gs_factor is not None and column.role is not Role.QUASI_IDENTIFYING:
            raise RecipeError("gs_factor must be of a quasi-identifying column", repr(name))
        if column.gs_factor is not None:
            factors[name] = column.gs_factor
    design = msgspec.structs.replace(design, weights=weights_of(setting.weights, recipe), factors=factors)
    check_models(design)
    return design


def weights_of(stated: Weights, recipe: Recipe[Setting, ClassifiedColumn]) -> dict[str, float]:
    """Weights from [release] and from the columns' own sections."""
    own = {name: column.weight for name, column in recipe.attributes.items() if column.weight is not None}
    return {**stated, **own}
