"""Whether published counts can have come from a law: what no chance explains is a forgery or a mistake."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms import CoinGroups, Exchange, Product, RecordRetention, Retention
from pramana.methods.protocol import Counts, Law
from pramana.randomness import ONE

_NEVER = 1e-12  # of an honest release's columns, so many are called contradictions


def contradicts(law: Law, name: str, counts: Counts, together: int = 1) -> bool:
    """Whether some value occurs more or less often than any true table lets it.

    A published value's count is a sum of independent draws whose chances lie between the least and the largest
    entry of its column of the matrix. By Chernoff's bound a mean beyond them by so much has a chance of at most
    exp(-n KL). Where up to `together` rows share one draw, by Jensen's inequality exp(-n/together KL).
    """
    bounds = _bounds(law, name)
    records = int(counts.sum())
    if bounds is None or records == 0:
        return False
    least, most = bounds
    share = counts / records
    beyond = [
        *(_divergence(s, p) for s, p in zip(share, least, strict=True) if s < p),
        *(_divergence(s, p) for s, p in zip(share, most, strict=True) if s > p),
    ]
    return any(records / together * d > -math.log(_NEVER / (2 * len(counts))) for d in beyond)


def uneven(counts: Counts, chances: NDArray[np.float64]) -> bool:
    """Whether the draws of some bin fall into its parts as the stated chances hardly ever let them.

    `counts` and `chances` are by bin and part; the bound is the same.
    """
    never = -math.log(_NEVER / (2 * counts.size))
    for row, stated in zip(counts, chances, strict=True):
        records = int(row.sum())
        if records and any(
            records * _divergence(int(c) / records, float(p)) > never for c, p in zip(row, stated, strict=True)
        ):
            return True
    return False


def _bounds(law: Law, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """For each published value the least and the largest chance of it, over all true values."""
    if isinstance(law, Exchange):
        return None  # values move together: no column of the matrix speaks for a value alone
    if isinstance(law, CoinGroups):
        return _bounds(law.part_of(name), name)
    if isinstance(law, RecordRetention):
        size, kept = law.sizes[name], float(law.retention)
        return _flat(size, (1 - kept) / size, kept + (1 - kept) / size)
    channel = law.channels[name] if isinstance(law, Product) else None
    if channel is None:
        return None
    if isinstance(channel, Retention):
        kept = float(channel.retention)
        return _flat(channel.size, (1 - kept) / channel.size, kept + (1 - kept) / channel.size)
    weights = np.asarray(channel.weights, np.float64) / ONE
    return weights.min(axis=0), weights.max(axis=0)


def _flat(size: int, least: float, most: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.full(size, least), np.full(size, most)


def _divergence(share: float, chance: float) -> float:
    """Kullback-Leibler, of a coin that fell so from one that falls so."""
    if chance <= 0 or chance >= 1:
        return math.inf if share != chance else 0.0
    first = share * math.log(share / chance) if share > 0 else 0.0
    second = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return first + second
