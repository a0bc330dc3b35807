"""Standard errors of sums over the private table, over the release's coins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.estimate.inversion import linear, to_simplex
from pramana.estimate.law import Array
from pramana.estimate.table import PublishedTable


def standard_errors(table: PublishedTable, coefficients: Sequence[Array]) -> Array:
    """Of the estimates of the sums of c*x for each c: the larger of two estimates of their variances.

    The unbiased one can come out as nothing, or less, in a small table. The other is what the variance would be if
    the nearest possible true table were the true one.
    """
    likely = to_simplex(table.law.inverse(table.squares), float(table.squares.sum()))
    variances = []
    for coefficient in coefficients:
        _, unbiased = linear(table, [coefficient])
        reach = table.law.inverse_adjoint(np.broadcast_to(coefficient, table.law.shape))
        there = float((likely * (table.law.backward(reach**2) - coefficient**2)).sum())
        variances.append(max(float(unbiased[0, 0]), there, 0.0))
    return np.asarray(np.sqrt(np.array(variances)))
