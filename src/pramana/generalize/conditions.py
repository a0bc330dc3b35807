"""What a class must satisfy, as predicates on its counts. A search may take any object with these members.

Column 0 of the counts is the class size; the columns behind it are the classes' counts of sensitive values (or,
for presence, of private rows). Every condition here holds of a class made of classes that hold. `anchor` is the
part that also survives merging with a class that does not hold: only that part may prune a search that suppresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize.classes import Counts

# Entropies and distances are sums of floats; an equality such as l values equally often must not fail by rounding.
_SLACK = 1e-12
Flags = NDArray[np.bool_]


class Condition(Protocol):
    @property
    def anchor(self) -> Condition | None: ...

    def held(self, counts: Counts) -> Flags: ...


@dataclass(frozen=True)
class KAnonymous:
    """At least k rows (paper 4, Definition 1)."""

    k: int

    def __post_init__(self) -> None:
        if self.k < 1:
            raise RecipeError("k must be at least 1", str(self.k))

    @property
    def anchor(self) -> Condition:
        return self

    def held(self, counts: Counts) -> Flags:
        return np.asarray(counts[:, 0] >= self.k)


@dataclass(frozen=True)
class DistinctDiverse:
    """At least l different sensitive values."""

    l: int  # noqa: E741 - the notion's own name

    def __post_init__(self) -> None:
        if self.l < 1:
            raise RecipeError("l must be at least 1", str(self.l))

    @property
    def anchor(self) -> Condition:
        return self

    def held(self, counts: Counts) -> Flags:
        return np.asarray((counts[:, 1:] > 0).sum(axis=1) >= self.l)


@dataclass(frozen=True)
class EntropyDiverse:
    """Entropy of the sensitive values at least ln l."""

    l: float  # noqa: E741

    def __post_init__(self) -> None:
        if not self.l >= 1:
            raise RecipeError("l must be at least 1", str(self.l))

    anchor = None

    def held(self, counts: Counts) -> Flags:
        return np.asarray(entropies(counts) >= math.log(self.l) - _SLACK)


@dataclass(frozen=True)
class RecursiveDiverse:
    """(c, l)-diversity: the commonest value less often than c times the l-th commonest and all rarer ones."""

    c: float
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        if not self.c > 0 or self.l < 1:
            raise RecipeError("c must be above 0 and l at least 1", f"c = {self.c}, l = {self.l}")

    anchor = None

    def held(self, counts: Counts) -> Flags:
        ordered = -np.sort(-counts[:, 1:].astype(np.int64), axis=1)
        tail = ordered[:, self.l - 1 :].sum(axis=1)
        return np.asarray(ordered[:, 0] < self.c * tail)


@dataclass(frozen=True)
class Close:
    """Distance from the sensitive values of the whole table at most t.

    `parents`: None for the equal distance (half the sum of absolute differences); else one array per inner level
    of a hierarchy, from the level above the leaves up, the top included: earth mover's distance on the tree.
    """

    t: float
    whole: NDArray[np.float64]
    parents: tuple[NDArray[np.int64], ...] | None = field(default=None)

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise RecipeError("t must be from 0 to 1", str(self.t))

    anchor = None

    def held(self, counts: Counts) -> Flags:
        return np.asarray(distances(counts, self.whole, self.parents) <= self.t + _SLACK)


@dataclass(frozen=True)
class On:
    """A condition on some columns of the counts: one of several sensitive attributes."""

    condition: Condition
    columns: range

    @property
    def anchor(self) -> Condition | None:
        return self if self.condition.anchor is self.condition else None

    def held(self, counts: Counts) -> Flags:
        here = slice(self.columns.start, self.columns.stop)
        return self.condition.held(np.concatenate([counts[:, :1], counts[:, here]], axis=1))


@dataclass(frozen=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    @property
    def anchor(self) -> Condition | None:
        kept = tuple(c.anchor for c in self.conditions if c.anchor is not None)
        if len(kept) == len(self.conditions):
            return self
        return All(kept) if kept else None

    def held(self, counts: Counts) -> Flags:
        flags = np.ones(len(counts), np.bool_)
        for condition in self.conditions:
            flags &= condition.held(counts)
        return flags


def entropies(counts: Counts) -> NDArray[np.float64]:
    """The entropy of each class's sensitive values, in nats."""
    values = counts[:, 1:].astype(np.float64)
    n = np.maximum(values.sum(axis=1), 1)
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(np.log(n) - (values * logs).sum(axis=1) / n)


def distances(
    counts: Counts, whole: NDArray[np.float64], parents: tuple[NDArray[np.int64], ...] | None = None
) -> NDArray[np.float64]:
    """Each class's distance from the whole, equal or along a hierarchy.

    Hierarchical (Li, Li and Venkatasubramanian, 2007): moving mass between two leaves costs the height of their
    lowest common ancestor over the tree's height; the total is a sum over inner nodes of what must pass them.
    """
    values = counts[:, 1:].astype(np.float64)
    excess = values / np.maximum(values.sum(axis=1, keepdims=True), 1) - whole
    if parents is None:
        return np.asarray(np.abs(excess).sum(axis=1) / 2)
    total = np.zeros(len(values))
    height = len(parents)
    for level, parent in enumerate(parents, 1):
        positive = _sums(np.maximum(excess, 0), parent)
        negative = _sums(np.maximum(-excess, 0), parent)
        total += level / height * np.minimum(positive, negative).sum(axis=1)
        excess = positive - negative
    return total


def _sums(values: NDArray[np.float64], parent: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.zeros((len(values), int(parent.max()) + 1))
    for child, node in enumerate(parent):
        out[:, node] += values[:, child]
    return out
