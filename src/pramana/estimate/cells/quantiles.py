"""How many records lie below each value of a column, at least and at most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.estimate.cells.columns import Ints, LookAlikes
from pramana.estimate.cells.counting import Bounds, entries_of
from pramana.estimate.law import Array
from pramana.estimate.ratios import UnseenGroupError

_MOST_EDGES = 2000  # values whose crossing is looked at one by one


def shares_below(classes: LookAlikes, holds: Array, weights: Array | None) -> Bounds:
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
        here, value = chosen[entries.place], entries.place // inner
        expected += np.bincount(value[here], (classes.sizes[entries.class_of] * entries.share)[here], size)
        np.minimum.at(least, entries.class_of[here], value[here])
        np.maximum.at(most, entries.class_of[here], value[here])
        sure[entries.class_of[~here]] = False
    if expected.sum() <= 0:
        raise UnseenGroupError(
            "A quantile must be asked of a group that the release can see", "an expected size of 0"
        )
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


def _moved(classes: LookAlikes, holds: Array, weights: Array | None) -> Array:
    """By value, how many records can be on its other side, or not in the selection, by the columns' doubts."""
    size = holds.shape[0]
    own, others = classes.columns[0], classes.columns[1:]
    moved = np.zeros(size)
    for number, column in enumerate(others):
        moved += column.movable(np.moveaxis(holds, number + 1, 0).reshape(column.axis.size, -1), weights)
    if own.doubt.lost is None:
        return moved + own.movable(holds.reshape(size, -1), weights)
    if size > _MOST_EDGES:
        return moved + len(own.codes)
    steps = [own.movable((np.arange(size) <= value).astype(np.float64)[:, None], weights) for value in range(size)]
    return np.asarray(moved + np.array(steps))
