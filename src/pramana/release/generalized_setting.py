"""What a recipe with method `generalize` asks for, read and checked before the data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import BundleError, RecipeError
from pramana.generalize import (
    ALGORITHMS,
    KINDS,
    MEASURES,
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    On,
    RecursiveDiverse,
)
from pramana.schema import Recipe, Role

DIVERSITIES = ("distinct", "entropy", "recursive")
DISTANCES = ("equal", "hierarchical")


@dataclass(frozen=True)
class Setting:
    """Conditions, algorithm, and what stands in the cells."""

    k: int
    algorithm: str = "incognito"
    cells: str = "pdf"
    suppression: float = 0.0
    measure: str = "loss"
    weights: Mapping[str, float] = field(default_factory=dict)
    l: float | None = None  # noqa: E741 - the notion's own name
    l_kind: str = "distinct"
    c: float | None = None
    t: float | None = None
    t_distance: str = "equal"
    intermediate: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        KAnonymous(self.k)
        for name, value, known in (
            ("algorithm", self.algorithm, tuple(ALGORITHMS)),
            ("cells", self.cells, KINDS),
            ("measure", self.measure, MEASURES),
            ("l_kind", self.l_kind, DIVERSITIES),
            ("t_distance", self.t_distance, DISTANCES),
        ):
            if value not in known:
                raise RecipeError(f"{name} must be one of {', '.join(known)}", repr(value))
        if not 0 <= self.suppression < 1:
            raise RecipeError("suppression must be a share of the rows from 0 to below 1", str(self.suppression))
        if self.suppression and self.algorithm != "incognito":
            raise RecipeError(
                f"The algorithm {self.algorithm} suppresses nothing",
                f"suppression = {self.suppression}",
                'Remove suppression, or use algorithm = "incognito".',
            )
        if self.l is not None and self.l_kind == "recursive" and self.c is None:
            raise RecipeError("Recursive l-diversity must state c", "none")
        if self.intermediate is not None and self.cells != "pdf":
            raise RecipeError('intermediate must go with cells = "pdf"', repr(self.cells))
        self._diverse()
        if self.t is not None:
            Close(self.t, np.zeros(0))

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
        found: list[Condition] = [KAnonymous(self.k)]
        start = 1
        for totals, parents in sensitive:
            here = range(start, start + len(totals))
            start += len(totals)
            diverse = self._diverse()
            if diverse is not None:
                found.append(On(diverse, here))
            if self.t is not None:
                found.append(On(Close(self.t, totals / totals.sum(), parents), here))
        return found[0] if len(found) == 1 else All(tuple(found))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "weights": dict(self.weights), "intermediate": list(self.intermediate or ())}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Setting:
        try:
            steps = tuple(int(i) for i in statement["intermediate"])
            return cls(**{**statement, "intermediate": (steps[0], steps[1]) if steps else None})
        except (KeyError, TypeError, ValueError, IndexError):
            raise BundleError("The certificate must state the setting of its generalisation") from None


def read_setting(recipe: Recipe) -> Setting:
    options = dict(recipe.options)
    for key in ("population", "solution"):
        options.pop(key, None)
    if recipe.k is None or recipe.k != int(recipe.k):
        raise RecipeError('With method "generalize" k must be a whole number', repr(recipe.k))
    for key in ("suppression", "l", "c", "t"):
        value = options.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RecipeError(f"{key} must be a number", repr(value))
    for key in ("algorithm", "cells", "measure", "l_kind", "t_distance"):
        if not isinstance(options.get(key, ""), str):
            raise RecipeError(f"{key} must be text", repr(options[key]))
    if "intermediate" in options:
        options["intermediate"] = _steps(options["intermediate"])
    options["weights"] = read_weights(recipe)
    setting = Setting(k=int(recipe.k), **options)
    if setting.looks_at_sensitive and not any(a.role is Role.SENSITIVE for a in recipe.attributes):
        raise RecipeError("l-diversity and t-closeness must have a sensitive column", "none")
    return setting


def _steps(value: object) -> tuple[int, int]:
    good = isinstance(value, list) and len(value) == 2 and all(type(i) is int for i in value)
    if not good or not 0 <= value[0] <= value[1] or value[1] < 1:  # type: ignore[index]
        raise RecipeError("intermediate must be a step and the number of steps, such as [2, 3]", repr(value))
    return value[0], value[1]  # type: ignore[index]


def read_weights(recipe: Recipe) -> dict[str, float]:
    """Weights from [release] and from the columns' own sections."""
    given = recipe.options.get("weights", {})
    if not isinstance(given, Mapping):
        raise RecipeError("weights must be a table of attributes and numbers", repr(given))
    found: dict[str, float] = {}
    for name, value in [
        *given.items(),
        *((a.name, a.options["weight"]) for a in recipe.attributes if "weight" in a.options),
    ]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RecipeError(f"The weight of {name!r} must be a number", repr(value))
        found[name] = float(value)
    return found
