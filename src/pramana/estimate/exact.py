"""Intervals by inverting an exact test, for counts that only few coins have touched. Formulas: estimate.md.

Where one coin stands behind a count, the published count of a cell (or of a set of cells) is the sum of two
binomial numbers: of the x records that belong to it, and of the N - x that do not. N is known, so nothing but x is
unknown, and the values of x that the two one-sided tests keep cover the truth at least as often as promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.estimate.law import Array, Keep, TableLaw

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
    kept = counts.ndim - holds.ndim
    first, last = [a for a in coin.axes if a < kept], [a - kept for a in coin.axes if a >= kept]
    sizes = holds.sum(axis=tuple(last), keepdims=True)
    chosen = sizes[sizes > 0]
    if chosen.size == 0 or chosen.min() != chosen.max():  # np.unique would load all of numpy.ma to say so
        return None
    size = round(float(chosen[0]))
    if not first and size == coin.size:  # the coin decides nothing here
        return None
    behind = tuple(range(kept, counts.ndim))
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
