"""Minimal sample uniques, and how many records each combination of columns puts at risk.

Combinations are counted once; a subset of columns is then counted over them. A record is unique on a subset
exactly where its combination is the only one with these values and occurs once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.generalize import Ladder, Layout, grouped
from pramana.randomness import Codes
from pramana.theory import disclosure

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
_WORK = 120_000_000  # combinations times subsets that are looked at: about a second
_TABLE = 1 << 18  # cells that are counted in a plain table, which a cache holds
_DEARER = 6  # what it costs to look one up elsewhere


@dataclass(frozen=True, eq=False)
class Grouped:
    """The combinations that occur: a code for each column, and how many records have them."""

    codes: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    counts: Counts
    of_row: NDArray[np.uint32]  # the combination of every row

    @classmethod
    def of(cls, columns: Sequence[Codes], sizes: Sequence[int]) -> Grouped:
        layout = Layout(tuple(Ladder(str(a), (np.arange(size),)) for a, size in enumerate(sizes)))
        classes, index = grouped(layout, columns)
        codes = tuple(classes.codes(a) for a in range(len(sizes)))
        return cls(codes, tuple(sizes), classes.sizes.astype(np.int64), index)

    def __len__(self) -> int:
        return len(self.counts)

    def cells(self, columns: Sequence[int]) -> int:
        return math.prod(self.sizes[c] for c in columns)

    def totals(self, columns: Sequence[int]) -> tuple[Floats, NDArray[np.int64]]:
        """How many records each cell of the table of some columns has, and for each combination its cell."""
        if self.cells(columns) > _TABLE:
            layout = Layout(tuple(Ladder(str(c), (np.arange(self.sizes[c]),)) for c in columns))
            codes = [self.codes[c].astype(np.uint32) for c in columns]
            classes, index = grouped(layout, codes, self.counts.astype(np.uint32))
            return classes.sizes.astype(np.float64), index.astype(np.int64)
        cell = self.codes[columns[0]]
        for c in columns[1:]:
            cell = cell * self.sizes[c] + self.codes[c]
        totals = np.bincount(cell, weights=self.counts, minlength=self.cells(columns))
        return totals.astype(np.float64), cell


@dataclass(frozen=True)
class SubsetRisk:
    """A set of columns: how many records are alone on it, and how many share it with fewer than k - 1 others."""

    columns: tuple[int, ...]
    uniques: int
    below_k: int


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """By combination that occurs once: its scores; by subset of columns: what it tells."""

    subsets: tuple[SubsetRisk, ...]
    largest: int
    minimal: tuple[int, ...]  # how many minimal sample uniques of 1, 2, ... columns
    scores: Floats
    dis_scores: Floats
    dis: float
    contributions: tuple[float, ...]  # the share of all scores that goes through each column


def largest_subset(table: Grouped) -> int:
    """The most columns of a subset that can be looked at within the bound on work."""
    columns, work = len(table.codes), 0
    for size in range(1, columns + 1):
        for subset in combinations(range(columns), size):
            work += len(table) * (1 if table.cells(subset) <= _TABLE else _DEARER)
            if work > _WORK:
                return max(size - 1, 1)
    return columns


def special_uniques(table: Grouped, k: int, fraction: float, largest: int | None = None) -> SpecialUniques:
    """Look at every subset of up to `largest` columns, small ones first."""
    columns = len(table.codes)
    most = largest_subset(table) if largest is None else min(largest, columns)
    once = np.flatnonzero(table.counts == 1)
    unique_on: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    elliot, ihsn = disclosure.elliot_weights(columns, most), disclosure.ihsn_weights(columns, most)
    scores, other = np.zeros(len(once)), np.zeros(len(once))
    minimal, through, subsets = [0] * most, [0.0] * columns, []
    for size in range(1, most + 1):
        for subset in combinations(range(columns), size):
            risk, alone = _count(table, subset, once, k)
            subsets.append(risk)
            if not risk.uniques:
                continue
            msu = alone.copy()
            for left_out in range(size if size > 1 else 0):
                below = unique_on.get(subset[:left_out] + subset[left_out + 1 :])
                if below is not None:
                    msu &= ~below
            unique_on[subset] = alone
            number = int(msu.sum())
            minimal[size - 1] += number
            scores += elliot[size - 1] * msu
            other += ihsn[size - 1] * msu
            for c in subset:
                through[c] += elliot[size - 1] * number
    dis = disclosure.intrusion_simulation(len(once), 2 * int((table.counts == 2).sum()), fraction)
    total = float(scores.sum())
    contributions = tuple(part / total if total else 0.0 for part in through)
    return SpecialUniques(
        tuple(subsets),
        most,
        tuple(minimal),
        scores,
        disclosure.dis_scores(other, columns, len(once), dis),
        dis,
        contributions,
    )


def _count(
    table: Grouped, subset: tuple[int, ...], once: NDArray[np.int64], k: int
) -> tuple[SubsetRisk, NDArray[np.bool_]]:
    records, cell = table.totals(subset)
    small = records[records < k]
    alone = np.asarray(records[cell[once]] == 1.0)
    return SubsetRisk(subset, int(alone.sum()), int(small.sum())), alone
