"""From a node's classes to what of them is suppressed."""

from __future__ import annotations

import numpy as np

from pramana.errors import UnreachableError
from pramana.generalize.suppression.bounded import bounded, least_cost
from pramana.generalize.suppression.exact import by_partition, by_subsets
from pramana.generalize.suppression.problem import Problem, Suppression


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
