"""Who exchanges values with whom: by rank, or between records that are alike. Coins decide, under the key."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def pairs_wanted(rate: float, records: int) -> int:
    """Two records to a pair; the share is not missed by half a record."""
    return min(math.ceil(rate * records / 2 - 1e-9), records // 2)


def pairs_by_rank(ranks: NDArray[np.integer], width: float, coins: Sequence[Words]) -> NDArray[np.int64]:
    """Pairs of rows at most `width` of all ranks apart, each row in one at most, in an order that coins decide.

    Rows are put into the order of their ranks, equal ones by coin, and cut into blocks of that width from a place
    that a coin decides; within a block coins match them. `coins`: three for every row, for these in turn. Moore's
    rank swapping (1996) draws each partner from a window around a row instead: the largest distance is the same.
    """
    rows = len(ranks)
    block = max(2, math.floor(width * rows) + 1)
    ties, matching, choosing = coins
    order = np.lexsort((ties, ranks))
    block_of = (np.arange(rows) + int(choosing[0] % np.uint64(block))) // block
    matched = order[np.lexsort((matching[order], block_of))]
    first = np.searchsorted(block_of, block_of, side="left")
    inner = np.arange(rows) - first
    ends = np.searchsorted(block_of, block_of, side="right") - first
    opens = np.flatnonzero((inner % 2 == 0) & (inner + 1 < ends))
    pairs = np.stack([matched[opens], matched[opens + 1]], axis=1).astype(np.int64)
    return pairs[np.argsort(choosing[pairs[:, 1]], kind="stable")]


def pairs_of_records(
    alike: Ints, own: Ints, risky: NDArray[np.bool_], coins: Words, wanted: int
) -> list[tuple[int, int]]:
    """At most `wanted` pairs of rows with the same `alike` and different `own`; rows at risk are matched first."""
    waiting: dict[int, list[int]] = defaultdict(list)
    order = np.lexsort((coins, ~risky))
    for row in order[::-1].tolist():
        waiting[int(alike[row])].append(row)  # the last of each list comes first
    taken = np.zeros(len(alike), np.bool_)
    pairs: list[tuple[int, int]] = []
    for row in order.tolist():
        if len(pairs) == wanted:
            break
        if taken[row]:
            continue
        partner = _partner(waiting[int(alike[row])], row, own, taken)
        if partner is not None:
            taken[[row, partner]] = True
            pairs.append((row, partner))
    return pairs


def _partner(waiting: list[int], row: int, own: Ints, taken: NDArray[np.bool_]) -> int | None:
    while waiting and taken[waiting[-1]]:
        waiting.pop()
    for place in range(len(waiting) - 1, -1, -1):
        other = waiting[place]
        if not taken[other] and own[other] != own[row]:
            del waiting[place]
            return other
    return None


def exchanged(pairs: Sequence[tuple[int, int]] | NDArray[np.int64], rows: int) -> Ints:
    """For every row the one whose value it shows."""
    source = np.arange(rows)
    for_pairs = np.array(pairs, np.int64).reshape(-1, 2)
    source[for_pairs[:, 0]], source[for_pairs[:, 1]] = for_pairs[:, 1], for_pairs[:, 0]
    return source
