"""What a recipe with method `generalize` asks for, read and checked before the data is touched."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle import Form
from pramana.errors import RecipeError
from pramana.generalize import (
    SEPARABLE,
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    On,
    RecursiveDiverse,
)
from pramana.methods.protocol import Capabilities
from pramana.methods.quasi import ClassifiedColumn, GivenLevels
from pramana.methods.recipe import Recipe
from pramana.schema import Count, FilePath, Role, Setting, Weights, keys_of

Algorithm = Literal["incognito", "local", "mondrian", "mondrian-relaxed", "kl"]
CellKind = Literal["pdf", "set", "interval", "hierarchy"]
Measure = Literal["loss", "entropy", "precision", "discernibility", "class-size", "kl"]
Steps = Annotated[tuple[int, int], Meta(extra={"must": "a step and the number of steps, such as [2, 3]"})]
Suppression = Annotated[float, Meta(ge=0, lt=1, extra={"must": "a share of the rows from 0 to below 1"})]
Suppress = Literal["rows", "cells"]


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
    levels: Annotated[GivenLevels | None, Meta(description="A node of the space of solutions; no search.")] = None
    l: Annotated[float, Meta(ge=1)] | None = None  # noqa: E741 - the notion's own name
    l_kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: Annotated[float, Meta(gt=0)] | None = None
    t: Annotated[float, Meta(ge=0, le=1)] | None = None
    t_distance: Literal["equal", "hierarchical"] = "equal"
    intermediate: Steps | None = None
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
    t_distance: Literal["equal", "hierarchical"]
    intermediate: Steps | None
    suppress: Suppress = "rows"

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
        """Incognito rolls up counts; Mondrian's classes are the same for rows in any order."""
        return Capabilities(
            streams=self.algorithm == "incognito",
            spark=self.algorithm in ("incognito", "mondrian"),
            reason=f'with algorithm = "{self.algorithm}", which needs all rows at once; "incognito" streams',
        )

    @property
    def exact_cells(self) -> bool:
        """Whether cells tell how often each value occurs in their class; a known step between can be undone."""
        return self.cells == "pdf" and (self.intermediate is None or self.intermediate[0] > 0)

    @property
    def looks_at_sensitive(self) -> bool:
        return self.l is not None or self.t is not None

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
        start = 1
        for which, (totals, parents) in enumerate(sensitive):
            here = range(start, start + len(totals))
            start += len(totals)
            diverse, number = self._diverse(), f" {which + 1}" if len(sensitive) > 1 else ""
            if diverse is not None:
                conditions.append((f"l{number}", On(diverse, here, which)))
            if self.t is not None:
                conditions.append((f"t{number}", On(Close(self.t, totals, parents), here, which)))
        return conditions


def design_in(setting: GeneralizeSetting) -> GeneralizeDesign:
    stated = msgspec.structs.asdict(setting)
    return GeneralizeDesign(**{key: stated[key] for key in keys_of(GeneralizeDesign)})


def design_of(recipe: Recipe[GeneralizeSetting, ClassifiedColumn]) -> GeneralizeDesign:
    setting = recipe.release
    if (setting.l is not None or setting.t is not None) and not any(
        column.role is Role.SENSITIVE for column in recipe.attributes.values()
    ):
        raise RecipeError("l-diversity and t-closeness must have a sensitive column", "none")
    return msgspec.structs.replace(design_in(setting), weights=weights_of(setting.weights, recipe))


def weights_of(stated: Weights, recipe: Recipe[Setting, ClassifiedColumn]) -> dict[str, float]:
    """Weights from [release] and from the columns' own sections."""
    own = {name: column.weight for name, column in recipe.attributes.items() if column.weight is not None}
    return {**stated, **own}
