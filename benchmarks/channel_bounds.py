"""What no channel of an epsilon can reach, whatever is estimated from it and how.

    python -m benchmarks.channel_bounds [--into FOLDER]

An estimate with a bias can be arbitrarily good at one table: by saying that table whatever was published. So a
bound must speak of the tables around it. Beforehand the shares are drawn around those of the table, normal, with a
standard deviation of x of each share, and the table from them. Nobody, whatever the channel and the estimate, then
has a smaller mean squared error of the table's distribution function than the covariance that is left given the
published counts (normal laws throughout; there are 100,000 records). That covariance is convex in Fisher's
information (usefulness.md), so linear programs bound it from below over all channels: a channel's columns have two
levels without loss (Kairouz, Oh and Viswanath 2014), and they may be more than the domain has values. Of 20 values
all 2^20 patterns of levels are looked at, of 50 only those that are high on an interval.

- *EM*: the root of the mean squared error of retention with EM at the table, integrated over the line, by turns.
- *unbiased*, *30%*, *10%*, *3%*, *1%*: at most how many times less that root can be, where nothing is known of the
  shares beforehand, or each to within so many percent of it (the standard deviation).
- *needed*: to within how many percent each share would have to be known before anything is published, for twice
  less. *told*: to within how many percent retention with EM itself tells the shares of the table, in the median.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import optimize

from benchmarks import tables
from benchmarks.channels import RESULTS, WANTED_DISTANCE, Counts, attributes, shown
from pramana.methods.retention.ordered import Floats, interval_patterns, kept_or_redrawn

SPREADS = (30.0, 0.3, 0.1, 0.03, 0.01)
HEADINGS = ("attribute", "values", "epsilon", "EM", "unbiased", "30%", "10%", "3%", "1%", "needed", "told")
ROWS = {("census, age", 20): (2, 4), ("census, income", 20): (4,), ("census, age", 50): (4,)}  # where it is far
_MOST_ROUNDS, _MOST_PROGRAMS, _MOST_PATTERNS = 40, 6, 20
_ENOUGH = 0.96  # of the least error that was found, that the bound must reach


@dataclass(frozen=True, eq=False)
class Around:
    """Tables around one: `spread` is the standard deviation of a share, as a part of it."""

    shares: Floats
    records: int
    spread: float

    @cached_property
    def known(self) -> Floats:
        """The covariance of the distribution function of the shares, whose sum is 1."""
        each = (self.spread * self.shares) ** 2
        return self._cumulated(np.diag(each) - np.outer(each, each) / each.sum())

    @cached_property
    def precision(self) -> Floats:
        return np.asarray(np.linalg.inv(self.known), np.float64)

    @cached_property
    def drawn(self) -> Floats:
        """What drawing the table from the shares adds."""
        return self._cumulated(np.diag(self.shares) - np.outer(self.shares, self.shares)) / self.records

    def _cumulated(self, covariance: Floats) -> Floats:
        return np.asarray(covariance.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])

    @cached_property
    def steps(self) -> Floats:
        """From the distribution function to the shares."""
        return np.diff(np.eye(len(self.shares)), axis=0, prepend=0.0)[:, :-1]

    def information(self, columns: Floats, weights: Floats) -> Floats:
        """Of one record about the distribution function, by columns that are published with these weights."""
        scaled = self.steps.T @ (columns * np.sqrt(weights / (self.shares @ columns)))
        return np.asarray(scaled @ scaled.T)

    def left(self, information: Floats) -> Floats:
        """The covariance of the table's distribution function given the counts: E K E' - drawn - drawn J drawn."""
        inner = np.linalg.inv(self.precision + self.records * information)
        outer = np.eye(len(inner)) + self.drawn @ self.precision
        return np.asarray(outer @ inner @ outer.T - self.drawn - self.drawn @ self.precision @ self.drawn)

    def error(self, information: Floats) -> float:
        return float(np.trace(self.left(information))) / len(information)

    def worth(self, information: Floats) -> Floats:
        """How fast the error falls with the information, between values."""
        inner = np.linalg.inv(self.precision + self.records * information)
        into = self.steps @ inner @ (np.eye(len(inner)) + self.drawn @ self.precision).T
        return np.asarray(self.records / len(information) * into @ into.T)


def subsets(size: int, ratio: float) -> Floats:
    """Every pattern of so many values, one a row."""
    return np.where(np.arange(1 << size)[:, None] >> np.arange(size) & 1, ratio, 1.0)


def most_wanted(around: Around, worth: Floats, prices: Floats, ratio: float) -> tuple[float, Floats]:
    """Of all patterns, how much more one is at most worth than its price, by its chance; and those that are most.

    A pattern is one of the first half of the values and one of the second: sums and one product of matrices.
    """
    half = len(prices) // 2
    left, right = subsets(half, ratio), subsets(len(prices) - half, ratio)

    def both(values: Floats) -> Floats:
        return np.add.outer(left @ values[:half], right @ values[half:])

    squares = np.add.outer(
        np.einsum("ij,ij->i", left @ worth[:half, :half], left),
        np.einsum("ij,ij->i", right @ worth[half:, half:], right),
    )
    chances = both(around.shares)
    more = ((squares + 2 * (left @ worth[:half, half:]) @ right.T) / chances - both(prices)) / chances
    best = np.argpartition(-more, min(_MOST_PATTERNS, more.size - 1), axis=None)[:_MOST_PATTERNS]
    first, second = np.unravel_index(best[more.ravel()[best] > 0], more.shape)
    return float(more.max()), np.hstack([left[first], right[second]]).T


@dataclass(eq=False)
class _Mixture:
    """Corners, each a channel of these patterns, and what part each has: simplicial decomposition."""

    around: Around
    patterns: Floats
    corners: list[Floats]
    parts: Floats

    @property
    def weights(self) -> Floats:
        return np.asarray(np.tensordot(self.parts, self.corners, 1))

    def worths(self, worth: Floats) -> Floats:
        squares = np.einsum("ij,ij->j", self.patterns, worth @ self.patterns)
        return np.asarray(squares / (self.around.shares @ self.patterns))

    def corner(self, worth: Floats, ratio: float, all_patterns: bool) -> tuple[Floats, float]:
        """The channel worth most, and at most how much any is worth, by generating columns."""
        for _ in range(_MOST_PROGRAMS):
            program = optimize.linprog(
                -self.worths(worth), A_eq=self.patterns, b_eq=np.ones(len(self.patterns)), method="highs-ds"
            )
            prices = -np.asarray(program.eqlin.marginals)
            # Prices raised by `beyond` times each chance buy every pattern: the dual over all of them.
            beyond, added = most_wanted(self.around, worth, prices, ratio) if all_patterns else (0.0, None)
            most = float(prices.sum()) + max(beyond, 0.0)
            if added is None or beyond < 1e-3 * most:
                break
            self.patterns = np.hstack([self.patterns, added])
            self.corners = [np.append(corner, np.zeros(added.shape[1])) for corner in self.corners]
        found = np.zeros(self.patterns.shape[1])
        assert program.x is not None
        found[: len(program.x)] = np.maximum(program.x, 0.0)
        return found, most

    def weigh(self) -> None:
        """Each part by the square root of its worth: the error falls in every step (Torsney's rule)."""
        informations = [self.around.information(self.patterns, corner) for corner in self.corners]
        flat, size = np.array(informations).reshape(len(informations), -1), len(self.around.precision)
        outer = np.eye(size) + self.around.drawn @ self.around.precision
        for _ in range(60):
            mixed = (self.parts @ flat).reshape(size, size)
            into = np.linalg.inv(self.around.precision + self.around.records * mixed) @ outer.T
            worths = flat @ (into @ into.T).ravel()
            moved = self.parts * np.sqrt(worths / (self.parts @ worths))
            settled = float(np.abs(moved / moved.sum() - self.parts).max()) < 1e-3
            self.parts = moved / moved.sum()
            if settled:
                break
        kept = np.flatnonzero(self.parts > 1e-3)
        self.corners, self.parts = [self.corners[i] for i in kept], self.parts[kept] / self.parts[kept].sum()


def least_error(around: Around, ratio: float, all_patterns: bool) -> tuple[float, float]:
    """A squared error that no channel is below, and one that some channel has."""
    size = len(around.shares)
    patterns = interval_patterns(size, ratio)
    kept = np.where((patterns > 1).sum(axis=0) == 1, kept_or_redrawn(size, ratio)[0, 1], 0.0)
    mixture, bound = _Mixture(around, patterns, [kept], np.ones(1)), 0.0
    wider = False  # intervals first: they lead near, and are quick
    for turn in range(_MOST_ROUNDS):
        information = around.information(mixture.patterns, mixture.weights)
        error, worth = around.error(information), around.worth(information)
        corner, most = mixture.corner(worth, ratio, wider)
        reached = error - (most - float(mixture.worths(worth) @ mixture.weights))
        if wider or not all_patterns:
            bound = max(bound, reached)
        if bound > _ENOUGH * error:
            break
        wider = wider or (all_patterns and (reached > _ENOUGH * error or turn > _MOST_ROUNDS // 3))
        mixture.corners.append(corner)
        mixture.parts = np.append(0.8 * mixture.parts, 0.2)
        mixture.weigh()
    return bound, error


# ---------------------------------------------------------------- retention with EM


def retention_with_em(counts: Counts, ratio: float, turns: int, seed: int) -> tuple[float, float]:
    """The squared error of the distribution function, and the median share's relative error, by turns."""
    size, records = len(counts), int(counts.sum())
    matrix, chance, truth = kept_or_redrawn(size, ratio), np.random.default_rng(seed), counts / counts.sum()
    drawn = []
    for _ in range(turns):
        shown_counts = sum(
            chance.multinomial(int(n), row / row.sum()) for n, row in zip(counts, matrix, strict=True)
        )
        drawn.append(likeliest_of_retention(np.asarray(shown_counts, float) / records, ratio) - truth)
    off = np.array(drawn)
    distribution = (np.cumsum(off, axis=1)[:, :-1] ** 2).mean()
    return float(distribution), float(np.median(np.sqrt((off**2).mean(axis=0)) / np.maximum(truth, 0.5 / records)))


def likeliest_of_retention(published: Floats, ratio: float) -> Floats:
    """What EM goes to: inverted, and values that would be negative left out one after the other."""
    size = len(published)
    redrawn = 1 / (size - 1 + ratio)
    kept, used = (ratio - 1) * redrawn, np.ones(size, bool)
    while True:
        whole = (kept + used.sum() * redrawn) / published[used].sum()
        shares = np.where(used, (published * whole - redrawn) / kept, 0.0)
        if (shares >= 0).all():
            return shares
        used &= shares > 0


# ---------------------------------------------------------------- what is stored


def row(name: str, counts: Counts, epsilon: int, turns: int) -> dict[str, object]:
    ratio, size = math.exp(epsilon), len(counts)
    squared, told = retention_with_em(counts, ratio, turns, 1)
    shares = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    gains = []
    for spread in SPREADS:
        bound, _ = least_error(Around(shares, int(counts.sum()), spread), ratio, size <= 20)
        gains.append(math.sqrt(squared / bound))
    at = np.exp(np.interp(math.log(WANTED_DISTANCE), np.log(gains), np.log(SPREADS)))
    needed = f"below {100 * SPREADS[-1]:.2g}%" if max(gains) < WANTED_DISTANCE else f"{100 * at:.2g}%"
    return {"attribute": name, "values": size, "epsilon": epsilon, "EM": math.sqrt(squared),
            **dict(zip(HEADINGS[4:-2], gains, strict=True)),
            "needed": needed, "told": f"{100 * told:.2g}%"}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.channel_bounds")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    for name, counts in attributes(None):
        for epsilon in ROWS.get((name, len(counts)), ()):
            rows.append(row(name, counts, epsilon, given.turns))
            print(" ".join(shown(rows[-1][h]) for h in HEADINGS), flush=True)
    lines = [
        "# What no channel can reach",
        "",
        f"`python -m benchmarks.channel_bounds`, {tables.now()}, {given.turns} turns of retention with EM. At "
        "most how many times less the root of the squared error of the distribution function can be than with "
        "retention and EM, by any channel of the epsilon (of 50 values: of intervals) and any estimate. Columns: "
        "see `benchmarks/channel_bounds.py`.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---" + "|---:" * (len(HEADINGS) - 1) + "|",
        *("| " + " | ".join(shown(r[h]) for h in HEADINGS) + " |" for r in rows),
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "channel_bounds.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
