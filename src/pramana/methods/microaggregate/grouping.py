"""The two ways of grouping rows: MDAV for several columns, and the best groups of one. See microaggregation.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, SchemaError, SourceError, UnreachableError
from pramana.methods.microaggregate import _mdav
from pramana.randomness.samplers import Codes

# Columns of numbers as microaggregation takes them: none missing, and exact integers where sums must be
# exact.


Numbers = NDArray[np.float64] | NDArray[np.int64]
LARGEST_INTEGER = 2**53  # from here on, doubles skip integers


def numbers_of(name: str, values: NDArray[np.generic]) -> Numbers:
    """A column as doubles or 64-bit integers; refused where a value is missing, infinite or no number."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise SchemaError(f"Column {name} must hold numbers to be microaggregated")
    if values.dtype.kind == "f":
        doubles = values.astype(np.float64)
        if np.isnan(doubles).any():
            raise SourceError(
                f"Column {name} must have no missing value to be microaggregated",
                "a column with some",
                "Filter those rows out, or fill the values in, before grouping.",
            )
        if np.isinf(doubles).any():
            raise SourceError(f"Column {name} must hold finite numbers to be microaggregated")
        return doubles + 0.0  # a zero has no sign
    if len(values) and (int(values.max()) > LARGEST_INTEGER or int(values.min()) < -LARGEST_INTEGER):
        raise SourceError(
            f"Column {name} must hold integers from -2^53 to 2^53 to be microaggregated",
            hint="Larger ones are mostly identifiers: leave the column out.",
        )
    return values.astype(np.int64)


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

    def class_sums(self, class_of: Sequence[int], classes: int) -> list[int]:
        sums = [0] * classes
        for number, x in zip(class_of, self.whole, strict=True):
            sums[number] += x
        return sums


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


# What grouping costs: squared distances within classes (SSE) beside those of the whole table (SST).


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


# What is published for a class: its mean, its median or its commonest value. `published[groups.class_of]`
# then gives every row the value of its class.


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
