"""Means whose intervals also hold what bins leave open."""

from __future__ import annotations

from dataclasses import replace

from pramana.estimate.axis import Axis
from pramana.estimate.filters import Filter
from pramana.estimate.law import Array
from pramana.estimate.ratios import EstimatedNumber, Ratio, estimate_ratios
from pramana.estimate.table import PublishedTable


def mean_of_middles(table: PublishedTable, axis: Axis, where: Filter | None, confidence: float) -> EstimatedNumber:
    """The mean with each bin at its middle."""
    return estimate_ratios(table, [Ratio(axis, where)], confidence).numbers[0]


def mean_within_bins(
    table: PublishedTable, axis: Axis, where: Filter | None, confidence: float
) -> EstimatedNumber:
    """The mean with each bin at its middle; its interval from that of the lower ends to that of the upper ends.

    The mean of the values themselves lies between those of the ends, wherever in their bins they are.
    """
    middle = Ratio(axis, where)
    middle.coefficients(table.axes)  # refuses names and bins without an end
    assert axis.intervals is not None
    ratios = [middle, *(Ratio(_at(axis, ends), where) for ends in axis.intervals)]
    at_middle, at_low, at_high = estimate_ratios(table, ratios, confidence).numbers
    return EstimatedNumber(at_middle.estimate, at_low.low, at_high.high)


def _at(axis: Axis, numbers: Array) -> Axis:
    """The axis with one number in place of each interval."""
    points = tuple(numbers.tolist())
    return replace(axis, lower=points, upper=points)
