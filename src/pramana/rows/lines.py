"""Combinations that were counted, as lines. It loads with generalisation, which a plain release does without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.generalize import Combinations
from pramana.randomness import code_dtype
from pramana.rows.protocol import Lines


def lines_of(counting: Combinations, sizes: Sequence[int]) -> Lines:
    """In the order of their codes, which tells nothing of the rows': sums of floats over them feel their order."""
    classes = counting.merged()
    order = np.lexsort(classes.keys.T)
    columns = tuple(classes.codes(a).astype(code_dtype(size))[order] for a, size in enumerate(sizes))
    return Lines(columns, np.ascontiguousarray(classes.sizes[order]))
