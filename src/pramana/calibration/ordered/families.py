"""Channels in closed form. Each takes e^epsilon and publishes values of the domain; rows are true values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def kept_or_redrawn(size: int, ratio: float) -> Floats:
    """Retention: optimal for nominal values where epsilon is large (Kairouz, Oh and Viswanath 2014)."""
    step = 1 / (size - 1 + ratio)
    return np.full((size, size), step) + (ratio - 1) * step * np.eye(size)


def square_wave(line: Floats, ratio: float, half: float) -> Floats:
    """Li et al. 2020 (SIGMOD): e^epsilon times as likely within `half` of the true place as elsewhere.

    Places go from -half to 1 + half; published is the value whose equal part of that line the place falls in. So
    the published values are numbers to estimate from, spread wider than the true ones.
    """
    size = len(line)
    edges = np.linspace(-half, 1 + half, size + 1)
    near = np.minimum(edges[1:], line[:, None] + half) - np.maximum(edges[:-1], line[:, None] - half)
    part, low = (1 + 2 * half) / size, 1 / (2 * half * ratio + 1)
    return np.asarray(low * part + low * (ratio - 1) * np.clip(near, 0.0, part))


def two_point(line: Floats, ratio: float) -> Floats:
    """Duchi, Jordan and Wainwright 2018: the lowest or the highest value, with a chance that is straight in x.

    It tells the mean alone: every other value is never published.
    """
    matrix = np.zeros((len(line), len(line)))
    matrix[:, -1] = (1 + (ratio - 1) * line) / (ratio + 1)
    matrix[:, 0] = 1 - matrix[:, -1]
    return matrix


def with_missing(matrix: Floats, ratio: float) -> Floats:
    """The same channel with one more value, in no order with the others, e^epsilon times as likely when true."""
    least = matrix.min(axis=0)
    shared = float(least.sum())
    if shared >= 1:
        raise ValueError("rows that are all alike have no epsilon to give a missing category")
    chance = (1 - shared) / (ratio - shared)
    wider = np.empty((len(matrix) + 1, len(matrix) + 1))
    wider[:-1, :-1], wider[-1, :-1] = (1 - chance) * matrix, (1 - chance) * least
    wider[:-1, -1], wider[-1, -1] = chance, ratio * chance
    return wider
