"""A cell behind several coins as the few numbers that tell of it. Formulas: estimate.md.

Each coin either kept a record in the cell's value (or set of values) of its columns or did not, so a record, true
or published, has one of 2^k patterns of agreement with the cell, whatever the domains are; coins of one law are
counted together. Estimates, variances and intervals of the cell depend on the published counts of these patterns
alone, so how often an interval covers can be computed for tables of any size (benchmarks/coverage.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from pramana.estimate.law import Array, Keep, TableLaw

MOST_NUMBERS = 50_000_000  # cells times patterns that are worked out; beyond, the whole table's nearest one serves


@dataclass(frozen=True)
class PatternLaw:
    """Kinds of coins, each with the chance that agreement stays, that it arrives, and how many coins are of it.

    A pattern is how many coins of each kind disagree; the first is agreement in all. `matrix[u, z]` is the chance
    that pattern u is published as z, `reach[z]` what a record published as z adds to the cell's unbiased estimate.
    """

    kinds: tuple[tuple[float, float, int], ...]

    @property
    def patterns(self) -> list[tuple[int, ...]]:
        return list(product(*(range(coins + 1) for _, _, coins in self.kinds)))

    @cached_property
    def matrix(self) -> Array:
        return _every([_disagreements(*kind) for kind in self.kinds])

    @cached_property
    def reach(self) -> Array:
        return _every([_reach(*kind) for kind in self.kinds])

    @cached_property
    def inverse(self) -> Array:
        """B: a row for each true pattern, from what is published."""
        return _every([np.asarray(np.linalg.inv(_disagreements(*kind)).T, np.float64) for kind in self.kinds])

    def moment(self, power: int) -> Array:
        """E[reach^power] of each true pattern."""
        return np.asarray(self.matrix @ self.reach**power)


@dataclass(frozen=True, eq=False)
class CellPatterns:
    """Published counts of the patterns, a row for each cell, and their law."""

    law: PatternLaw
    counts: Array

    @property
    def among(self) -> Array:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def values(self) -> Array:
        return np.asarray(self.counts @ self.law.reach)

    @property
    def variances(self) -> Array:
        return np.asarray(self.counts @ self.law.reach**2 - self.values)

    def slopes(self) -> tuple[Array, Array]:
        """How the estimated variance moves with the estimate, and the variance, at the nearest possible truth.

        With S_p = sum E[y] G^p and m = E[G^2 | agreement]: (S_3 - S_2 - (m - 1) x) / (S_2 - x).
        """
        likely = to_simplices(self.counts @ self.law.inverse.T, self.among)
        own, second = likely[:, 0], likely @ self.law.moment(2)
        covariance = likely @ self.law.moment(3) - second - (self.law.moment(2)[0] - 1) * own
        variance = second - own
        some = variance > 1e-9 * (1 + own)
        return np.divide(covariance, variance, out=np.zeros_like(variance), where=some), variance


def cell_patterns(law: TableLaw, counts: Array, holds: Array | None) -> CellPatterns | None:
    """The patterns of every cell of the first axes, in C order; None where the law or the filter has no such form.

    `holds` selects among the last axes. It must be one set of values for each coin, and one for all columns that
    are released unchanged.
    """
    kept = counts.ndim - (0 if holds is None else holds.ndim)
    coins = _coins(law, holds, kept)
    if coins is None:
        return None
    kinds: dict[tuple[float, float], int] = {}
    for _, _, stays, arrives in coins:
        kinds[stays, arrives] = kinds.get((stays, arrives), 0) + 1
    patterns = PatternLaw(tuple((*chances, number) for chances, number in kinds.items()))
    if math.prod(law.shape[:kept]) * len(patterns.patterns) > MOST_NUMBERS:
        return None
    parts = {(0,) * len(kinds): _selected_without_coins(law, counts, holds, coins)}
    for axes, chosen, stays, arrives in coins:
        place = list(kinds).index((stays, arrives))
        parts = _split_by(parts, axes, chosen, kept, place)
    shape = (*law.shape[:kept], *(1,) * (counts.ndim - kept))
    rows = [np.broadcast_to(parts[pattern], shape).ravel() for pattern in patterns.patterns]
    return CellPatterns(patterns, np.stack(rows, axis=1))


def to_simplices(rows: Array, totals: Array) -> Array:
    """Each row's nearest point, in squared distance, among those that are not negative and sum to its total."""
    falling = -np.sort(-rows, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, rows.shape[1] + 1)
    last = rows.shape[1] - 1 - np.argmax((falling > excess)[:, ::-1], axis=1)
    shift = np.take_along_axis(excess, last[:, None], axis=1)
    return np.where(totals[:, None] > 0, np.maximum(rows - shift, 0.0), 0.0)


