"""The error a recipient must expect in a table, known before any data is: for choosing between mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from pramana.mechanisms import Channel, CoinGroups, Dense, Mechanism, RecordRetention, Retention
from pramana.mechanisms import Product as ProductMechanism
from pramana.theory import pk


def tables_that_matter(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """The tables a recipe names; where it names none, every pair of attributes (or the only attribute)."""
    randomised = [tuple(n for n in table if n in sizes) for table in tables]
    named = [table for table in randomised if table]
    if named:
        return named
    return list(combinations(sizes, 2)) if len(sizes) > 1 else [tuple(sizes)]


def variance_inflation(mechanism: Mechanism, table: Sequence[str]) -> float:
    """h: the total variance of the unbiased estimate of a table of n records is n*(h - 1)."""
    sizes = mechanism.sizes
    if isinstance(mechanism, RecordRetention):
        return pk.variance_factor(float(mechanism.retention), math.prod(sizes[name] for name in table))
    if isinstance(mechanism, ProductMechanism):
        return math.prod(channel_inflation(mechanism.channels[name]) for name in table)
    if isinstance(mechanism, CoinGroups):
        parts = ((part, [name for name in table if name in part.sizes]) for part in mechanism.parts)
        return math.prod(variance_inflation(part, own) for part, own in parts if own)
    raise TypeError(f"no error is known for {type(mechanism).__name__}")


def channel_inflation(channel: Channel) -> float:
    if isinstance(channel, Retention):
        return pk.variance_factor(float(channel.retention), channel.size)
    return pk.variance_factor_of_matrix(channel.weights)


def mean_ratio(matrix: Dense, values: int, records: int) -> float:
    """The error of the mean rank of a column's first `values` codes, in errors of a guess that ignores the data.

    The estimate adds up g(z) over the records, with A g = ranks: a record with the true value u adds the variance
    of g under row u of A, and all u are taken as equally likely. Over all tables of c values, all alike, the
    mean rank has the variance of the ranks divided by c + 1. A missing value counts as the middle rank.
    """
    channel = matrix.weights / matrix.weights[0].sum()
    ranks = np.arange(values, dtype=np.float64) - (values - 1) / 2
    wanted = np.concatenate([ranks, np.zeros(len(channel) - values)])
    try:
        g = np.linalg.solve(channel, wanted)
    except np.linalg.LinAlgError:
        return math.inf
    variance = float((channel @ g**2 - (channel @ g) ** 2).mean())
    return math.sqrt(max(0.0, variance) / records * (values + 1) / float((ranks**2).mean()))


def expected_error(mechanism: Mechanism, table: Sequence[str], records: int) -> float:
    """Expected L1 error of a table's proportions under inversion, by the normal approximation, cells alike."""
    cells = math.prod(mechanism.sizes[name] for name in table)
    inflation = variance_inflation(mechanism, table)
    return math.sqrt(2 / math.pi * cells * max(0.0, inflation - 1) / records)
