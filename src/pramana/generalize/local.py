"""Local recoding: every class at levels of its own, the finest first.

Full-domain generalisation asks one level of every row, for the sake of the rarest. Here nodes are taken by what
they cost, the cheapest first; at each the classes of rows not yet placed that satisfy the conditions are taken
out, and the others wait for a coarser node. What is left at the end joins the classes taken last. A class shows
the lowest labels its rows share, which may be finer than its node.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, UnreachableError
from pramana.generalize.classes import Classes, Levels
from pramana.generalize.conditions import Condition, least_rows
from pramana.generalize.measures import SEPARABLE, measure_of

MOST_NODES = 1 << 18  # each is asked in its turn
Ints = NDArray[np.int64]


def local_classes(
    base: Classes, condition: Condition, measure: str = "loss", weights: Mapping[str, float] | None = None
) -> tuple[Ints, int]:
    """For each class of `base` the number of the class it is published in, and how many there are."""
    if measure not in SEPARABLE:
        raise RecipeError(
            f'With algorithm = "local" the measure must be one of {", ".join(SEPARABLE)}', repr(measure)
        )
    prior = measure_of(measure, base.bare, weights).prior()
    if prior.size > MOST_NODES:
        raise RecipeError(
            f"A lattice of levels for local recoding must have at most {MOST_NODES} nodes",
            f"{prior.size}",
            'Use fewer levels or attributes, or algorithm = "mondrian".',
        )
    number, classes = np.full(len(base), -1, np.int64), 0
    waiting, left = np.arange(len(base)), base
    for place in np.argsort(prior, axis=None, kind="stable").tolist():
        levels = tuple(int(level) for level in np.unravel_index(place, prior.shape))
        into, held = _taken(left, levels, condition)
        if not held.any():
            continue
        own = np.cumsum(held) - 1 + classes
        classes += int(held.sum())
        going = held[into]
        number[waiting[going]] = own[into[going]]
        waiting, left = waiting[~going], left.only(~going)
        if not len(waiting):
            return number, classes
    return _joined(base, number, classes, condition)


def _taken(left: Classes, levels: Levels, condition: Condition) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Which class of a node each of the rows left is in, and which of those classes hold."""
    classes, into = left.bare.rolled_with_index(levels)
    held = classes.sizes >= least_rows(condition)
    if left.pairs and held.any():
        held = condition.held(left.rolled(levels).seen)  # the same classes in the same order, with their pairs
    elif held.any():
        held = condition.held(classes.seen)
    return into, np.asarray(held)


def _joined(base: Classes, number: Ints, classes: int, condition: Condition) -> tuple[Ints, int]:
    """The rows left as one class, with as many of the classes taken last as it takes to satisfy the conditions."""
    joined = number.copy()
    while classes > 0:
        classes -= 1
        joined[(number < 0) | (number >= classes)] = classes
        if bool(condition.held(base.only(joined == classes).rolled(base.layout.top).seen).all()):
            return joined, classes + 1
    raise UnreachableError(
        "The whole table as one class must satisfy the conditions",
        "a table that does not",
        "Lower k, l or c, or raise t.",
    )
