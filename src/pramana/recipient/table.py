"""Published tables: counts over named axes, and the law that made them from the true counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.mechanisms.table import Mechanism
from pramana.recipient.law import Array, TableLaw, law_of
from pramana.schema.axis import Axis

Piece = tuple[Mapping[str, NDArray[np.unsignedinteger]], Array | None]
_ARRAYS = 8  # tables of doubles alive at once while one is estimated


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """Counts of published records; with survey weights, sums of weights and of their squares."""

    axes: tuple[Axis, ...]
    counts: Array
    law: TableLaw
    squares: Array

    def __post_init__(self) -> None:
        shape = tuple(axis.size for axis in self.axes)
        if self.counts.shape != shape or self.law.shape != shape or self.squares.shape != shape:
            raise InputError(
                "A table's counts must have one axis for each attribute", f"shape {self.counts.shape}"
            )

    @classmethod
    def of_counts(cls, axes: Sequence[Axis], counts: NDArray[np.generic], mechanism: Mechanism) -> PublishedTable:
        law = law_of(mechanism, {axis.name: axis.size for axis in axes})
        values = np.asarray(counts, np.float64)
        return cls(tuple(axes), values, law, values)

    @property
    def weighted(self) -> bool:
        return self.squares is not self.counts

    @property
    def total(self) -> float:
        return float(self.counts.sum())


def tabulate(
    columns: Mapping[str, NDArray[np.unsignedinteger]],
    axes: Sequence[Axis],
    mechanism: Mechanism,
    weights: Array | None = None,
) -> PublishedTable:
    """Count the published codes over `axes`, after checking that the table fits in memory."""
    return tabulate_pieces([(columns, weights)], axes, mechanism)


def tabulate_pieces(pieces: Iterable[Piece], axes: Sequence[Axis], mechanism: Mechanism) -> PublishedTable:
    """The same for rows that come in pieces: codes and, for all pieces or none, weights."""
    shape = tuple(axis.size for axis in axes)
    check_memory(shape)
    counts, squares = np.zeros(math.prod(shape)), None
    for columns, weights in pieces:
        cell = np.zeros(len(next(iter(columns.values()))), np.int64)
        for axis in axes:
            cell *= axis.size
            cell += columns[axis.name]
        counts += np.bincount(cell, weights, len(counts))
        if weights is not None:
            squares = np.zeros_like(counts) if squares is None else squares
            squares += np.bincount(cell, weights**2, len(counts))
    law = law_of(mechanism, {axis.name: axis.size for axis in axes})
    counts = counts.reshape(shape)
    return PublishedTable(tuple(axes), counts, law, counts if squares is None else squares.reshape(shape))


def check_memory(shape: Sequence[int], available: int | None = None) -> None:
    """Say before starting that a table will not fit, rather than be killed half-way."""
    need = 8 * _ARRAYS * math.prod(shape)
    have = available_memory() if available is None else available
    if need > have:
        raise InputError(
            f"A table must fit in memory: {math.prod(shape):,} cells need some {need / 2**30:,.1f} GiB",
            f"{have / 2**30:,.1f} GiB available",
            "Ask for fewer attributes, or filter on fewer.",
        )


def available_memory() -> int:
    """Bytes that can be used without swapping; the whole memory where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    import os

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 8 << 30
