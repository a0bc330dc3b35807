"""What grouping costs: squared distances within classes (SSE) beside those of the whole table (SST)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SchemaError
from pramana.generalize.microaggregation.columns import ExactColumn, Numbers, numbers_of
from pramana.generalize.microaggregation.groups import Microaggregation


@dataclass(frozen=True)
class ColumnLoss:
    """SSE and SST of one column, in its own unit squared. `share` is SSE/SST, and 0 for a constant column."""

    name: str
    sse: float
    sst: float
    share: float

    def __post_init__(self) -> None:
        if min(self.sse, self.sst, self.share) < 0:
            raise SchemaError(f"The losses of column {self.name} must not be negative")


@dataclass(frozen=True)
class MicroaggregationLoss:
    """The loss of every column, and of all together when each is divided by its standard deviation.

    A standardised column's SST is the number of rows, so that `share`, SSE/SST of the whole, is the mean of the
    shares of the columns that are not constant. `k` is the number of rows in the smallest class.
    """

    columns: tuple[ColumnLoss, ...]
    rows: int
    k: int

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.rows:
            raise SchemaError(f"The smallest class must have from 1 to {self.rows} rows", str(self.k))

    @property
    def sse(self) -> float:
        return self.rows * sum(column.share for column in self.columns)

    @property
    def sst(self) -> float:
        return float(self.rows * sum(column.sst > 0 for column in self.columns))

    @property
    def share(self) -> float:
        return self.sse / self.sst if self.sst else 0.0


def information_loss(
    groups: Microaggregation,
    columns: Mapping[str, NDArray[np.generic]],
    published: Mapping[str, Numbers] | None = None,
) -> MicroaggregationLoss:
    """The loss of publishing, in every class, the exact mean, or the value by class that `published` has for a
    column (a median, a rounded mean: never a smaller loss). Sums are exact and each result is rounded once."""
    class_of = groups.class_of.tolist()
    losses = []
    for name, values in columns.items():
        column = numbers_of(name, values)
        if len(column) != len(class_of):
            raise SchemaError("A column must be as long as the table that was grouped")
        exact = ExactColumn.of(column)
        sums = exact.class_sums(class_of, groups.classes)
        if published is None or name not in published:
            sse = exact.squares - _between(sums, groups.sizes.tolist(), exact.unit)
        else:
            sse = _distance(exact, sums, groups, ExactColumn.of(numbers_of(name, published[name])))
        sst = exact.sst
        losses.append(ColumnLoss(name, float(sse), float(sst), float(sse / sst) if sst else 0.0))
    return MicroaggregationLoss(tuple(losses), len(class_of), groups.smallest)


def _between(sums: list[int], sizes: list[int], unit: int) -> Fraction:
    """The sum of S^2 / m over the classes; those of one size share a denominator and are added as integers."""
    by_size: Counter[int] = Counter()
    for total, size in zip(sums, sizes, strict=True):
        by_size[size] += total * total
    return sum((Fraction(squares, size) for size, squares in by_size.items()), Fraction(0)) / unit**2


def _distance(exact: ExactColumn, sums: list[int], groups: Microaggregation, published: ExactColumn) -> Fraction:
    """The sum of (x - p)^2, p the value published for the class of x."""
    if len(published.whole) != groups.classes:
        raise SchemaError(f"There must be one published value for each of the {groups.classes} classes")
    mixed = sum(p * total for p, total in zip(published.whole, sums, strict=True))
    own = sum(size * p * p for p, size in zip(published.whole, groups.sizes.tolist(), strict=True))
    return exact.squares - Fraction(2 * mixed, exact.unit * published.unit) + Fraction(own, published.unit**2)
