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
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.methods.cells import Cells
from pramana.methods.protocol import TRUSTED, ColumnUncertainty
from pramana.randomness.samplers import joint_codes
from pramana.recipient.answers import EstimatedNumber, unseen_group, without_end
from pramana.recipient.law import Array
from pramana.schema.domain import Axis

# Published columns that are counted without a law: what each record's cell may be, and how far it is trusted.


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellColumn:
    """A column: its distinct cells, and which of them each record has."""

    axis: Axis
    cells: Cells
    codes: NDArray[np.unsignedinteger]
    doubt: ColumnUncertainty = TRUSTED

    def __post_init__(self) -> None:
        if self.cells.leaves != self.axis.size:
            raise InputError(
                f"The cells of {self.axis.name} must be of its {self.axis.size} values", str(self.cells.leaves)
            )

    @classmethod
    def of_codes(
        cls, axis: Axis, codes: NDArray[np.unsignedinteger], doubt: ColumnUncertainty = TRUSTED
    ) -> CellColumn:
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
class EquivalenceClasses:
    """Records that look alike in some columns: how many there are of each look, and a cell of every column."""

    columns: tuple[CellColumn, ...]
    cell_of: tuple[Ints, ...]  # by column and class
    sizes: Array

    @classmethod
    def of(cls, columns: Sequence[CellColumn], weights: Array | None, records: int) -> EquivalenceClasses:
        keys = np.zeros(records, np.int64)
        for column in columns:
            _, keys = np.unique(keys * max(len(column.cells), 1) + column.codes, return_inverse=True)
        number, first = np.unique(keys, return_index=True)
        cells = tuple(column.codes[first].astype(np.int64) for column in columns)
        return cls(tuple(columns), cells, np.bincount(keys, weights, len(number)).astype(np.float64))


_ENTRIES = 1 << 21  # combinations looked at together
MOST_ENTRIES = 1 << 33


@dataclass(frozen=True, eq=False)
class Entries:
    """Combinations of values that some classes may have: their class, their place in the table, their share."""

    class_of: Ints
    position: Ints
    share: Array


@dataclass(frozen=True, eq=False)
class Bounds:
    """Expected counts with the least and the most that they can be."""

    expected: Array
    low: Array
    high: Array


def entries_of(classes: EquivalenceClasses) -> Iterator[Entries]:
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


def _combined(classes: EquivalenceClasses, wanted: Ints) -> Entries:
    class_of, position, share = wanted, np.zeros(len(wanted), np.int64), np.ones(len(wanted))
    for column, cell in zip(classes.columns, classes.cell_of, strict=True):
        cells, own = column.cells, cell[class_of]
        repeat = cells.sizes[own]
        ends = np.cumsum(repeat)
        inner = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - repeat, repeat)
        entry = np.repeat(cells.first[:-1][own], repeat) + inner
        position = np.repeat(position, repeat) * cells.leaves + cells.values[entry]
        share = np.repeat(share, repeat) * cells.shares[entry]
        class_of = np.repeat(class_of, repeat)
    return Entries(class_of, position, share)


def count(classes: EquivalenceClasses, holds: Array, leading: int) -> Bounds:
    """The counts of the first `leading` columns' values among what is selected, by the classes' cells alone."""
    shape = holds.shape[:leading]
    cells, inner = math.prod(shape), math.prod(holds.shape[leading:])
    chosen = holds.ravel() > 0
    expected, low, high = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    for entries in entries_of(classes):
        here = chosen[entries.position]
        at = entries.position // inner
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
    leading, moved = bounds.expected.ndim, 0.0
    total = float(len(columns[0].codes)) if weights is None else float(weights.sum())
    for number, column in enumerate(columns):
        by_value = np.moveaxis(holds, number, 0).reshape(holds.shape[number], -1)
        if number < leading:  # every value of it is a cell of its own
            by_value = np.eye(holds.shape[number])
        moved += column.movable(by_value, weights)
    low, high = np.maximum(bounds.low - moved, 0.0), np.minimum(bounds.high + moved, total)
    groups = {c.doubt.together for c in columns if c.doubt.deviation is not None}
    for group in groups if weights is None else ():
        low, high = _within_group(bounds, columns, holds, group, z, low, high)
    return Bounds(bounds.expected, np.minimum(low, bounds.expected), np.maximum(high, bounds.expected))


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
    leading = bounds.expected.ndim
    inside = [i for i, column in enumerate(columns) if column.axis.name in group]
    spread = max(columns[i].doubt.deviation or 0.0 for i in inside)
    shape = [columns[i].axis.size for i in inside]
    position = joint_codes([columns[i].codes for i in inside], shape)
    shown = np.bincount(position, minlength=math.prod(shape)).reshape(shape)
    wide = shown.reshape([holds.shape[i] if i in inside else 1 for i in range(holds.ndim)])
    outside = tuple(i for i in range(leading, holds.ndim) if i not in inside)
    possible = (holds.max(axis=outside, keepdims=True) if outside else holds) * wide
    most = possible.sum(axis=tuple(range(leading, holds.ndim))) + z * spread
    high = np.minimum(high, most)
    if len(inside) == len(columns):  # the group's own table is right on average
        low = np.maximum(low, bounds.expected - z * spread)
    return low, high


