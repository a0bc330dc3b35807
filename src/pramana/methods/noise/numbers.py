"""Numbers of columns as doubles, and their means, deviations and covariances, added up piece by piece.

A number is the decimal that it is written as, and in a file of doubles the shortest one that is read as it.
Columns of numbers, and texts of at most 15 digits, are read all at once; anything else value by value, which gives
the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.codes import Numbering
from pramana.io.columns import flags_of, is_text, numbers, values_of
from pramana.methods.columns import (
    FARTHEST,
    LARGEST_WHOLE,
    MOST_PLACES,
    NumberUse,
    check_reach,
    number_of,
    refuse_others,
)
from pramana.rows.digest import Column
from pramana.rows.protocol import Columns, Rows, chunks_of

# Sums of doubles that are rounded once, at their end: in any order, and however the rows are cut into pieces.


Floats = NDArray[np.float64]
_DIGITS = 53  # bits of a double
_HALF = 27
_LEAST = 1073 + _DIGITS  # every double is a whole number of steps of 2^-_LEAST
_RUN = 1 << 24  # of so many, sums of half the digits are whole numbers below 2^53


@dataclass(frozen=True)
class ExactSum:
    """A sum as it is, in steps of 2^-1126. What `math.fsum` gives for all numbers at once is its `float`."""

    steps: int = 0

    @classmethod
    def of(cls, values: Floats) -> ExactSum:
        """Of numbers that are finite."""
        return cls(sum(_steps(values[start : start + _RUN]) for start in range(0, len(values), _RUN)))

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.steps + other.steps)

    def __float__(self) -> float:
        return self.steps / (1 << _LEAST)  # the nearest double, halves to the even one


NOTHING = ExactSum()


def _steps(values: Floats) -> int:
    """Digits are added up by exponent, the upper and the lower half of them apart."""
    fractions, exponents = np.frexp(values)
    digits = (fractions * 2.0**_DIGITS).astype(np.int64)
    lowest = int(exponents.min(initial=0))
    by_exponent = [
        np.bincount(exponents - lowest, weights=half.astype(np.float64)).tolist()
        for half in (digits >> _HALF, digits & ((1 << _HALF) - 1))
    ]
    steps = 0
    for exponent, (upper, lower) in enumerate(zip(*by_exponent, strict=True), lowest + _LEAST - _DIGITS):
        steps += (int(upper) << _HALF) + int(lower) << exponent
    return steps


_PLAIN = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?$"
_LONGEST = 16  # characters of such a text with at most 15 digits: doubles tell all of them apart
_FEWER = 1e15  # digits up to here come back as they were after a double has held them


@dataclass(frozen=True)
class NumberSummary:
    """Of some rows of a column: how many there are, and what is known of their numbers."""

    rows: int = 0
    missing: int = 0
    others: int = 0  # values that are no numbers
    places: int = 0  # the most decimals that one has
    largest: Fraction = Fraction(0)
    floating: bool = False  # a file of doubles
    total: ExactSum = NOTHING

    def __add__(self, more: NumberSummary) -> NumberSummary:
        return NumberSummary(
            self.rows + more.rows,
            self.missing + more.missing,
            self.others + more.others,
            max(self.places, more.places),
            max(self.largest, more.largest),
            self.floating or more.floating,
            self.total + more.total,
        )

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def mean(self) -> float:
        """Of the rows that have a number, if any has."""
        return float(self.total) / max(self.known, 1)

    @property
    def whole(self) -> bool:
        """Whether the numbers times 10^places are integers of 53 bits."""
        return self.places <= MOST_PLACES and self.largest * 10**self.places <= LARGEST_WHOLE

    def check(self, name: str, use: NumberUse, gaps: bool) -> None:
        """Refuse, with counts, a column that has something else than numbers; with `gaps` some may be missing."""
        refuse_others(name, 0 if gaps else self.missing, self.others, use)
        if not self.whole:
            check_reach(name, self.places, float(self.largest), self.floating, use)


@dataclass(frozen=True, eq=False)
class PieceNumbers:
    """A piece of a column as doubles, NaN in rows without a number, and the summary of it."""

    values: Floats
    summary: NumberSummary

    @classmethod
    def of(cls, column: Column) -> PieceNumbers:
        chunks = chunks_of(column)
        pieces = [_at_once(chunk) or _one_by_one(chunk) for chunk in chunks.chunks]
        return cls(
            np.concatenate([np.empty(0), *(piece.values for piece in pieces)]),
            sum((piece.summary for piece in pieces), NumberSummary(floating=pa.types.is_floating(chunks.type))),
        )


def _at_once(chunk: pa.Array) -> PieceNumbers | None:
    """None where a value has to be looked at by itself."""
    if pa.types.is_integer(chunk.type):
        return _of_integers(chunk)
    if pa.types.is_float64(chunk.type):
        missing = flags_of(chunk.is_null(nan_is_null=True))
        return _of_doubles(np.where(missing, 0.0, values_of(chunk)), missing)
    return _of_texts(chunk) if is_text(chunk.type) else None


def _of_integers(chunk: pa.Array) -> PieceNumbers | None:
    ends = pc.min_max(chunk).as_py()
    largest = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
    if largest > LARGEST_WHOLE:
        return None
    missing = flags_of(chunk.is_null())
    return _piece(np.where(missing, 0.0, values_of(chunk.cast(pa.float64()))), missing, 0, Fraction(largest))


def _of_texts(chunk: pa.Array) -> PieceNumbers | None:
    lengths = np.where(flags_of(chunk.is_null()), 0, values_of(pc.binary_length(chunk)))
    written = chunk.take(numbers(np.flatnonzero(lengths)))
    if lengths.max(initial=0) > _LONGEST or not flags_of(pc.match_substring_regex(written, _PLAIN)).all():
        return None
    values = np.zeros(len(chunk))
    values[lengths > 0] = values_of(written.cast(pa.float64()))
    return _of_doubles(values, lengths == 0)


def _of_doubles(values: Floats, missing: NDArray[np.bool_]) -> PieceNumbers | None:
    largest = float(np.abs(values).max(initial=0))
    if not math.isfinite(largest):
        return None
    exact = Fraction(int(largest) if largest.is_integer() else repr(largest))
    places, longer = 0, values
    while len(longer):
        steps = np.rint(longer * float(10**places))
        if places > MOST_PLACES or not np.abs(steps).max() < _FEWER:
            places = max(map(_decimals, longer.tolist()))  # some of these have more than were tried
            break
        longer = longer[steps / float(10**places) != longer]
        places += bool(len(longer))
    return _piece(values + 0.0, missing, places, exact)  # a zero has no sign


def _decimals(number: float) -> int:
    """Of the shortest decimal that is read as a number."""
    return 0 if number.is_integer() else -int(Decimal(repr(number)).as_tuple().exponent)


def _one_by_one(chunk: pa.Array) -> PieceNumbers:
    numbering = Numbering()
    codes = numbering.number(chunk)
    labels = list(numbering.labels)
    decimals = [number_of(label) for label in labels]
    known = [n for n in decimals if n is not None]
    table = np.array([np.nan if n is None else float(n) for n in decimals] or [0.0])
    others = np.array([n is None and label != "" for label, n in zip(labels, decimals, strict=True)] or [False])
    return _piece(
        (table + 0.0)[codes],
        np.array([label == "" for label in labels] or [False])[codes],
        max((-int(n.as_tuple().exponent) for n in known), default=0),
        max((abs(Fraction(n)) for n in known), default=Fraction(0)),
        int(others[codes].sum()),
    )


def _piece(
    values: Floats, missing: NDArray[np.bool_], places: int, largest: Fraction, others: int = 0
) -> PieceNumbers:
    values = np.where(np.abs(values) > FARTHEST, 0.0, values)  # which is refused by the largest
    total = ExactSum.of(np.where(missing | np.isnan(values), 0.0, values))
    summary = NumberSummary(len(values), int(missing.sum()), others, max(0, places), largest, total=total)
    return PieceNumbers(np.where(missing, np.nan, values) if summary.missing else values, summary)


# Means, deviations and covariances, from passes over rows wherever they are.


_USE = NumberUse("get noise", "A column of other values is published unchanged, or swapped")
Pairs = tuple[tuple[str, str], ...]


def true_of(name: str) -> str:
    """The column of a column's numbers as doubles, which no column of a source is called."""
    return f"\0true {name}"


