"""The same for shares, means and differences of shares: `benchmarks/coverage.py` stores both."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import cycle, product

import numpy as np
from numpy.typing import NDArray

from pramana.estimate.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.estimate.law import Array, Keep, TableLaw
from pramana.estimate.patterns import to_simplices
from pramana.estimate.ratios import RatioErrors, difference_interval, moved_within, record_moment

RETENTIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)
_Three = tuple[Array, Array, Array]


@dataclass(frozen=True)
class RatioSetting:
    """A table of records with one retention for each column; what is asked of it, by the kind's name."""

    family: str
    retentions: tuple[float, ...]
    shape: tuple[int, ...]
    truth: tuple[int, ...]

    @property
    def law(self) -> TableLaw:
        factors = [
            Keep((i,), r, n) for i, (r, n) in enumerate(zip(self.retentions, self.shape, strict=True)) if r < 1
        ]
        return TableLaw(self.shape, tuple(factors))

    @property
    def matrix(self) -> Array:
        each = [r * np.eye(n) + (1 - r) / n for r, n in zip(self.retentions, self.shape, strict=True)]
        return reduce(np.kron, each)

    @property
    def ratios(self) -> list[tuple[Array, Array]]:
        """What a record of each cell adds above and below: of one share or mean, or of both that are compared."""
        ones = np.ones(self.shape)
        if self.family == MEAN:
            return [(np.arange(self.shape[0], dtype=np.float64), ones)]
        groups = [ones * (np.arange(self.shape[1]) == group) for group in (0, 1)]
        value = ones * (np.arange(self.shape[0]) == 0)[:, None]
        return [(value * group, group) for group in groups[: 2 if self.family == DIFFERENCE else 1]]

    def __str__(self) -> str:
        domains = " x ".join(map(str, self.shape))
        return f"{domains}, retention {', '.join(f'{r:g}' for r in self.retentions)}, records {self.truth}"


SHARE, DIFFERENCE, MEAN = "share in a group behind a coin", "difference of two such shares", "mean of three values"


def share_settings() -> Iterator[RatioSetting]:
    counts = cycle(product((0, 1, 2, 4, 8, 15, 30, 40), repeat=4))
    for turn, (family, first, second) in enumerate(product((SHARE, DIFFERENCE), RETENTIONS, RETENTIONS)):
        for _ in range(5 + turn % 3):
            truth = next(counts)
            for _ in range(582 + turn % 7):  # so that counts and retentions meet in many ways
                truth = next(counts)
            if min(truth[0] + truth[2], truth[1] + truth[3]) > 0:
                yield RatioSetting(family, (first, second), (2, 2), truth)


def mean_settings() -> Iterator[RatioSetting]:
    for retention, truth in product(
        RETENTIONS,
        [
            (1, 0, 0),
            (1, 1, 1),
            (0, 5, 0),
            (3, 2, 1),
            (10, 0, 10),
            (0, 0, 20),
            (40, 1, 0),
            (20, 20, 20),
            (40, 40, 40),
        ],
    ):
        yield RatioSetting(MEAN, (retention,), (3,), truth)


def intervals(
    setting: RatioSetting, counts: Array, confidence: float
) -> tuple[Array, Array, NDArray[np.bool_], float]:
    """Of every table that can be published: both ends, whether the release answers, and the true number."""
    law, matrix, truth = setting.law, setting.matrix, np.array(setting.truth)
    likely = to_simplices(counts @ np.linalg.inv(matrix), counts.sum(axis=1))
    flat = [[np.broadcast_to(c, setting.shape).ravel() for c in pair] for pair in setting.ratios]
    reach = [[law.inverse_adjoint(c.reshape(setting.shape)).ravel() for c in pair] for pair in flat]
    most = float(max(c.max() for c, _ in flat)) if setting.family == MEAN else 1.0
    plain, sides, seen, true = [], [], np.ones(len(counts), bool), []
    for (above, below), (up, down), pair in zip(flat, reach, setting.ratios, strict=True):
        top, bottom = counts @ up, counts @ down
        seen &= bottom > 0
        estimated = _three(counts, counts @ np.linalg.inv(matrix), (up, down), (above, below))
        nearest = _three(likely @ matrix, likely, (up, down), (above, below))
        safe = np.where(bottom > 0, bottom, 1.0)
        errors = RatioErrors(top, safe, estimated, nearest, record_moment(law, *pair, 0.0, most))
        plain.append((top / safe, *errors.interval(quantile(confidence))))
        sides.append(moved_within(*plain[-1], 0.0, most))
        true.append(float(truth @ above) / float(truth @ below))
    if setting.family != DIFFERENCE:
        return sides[0][1], sides[0][2], seen, true[0]
    correlation = _correlation(counts, matrix, flat, reach)
    _, low, high = difference_interval((plain[0], plain[1]), (sides[0], sides[1]), correlation, 1.0)
    return low, high, seen, true[0] - true[1]


def _three(counts: Array, x: Array, reach: tuple[Array, Array], sums: tuple[Array, Array]) -> _Three:
    (up, down), (above, below) = reach, sums
    return (
        counts @ up**2 - x @ above**2,
        counts @ (up * down) - x @ (above * below),
        counts @ down**2 - x @ below**2,
    )


def _correlation(counts: Array, matrix: Array, flat: list[list[Array]], reach: list[list[Array]]) -> Array:
    """Of two ratios, by the delta method."""
    x = counts @ np.linalg.inv(matrix)
    gradients = []
    for up, down in reach:
        top, bottom = counts @ up, counts @ down
        safe = np.where(bottom > 0, bottom, 1.0)
        gradients.append((1 / safe, -top / safe**2))

    def covariance(i: int, j: int) -> Array:
        total = np.zeros(len(counts))
        for a, b in product((0, 1), repeat=2):
            part = counts @ (reach[i][a] * reach[j][b]) - x @ (flat[i][a] * flat[j][b])
            total += gradients[i][a] * gradients[j][b] * part
        return total

    both = np.sqrt(np.maximum(covariance(0, 0) * covariance(1, 1), 0.0))
    return np.clip(np.divide(covariance(0, 1), both, out=np.zeros(len(counts)), where=both > 0), -1, 1)


def ratio_coverage(
    setting: RatioSetting, counts: Array, chances: Array, confidence: float = DEFAULT_CONFIDENCE
) -> float:
    """How often the interval holds the truth, among the tables that the release gives an answer for."""
    low, high, seen, true = intervals(setting, counts, confidence)
    held = seen & (low <= true + 1e-9) & (true - 1e-9 <= high)
    answered = float(chances[seen].sum())
    return float(chances[held].sum()) / answered if answered > 0 else math.nan
