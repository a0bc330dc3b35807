"""Linear regression of a number on other attributes of the private table, from the release. Formulas: estimate.md.

The sums of squares and products are estimated without bias from the published table, so the slopes are not drawn
towards zero as those of the published values are. Standard errors are over the release's coins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.errors import InputError
from pramana.recipient.answers import Coefficient, EstimatedRegression, normal_p_value
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import quantile, to_simplex
from pramana.recipient.law import Array, PublishedTable
from pramana.recipient.quantiles import standard_errors
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind

INTERCEPT = "(intercept)"
_LEAST_EIGENVALUE = 1e-9  # of the regressors' correlation matrix: below it, one follows from the others


def estimate_regression(
    table: PublishedTable, attribute: Axis, on: Sequence[Axis], where: Filter | None, confidence: float
) -> EstimatedRegression:
    """Least squares of `attribute` on others, among records with `where` that miss none of them.

    Numbers enter as they are, each bin at its middle; names and dates by an indicator for every value but one.
    """
    names = [attribute.name, *(axis.name for axis in on)]
    if len(set(names)) != len(names):
        raise InputError("A regression must name each attribute once", ", ".join(names))
    selected = _complete(table, (attribute, *on), where)
    terms, design = _design(table, on, selected)
    middles, halves = _numbers(attribute, _cells_of(selected, table, attribute))
    outcome, half = (_flat(values, table, attribute) for values in (middles, halves))
    counts = table.law.inverse(table.counts).ravel() * selected.ravel()
    inverse = _inverse_moments(design, counts)
    slopes = inverse @ (design * counts) @ outcome
    pull = inverse @ design * selected.ravel()  # what a record adds to each coefficient, by its outcome
    errors = standard_errors(table, [row.reshape(table.law.shape) for row in pull * (outcome - slopes @ design)])
    within = np.abs(pull) @ (to_simplex(counts, float(counts.sum())) * half)
    z = quantile(confidence)
    coefficients = [
        Coefficient(name, b, e, b - z * e, b + z * e, normal_p_value(b, e), w)
        for name, b, e, w in zip(terms, slopes.tolist(), errors.tolist(), within.tolist(), strict=True)
    ]
    return EstimatedRegression(attribute.name, float(counts.sum()), tuple(coefficients))


def _complete(table: PublishedTable, axes: Sequence[Axis], where: Filter | None) -> Array:
    """1 in the cells where the filter holds and no attribute is missing."""
    selected = np.ones(table.law.shape) if where is None else where.select(table.axes)
    for axis in axes:
        present = np.array([axis.label(code) is not None for code in range(axis.size)], np.float64)
        selected = selected * _flat(present, table, axis).reshape(table.law.shape)
    return selected


def _flat(values: Array, table: PublishedTable, axis: Axis) -> Array:
    """For every cell of the table, in a row, the value of one attribute there."""
    shape = [-1 if other.name == axis.name else 1 for other in table.axes]
    return np.broadcast_to(values.reshape(shape), table.law.shape).ravel()


def _cells_of(selected: Array, table: PublishedTable, axis: Axis) -> Array:
    """How many cells of each value of an attribute are selected."""
    others = tuple(i for i, other in enumerate(table.axes) if other.name != axis.name)
    return np.asarray(selected.sum(axis=others))


def _design(table: PublishedTable, on: Sequence[Axis], selected: Array) -> tuple[list[str], Array]:
    """The names of the coefficients, and what each is multiplied by in every cell."""
    terms, rows = [INTERCEPT], [np.ones(table.law.cells)]
    for axis in on:
        for name, values in _features(axis, _cells_of(selected, table, axis)):
            terms.append(name)
            rows.append(_flat(values, table, axis))
    return terms, np.stack(rows)


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