def doubles_of(column: Column) -> Floats:
    """The doubles of a column that was worked out, NaN where there is no number."""
    chunks = [values_of(chunk) for chunk in chunks_of(column).chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0), *chunks])


@dataclass(frozen=True)
class Moments:
    """By column what its numbers have in common, and covariances of pairs of columns, with n - 1."""

    summaries: dict[str, NumberSummary]
    covariances: dict[tuple[str, str], float]

    def mean(self, name: str) -> float:
        return self.summaries[name].mean

    def deviation(self, name: str) -> float:
        """The standard deviation of a column, which its noise is measured in."""
        if (variance := self.covariances.get((name, name), 0.0)) > 0:
            return math.sqrt(variance)
        raise SourceError(
            f"The numbers of the column {name!r} must differ, for noise measured in their standard deviation",
            "one number, or none",
            "Write spread = ... in the section of the column: noise in its own units.",
        )


def moments_of(rows: Rows, columns: Sequence[str], relative: Sequence[str], correlated: bool) -> Moments:
    """Two passes: sums first, then products of what is off the means; columns of something else are refused.

    `relative`: the columns whose deviations are wanted, and with `correlated` their covariances.
    """
    summaries: dict[str, NumberSummary] = dict(zip(columns, rows.summed(columns, _summed), strict=True))
    for name, summary in summaries.items():
        summary.check(name, _USE, gaps=not correlated)  # covariances need every number
        rows.derive(true_of(name), (name,), partial(_numbers_of, name))
    several = [name for name in relative if summaries[name].known > 1]
    if correlated:
        pairs: Pairs = tuple((a, b) for i, a in enumerate(several) for b in several[: i + 1])
    else:
        pairs = tuple((name, name) for name in several)
    means = {name: summaries[name].mean for name in several}
    true = [true_of(name) for name in several]
    sums = rows.summed(true, partial(_products, means, pairs)) if pairs else ()
    return Moments(
        summaries,
        {(a, b): float(x) / (summaries[a].known - 1) for (a, b), x in zip(pairs, sums, strict=True)},
    )