# Means over cells: what one expects, and the least and the most that they can be.


def mean_between(classes: EquivalenceClasses, holds: Array, weights: Array | None, z: float) -> EstimatedNumber:
    """The mean of the first column's numbers among records for which `holds`, a table over all columns."""
    numbers = classes.columns[0].axis.middles
    known = np.isfinite(numbers).reshape([-1] + [1] * (holds.ndim - 1))
    if (np.isinf(numbers).reshape(known.shape) * holds).any():
        raise without_end("A mean of", classes.columns[0].axis.name)
    chosen = (holds * known > 0).ravel()
    finite = np.where(np.isfinite(numbers), numbers, 0.0).reshape(known.shape)
    value_at = np.broadcast_to(finite, holds.shape).ravel()
    sums, people = np.zeros(2), np.zeros(len(classes.sizes))
    least, most = np.full(len(people), np.inf), np.full(len(people), -np.inf)
    sure = np.ones(len(people), bool)
    for entries in entries_of(classes):
        here, size = chosen[entries.position], classes.sizes[entries.class_of] * entries.share
        value = value_at[entries.position]
        sums += [float((size * value)[here].sum()), float(size[here].sum())]
        np.minimum.at(least, entries.class_of[here], value[here])
        np.maximum.at(most, entries.class_of[here], value[here])
        sure[entries.class_of[~here]] = False
    if sums[1] <= 0:
        raise unseen_group("A mean", noisy=False)
    estimate = float(sums[0] / sums[1])
    in_reach = np.isfinite(least)
    low = -_highest(-least[in_reach], classes.sizes[in_reach], sure[in_reach])
    high = _highest(most[in_reach], classes.sizes[in_reach], sure[in_reach])
    low, high = _doubted(classes, holds, weights, z, low, high, float(classes.sizes[in_reach & sure].sum()))
    return EstimatedNumber(estimate, min(low, estimate), max(high, estimate))


def _highest(values: Array, sizes: Array, sure: NDArray[np.bool_]) -> float:
    """The highest mean: who is surely in it with their highest value, and of the others whoever raises it."""
    total, people = float((values * sizes)[sure].sum()), float(sizes[sure].sum())
    optional = np.flatnonzero(~sure)
    for i in optional[np.argsort(-values[optional])].tolist():
        if people > 0 and values[i] * people <= total:
            break
        total, people = total + values[i] * sizes[i], people + sizes[i]
    return total / people if people > 0 else math.inf


