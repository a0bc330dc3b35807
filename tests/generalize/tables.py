"""Small random tables with random hierarchies, for the tests of the searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, Ladder, Layout

Columns = list[NDArray[np.uint8]]


def random_table(seed: int, attributes: int = 3, rows: int = 60, leaves: int = 6) -> tuple[Layout, Columns]:
    """Nested random levels and skewed codes; every label of a level occurs at least once among the leaves."""
    rng = np.random.default_rng(seed)
    ladders, columns = [], []
    for a in range(attributes):
        size = int(rng.integers(1, leaves + 1))
        maps = [np.arange(size)]
        while maps[-1].max() > 0 and len(maps) < 4:
            labels = int(maps[-1].max()) + 1
            parent = rng.integers(0, max(labels // 2, 1), labels)
            parent = np.unique(parent, return_inverse=True)[1]
            maps.append(parent[maps[-1]])
        if maps[-1].max() > 0:
            maps.append(np.zeros(size, np.int64))
        ladders.append(Ladder(f"q{a}", tuple(maps)))
        weights = rng.dirichlet(np.full(size, 0.6))
        columns.append(rng.choice(size, rows, p=weights).astype(np.uint8))
    return Layout(tuple(ladders)), columns


def with_counts_of(classes: Classes, index: NDArray[np.uint32], codes: NDArray[np.uint8], size: int) -> Classes:
    """The same classes with a column of counts for each of `size` values of another attribute behind the size."""
    table = np.bincount(index.astype(np.int64) * size + codes, minlength=len(classes) * size).reshape(-1, size)
    counts = np.concatenate([classes.counts[:, :1], table.astype(np.uint32)], axis=1)
    return Classes(classes.layout, classes.levels, classes.keys, np.ascontiguousarray(counts))
