"""What is published for a class: its mean, its median or its commonest value. `published[groups.class_of]` then
gives every row the value of its class."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, SchemaError
from pramana.generalize.microaggregation.columns import ExactColumn, Numbers, numbers_of
from pramana.generalize.microaggregation.groups import Microaggregation
from pramana.randomness import Codes

MOST_DECIMALS = 15


def class_means(
    groups: Microaggregation, name: str, values: NDArray[np.generic], decimals: int | None = None
) -> Numbers:
    """The exact mean of each class, rounded once.

    To so many decimals, halves to the even digit (-2: to hundreds), or, where `decimals` is None, to the nearest
    double. Integers, where the column has integers and decimals is 0 or less; doubles otherwise. The mean is that
    of the doubles as they are stored: 0.15 lies a little below 15 hundredths.
    """
    if decimals is not None and abs(decimals) > MOST_DECIMALS:
        raise RecipeError(f"decimals must be from -{MOST_DECIMALS} to {MOST_DECIMALS}", str(decimals))
    column = _column(groups, name, values)
    exact = ExactColumn.of(column)
    sums = exact.class_sums(groups.class_of.tolist(), groups.classes)
    means = [Fraction(total, size * exact.unit) for total, size in zip(sums, groups.sizes.tolist(), strict=True)]
    if decimals is None:
        return np.array([float(mean) for mean in means])
    rounded = [round(mean, decimals) for mean in means]
    if column.dtype.kind == "i" and decimals <= 0:
        return np.array([int(mean) for mean in rounded], np.int64)
    return np.array([float(mean) for mean in rounded])


def class_medians(groups: Microaggregation, name: str, values: NDArray[np.generic]) -> Numbers:
    """The middle value of each class, the lower of the two where its size is even: always a value of some row."""
    column = _column(groups, name, values)
    order = np.lexsort((column, groups.class_of))
    first = np.cumsum(groups.sizes) - groups.sizes
    medians: Numbers = column[order[first + (groups.sizes - 1) // 2]]
    return medians


def class_modes(groups: Microaggregation, name: str, codes: Codes, size: int) -> Codes:
    """The commonest code of each class, of several the first in the domain's order. Codes lie below `size`."""
    if codes.ndim != 1 or codes.dtype.kind != "u" or (len(codes) and int(codes.max()) >= size):
        raise SchemaError(f"Column {name} must hold codes of its {size} categories")
    _check_length(groups, codes)
    pairs, counts = np.unique(groups.class_of.astype(np.int64) * size + codes.astype(np.int64), return_counts=True)
    number, code = np.divmod(pairs, size)
    order = np.lexsort((code, -counts, number))
    first = np.searchsorted(number[order], np.arange(groups.classes))
    modes: Codes = code[order][first].astype(codes.dtype)
    return modes


def _column(groups: Microaggregation, name: str, values: NDArray[np.generic]) -> Numbers:
    column = numbers_of(name, values)
    _check_length(groups, column)
    return column


def _check_length(groups: Microaggregation, column: NDArray[np.generic]) -> None:
    if len(column) != len(groups.class_of):
        raise SchemaError("A column must be as long as the table that was grouped")
