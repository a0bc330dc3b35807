"""Linear regression of a number on other attributes of the private table, from the release. Formulas: estimate.md.

The sums of squares and products are estimated without bias from the published table, so the slopes are not drawn
towards zero as those of the published values are. Standard errors are over the release's coins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana.errors import InputError
from pramana.estimate.axis import Axis
from pramana.estimate.filters import Filter
from pramana.estimate.inversion import quantile, to_simplex
from pramana.estimate.law import Array
from pramana.estimate.numbers.spread import standard_errors
from pramana.estimate.table import PublishedTable
from pramana.schema import Kind

INTERCEPT = "(intercept)"
_LEAST_EIGENVALUE = 1e-9  # of the regressors' correlation matrix: below it, one follows from the others


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its standard error and interval over the coins.

    `within`: how far it can move, at most, as the values of the regressed attribute move within their bins.
    """

    name: str
    estimate: float
    error: float
    low: float
    high: float
    p_value: float  # of no effect, by the normal approximation
    within: float

    def to_json(self) -> dict[str, Any]:
        numbers = {"estimate": self.estimate, "error": self.error, "low": self.low, "high": self.high}
        return {"name": self.name, **numbers, "p_value": self.p_value, "within": self.within}


@dataclass(frozen=True)
class EstimatedRegression:
    """What least squares would give on the private table, with each bin at its middle."""

    attribute: str
    records: float  # estimated, of those with all values
    coefficients: tuple[Coefficient, ...]

    def coefficient(self, name: str) -> Coefficient:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise InputError(
            "A coefficient must be one of the regression's",
            repr(name),
            f"It has {', '.join(c.name for c in self.coefficients)}.",
        )

    def to_json(self) -> dict[str, Any]:
        coefficients = [coefficient.to_json() for coefficient in self.coefficients]
        return {"attribute": self.attribute, "records": self.records, "coefficients": coefficients}


def estimate_regression(
    table: PublishedTable, attribute: Axis, on: Sequence[Axis], where: Filter | None, confidence: float
) -> EstimatedRegression:
    """Least squares of `attribute` on others, among records with `where` that miss none of them.

    Numbers enter as they are, each bin at its middle; names and dates by an indicator for every value but one.
    """
    selected = np.ones(table.law.shape) if where is None else where.select(table.axes)
    places = {axis.name: i for i, axis in enumerate(table.axes)}
    names, features = [INTERCEPT], [np.ones(table.law.shape)]
    for axis in (attribute, *on):
        selected = selected * _wide(_present(axis).astype(np.float64), places[axis.name], table)
    for axis in on:
        for name, values in _features(axis, _wide_sum(selected, places[axis.name])):
            names.append(name)
            features.append(_wide(values, places[axis.name], table))
    numbers, half = _numbers(attribute, _wide_sum(selected, places[attribute.name]))
    outcome = _wide(numbers, places[attribute.name], table)
    counts = table.law.inverse(table.counts) * selected
    design = np.stack([np.broadcast_to(f, table.law.shape) for f in features]).reshape(len(features), -1)
    inverse = _inverse_moments(design, counts.ravel())
    slopes = inverse @ (design * counts.ravel()) @ np.broadcast_to(outcome, table.law.shape).ravel()
    residuals = np.broadcast_to(outcome, table.law.shape).ravel() - slopes @ design
    pull = inverse @ design * selected.ravel()  # what a record adds to each coefficient, by its outcome
    errors = standard_errors(table, [row.reshape(table.law.shape) for row in pull * residuals])
    likely = to_simplex(counts, float(counts.sum())).ravel()
    widths = np.broadcast_to(_wide(half, places[attribute.name], table), table.law.shape).ravel()
    within = np.abs(pull) @ (likely * widths)
    z = quantile(confidence)
    coefficients = [
        Coefficient(name, b, e, b - z * e, b + z * e, _p_value(b, e), w)
        for name, b, e, w in zip(names, slopes.tolist(), errors.tolist(), within.tolist(), strict=True)
    ]
    return EstimatedRegression(attribute.name, float(counts.sum()), tuple(coefficients))


def _p_value(estimate: float, error: float) -> float:
    return math.erfc(abs(estimate) / error / math.sqrt(2)) if error > 0 else float(estimate == 0)


def _present(axis: Axis) -> Array:
    """1 for every value but the missing category."""
    return np.array([axis.label(code) is not None for code in range(axis.size)], np.float64)


def _wide(values: Array, place: int, table: PublishedTable) -> Array:
    """Values of one attribute, shaped to go with the table."""
    return values.reshape([-1 if i == place else 1 for i in range(len(table.axes))])


def _wide_sum(selected: Array, place: int) -> Array:
    """How many cells of each value are selected."""
    return np.asarray(selected.sum(axis=tuple(i for i in range(selected.ndim) if i != place)))


def _numbers(axis: Axis, cells: Array) -> tuple[Array, Array]:
    """The middle of each value that is selected, and half the width of its bin; 0 for the others."""
    middles = axis.middles
    if np.isinf(middles[cells > 0]).any():
        raise InputError(
            f"A regression with {axis.name} must be asked of records whose bins have an end",
            "a bin without one",
            f"Leave it out with a filter on {axis.name}.",
        )
    assert axis.lower is not None and axis.upper is not None
    half = (np.array(axis.upper) - np.array(axis.lower)) / 2
    used = cells > 0
    return np.where(used, middles, 0.0), np.where(used, half, 0.0)


def _features(axis: Axis, cells: Array) -> list[tuple[str, Array]]:
    if axis.kind is Kind.NUMBER:
        return [(axis.name, _numbers(axis, cells)[0])]
    used = [code for code in range(axis.size) if cells[code] > 0]
    return [(f"{axis.name} = {axis.labels[code]}", np.eye(axis.size)[code]) for code in used[1:]]


def _inverse_moments(design: Array, counts: Array) -> Array:
    """The inverse of the regressors' estimated sums of products; refused where they are not those of any table."""
    moments = (design * counts) @ design.T
    scale = np.sqrt(np.maximum(np.diagonal(moments), 0.0))
    if not (scale > 0).all() or np.linalg.eigvalsh(moments / np.outer(scale, scale))[0] < _LEAST_EIGENVALUE:
        raise InputError(
            "A regression must be on attributes that the release can tell apart, none following from others",
            "sums of products that have no inverse",
            "Ask for fewer attributes, or for a larger group.",
        )
    return np.asarray(np.linalg.inv(moments))
