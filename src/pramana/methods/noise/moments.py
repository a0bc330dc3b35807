"""Means, deviations and covariances of the columns that get noise, from passes over rows wherever they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.columns import numbers, values_of
from pramana.methods.noise.numbers import ExactSum, Floats, NumberSummary, PieceNumbers
from pramana.methods.noise.setting import NoiseDesign
from pramana.methods.numbers import NumberUse
from pramana.rows.digest import Column
from pramana.rows.protocol import Columns, Rows, Summand, chunks_of

_USE = NumberUse("get noise", "A column of other values is published unchanged, or swapped")
T = TypeVar("T", bound=Summand)
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


def moments_of(rows: Rows, design: NoiseDesign) -> Moments:
    """Two passes: sums first, then products of what is off the means; columns of something else are refused."""
    summaries = dict(zip(design.columns, rows.summed(design.columns, _summed).of, strict=True))
    for name, summary in summaries.items():
        summary.check(name, _USE, gaps=design.kind == "independent")  # covariances need every number
        rows.derive(true_of(name), (name,), partial(_numbers_of, name))
    several = [name for name in design.relative if summaries[name].known > 1]
    if design.kind == "correlated":
        pairs: Pairs = tuple((a, b) for i, a in enumerate(several) for b in several[: i + 1])
    else:
        pairs = tuple((name, name) for name in several)
    means = {name: summaries[name].mean for name in several}
    columns = [true_of(name) for name in several]
    sums = rows.summed(columns, partial(_products, means, pairs)).of if pairs else ()
    return Moments(
        summaries,
        {(a, b): float(x) / (summaries[a].known - 1) for (a, b), x in zip(pairs, sums, strict=True)},
    )


@dataclass(frozen=True)
class SideBySide(Generic[T]):
    """Several summands side by side."""

    of: tuple[T, ...]

    def __add__(self, other: SideBySide[T]) -> SideBySide[T]:
        return SideBySide(tuple(a + b for a, b in zip(self.of, other.of, strict=True)))


def _summed(columns: Columns) -> SideBySide[NumberSummary]:
    return SideBySide(tuple(PieceNumbers.of(column).summary for column in columns.values()))


def _numbers_of(name: str, columns: Columns) -> pa.Array:
    return numbers(PieceNumbers.of(columns[name]).values)


def _products(means: dict[str, float], pairs: Pairs, columns: Columns) -> SideBySide[ExactSum]:
    """Sums over some rows; those without a number count for nothing."""
    off = {name: np.nan_to_num(doubles_of(columns[true_of(name)]) - mean) for name, mean in means.items()}
    return SideBySide(tuple(ExactSum.of(off[a] * off[b]) for a, b in pairs))


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
