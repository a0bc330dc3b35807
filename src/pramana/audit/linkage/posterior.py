"""The exact posterior of paper 1's strongest adversary, who knows every true record, the law, and all published.

Every permutation is equally likely beforehand, so the chance that person i is behind published row j is
A[x_i, y_j] times the permanent without that row and column, over the permanent. Permanents of small tables come
by subsets of columns: n*2^n products, of fractions or, for many tables side by side, of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 12


def link_posteriors(likelihoods: Any) -> Any:
    """P(person i is row j), exactly, of likelihoods[..., i, j] = P(publish row j | person i).

    Works on floats and on fractions (an array of objects); leading axes are tables side by side.
    """
    table = np.asarray(likelihoods)
    n = table.shape[-1]
    if table.shape[-2] != n or not 1 <= n <= MOST_ROWS:
        raise ValueError(f"exact posteriors are of square tables of at most {MOST_ROWS} rows")
    by_size: list[list[int]] = [[] for _ in range(n + 1)]
    for chosen in range(1 << n):
        by_size[chosen.bit_count()].append(chosen)
    one = table[..., 0, 0] * 0 + 1
    before: dict[int, Any] = {0: one}  # the first persons on a set of columns
    for i in range(n):
        for chosen in by_size[i + 1]:
            before[chosen] = sum(before[chosen ^ 1 << j] * table[..., i, j] for j in _bits(chosen))
    after: dict[int, Any] = {(1 << n) - 1: one}  # the others on the columns outside it
    for i in reversed(range(n)):
        for chosen in by_size[i]:
            left = _bits(~chosen & (1 << n) - 1)
            after[chosen] = sum(table[..., i, j] * after[chosen | 1 << j] for j in left)
    whole = before[(1 << n) - 1]
    found = np.empty_like(table)
    for i in range(n):
        for j in range(n):
            sets = [chosen for chosen in by_size[i] if not chosen >> j & 1]
            ways = sum(before[chosen] * after[chosen | 1 << j] for chosen in sets)
            found[..., i, j] = table[..., i, j] * ways / whole
    return found


def _bits(number: int) -> Sequence[int]:
    return [j for j in range(number.bit_length()) if number >> j & 1]


def most_likely_links(posteriors: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of every table the one link that is likeliest: its person and its row."""
    n = posteriors.shape[-1]
    best = posteriors.reshape(*posteriors.shape[:-2], n * n).argmax(-1)
    return best // n, best % n
