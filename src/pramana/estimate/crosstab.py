"""A cross-tabulation as it is answered: estimates, intervals, and the whole numbers in which it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pramana.estimate.axis import Axis
from pramana.estimate.inversion import DEFAULT_CONFIDENCE
from pramana.estimate.law import Array

_TINY = 1e-6  # a whole number that was computed may miss itself by so much


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Estimates over the joint values of `axes`; counts, or shares of the selected records."""

    axes: tuple[Axis, ...]
    estimate: Array
    low: Array
    high: Array
    records: int
    method: str
    converged: bool = True
    confidence: float = DEFAULT_CONFIDENCE
    shares: bool = False
    simultaneous: bool = False  # all intervals hold together, not each by itself

    def cells(self) -> list[dict[str, Any]]:
        """One dictionary per cell: the attributes, estimate, low and high."""
        return self._rows(self.estimate, self.low, self.high)

    def shown(self) -> list[dict[str, Any]]:
        """The cells as people read them: counts in whole numbers that add up as the estimates do, ends outward.

        Reports, the command line and notebooks all show these.
        """
        if self.shares:
            return self.cells()
        return self._rows(in_whole_numbers(self.estimate), np.floor(self.low + _TINY), np.ceil(self.high - _TINY))

    def _rows(self, estimate: Array, low: Array, high: Array) -> list[dict[str, Any]]:
        labels = [[axis.label(code) for code in range(axis.size)] for axis in self.axes]
        names = [axis.name for axis in self.axes]
        numbers = zip(estimate.ravel().tolist(), low.ravel().tolist(), high.ravel().tolist(), strict=True)
        return [
            {**dict(zip(names, values, strict=True)), "estimate": e, "low": a, "high": b}
            for values, (e, a, b) in zip(product(*labels), numbers, strict=True)
        ]


def in_whole_numbers(values: Array) -> Array:
    """Each rounded down or up so that the sum is that of the values, rounded: the largest remainders go up."""
    down = np.floor(values + _TINY)
    up = round(float(values.sum() - down.sum()))
    order = np.argsort(-(values - down).ravel(), kind="stable")
    whole = down.ravel().copy()
    whole[order[: max(up, 0)]] += 1
    return np.asarray(whole.reshape(values.shape))
