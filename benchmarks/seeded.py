"""Seeded tables for the benchmarks: skewed values, attributes that hang together through a hidden group."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Ladder, Layout
from pramana.randomness.samplers import Codes, code_dtype

Column = Codes

# leaves, then how many labels each level above has; shaped like two public surveys that peers are measured on
SURVEY_540K = (
    (100, 20, 5, 1),
    (157, 12, 1),
    (5, 2, 1),
    (7, 3, 1),
    (23, 5, 1),
    (51, 4, 1),
    (7, 2, 1),
    (2, 2, 1),
    (17, 7, 3, 1),
)
SURVEY_1200K = (
    (86, 18, 9, 3, 1),
    (2, 1),
    (6, 3, 1),
    (10, 4, 1),
    (26, 8, 3, 1),
    (4, 1),
    (13, 5, 2, 1),
    (12, 4, 1),
    (9, 3, 1),
)
# like a table of donors: postal codes, ages, small domains, and four amounts
DONORS = (
    (13_294, 1_330, 133, 14, 4, 1),
    (94, 19, 10, 5, 1),
    (3, 1),
    (7, 3, 1),
    (53, 1),
    (120, 40, 12, 4, 1),
    (81, 20, 9, 3, 1),
    (86, 22, 8, 3, 1),
)
GIFTS = (5_676, 568, 57, 6, 1)  # the tree of a sensitive amount, of which few leaves occur
DONOR_ROWS, GIFTS_USED = 63_441, 814


def layout_of(shape: tuple[tuple[int, ...], ...]) -> Layout:
    """Hierarchies that cut the leaves into nearly equal runs."""
    ladders = []
    for a, sizes in enumerate(shape):
        maps: list[NDArray[np.int64]] = [np.arange(sizes[0])]
        for below, above in pairwise(sizes):
            maps.append((maps[-1] * above) // below)
        ladders.append(Ladder(f"q{a}", tuple(maps)))
    return Layout(tuple(ladders))


def table(shape: tuple[tuple[int, ...], ...], rows: int, seed: int = 1) -> tuple[Layout, list[Column]]:
    rng = np.random.default_rng(seed)
    groups = 12
    group = rng.choice(groups, rows, p=_zipf(groups, 0.8))
    columns = []
    for sizes in shape:
        size = sizes[0]
        laws = np.stack([np.roll(_zipf(size, 1.1), rng.integers(size)) for _ in range(groups)])
        laws = 0.7 * laws + 0.3 * _zipf(size, 1.0)
        bounds = np.cumsum(laws, axis=1)
        draw = rng.random(rows)
        column = np.empty(rows, code_dtype(size))
        for g in range(groups):
            here = group == g
            column[here] = np.minimum(np.searchsorted(bounds[g], draw[here]), size - 1)
        columns.append(column)
    return layout_of(shape), columns


def gifts(rows: int = DONOR_ROWS, seed: int = 1) -> tuple[NDArray[np.uint16], tuple[NDArray[np.int64], ...]]:
    """A sensitive column with many values, and its tree as `Close` takes it."""
    rng = np.random.default_rng(seed)
    leaves = np.sort(rng.choice(GIFTS[0], GIFTS_USED, replace=False))
    law = rng.permutation(_zipf(GIFTS_USED, 0.9))
    column = leaves[rng.choice(GIFTS_USED, rows, p=law)].astype(np.uint16)
    column[:GIFTS_USED] = leaves  # each of them occurs
    parents = tuple(np.arange(below) * above // below for below, above in pairwise(GIFTS))
    return column, parents


def _zipf(size: int, power: float) -> NDArray[np.float64]:
    weights = 1.0 / np.arange(1, size + 1) ** power
    return np.asarray(weights / weights.sum(), np.float64)
