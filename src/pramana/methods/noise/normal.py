"""Normal numbers from keyed words, and the covariances they are given. All sums here are exactly rounded.

Nothing is left to a BLAS, whose last digits depend on the processor: the same words give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.methods.noise.sums import Floats

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
