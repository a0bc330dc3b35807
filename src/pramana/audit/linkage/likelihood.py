"""How likely every published record is for every true one, under a law."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms import Exchange, Product, RecordRetention, Retention
from pramana.randomness import ONE, Codes

Floats = NDArray[np.float64]
AttackedLaw = Product | RecordRetention | Exchange
Table = Mapping[str, Codes]


def pairwise_likelihoods(law: AttackedLaw, true: Table, published: Table) -> Floats:
    """likelihoods[i, j] = P(publish record j | true record i)."""
    across = {name: codes[:, None].astype(np.int64) for name, codes in true.items()}
    down = {name: codes[None, :].astype(np.int64) for name, codes in published.items()}
    return likelihoods_of(law, across, down)


def likelihoods_of(
    law: AttackedLaw, true: Mapping[str, NDArray[np.int64]], published: Mapping[str, NDArray[np.int64]]
) -> Floats:
    """P(published | true), for codes of any shapes that fit each other."""
    if isinstance(law, RecordRetention):
        redrawn = law.bound / ONE / math.prod(law.domains.values())
        alike = np.logical_and.reduce([true[name] == published[name] for name in law.domains])
        return np.asarray(redrawn + np.where(alike, 1 - law.bound / ONE, 0.0))
    result: Floats = np.ones(())
    if isinstance(law, Product):
        for name, channel in law.channels.items():
            if isinstance(channel, Retention):
                step = channel.step / ONE
                kept = float(channel.diagonal)
                result = result * np.where(true[name] == published[name], kept, step)
            else:
                result = result * (channel.weights[true[name], published[name]] / ONE)
        return result
    for group in law.groups:
        sizes = [law.domains[name] for name in group.columns]
        one = np.ravel_multi_index([true[name] for name in group.columns], sizes)
        other = np.ravel_multi_index([published[name] for name in group.columns], sizes)
        result = result * (group.channel.weights[one, other] / ONE)
    return result


def taken(table: Table, rows: NDArray[np.int64]) -> dict[str, Codes]:
    return {name: codes[rows] for name, codes in table.items()}
