"""How often intervals of shares, means and differences of shares hold the truth, computed as in coverage.py.

    python -m benchmarks.ratio_coverage [--quick] [--into FOLDER]

Over every table that can be published of two columns of two values, each with its coin, or of one of three values.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import tables
from benchmarks.coverage import LEAST, RESULTS, published
from pramana.recipient.exact import to_simplices
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.recipient.law import Array, Keep, TableLaw
from pramana.recipient.ratios import RatioErrors, difference_interval, moved_within, record_moment

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
        whole: Array = np.ones((1, 1))
        for retention, size in zip(self.retentions, self.shape, strict=True):
            whole = np.asarray(np.kron(whole, retention * np.eye(size) + (1 - retention) / size), np.float64)
        return whole

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


def ratio_coverage(setting: RatioSetting, confidence: float = DEFAULT_CONFIDENCE) -> float:
    """How often the interval holds the truth, among the tables that the release gives an answer for; at least."""
    can = published(setting.matrix, np.array(setting.truth))
    low, high, seen, true = intervals(setting, can.counts, confidence)
    held = seen & (low <= true + 1e-9) & (true - 1e-9 <= high)
    answered = float(can.chances[seen].sum())
    return float(can.chances[held].sum()) / answered - can.lost if answered > 0 else math.nan


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratio_coverage")
    parser.add_argument("--quick", action="store_true", help="One setting in forty.")
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    settings = [*share_settings(), *mean_settings()][:: 40 if given.quick else 1]
    done = sorted((ratio_coverage(setting), setting.family, str(setting)) for setting in settings)
    lines = [
        "# Coverage of 95% intervals of shares, means and differences, computed",
        "",
        f"`python -m benchmarks.ratio_coverage`, {tables.now()}, {time.perf_counter() - start:,.0f} s. Lower "
        "bounds, summed over all tables that can be published; among those that the release gives an answer for "
        "(an estimated group that is not empty). Columns of two values, each with its coin, for shares; one of "
        "three values for means. A share in a group that is no secret is a count, and covers as counts do "
        "(coverage.md).",
        "",
        "| what | settings | least | 1 in 100 below | half below |",
        "|---|---:|---:|---:|---:|",
    ]
    for family in (SHARE, DIFFERENCE, MEAN):
        least = np.array([covered for covered, name, _ in done if name == family])
        if least.size:
            quantiles = f"{np.quantile(least, 0.01):.4f} | {np.median(least):.4f}"
            lines.append(f"| {family} | {least.size:,} | {least.min():.4f} | {quantiles} |")
    below = sum(covered < LEAST for covered, _, _ in done)
    lines += ["", f"Of {len(done):,} settings {below} lie below {LEAST:.0%}. The least of all:", ""]
    lines += ["| least | what | setting |", "|---:|---|---|"]
    lines += [f"| {covered:.4f} | {family} | {words} |" for covered, family, words in done[:10]]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "ratio_coverage.md").write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
