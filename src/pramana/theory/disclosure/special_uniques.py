"""Scores of special uniques: records that few columns already make unique.

A minimal sample unique (MSU) is a set of columns on which a record is unique and on no subset of which it is. Its
weight grows the fewer columns it has; a record's SUDA score is the sum over its MSUs (Elliot, Manning, Mayes, Gurd
and Bane 2005; Manning, Haglin and Keane 2008). The data intrusion simulation (DIS; Skinner and Elliot 2002)
estimates from uniques and pairs how often a unique match is the right one; spread over the records by their scores
it is their DIS-SUDA score, as sdcMicro computes it from the scores of the International Household Survey Network.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def elliot_weights(columns: int, largest: int) -> tuple[float, ...]:
    """The weight of an MSU of 1, 2, ... columns: the product of (columns - i), i from its size to the largest."""
    last = min(largest, columns - 1)
    return tuple(float(math.prod(columns - i for i in range(size, last + 1))) for size in range(1, largest + 1))


def ihsn_weights(columns: int, largest: int) -> tuple[float, ...]:
    """The same as the International Household Survey Network has them: shares of all sets of columns above it."""
    return tuple(
        (2.0 ** (columns - size) - 1) / math.comb(columns, size) for size in range(1, min(largest, columns) + 1)
    )


def intrusion_simulation(uniques: int, paired: int, fraction: float) -> float:
    """DIS: the chance that a unique match is right; `paired` records are in classes of two.

    `fraction` is the share of the population that the sample is.
    """
    alone = uniques * fraction
    return 0.0 if not uniques else alone / (alone + paired * (1.0 - fraction))


def dis_scores(scores: Floats, columns: int, uniques: int, dis: float) -> Floats:
    """The DIS spread over records by their scores; 0 where a record has no MSU."""
    special = scores > 0
    if not special.any() or dis <= 0.0:
        return np.zeros_like(scores)
    power = np.where(special, scores, 1.0) ** (1.0 + (8.0 - columns) / 20.0)
    adjusted = float((1.0 / power[special]).sum())
    spread = 1.0 / (1.0 + (uniques / dis - uniques) / (power * adjusted))
    return np.where(special, spread, 0.0)
