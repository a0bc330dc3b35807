"""Intervals by inverting an exact test, for counts that only few coins have touched. Formulas: estimate.md.

Where one coin stands behind a count, the published count of a cell (or of a set of cells) is the sum of two
binomial numbers: of the x records that belong to it, and of the N - x that do not. N is known, so nothing but x is
unknown, and the values of x that the two one-sided tests keep cover the truth at least as often as promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pramana.recipient.law import Array, Keep, TableLaw

Counts = NDArray[np.int64]
_Test = Callable[[tuple[Array, Array]], NDArray[np.bool_]]
MOST_DISTINCT = 4096  # pairs of published count and N that are inverted; beyond, the bounded test serves
_ROWS = 512  # that are worked on at once
_EXACT_BELOW = 100.0  # of the published count's variance at 95%: a normal law of less has errors above 1%


@dataclass(frozen=True, eq=False)
class CoinCounts:
    """Published counts of sets of cells, the records they were drawn from, and the two chances to get there."""

    published: Array
    among: Array
    stays: float
    arrives: float

    def variance(self, true: Array) -> Array:
        """Of the published count, if so many records belong to it."""
        inside = np.clip(true, 0.0, self.among)
        own, others = self.stays * (1 - self.stays), self.arrives * (1 - self.arrives)
        return inside * own + (self.among - inside) * others


def coin_counts(law: TableLaw, counts: Array, holds: Array | None) -> CoinCounts | None:
    """The cells of a table as counts behind one coin; None where more than one stands behind a cell.

    `holds` selects among the last axes, as a filter does. Values of axes that are released unchanged may select
    different sets, if these are equally large: the sums of their binomial numbers are binomial again.
    """
    if len(law.factors) != 1 or not isinstance(law.factors[0], Keep):
        return None
    coin = law.factors[0]
    if holds is None:
        among = np.broadcast_to(counts.sum(axis=coin.axes, keepdims=True), counts.shape)
        return CoinCounts(counts, among, *_chances(coin, 1))
    leading = counts.ndim - holds.ndim
    first, last = [a for a in coin.axes if a < leading], [a - leading for a in coin.axes if a >= leading]
    sizes = holds.sum(axis=tuple(last), keepdims=True)
    chosen = sizes[sizes > 0]
    if chosen.size == 0 or chosen.min() != chosen.max():  # np.unique would load all of numpy.ma to say so
        return None
    size = round(float(chosen[0]))
    if not first and size == coin.size:  # the coin decides nothing here
        return None
    behind = tuple(range(leading, counts.ndim))
    published = np.asarray((counts * holds).sum(axis=behind))
    reached = np.asarray((counts * (sizes > 0)).sum(axis=behind))
    among = np.broadcast_to(reached.sum(axis=tuple(first), keepdims=True), published.shape)
    return CoinCounts(published, among, *_chances(coin, size))


def _chances(coin: Keep, size: int) -> tuple[float, float]:
    arrives = (1 - coin.retention) * size / coin.size
    return coin.retention + arrives, arrives


def where_exact(counts: CoinCounts, values: Array, z: float) -> NDArray[np.bool_]:
    """Where the normal law will not do: the published count varies too little, the less so the surer one asks."""
    return np.asarray(counts.variance(values) < _EXACT_BELOW * max(1.0, z / 1.96) ** 4)


def exact_intervals(
    counts: CoinCounts, chosen: NDArray[np.bool_], confidence: float
) -> tuple[Array, Array] | None:
    """Of the chosen cells, the least and the largest count that is not rejected; None if they differ too much."""
    published, among = (part[chosen].round().astype(np.int64) for part in (counts.published, counts.among))
    each = int(among.max(initial=0)) + 1  # one number for a pair: no count is larger than what it is among
    keys, which = np.unique(among * each + published, return_inverse=True)
    distinct = np.stack([keys % each, keys // each])
    if distinct.shape[1] > MOST_DISTINCT:
        return None
    ends = [
        _inverted(distinct[:, i : i + _ROWS], counts, (1 - confidence) / 2)
        for i in range(0, distinct.shape[1], _ROWS)
    ]
    low, high = np.concatenate(ends, axis=1) if ends else np.zeros((2, 0))
    return low.astype(np.float64)[which], high.astype(np.float64)[which]


def _inverted(pairs: Counts, counts: CoinCounts, tail: float) -> Counts:
    """The least x at which the count or a larger one is not too rare, the largest at which it or a smaller is not.

    Both chances are monotone in x, because a record that belongs to the set is likelier to be published in it.
    """
    published, among = pairs
    bracket = _bracket(published, among, counts, tail)
    least = _first(published, among, bracket, counts, lambda chances: chances[0] > tail)
    beyond = _first(published, among, bracket, counts, lambda chances: chances[1] <= tail)
    return np.stack([np.minimum(least, among), np.maximum(beyond - 1, 0)])


def _bracket(published: Counts, among: Counts, counts: CoinCounts, tail: float) -> tuple[Counts, Counts]:
    """Where both ends must lie, by Bernstein's inequality.

    A mean t away from what is published has a chance of at most exp(-t^2 / (2 (v + 4t/3))), because the variance v
    moves by at most t with the mean; that is below `tail` for the t that is taken here.
    """
    slope = counts.stays - counts.arrives
    centre = (published - among * counts.arrives) / slope
    part = CoinCounts(published.astype(np.float64), among.astype(np.float64), counts.stays, counts.arrives)
    need = math.log(1 / tail) + 1
    away = (4 / 3 * need + np.sqrt((4 / 3 * need) ** 2 + 2 * need * part.variance(centre))) / slope
    low, high = np.floor(centre - away), np.ceil(centre + away)
    return np.clip(low, 0, among).astype(np.int64), np.clip(high, 0, among + 1).astype(np.int64)


def _first(
    published: Counts, among: Counts, bracket: tuple[Counts, Counts], counts: CoinCounts, holds: _Test
) -> Counts:
    """By halving, the first x at which the test holds, as it does for every larger one; among + 1 if for none."""
    low, high = bracket
    while (low < high).any():
        middle = (low + high) // 2
        inside = np.minimum(middle, among)
        true = holds(_tails(published, inside, among - inside, counts)) | (middle > among)
        high, low = np.where(true, middle, high), np.where(true, low, np.minimum(middle + 1, high))
    return low


def _tails(published: Counts, inside: Counts, outside: Counts, counts: CoinCounts) -> tuple[Array, Array]:
    """The chances that the sum of the two binomial numbers is at least, and at most, as large as published."""
    first, chances = _binomial(inside, counts.stays)
    start, arriving = _binomial(outside, counts.arrives)
    missing = published[:, None] - start[:, None] - np.arange(arriving.shape[1])  # what must stay, at least
    below = np.concatenate([np.zeros((len(chances), 1)), np.cumsum(chances, axis=1)], axis=1)
    at = np.clip(missing - first[:, None], 0, chances.shape[1])
    next_ = np.clip(missing - first[:, None] + 1, 0, chances.shape[1])
    above = (arriving * (1 - np.take_along_axis(below, at, axis=1))).sum(axis=1)
    return np.asarray(above), np.asarray((arriving * np.take_along_axis(below, next_, axis=1)).sum(axis=1))


def _binomial(trials: Counts, chance: float) -> tuple[Counts, Array]:
    """Of each row's binomial law the places that have all but some 1e-13 of it: the first one, and the chances.

    They come from their ratios, outward from the mode, so no factorial is taken and no tail is lost to rounding.
    """
    spread = math.sqrt(float(trials.max(initial=0)) * chance * (1 - chance))
    reach = math.ceil(8 * spread + 16)
    mode = np.floor((trials + 1) * chance).astype(np.int64)
    first = mode - reach
    places = first[:, None] + np.arange(2 * reach + 1)
    n = trials[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log((n - places[:, :-1]) / (places[:, :-1] + 1.0) * (chance / (1 - chance)))
    possible = (places >= 0) & (places <= n)
    ratio = np.where(possible[:, 1:] & possible[:, :-1], ratio, 0.0)
    logs = np.concatenate([np.zeros((len(trials), 1)), np.cumsum(ratio, axis=1)], axis=1)
    logs = np.where(possible, logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return first, np.asarray(weights / weights.sum(axis=1, keepdims=True))


# A cell behind several coins as the few numbers that tell of it. Formulas: estimate.md.
#
# Each coin either kept a record in the cell's value (or set of values) of its columns or did not, so a
# record, true or published, has one of 2^k patterns of agreement with the cell, whatever the domains are;
# coins of one law are counted together. Estimates, variances and intervals of the cell depend on the
# published counts of these patterns alone, so how often an interval covers can be computed for tables of any
# size (benchmarks/coverage.py).


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
    leading = counts.ndim - (0 if holds is None else holds.ndim)
    coins = _coins(law, holds, leading)
    if coins is None:
        return None
    kinds: dict[tuple[float, float], int] = {}
    for _, _, stays, arrives in coins:
        kinds[stays, arrives] = kinds.get((stays, arrives), 0) + 1
    patterns = PatternLaw(tuple((*chances, number) for chances, number in kinds.items()))
    if math.prod(law.shape[:leading]) * len(patterns.patterns) > MOST_NUMBERS:
        return None
    parts = {(0,) * len(kinds): _selected_without_coins(law, counts, holds, coins)}
    for axes, chosen, stays, arrives in coins:
        position = list(kinds).index((stays, arrives))
        parts = _split_by(parts, axes, chosen, leading, position)
    shape = (*law.shape[:leading], *(1,) * (counts.ndim - leading))
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


def _coins(law: TableLaw, holds: Array | None, leading: int) -> list[_Coin] | None:
    """The coins that decide something, with what the filter selects of their columns; None if it is no product."""
    coins: list[_Coin] = []
    selected = np.ones((1,) * len(law.shape)) if holds is None else holds.reshape((1,) * leading + holds.shape)
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
        if holds is None or any(a < leading for a in factor.axes) or size < factor.size:
            arrives = (1 - factor.retention) * size / factor.size
            coins.append((factor.axes, chosen, factor.retention + arrives, arrives))
    if not coins or not np.array_equal(np.broadcast_to(together * rest, selected.shape), selected):
        return None
    return coins


def _selected_without_coins(law: TableLaw, counts: Array, holds: Array | None, coins: list[_Coin]) -> Array:
    """The records that the filter's unchanged columns select, summed over what no coin of these decides."""
    if holds is None:
        return counts
    leading = counts.ndim - holds.ndim
    drawn = tuple(a for factor in law.factors for a in factor.axes)
    selected = holds.reshape((1,) * leading + holds.shape).max(axis=drawn, keepdims=True)
    deciding = {a for axes, *_ in coins for a in axes}
    others = tuple(a for a in range(leading, counts.ndim) if a not in deciding)
    return np.asarray((counts * selected).sum(axis=others, keepdims=True))


def _split_by(
    parts: dict[tuple[int, ...], Array], axes: tuple[int, ...], chosen: Array, leading: int, position: int
) -> dict[tuple[int, ...], Array]:
    """Each part as the records that agree with a cell in this coin's columns, and those that do not."""
    last = tuple(a for a in axes if a >= leading)
    split: dict[tuple[int, ...], Array] = {}
    for pattern, part in parts.items():
        inside = np.asarray((part * chosen).sum(axis=last, keepdims=True))
        other = (*pattern[:position], pattern[position] + 1, *pattern[position + 1 :])
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
