"""The two ways of grouping rows: MDAV for several columns, and the best groups of one. See microaggregation.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SchemaError, UnreachableError
from pramana.generalize.microaggregation import _mdav
from pramana.generalize.microaggregation.columns import ExactColumn, Numbers, numbers_of


@dataclass(frozen=True, eq=False)
class Microaggregation:
    """For every row its class. Classes are numbered from 0 and have from k to 2k - 1 rows, fewer than 2k because a
    class of 2k could be cut in two; `uncut` where rows of one person stay together. `sizes` is computed; both
    arrays are read-only."""

    class_of: NDArray[np.int32]
    k: int
    uncut: bool = False
    sizes: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        class_of = np.array(self.class_of)
        if class_of.ndim != 1 or class_of.dtype != np.int32:
            raise SchemaError("A microaggregation must have one 32-bit class for each row")
        _check_k(self.k, len(class_of))
        if class_of.min() < 0:
            raise SchemaError("Classes must be numbered from 0", "a negative number")
        sizes = np.bincount(class_of)
        if sizes.min() < self.k or (sizes.max() >= 2 * self.k and not self.uncut):
            raise SchemaError(
                f"Classes must have from {self.k} to {2 * self.k - 1} rows",
                f"from {sizes.min()} to {sizes.max()}",
            )
        for name, array in (("class_of", class_of), ("sizes", sizes)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def classes(self) -> int:
        return len(self.sizes)

    @property
    def smallest(self) -> int:
        """The k that was reached: the rows of the smallest class."""
        return int(self.sizes.min())


def mdav(columns: Mapping[str, NDArray[np.generic]], k: int) -> Microaggregation:
    """Groups of k rows (the last of up to 2k - 1) by maximum distance to the average vector, columns standardised.

    Which records share a class, and how the classes are numbered, depends on the rows as a collection and on the
    order of the columns, never on the order of the rows. Rows that are equal in all columns may be split over
    classes; earlier rows then go to the classes numbered lower. Time grows with the square of the number of
    different records, divided by k. Raises SourceError for a missing value, SchemaError for columns that are not
    numbers or not equally long, UnreachableError for k outside 1 to the number of rows.
    """
    table = [numbers_of(name, values) for name, values in columns.items()]
    rows = len(table[0]) if table else 0
    if any(len(column) != rows for column in table):
        raise SchemaError("The columns of a table must be equally long")
    _check_k(k, rows)
    order = np.lexsort(table[::-1])
    ordered = [column[order] for column in table]
    new = np.ones(rows, np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
    starts = np.flatnonzero(new)
    scaled = [_scaled(column) for column in ordered]
    in_order = np.empty(rows, np.int32)
    _mdav.mdav(
        np.stack([column[starts] for column in scaled]),
        np.append(starts, rows).astype(np.int64),
        np.array([_weight(column) for column in scaled]),
        k,
        in_order,
    )
    return Microaggregation(_by_row(in_order, order), k)


def optimal_univariate(name: str, values: NDArray[np.generic], k: int) -> Microaggregation:
    """The classes of at least k rows with the least sum of squared distances from their means, for one column.

    The minimum is exact: sums are integers, none is rounded. Classes are runs of the sorted column, numbered
    upwards; of equally good groupings the one whose last class is smallest is taken, then the last but one, and so
    on. So the classes' values depend on the column as a collection, never on the order of its rows. Equal values
    may be split over two classes; earlier rows then go to the lower one. Time grows with rows times k. Raises what
    `mdav` raises.
    """
    column = numbers_of(name, values)
    _check_k(k, len(column))
    order = np.argsort(column, kind="stable")
    sizes = _best_sizes(ExactColumn.of(column[order]).whole, k)
    return Microaggregation(_by_row(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), order), k)


def _check_k(k: int, rows: int) -> None:
    if k < 1 or k > rows:
        raise UnreachableError(f"k must be from 1 to the number of rows, {rows}", str(k))


def _by_row(in_order: NDArray[np.int32], order: NDArray[np.intp]) -> NDArray[np.int32]:
    class_of = np.empty_like(in_order)
    class_of[order] = in_order
    return class_of


def _scaled(column: Numbers) -> NDArray[np.float64]:
    """Times a power of two, into -1..1: nothing rounds, and no square overflows."""
    exponent = int(np.frexp(float(np.abs(column).max()))[1])
    return np.asarray(np.ldexp(column.astype(np.float64), -exponent))


def _weight(column: NDArray[np.float64]) -> float:
    """One over the variance, as the nearest double; a constant column counts 0."""
    sst = ExactColumn.of(column).sst
    return float(len(column) / sst) if sst else 0.0


def _best_sizes(ascending: Sequence[int], k: int) -> list[int]:
    """The class sizes of least cost along the sorted values (Hansen and Mukherjee, 2003).

    The sum of all squares is the same for every grouping, so the least SSE is the largest sum of S^2 / m over
    classes of m rows with sum S. Multiplied by the least common multiple of all m, that is an integer.
    """
    rows, low = len(ascending), ascending[0]
    step = math.gcd(*(x - low for x in ascending)) or 1  # origin and unit do not matter: smaller integers
    below = list(accumulate(((x - low) // step for x in ascending), initial=0))
    multiple = math.lcm(*range(k, 2 * k))
    shares = [(m, multiple // m) for m in range(k, 2 * k)]
    gain = [0, *[-1] * rows]  # of the first j rows; -1 where they make no classes
    size = [0] * (rows + 1)  # of their last class
    for j in range(k, rows + 1):
        most, upto = -1, below[j]
        for m, share in shares[: j - k + 1]:
            before = gain[j - m]
            if before < 0:
                continue
            total = upto - below[j - m]
            whole = before + share * total * total
            if whole > most:
                most, size[j] = whole, m
        gain[j] = most
    sizes = []
    while rows:
        sizes.append(size[rows])
        rows -= size[rows]
    return sizes[::-1]
