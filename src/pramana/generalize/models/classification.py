"""What a generalisation costs whoever learns a target column from it (Iyengar 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.generalize.classes import Classes, Layout

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Misclassified:
    """The share of rows that are suppressed, or whose target is not the commonest of their class.

    The commonest value of two classes together is no commoner than those of each: merging never costs less. The
    target's values are the last pairs of the classes.
    """

    layout: Layout
    rows: int
    known = False

    def prior(self) -> Floats:
        return np.zeros(self.layout.heights)

    def above(self, classes: Classes) -> float:
        return float(_others(classes).sum()) / self.rows

    def cost(self, classes: Classes, held: Flags) -> float:
        kept = classes.sizes[held].sum(dtype=np.int64)
        return (self.rows - int(kept) + float(_others(classes)[held].sum())) / self.rows

    def floor(self, classes: Classes, held: Flags) -> float:
        return self.cost(classes, held)

    def below(self, classes: Classes, held: Flags) -> Floats | None:
        """A row that is suppressed here is below, too, and costs one."""
        if bool(held.all()):
            return None
        lost = int(classes.sizes[~held].sum(dtype=np.int64)) / self.rows
        return np.full(tuple(level + 1 for level in classes.levels), lost)


def _others(classes: Classes) -> Floats:
    """By class: rows with another target than the commonest."""
    seen = classes.seen
    assert not isinstance(seen, np.ndarray), "a target is counted in pairs"
    most = np.zeros(len(classes))
    np.maximum.at(most, seen[-1].class_of, seen[-1].count)
    return np.asarray(classes.sizes - most, np.float64)
