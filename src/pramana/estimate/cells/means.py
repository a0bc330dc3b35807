"""Means over cells: what one expects, and the least and the most that they can be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.estimate.cells.columns import LookAlikes
from pramana.estimate.cells.counting import entries_of
from pramana.estimate.law import Array
from pramana.estimate.ratios import EstimatedNumber, UnseenGroupError


def mean_between(classes: LookAlikes, holds: Array, weights: Array | None, z: float) -> EstimatedNumber:
    """The mean of the first column's numbers among records for which `holds`, a table over all columns."""
    numbers = classes.columns[0].axis.middles
    known = np.isfinite(numbers).reshape([-1] + [1] * (holds.ndim - 1))
    if (np.isinf(numbers).reshape(known.shape) * holds).any():
        raise InputError(
            f"A mean of {classes.columns[0].axis.name} must be asked of records whose bins have an end",
            "a bin without one",
            f"Leave it out with a filter on {classes.columns[0].axis.name}.",
        )
    chosen = (holds * known > 0).ravel()
    finite = np.where(np.isfinite(numbers), numbers, 0.0).reshape(known.shape)
    value_at = np.broadcast_to(finite, holds.shape).ravel()
    sums, people = np.zeros(2), np.zeros(len(classes.sizes))
    least, most = np.full(len(people), np.inf), np.full(len(people), -np.inf)
    sure = np.ones(len(people), bool)
    for entries in entries_of(classes):
        here, size = chosen[entries.place], classes.sizes[entries.class_of] * entries.share
        value = value_at[entries.place]
        sums += [float((size * value)[here].sum()), float(size[here].sum())]
        np.minimum.at(least, entries.class_of[here], value[here])
        np.maximum.at(most, entries.class_of[here], value[here])
        sure[entries.class_of[~here]] = False
    if sums[1] <= 0:
        raise UnseenGroupError("A mean must be asked of a group that the release can see", "an expected size of 0")
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
    classes: LookAlikes, holds: Array, weights: Array | None, z: float, low: float, high: float, people: float
) -> tuple[float, float]:
    """What doubts of the columns add, within the range of the numbers."""
    own, others = classes.columns[0], classes.columns[1:]
    numbers = own.axis.middles[np.isfinite(own.axis.middles)]
    bottom, top = float(numbers.min()), float(numbers.max())
    reach = 0.0
    moved = sum(
        column.movable(np.moveaxis(holds, i + 1, 0).reshape(column.axis.size, -1), weights)
        for i, column in enumerate(others)
    )
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
