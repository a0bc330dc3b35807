"""Expected counts of a table of cells, and bounds that hold whatever the cells' values are.

A class of records with the same cells adds to every combination of values in its cells. Expected is its size times
the product of the cells' published shares. Surely in a selection are the classes all of whose combinations are
selected; possibly those of which some are. What a column's doubt lets be elsewhere widens both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InputError
from pramana.estimate.cells.columns import CellColumn, Ints, LookAlikes
from pramana.estimate.law import Array

_ENTRIES = 1 << 21  # combinations looked at together
MOST_ENTRIES = 1 << 33


@dataclass(frozen=True, eq=False)
class Entries:
    """Combinations of values that some classes may have: their class, their place in the table, their share."""

    class_of: Ints
    place: Ints
    share: Array


@dataclass(frozen=True, eq=False)
class Bounds:
    """Expected counts with the least and the most that they can be."""

    expected: Array
    low: Array
    high: Array


def entries_of(classes: LookAlikes) -> Iterator[Entries]:
    """All combinations of all classes, some classes at a time."""
    boxes = np.ones(len(classes.sizes), np.float64)
    for column, cell in zip(classes.columns, classes.cell_of, strict=True):
        boxes *= column.cells.sizes[cell]
    if float(boxes.sum()) > MOST_ENTRIES:
        raise InputError(
            f"The cells of a table must stand for at most {MOST_ENTRIES:,} combinations",
            f"{boxes.sum():,.0f}",
            "Ask for fewer columns.",
        )
    group = (np.cumsum(boxes) // _ENTRIES).astype(np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for first, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(boxes)], strict=True):
        yield _combined(classes, np.arange(first, stop))


def _combined(classes: LookAlikes, wanted: Ints) -> Entries:
    class_of, place, share = wanted, np.zeros(len(wanted), np.int64), np.ones(len(wanted))
    for column, cell in zip(classes.columns, classes.cell_of, strict=True):
        cells, own = column.cells, cell[class_of]
        repeat = cells.sizes[own]
        ends = np.cumsum(repeat)
        inner = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - repeat, repeat)
        entry = np.repeat(cells.first[:-1][own], repeat) + inner
        place = np.repeat(place, repeat) * cells.leaves + cells.values[entry]
        share = np.repeat(share, repeat) * cells.shares[entry]
        class_of = np.repeat(class_of, repeat)
    return Entries(class_of, place, share)


def count(classes: LookAlikes, holds: Array, kept: int) -> Bounds:
    """The counts of the first `kept` columns' values among what is selected, by the classes' cells alone."""
    shape = holds.shape[:kept]
    cells, inner = math.prod(shape), math.prod(holds.shape[kept:])
    chosen = holds.ravel() > 0
    expected, low, high = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    for entries in entries_of(classes):
        here = chosen[entries.place]
        at = entries.place // inner
        sizes = classes.sizes[entries.class_of]
        expected += np.bincount(at[here], (sizes * entries.share)[here], cells)
        first = int(entries.class_of[0])
        pairs = np.unique((entries.class_of[here] - first) * cells + at[here])
        owner = pairs // cells + first
        high += np.bincount(pairs % cells, classes.sizes[owner], cells)
        missed = np.bincount(entries.class_of[~here] - first, minlength=int(entries.class_of[-1]) - first + 1)
        looks = np.bincount(owner - first, minlength=len(missed))
        sure = (looks[owner - first] == 1) & (missed[owner - first] == 0)
        low += np.bincount(pairs[sure] % cells, classes.sizes[owner[sure]], cells)
    return Bounds(expected.reshape(shape), low.reshape(shape), high.reshape(shape))


def widened(
    bounds: Bounds, columns: Sequence[CellColumn], holds: Array, weights: Array | None, z: float
) -> Bounds:
    """The bounds with what the columns' doubts add; `z` deviations of what was changed at random."""
    kept, total = bounds.expected.ndim, float(_total(columns, weights))
    moved = 0.0
    for number, column in enumerate(columns):
        by_value = np.moveaxis(holds, number, 0).reshape(holds.shape[number], -1)
        if number < kept:  # every value of it is a cell of its own
            by_value = np.eye(holds.shape[number])
        moved += column.movable(by_value, weights)
    low, high = np.maximum(bounds.low - moved, 0.0), np.minimum(bounds.high + moved, total)
    groups = {c.doubt.together for c in columns if c.doubt.deviation is not None}
    for group in groups if weights is None else ():
        low, high = _within_group(bounds, columns, holds, group, z, low, high)
    return Bounds(bounds.expected, np.minimum(low, bounds.expected), np.maximum(high, bounds.expected))


def _total(columns: Sequence[CellColumn], weights: Array | None) -> float:
    return float(len(columns[0].codes)) if weights is None else float(weights.sum())


def _within_group(
    bounds: Bounds,
    columns: Sequence[CellColumn],
    holds: Array,
    group: tuple[str, ...],
    z: float,
    low: Array,
    high: Array,
) -> tuple[Array, Array]:
    """No selection has more records than show its values of a group that was changed together, but for chance."""
    kept = bounds.expected.ndim
    inside = [i for i, column in enumerate(columns) if column.axis.name in group]
    spread = max(columns[i].doubt.deviation or 0.0 for i in inside)
    shape = [columns[i].axis.size for i in inside]
    place = np.zeros(len(columns[0].codes), np.int64)
    for i in inside:
        place = place * columns[i].axis.size + columns[i].codes
    shown = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
    wide = shown.reshape([holds.shape[i] if i in inside else 1 for i in range(holds.ndim)])
    outside = tuple(i for i in range(kept, holds.ndim) if i not in inside)
    possible = (holds.max(axis=outside, keepdims=True) if outside else holds) * wide
    most = possible.sum(axis=tuple(range(kept, holds.ndim))) + z * spread
    high = np.minimum(high, most)
    if len(inside) == len(columns):  # the group's own table is right on average
        low = np.maximum(low, bounds.expected - z * spread)
    return low, high
