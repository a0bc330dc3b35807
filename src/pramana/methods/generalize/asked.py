"""What a recipe may ask of classes beyond k, l and t, what goes together, and the condition it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from pramana.bundle import Form
from pramana.errors import RecipeError
from pramana.generalize import (
    CLASSIFICATION,
    EVEN,
    FACTORED,
    FewUniques,
    Game,
    LeftOutPresent,
    MeanRiskWithin,
    Presence,
    Profitable,
    TableCondition,
    Together,
    UniquesModel,
)
from pramana.schema import Flag

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
