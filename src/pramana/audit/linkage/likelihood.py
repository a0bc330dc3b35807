"""How likely every published record is for every true one, under a law."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms import CoinGroups, Exchange, Product, RecordRetention, Retention
from pramana.randomness import ONE, Codes

Floats = NDArray[np.float64]
AttackedLaw = Product | RecordRetention | CoinGroups | Exchange
Table = Mapping[str, Codes]
_NEVER = 1e-300  # instead of a count of zero, which nothing is divided by


def pairwise_likelihoods(law: AttackedLaw, true: Table, published: Table) -> Floats:
    """likelihoods[i, j] = P(publish record j | true record i)."""
    across = {name: codes[:, None].astype(np.int64) for name, codes in true.items()}
    down = {name: codes[None, :].astype(np.int64) for name, codes in published.items()}
    return likelihoods_of(law, across, down)


def likelihoods_of(
    law: AttackedLaw, true: Mapping[str, NDArray[np.int64]], published: Mapping[str, NDArray[np.int64]]
) -> Floats:
    """P(published | true), for codes of any shapes that fit each other."""
    if isinstance(law, CoinGroups):
        return np.asarray(math.prod(likelihoods_of(part, true, published) for part in law.parts), np.float64)
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


def expected_counts(law: AttackedLaw, true: Table, shown: Table) -> Floats:
    """How many rows are expected to show each of some records, with columns taken as independent of each other.

    An adversary's rule of thumb: the exact sum over all true records would need every pair of values.
    """
    records = len(next(iter(true.values())))
    if isinstance(law, CoinGroups):
        shares = [expected_counts(part, true, shown) / records for part in law.parts]
        return np.asarray(records * math.prod(shares), np.float64)
    if isinstance(law, RecordRetention):
        blind = math.prod(_share(true[name], v, records)[shown[name]] for name, v in law.domains.items())
        redrawn = law.bound / ONE
        return np.asarray(
            records * (redrawn / math.prod(law.domains.values()) + (1 - redrawn) * blind), np.float64
        )
    result: Floats = np.full(len(next(iter(shown.values()))), float(records))
    if isinstance(law, Product):
        for name, channel in law.channels.items():
            share = _share(true[name], channel.size, records)
            if isinstance(channel, Retention):
                drawn = channel.step / ONE + float(channel.retention) * share
            else:
                drawn = share @ (channel.weights / ONE)
            result = result * drawn[shown[name]]
        return np.maximum(result, _NEVER)
    for group in law.groups:
        sizes = [law.domains[name] for name in group.columns]
        share = _share(law.joined(group, true), group.channel.size, records)
        seen = np.ravel_multi_index([shown[name].astype(np.int64) for name in group.columns], sizes)
        result = result * (share @ (group.channel.weights / ONE))[seen]
    return np.maximum(result, _NEVER)


def _share(codes: Codes, size: int, records: int) -> Floats:
    return np.bincount(codes, minlength=size) / records


def taken(table: Table, rows: NDArray[np.int64]) -> dict[str, Codes]:
    return {name: codes[rows] for name, codes in table.items()}
