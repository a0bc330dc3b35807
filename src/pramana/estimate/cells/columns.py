"""Published columns that are counted without a law: what each record's cell may be, and how far it is trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.estimate.axis import Axis
from pramana.estimate.doubt import TRUSTED, Doubt
from pramana.estimate.law import Array
from pramana.generalize import Cells

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellColumn:
    """A column: its distinct cells, and which of them each record has."""

    axis: Axis
    cells: Cells
    codes: NDArray[np.unsignedinteger]
    doubt: Doubt = TRUSTED

    def __post_init__(self) -> None:
        if self.cells.leaves != self.axis.size:
            raise InputError(f"The cells of {self.axis.name} must be of its values", "others")

    @classmethod
    def of_codes(cls, axis: Axis, codes: NDArray[np.unsignedinteger], doubt: Doubt = TRUSTED) -> CellColumn:
        """A column whose cells are single values."""
        ends = np.arange(axis.size + 1, dtype=np.int64)
        return cls(axis, Cells(axis.size, ends, ends[:-1], np.ones(axis.size, np.int64)), codes, doubt)

    def squared_error(self) -> float | None:
        """A bound on the squared distances of the true numbers from the published ones; None where there is none.

        With B those of the published numbers from their mean and E the wanted ones, the true numbers' are at most
        (sqrt B + sqrt E)^2, and E is at most `lost` of them: sqrt E <= sqrt(lost B) / (1 - sqrt lost).
        """
        if self.doubt.lost is None or self.doubt.lost >= 1 or self.axis.lower is None:
            return None
        numbers = self.axis.middles[self.codes]
        known = numbers[np.isfinite(numbers)]
        if len(known) < len(numbers):
            return None
        between = float(((known - known.mean()) ** 2).sum()) if len(known) else 0.0
        root = math.sqrt(self.doubt.lost)
        return self.doubt.lost * between / (1 - root) ** 2

    def movable(self, holds: Array, weights: Array | None) -> float:
        """At most so many records can have another value where it matters to a selection.

        `holds`: the selection by this column's values, and by everything else.
        """
        count = float(len(self.codes)) if weights is None else float(weights.sum())
        if self.doubt.deviation is not None:
            return count
        if self.doubt.lost is None:
            top = 1.0 if weights is None or not len(weights) else float(weights.max())
            return math.ceil(self.doubt.moved * len(self.codes)) * top
        if self.doubt.lost >= 1:  # numbers may lie on the other side of an edge that no published one is near
            return count
        error = self.squared_error()
        edges = np.flatnonzero((holds[1:] != holds[:-1]).any(axis=1))
        if not len(edges):
            return 0.0
        if error is None or weights is not None:
            return count
        return float(_crossing(self.axis.middles, np.bincount(self.codes, minlength=len(holds)), edges, error))


def _crossing(values: Array, counts: Ints, edges: Ints, error: float) -> int:
    """How many records can have crossed an edge of a selection if all squared distances sum to at most `error`.

    An edge lies between values edges[i] and edges[i] + 1; who crosses it has gone at least as far as the last
    published value before it.
    """
    nearest = np.full(len(values), np.inf)
    at = np.arange(len(values))
    for edge in edges.tolist():  # few: those of a filter
        end = np.where(at <= edge, values[edge], values[edge + 1])
        nearest = np.minimum(nearest, np.abs(values - end))
    order = np.argsort(nearest)
    costs, people = nearest[order] ** 2, counts[order]
    spent = np.cumsum(costs * people)
    whole = int(np.searchsorted(spent, error, side="right"))
    crossed = int(people[:whole].sum())
    if whole < len(costs) and costs[whole] > 0:
        crossed += int((error - (spent[whole - 1] if whole else 0.0)) / costs[whole])
    return crossed


@dataclass(frozen=True, eq=False)
class LookAlikes:
    """Records that look alike in some columns: how many there are of each look, and a cell of every column."""

    columns: tuple[CellColumn, ...]
    cell_of: tuple[Ints, ...]  # by column and class
    sizes: Array

    @classmethod
    def of(cls, columns: Sequence[CellColumn], weights: Array | None, records: int) -> LookAlikes:
        keys = np.zeros(records, np.int64)
        for column in columns:
            _, keys = np.unique(keys * max(len(column.cells), 1) + column.codes, return_inverse=True)
        number, first = np.unique(keys, return_index=True)
        cells = tuple(column.codes[first].astype(np.int64) for column in columns)
        return cls(tuple(columns), cells, np.bincount(keys, weights, len(number)).astype(np.float64))
