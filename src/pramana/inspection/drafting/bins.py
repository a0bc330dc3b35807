"""Round numbers to cut a column at: they look like what people would have chosen without the data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SKEWED = 8.0  # how far the upper end may lie above the middle before bins grow
OLDEST = 100


def round_bins(values: Floats, counts: NDArray[np.int64], about: int) -> list[float]:
    """About so many bins between the hundredths at both ends, open at the ends."""
    low, middle, high = (_quantile(values, counts, share) for share in (0.01, 0.5, 0.99))
    least, most = float(values.min()), float(values.max())
    if low > 0 and middle > 0 and high > _SKEWED * middle:
        inner = _growing(middle / 4, high)
    else:
        inner = _even(low, high, about)
    if len(inner) > 2 * about:
        inner = inner[:: math.ceil(len(inner) / about)]
    first = 0.0 if least >= 0 else -math.inf
    edges = [first, *(edge for edge in inner if edge > first), math.inf]
    return edges if len(edges) > 2 or most == least else [first, math.ceil(middle) or 1.0, math.inf]


def ages(width: int) -> list[float]:
    """Ages to 90 and above; with bins this wide nobody very old stands out."""
    return [*(float(age) for age in range(0, 91 - 90 % width, width)), math.inf]


def years(values: Floats) -> list[float]:
    """Decades."""
    first, last = math.floor(values.min() / 10) * 10, math.floor(values.max() / 10) * 10 + 10
    return [-math.inf, *(float(year) for year in range(first + 10, last, 10)), math.inf]


def _quantile(values: Floats, counts: NDArray[np.int64], share: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(counts[order])
    return float(values[order][int(np.searchsorted(total, share * total[-1]))])


def _even(low: float, high: float, about: int) -> list[float]:
    rough = max(high - low, abs(high) * 1e-6, 1e-9) / max(about - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first = math.floor(low / step) + 1
    return [_tidy(i * step) for i in range(first, math.floor(high / step) + 1)]


def _growing(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten."""
    edges = []
    for power in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1):
        edges += [_tidy(m * 10.0**power) for m in (1, 2, 5)]
    return [edge for edge in edges if low <= edge <= high]


def _tidy(number: float) -> float:
    return float(f"{number:.10g}")
