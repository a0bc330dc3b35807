"""Which node is published where single cells may be suppressed: the cheapest, suppression included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pramana.counting.classes import Classes
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.generalize.conditions import Condition
from pramana.methods.generalize.measures import SEPARABLE, Separable, separable
from pramana.methods.generalize.suppression_search import (
    Floats,
    Problem,
    Suppression,
    bounded,
    by_partition,
    by_subsets,
    least_cost,
)

# From a node's classes to what of them is suppressed.


def suppress_cells(problem: Problem) -> Suppression:
    """The fewest cells, proved where the classes that fail are few; else few, and what none can go below."""
    if not len(problem.failing):
        return problem.solved(np.arange(len(problem.sizes)), 0.0)
    if not bool(problem.held(np.arange(len(problem.sizes)), np.zeros(len(problem.sizes), np.int64), 1).all()):
        raise UnreachableError(
            "The whole table as one class must satisfy the conditions", "a table that does not", "Lower k, l or c."
        )
    exact = by_subsets(problem) if problem.survives else by_partition(problem)
    if exact is not None and exact.proved:
        return exact
    found = bounded(problem)
    least = max(least_cost(problem), 0.0 if exact is None else exact.least)
    block = found if exact is None else min(found, exact.block, key=lambda one: problem.solved(one, 0.0).cost)
    return problem.solved(block, least)


MOST_NODES = 1 << 16
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class WithCells:
    """A node, its classes, and what of them is suppressed."""

    classes: Classes
    suppression: Suppression
    cost: float
    nodes: int
    checked: int


def _weights(classes: Classes, weights: Mapping[str, float] | None) -> Floats:
    given = weights or {}
    return np.array([float(given.get(ladder.name, 1.0)) for ladder in classes.layout.ladders])


def suppressed_at(
    classes: Classes, condition: Condition, weights: Mapping[str, float] | None = None
) -> Suppression:
    """The fewest cells of a node's classes, in the order of their keys, whose suppression makes all hold."""
    levels = classes.levels
    codes = np.stack([classes.codes(a) for a in range(len(levels))], axis=1)
    sizes = classes.sizes.astype(np.int64)
    return suppress_cells(Problem(codes, sizes, _weights(classes, weights), classes.seen, condition))


def cells_of(classes: Classes, suppression: Suppression) -> int:
    """How many cells are suppressed."""
    rows = np.bincount(suppression.block, classes.sizes, len(suppression.masks))
    return int((rows * suppression.masks.sum(axis=1)).sum())


def cheapest_with_cells(
    base: Classes,
    condition: Condition,
    measure: str,
    limit: int,
    weights: Mapping[str, float] | None = None,
) -> WithCells:
    """The node of least cost at which at most `limit` cells are suppressed; those cost as much as the top does.

    Nodes are taken by their cost without suppression, which suppression only raises, until none can be cheaper.
    """
    if measure not in SEPARABLE:
        raise RecipeError(
            f'With suppress = "cells" the measure must be one of {", ".join(SEPARABLE)}', repr(measure)
        )
    priced = separable(measure, base.bare, weights)
    prior = priced.prior()
    if prior.size > MOST_NODES:
        raise RecipeError(
            f'A lattice of levels with suppress = "cells" must have at most {MOST_NODES} nodes',
            f"{prior.size}",
            "Use fewer levels or attributes, or state levels in [release].",
        )
    best: WithCells | None = None
    checked = 0
    for place in np.argsort(prior, axis=None, kind="stable").tolist():
        levels = tuple(int(i) for i in np.unravel_index(place, prior.shape))
        if best is not None and float(prior[levels]) >= best.cost - _SAME * max(1.0, abs(best.cost)):
            break
        checked += 1
        classes = base.rolled(levels).by_keys()[0]
        fails = ~condition.held(classes.seen)
        if int(classes.sizes[fails].sum(dtype=np.int64)) > limit:  # each of these rows needs a cell at least
            continue
        suppression = suppressed_at(classes, condition, weights)
        if cells_of(classes, suppression) > limit:
            continue
        cost = cost_of(priced, classes, suppression)
        if best is None or cost < best.cost - _SAME * max(1.0, abs(best.cost)):
            best = WithCells(classes, suppression, cost, int(prior.size), checked)
    if best is None:
        raise UnreachableError(
            f"Some generalisation must satisfy the conditions with at most {limit} cells suppressed",
            "none",
            "Lower k, l or c, raise t, or allow more suppression.",
        )
    return WithCells(best.classes, best.suppression, best.cost, best.nodes, checked)


def cost_of(priced: Separable, classes: Classes, suppression: Suppression) -> float:
    """The measure with suppressed cells at the price of the top."""
    masks = suppression.masks[suppression.block]
    parts = []
    for a, level in enumerate(classes.levels):
        gap = priced.gaps[a][level][classes.codes(a)]
        extra = float((gap * classes.sizes * masks[:, a]).sum()) / priced.rows
        parts.append(float(priced.totals[a][level]) + extra)
    return priced.value(parts)