_Coin = tuple[tuple[int, ...], Array, float, float]  # its axes, what is selected of the last ones, stays, arrives


def _coins(law: TableLaw, holds: Array | None, kept: int) -> list[_Coin] | None:
    """The coins that decide something, with what the filter selects of their columns; None if it is no product."""
    coins: list[_Coin] = []
    selected = np.ones((1,) * len(law.shape)) if holds is None else holds.reshape((1,) * kept + holds.shape)
    if not selected.any():
        return None
    rest = selected
    together = np.ones((1,) * len(law.shape))
    for factor in law.factors:
        if not isinstance(factor, Keep) or factor.retention <= 0:
            return None
        others = tuple(a for a in range(len(law.shape)) if a not in factor.axes)
        chosen = np.asarray(selected.max(axis=others, keepdims=True))
        together = together * chosen
        rest = np.asarray(rest.max(axis=factor.axes, keepdims=True))
        size = round(float(chosen.sum()))
        if holds is None or any(a < kept for a in factor.axes) or size < factor.size:
            arrives = (1 - factor.retention) * size / factor.size
            coins.append((factor.axes, chosen, factor.retention + arrives, arrives))
    if not coins or not np.array_equal(np.broadcast_to(together * rest, selected.shape), selected):
        return None
    return coins


def _selected_without_coins(law: TableLaw, counts: Array, holds: Array | None, coins: list[_Coin]) -> Array:
    """The records that the filter's unchanged columns select, summed over what no coin of these decides."""
    if holds is None:
        return counts
    kept = counts.ndim - holds.ndim
    drawn = tuple(a for factor in law.factors for a in factor.axes)
    selected = holds.reshape((1,) * kept + holds.shape).max(axis=drawn, keepdims=True)
    deciding = {a for axes, *_ in coins for a in axes}
    others = tuple(a for a in range(kept, counts.ndim) if a not in deciding)
    return np.asarray((counts * selected).sum(axis=others, keepdims=True))


def _split_by(
    parts: dict[tuple[int, ...], Array], axes: tuple[int, ...], chosen: Array, kept: int, place: int
) -> dict[tuple[int, ...], Array]:
    """Each part as the records that agree with a cell in this coin's columns, and those that do not."""
    last = tuple(a for a in axes if a >= kept)
    split: dict[tuple[int, ...], Array] = {}
    for pattern, part in parts.items():
        inside = np.asarray((part * chosen).sum(axis=last, keepdims=True))
        other = (*pattern[:place], pattern[place] + 1, *pattern[place + 1 :])
        outside = part.sum(axis=axes, keepdims=True) - inside
        split[pattern] = split[pattern] + inside if pattern in split else inside
        split[other] = split[other] + outside if other in split else outside
    return split


def _every(parts: list[Array]) -> Array:
    every: Array = np.ones((1,) * parts[0].ndim)
    for part in parts:
        every = np.asarray(np.kron(every, part), np.float64)
    return every


def _disagreements(stays: float, arrives: float, coins: int) -> Array:
    """The chances of so many disagreements in public, for each number of them in truth."""
    rows = []
    for truly in range(coins + 1):
        row = np.ones(1)
        for agrees in [stays] * (coins - truly) + [arrives] * truly:
            row = np.convolve(row, [agrees, 1 - agrees])
        rows.append(row)
    return np.array(rows)


def _reach(stays: float, arrives: float, coins: int) -> Array:
    inside, outside = (1 - arrives) / (stays - arrives), -arrives / (stays - arrives)
    return np.array([inside ** (coins - n) * outside**n for n in range(coins + 1)])
