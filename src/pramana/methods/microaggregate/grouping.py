"""The two ways of grouping rows: MDAV for several columns, and the best groups of one. See microaggregation.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SchemaError, UnreachableError
from pramana.methods.microaggregate import _mdav
from pramana.randomness.samplers import Codes

# Columns of numbers as microaggregation takes them, none missing: exact integers where sums must be exact.


Numbers = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True)
class ExactColumn:
    """The values times `unit`, a power of two, are the integers `whole`: sums of them do not round."""

    whole: tuple[int, ...]
    unit: int

    @classmethod
    def of(cls, values: Numbers) -> ExactColumn:
        ratios = [value.as_integer_ratio() for value in values.tolist()]
        unit = max((denominator for _, denominator in ratios), default=1)
        return cls(tuple(numerator * (unit // denominator) for numerator, denominator in ratios), unit)

    @property
    def squares(self) -> Fraction:
        return Fraction(sum(x * x for x in self.whole), self.unit**2)

    @property
    def sst(self) -> Fraction:
        """The sum of squared distances from the mean."""
        if not self.whole:
            return Fraction(0)
        return self.squares - Fraction(sum(self.whole) ** 2, len(self.whole) * self.unit**2)


@dataclass(frozen=True, eq=False)
class Microaggregation:
    """For every row its class. Classes are numbered from 0 and have from k to 2k - 1 rows, fewer than 2k because a
    class of 2k could be cut in two; `uncut` where rows of one person stay together."""

    class_of: NDArray[np.int32]
    k: int
    uncut: bool = False

    def __post_init__(self) -> None:
        _check_k(self.k, len(self.class_of))
        least, most = self.sizes.min(), self.sizes.max()
        if least < self.k or (most >= 2 * self.k and not self.uncut):
            raise SchemaError(
                f"Classes must have from {self.k} to {2 * self.k - 1} rows", f"from {least} to {most}"
            )

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.class_of)

    @property
    def classes(self) -> int:
        return len(self.sizes)

    def sums(self, whole: Sequence[int]) -> list[int]:
        """Of each class, exactly: integers of any size, one for each row."""
        sums = np.zeros(self.classes, object)
        np.add.at(sums, self.class_of, np.array(whole, object))
        return sums.tolist()


def mdav(table: Sequence[Numbers], k: int) -> Microaggregation:
    """Groups of k rows (the last of up to 2k - 1) by maximum distance to the average vector, columns standardised.

    Which records share a class, and how the classes are numbered, depends on the rows as a collection and on the
    order of the columns, never on the order of the rows. Rows that are equal in all columns may be split over
    classes; earlier rows then go to the classes numbered lower. Time grows with the square of the number of
    different records, divided by k. Raises UnreachableError for k outside 1 to the number of rows.
    """
    rows = len(table[0])
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
    return Microaggregation(by_row(in_order, order), k)


def optimal_univariate(column: Numbers, k: int) -> Microaggregation:
    """The classes of at least k rows with the least sum of squared distances from their means, for one column.

    The minimum is exact: sums are integers, none is rounded. Classes are runs of the sorted column, numbered
    upwards; of equally good groupings the one whose last class is smallest is taken, then the last but one, and so
    on. So the classes' values depend on the column as a collection, never on the order of its rows. Equal values
    may be split over two classes; earlier rows then go to the lower one. Time grows with rows times k. Raises what
    `mdav` raises.
    """
    _check_k(k, len(column))
    order = np.argsort(column, kind="stable")
    sizes = _best_sizes(ExactColumn.of(column[order]).whole, k)
    return Microaggregation(by_row(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), order), k)


def _check_k(k: int, rows: int) -> None:
    if k < 1 or k > rows:
        raise UnreachableError(f"k must be from 1 to the number of rows, {rows}", str(k))


def by_row(in_order: NDArray[np.int32], order: NDArray[np.intp]) -> NDArray[np.int32]:
    """The classes of rows that were taken in this order."""
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


# What grouping costs: squared distances within classes (SSE) beside those of the whole table (SST).


@dataclass(frozen=True)
class ColumnLoss:
    """SSE and SST of one column, in its own unit squared. `share` is SSE/SST, and 0 for a constant column."""

    sse: float
    sst: float
    share: float


def information_loss(groups: Microaggregation, column: Numbers, published: Numbers) -> ColumnLoss:
    """The loss of publishing, in every class, the value that `published` has for it.

    No value has a smaller loss than the mean. Sums are exact, and each result is rounded once.
    """
    exact, shown = ExactColumn.of(column), ExactColumn.of(published)
    mixed = sum(p * total for p, total in zip(shown.whole, groups.sums(exact.whole), strict=True))
    own = sum(size * p * p for p, size in zip(shown.whole, groups.sizes.tolist(), strict=True))
    # the sum of (x - p)^2, p the value published for the class of x
    sse = exact.squares - Fraction(2 * mixed, exact.unit * shown.unit) + Fraction(own, shown.unit**2)
    sst = exact.sst
    return ColumnLoss(float(sse), float(sst), float(sse / sst) if sst else 0.0)


def standardised_loss(columns: Sequence[ColumnLoss], rows: int) -> float:
    """SSE/SST of columns together, each divided by its standard deviation: one has the number of rows as its SST.

    That is the mean of the shares of the columns that are not constant.
    """
    varying = sum(column.sst > 0 for column in columns)
    return rows * sum(column.share for column in columns) / float(rows * varying) if varying else 0.0


# What is published for a class: its mean, its median or its commonest value. `published[groups.class_of]`
# then gives every row the value of its class.


def class_medians(groups: Microaggregation, column: Numbers) -> Numbers:
    """The middle value of each class, the lower of the two where its size is even: always a value of some row."""
    order = np.lexsort((column, groups.class_of))
    first = np.cumsum(groups.sizes) - groups.sizes
    medians: Numbers = column[order[first + (groups.sizes - 1) // 2]]
    return medians


def class_modes(groups: Microaggregation, codes: Codes, size: int) -> Codes:
    """The commonest code of each class, of several the first in the domain's order. Codes lie below `size`."""
    pairs, counts = np.unique(groups.class_of.astype(np.int64) * size + codes.astype(np.int64), return_counts=True)
    number, code = np.divmod(pairs, size)
    order = np.lexsort((code, -counts, number))
    first = np.searchsorted(number[order], np.arange(groups.classes))
    modes: Codes = code[order][first].astype(codes.dtype)
    return modes