def _summed(columns: Columns) -> NDArray[np.object_]:
    """A summary of each column; numpy adds those of several pieces up one by one."""
    return np.array([PieceNumbers.of(column).summary for column in columns.values()], object)


def _numbers_of(name: str, columns: Columns) -> pa.Array:
    return numbers(PieceNumbers.of(columns[name]).values)


def _products(means: dict[str, float], pairs: Pairs, columns: Columns) -> NDArray[np.object_]:
    """Sums over some rows; those without a number count for nothing."""
    off = {name: np.nan_to_num(doubles_of(columns[true_of(name)]) - mean) for name, mean in means.items()}
    return np.array([ExactSum.of(off[a] * off[b]) for a, b in pairs], object)


# Normal numbers from keyed words, and the covariances they are given. All sums here are exactly rounded.
#
# Nothing is left to a BLAS, whose last digits depend on the processor: the same words give the same numbers.


_UNIT = 2.0**-52
_NOTHING = 1e-12  # of a column's variance: what is left of it beyond the columns before


def normals(words: NDArray[np.uint64]) -> Floats:
    """A standard normal number for each word: the quantile at the middle of its cell of 2^52 equal ones.

    Cells are symmetric about one half, so the mean is 0; none is beyond 8.3.
    """
    from scipy.special import ndtri

    middles = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * _UNIT  # exact
    quantiles: Floats = ndtri(np.minimum(middles, 1 - middles))
    return np.where(middles < 0.5, quantiles, -quantiles)


def root_of(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """L, lower triangular, with L L' the matrix (Cholesky). A column that follows from others adds nothing.

    Of the matrix, which is symmetric, the lower half is read.
    """
    root: list[list[float]] = [[0.0] * len(matrix) for _ in matrix]
    for i, row in enumerate(matrix):
        for j in range(i):
            left = math.fsum([row[j], *(-root[i][m] * root[j][m] for m in range(j))])
            root[i][j] = left / root[j][j] if root[j][j] else 0.0
        left = math.fsum([row[i], *(-(root[i][m] ** 2) for m in range(i))])
        root[i][i] = math.sqrt(left) if left > _NOTHING * row[i] else 0.0
    return root


def kept_share(amount: float) -> float:
    """By what means and covariances stay: numbers with noise of `amount` deviations are drawn to their mean."""
    return 1 / math.sqrt(1 + amount**2)