def _doubted(
    classes: EquivalenceClasses,
    holds: Array,
    weights: Array | None,
    z: float,
    low: float,
    high: float,
    people: float,
) -> tuple[float, float]:
    """What doubts of the columns add, within the range of the numbers."""
    own = classes.columns[0]
    numbers = own.axis.middles[np.isfinite(own.axis.middles)]
    bottom, top = float(numbers.min()), float(numbers.max())
    reach, moved = 0.0, _moved_by_others(classes, holds, weights)
    error = own.squared_error() if own.doubt.lost is not None else 0.0
    if own.doubt.lost is not None:  # Cauchy and Schwarz: the differences of m records sum to at most sqrt(m E)
        moved += own.movable(holds.reshape(len(holds), -1), weights)
        unknown = error is None or weights is not None or people <= 0
        reach += math.inf if unknown else math.sqrt((error or 0.0) / people)
        bottom, top = (-math.inf, math.inf) if moved or not math.isfinite(reach) else (bottom - reach, top + reach)
    elif own.doubt.deviation is not None and len(classes.columns) == 1 and not bool((holds == 0).any()):
        # a sum of numbers in a range of R varies by at most R/sqrt(2) times what the counts do
        spread = z * (top - bottom) * own.doubt.deviation / math.sqrt(2)
        reach += spread / people if people and weights is None else math.inf
    else:
        moved += own.movable(holds.reshape(len(holds), -1), weights)
    if moved:
        reach += moved * (top - bottom) / people if people else math.inf
    return max(low - reach, bottom), min(high + reach, top)


# How many records lie below each value of a column, at least and at most.


_MOST_EDGES = 2000  # values whose crossing is looked at one by one


def shares_below(classes: EquivalenceClasses, holds: Array, weights: Array | None) -> Bounds:
    """By value of the first column, the share of the selected records that have it or one before it.

    `holds` selects by all columns; records whose value is missing must not be selected.
    """
    size, inner = holds.shape[0], holds[0].size
    chosen = holds.ravel() > 0
    expected = np.zeros(size)
    least = np.full(len(classes.sizes), size, np.int64)
    most = np.full(len(classes.sizes), -1, np.int64)
    sure = np.ones(len(classes.sizes), bool)
    for entries in entries_of(classes):
        here, value = chosen[entries.position], entries.position // inner
        expected += np.bincount(value[here], (classes.sizes[entries.class_of] * entries.share)[here], size)
        np.minimum.at(least, entries.class_of[here], value[here])
        np.maximum.at(most, entries.class_of[here], value[here])
        sure[entries.class_of[~here]] = False
    if expected.sum() <= 0:
        raise unseen_group("A quantile", noisy=False)
    reach = most >= 0

    def up_to(last: Ints, which: NDArray[np.bool_]) -> Array:
        return np.cumsum(np.bincount(last[which], classes.sizes[which], size))

    surely_all, possibly_all = classes.sizes[sure & reach].sum(), classes.sizes[reach].sum()
    surely_below, possibly_below = up_to(most, sure & reach), up_to(least, reach)
    surely_above = surely_all - up_to(least, sure & reach)
    possibly_above = possibly_all - up_to(most, reach)
    moved = _moved(classes, holds, weights)
    low = _share(np.maximum(surely_below - moved, 0.0), possibly_above + moved)
    high = _share(possibly_below + moved, np.maximum(surely_above - moved, 0.0))
    share = np.cumsum(expected) / expected.sum()
    low, high = np.minimum(low, share), np.maximum(high, share)
    last = int(np.flatnonzero(expected)[-1]) if not moved.any() else size - 1
    low[max(last, int(most.max(initial=0))) :] = 1.0
    return Bounds(share, np.maximum.accumulate(low), np.maximum.accumulate(high))


def _share(part: Array, others: Array) -> Array:
    whole = part + others
    return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)


def _moved_by_others(classes: EquivalenceClasses, holds: Array, weights: Array | None) -> float:
    """How many records can be in the selection, or not, by the doubts of all columns but the first."""
    return sum(
        column.movable(np.moveaxis(holds, i, 0).reshape(column.axis.size, -1), weights)
        for i, column in enumerate(classes.columns[1:], 1)
    )


def _moved(classes: EquivalenceClasses, holds: Array, weights: Array | None) -> Array:
    """By value, how many records can be on its other side, or not in the selection, by the columns' doubts."""
    size, own = holds.shape[0], classes.columns[0]
    moved = np.full(size, _moved_by_others(classes, holds, weights))
    if own.doubt.lost is None:
        return moved + own.movable(holds.reshape(size, -1), weights)
    if size > _MOST_EDGES:
        return moved + len(own.codes)
    steps = [own.movable((np.arange(size) <= value).astype(np.float64)[:, None], weights) for value in range(size)]
    return np.asarray(moved + np.array(steps))
