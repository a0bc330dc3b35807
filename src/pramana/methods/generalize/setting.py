"""What a recipe with method `generalize` asks for, read and checked before the data is touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from pramana.bundle.form import Form
from pramana.counting.value_counts import Ints
from pramana.errors import RecipeError
from pramana.methods.columns import ClassifiedColumn, GivenLevels
from pramana.methods.generalize.conditions import (
    All,
    Condition,
    On,
    ProfitSection,
    TableCondition,
    Together,
    UniquesModel,
)
from pramana.methods.generalize.measures import CLASSIFICATION, EVEN, FACTORED, SEPARABLE
from pramana.methods.generalize.models import MODELS, ClassModel, SensitiveModel, Tree
from pramana.methods.protocol import Capabilities
from pramana.methods.recipe import Recipe
from pramana.schema.domain import Role
from pramana.schema.sections import Setting, Weights
from pramana.schema.typed import Count, FilePath, PlainText, Positive, keys_of

Algorithm = Literal["incognito", "local", "mondrian", "mondrian-relaxed", "kl"]
BKind = Literal["basic", "enhanced"]
CellKind = Literal["pdf", "set", "interval", "hierarchy"]
Factor = Annotated[float, Meta(ge=0, le=1, extra={"must": "a number from 0 to 1"})]
Measure = Literal["loss", "entropy", "precision", "discernibility", "class-size", "kl", "classification"]
Range = Annotated[tuple[float, float], Meta(extra={"must": "two numbers, such as delta = [0.01, 0.5]"})]
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
    average_risk: Annotated[Factor | None, Meta(description="Classes over records, at most.")] = None
    population_uniques: Annotated[
        Factor | None, Meta(description="The estimated share of the population that is unique, at most.")
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


# Of these keys those that a certificate leaves out, since it has what they come to, and those it always states.
_NOT_CERTIFIED = ("tables", "shuffle", "levels", "population", "solution")
_ALWAYS_STATED = (
    "k", "algorithm", "cells", "suppression", "measure", "weights", "l", "l_kind", "c", "t", "t_distance",
    "intermediate",
)  # fmt: skip


def _certified_keys() -> type[msgspec.Struct]:
    """The keys of [release] as a certificate states them: without their descriptions."""
    fields: list[Any] = []
    kinds = get_type_hints(GeneralizeSetting, include_extras=True)
    for key in msgspec.structs.fields(GeneralizeSetting):
        if key.name in _NOT_CERTIFIED:
            continue
        kind, *metas = (
            get_args(kinds[key.name]) if get_origin(kinds[key.name]) is Annotated else (kinds[key.name],)
        )
        for meta in metas:
            kind = kind if meta.description else Annotated[kind, meta]
        fields.append((key.name, kind) if key.name in _ALWAYS_STATED else (key.name, kind, key.default))
    return msgspec.defstruct("_CertifiedKeys", fields, bases=(Form,), kw_only=True, frozen=True)


if TYPE_CHECKING:
    _CertifiedKeys = GeneralizeSetting
else:
    _CertifiedKeys = _certified_keys()


class GeneralizeDesign(_CertifiedKeys, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions, algorithm, and what stands in the cells; part of the certificate."""

    factors: dict[str, Factor] = {}  # of columns that have their own

    def __post_init__(self) -> None:
        if self.suppression and self.algorithm != "incognito":
            raise RecipeError(
                f"The algorithm {self.algorithm} suppresses nothing",
                f"suppression = {self.suppression}",
                'Remove suppression, or use algorithm = "incognito".',
            )
        if self.suppress == "cells":
            self._check_cells()
        if self.intermediate is not None:
            step, steps = self.intermediate
            if self.cells != "pdf":
                raise RecipeError('intermediate must go with cells = "pdf"', repr(self.cells))
            if not 0 <= step <= steps or steps < 1:
                raise RecipeError(
                    "intermediate must be a step and the number of steps, such as [2, 3]", f"[{step}, {steps}]"
                )
        self._check_keys()
        for model in MODELS:
            model(self).check()

    def _check_keys(self) -> None:
        for key in self.keys_by_levels:
            if self.algorithm != "incognito" or self.suppress == "cells":
                other = (
                    f"algorithm = {self.algorithm!r}" if self.algorithm != "incognito" else 'suppress = "cells"'
                )
                raise RecipeError(f'{key} must go with algorithm = "incognito" and suppress = "rows"', other)
        if (self.gs_factor != EVEN or self.factors) and self.measure not in FACTORED:
            raise RecipeError(
                f"gs_factor must go with one of the measures {', '.join(FACTORED)}", repr(self.measure)
            )
        if (self.measure == CLASSIFICATION) != (self.target is not None):
            raise RecipeError(
                'target must go with measure = "classification", and it with a target',
                f"measure = {self.measure!r}" if self.target is not None else "no target",
            )

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
        reason = "which needs all rows at once: it cuts between rows of the same values"
        return Capabilities(by_counts, by_counts, reason=f'with algorithm = "{self.algorithm}", {reason}')

    @property
    def cuts_between_values(self) -> bool:
        """Whether rows of the same values are in the same class, though classes have levels of their own."""
        return self.algorithm in ("mondrian", "local")

    @property
    def exact_cells(self) -> bool:
        """Whether cells tell how often each value occurs in their class; a known step between can be undone."""
        return self.cells == "pdf" and (self.intermediate is None or self.intermediate[0] > 0)

    @property
    def models(self) -> tuple[ClassModel, ...]:
        """What is asked of classes."""
        return tuple(model for kind in MODELS if (model := kind(self)).asked)

    @property
    def sensitive_models(self) -> tuple[SensitiveModel, ...]:
        """Of those the ones that look at sensitive values."""
        return tuple(model for model in self.models if isinstance(model, SensitiveModel))

    @property
    def looks_at_sensitive(self) -> bool:
        return bool(self.sensitive_models)

    @property
    def compares_people(self) -> bool:
        """Whether classes are held against a population table."""
        return any(model.needs_people for model in self.models)

    @property
    def keys_by_levels(self) -> list[str]:
        """The keys, of those that are stated, that only a search over levels can keep."""
        keys = [model.key for model in self.models if model.by_levels]
        keys += [key for key in ("target", "subset") if getattr(self, key) is not None]
        return keys + (["gs_factor"] if self.gs_factor != EVEN or self.factors else [])

    def table(self, people: int, present: int) -> TableCondition | None:
        """What all published classes must satisfy together; of a population so many people are present."""
        asked = [model.table_condition(people, present) for model in self.models]
        conditions = tuple(condition for condition in asked if condition is not None)
        return None if not conditions else conditions[0] if len(conditions) == 1 else Together(conditions)

    def factors_of(self, names: Sequence[str]) -> dict[str, float] | None:
        """Of each column its own, or that of all; None where suppressing and generalising count the same."""
        factors = {name: self.factors.get(name, self.gs_factor) for name in names}
        return None if set(factors.values()) == {EVEN} else factors

    def condition(self, sensitive: Sequence[tuple[Ints, Tree]]) -> Condition:
        """`sensitive`: how often each value occurs and, for the hierarchical distance, its tree."""
        conditions = [condition for _, condition in self.named_conditions(sensitive)]
        return conditions[0] if len(conditions) == 1 else All(tuple(conditions))

    def named_conditions(self, sensitive: Sequence[tuple[Ints, Tree]]) -> list[tuple[str, Condition]]:
        """The same one by one, under the keys of [release]; several sensitive columns are numbered."""
        own = [(model.key, model.condition()) for model in self.models]
        conditions = [(key, condition) for key, condition in own if condition is not None]
        start = 1
        for which, (totals, tree) in enumerate(sensitive):
            here, number = range(start, start + len(totals)), f" {which + 1}" if len(sensitive) > 1 else ""
            start += len(totals)
            conditions += [
                (f"{model.key}{number}", On(model.condition_on(totals, tree), here, which))
                for model in self.sensitive_models
            ]
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
        raise RecipeError("l, t, d_disclosure and b_likeness must have a sensitive column", "no sensitive column")
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
        key = next(model.key for model in design.models if model.needs_people)
        raise RecipeError(
            f"{key} must be counted in a population",
            "no population",
            'Write population = "everyone.csv", or subset = "column" where the source has everyone.',
        )
    factors = {}
    for name, column in recipe.published.items():
        if column.gs_factor is not None and column.role is not Role.QUASI_IDENTIFYING:
            raise RecipeError("gs_factor must be of a quasi-identifying column", repr(name))
        if column.gs_factor is not None:
            factors[name] = column.gs_factor
    return msgspec.structs.replace(design, weights=weights_of(setting.weights, recipe), factors=factors)


def weights_of(stated: Weights, recipe: Recipe[Setting, ClassifiedColumn]) -> dict[str, float]:
    """Weights from [release] and from the columns' own sections."""
    own = {name: column.weight for name, column in recipe.attributes.items() if column.weight is not None}
    return {**stated, **own}
