"""Publishing tables of counts for the tests: exact in law, drawn cell by cell instead of record by record."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.randomness.key import Key, Stream
from pramana.recipient.law import Factor, Keep, Matrix, PublishedTable, TableLaw
from pramana.schema.domain import Axis


def axes_of(sizes: tuple[int, ...]) -> list[Axis]:
    return [Axis(f"a{i}", tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes)]


def each(retention: float, sizes: tuple[int, ...]) -> Mechanism:
    return Product({f"a{i}": Retention.at(retention, size) for i, size in enumerate(sizes)})


def record(retention: float, sizes: tuple[int, ...]) -> Mechanism:
    return RecordRetention.at(retention, {f"a{i}": size for i, size in enumerate(sizes)})


def population(sizes: tuple[int, ...], records: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    chances = rng.dirichlet(np.full(math.prod(sizes), spread))
    return rng.multinomial(records, chances).reshape(sizes)


def streams_of(key: Key) -> Callable[[str, str], Stream]:
    """Coins for a mechanism that publishes outside of a release."""
    return lambda purpose, column: key.stream(purpose, "test", column)


def publish(true: np.ndarray, mechanism: Mechanism, rng: np.random.Generator) -> PublishedTable:
    axes = axes_of(true.shape)
    law = PublishedTable.of_counts(axes, np.zeros(true.shape), mechanism).law
    return PublishedTable.of_counts(axes, through(law, true, rng), mechanism)


def through(law: TableLaw, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    for factor in law.factors:
        counts = _redrawn(factor, counts, rng)
    return counts


def _redrawn(factor: Factor, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    last = tuple(range(-len(factor.axes), 0))
    front = np.moveaxis(counts, factor.axes, last)
    inner = front.reshape((*front.shape[: front.ndim - len(factor.axes)], -1))
    if isinstance(factor, Keep):
        kept = rng.binomial(inner, factor.retention)
        drawn = kept + rng.multinomial((inner - kept).sum(axis=-1), np.full(factor.size, 1 / factor.size))
    else:
        assert isinstance(factor, Matrix)
        drawn = np.zeros_like(inner)
        for value, row in enumerate(factor.matrix):
            drawn += rng.multinomial(inner[..., value], row / row.sum())
    return np.moveaxis(drawn.reshape(front.shape), last, factor.axes)
