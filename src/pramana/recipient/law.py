"""The law of a published table: how true counts over some attributes become expected published counts.

A mechanism restricted to some of its attributes is a product of factors, each acting on its own axes, so every
operation goes axis by axis and the matrix of the product domain is never formed. Formulas: estimate.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.table import CoinGroups, Exchange, Mechanism, Product, RecordRetention
from pramana.randomness.samplers import ONE
from pramana.schema.domain import Axis

Array = NDArray[np.float64]
_WORST_CONDITION = 1e12  # beyond this an inverse in double precision means nothing


class Factor(Protocol):
    """One independent part of the law; A is its matrix, B = (A^-1)^T what the unbiased estimate applies."""

    @property
    def axes(self) -> tuple[int, ...]: ...

    def forward(self, table: Array) -> Array:
        """A^T x: the expected published table of a true one."""

    def backward(self, table: Array) -> Array:
        """A w: for each true value, the mean of w over what it is published as."""

    def backward_squared(self, table: Array) -> Array:
        """(A∘A) w, the entry-wise square."""

    def inverse_adjoint(self, table: Array) -> Array:
        """B^T c: what each published value adds to the estimate of sum c*x."""

    def inverse_power(self, table: Array, power: int) -> Array:
        """(B∘...∘B) y, the entry-wise power; the first gives the unbiased estimate B y."""

    def own_second_moment(self, shape: tuple[int, ...]) -> Array:
        """E[B[v,Z]^2 | v] for each value v, shaped to broadcast over a table."""

    def moved(self, positions: Mapping[int, int]) -> Factor:
        """The same factor on axes that were renumbered."""


@dataclass(frozen=True)
class Keep:
    """Keep the values of `axes` together with probability `retention`, else redraw them uniformly.

    One axis is a retention channel; several are the record coin, whose law over any of its attributes is again
    a retention over their joint domain. Redraws floor(w*V/2^64) are uniform to a relative 2^-32 or better,
    below the resolution of the estimates, and are taken as uniform.
    """

    axes: tuple[int, ...]
    retention: float
    size: int

    @property
    def offset(self) -> float:
        """b of the inverse: B[v,z] = (1 if v = z)/rho - b."""
        if self.retention <= 0:
            raise InputError(
                "A table can be estimated only from attributes that are kept with positive probability",
                "a retention of 0",
                "Such a column is pure noise; ask for a table without it.",
            )
        return (1 - self.retention) / (self.retention * self.size)

    def _blend(self, table: Array, own: float, all_: float) -> Array:
        blended = table * own
        blended += all_ * table.sum(axis=self.axes, keepdims=True)
        return blended

    def forward(self, table: Array) -> Array:
        return self._blend(table, self.retention, (1 - self.retention) / self.size)

    backward = forward

    def backward_squared(self, table: Array) -> Array:
        arrives = (1 - self.retention) / self.size
        return self._blend(table, self.retention * (self.retention + 2 * arrives), arrives**2)

    def inverse_adjoint(self, table: Array) -> Array:
        """B is symmetric. The sheet: x = (y - (1-rho)*mean over the axis)/rho."""
        return self.inverse_power(table, 1)

    def inverse_power(self, table: Array, power: int) -> Array:
        off = (-self.offset) ** power
        return self._blend(table, (1 / self.retention - self.offset) ** power - off, off)

    def own_second_moment(self, shape: tuple[int, ...]) -> Array:
        b, q = self.offset, (1 - self.retention) / self.size
        moment = (self.retention + q) * (1 / self.retention - b) ** 2 + (self.size - 1) * q * b * b
        return np.full((1,) * len(shape), moment)

    def moved(self, positions: Mapping[int, int]) -> Keep:
        return Keep(tuple(positions[a] for a in self.axes), self.retention, self.size)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Any channel, on one axis or on the combinations of several in C order."""

    axes: tuple[int, ...]
    matrix: Array

    @cached_property
    def _inverse(self) -> Array:
        if not np.linalg.cond(self.matrix) < _WORST_CONDITION:
            raise InputError(
                "A table can be estimated only from channels that can be inverted",
                "a singular transition matrix",
                "Some true values cannot be told apart in it; ask for a table without that attribute.",
            )
        return np.asarray(np.linalg.inv(self.matrix), np.float64)

    def _apply(self, matrix: Array, table: Array) -> Array:
        last = tuple(range(-len(self.axes), 0))
        front = np.moveaxis(table, self.axes, last)
        flat = front.reshape((*front.shape[: front.ndim - len(self.axes)], len(matrix)))
        return np.moveaxis((flat @ matrix.T).reshape(front.shape), last, self.axes)

    def forward(self, table: Array) -> Array:
        return self._apply(self.matrix.T, table)

    def backward(self, table: Array) -> Array:
        return self._apply(self.matrix, table)

    def backward_squared(self, table: Array) -> Array:
        return self._apply(self.matrix**2, table)

    def inverse_adjoint(self, table: Array) -> Array:
        return self._apply(self._inverse, table)

    def inverse_power(self, table: Array, power: int) -> Array:
        return self._apply(self._inverse.T**power, table)

    def own_second_moment(self, shape: tuple[int, ...]) -> Array:
        moments = (self.matrix * self._inverse.T**2).sum(axis=1)
        own = moments.reshape([shape[a] for a in self.axes])
        order = np.argsort(self.axes)
        wide: Array = own.transpose(order).reshape([n if a in self.axes else 1 for a, n in enumerate(shape)])
        return wide

    def moved(self, positions: Mapping[int, int]) -> Matrix:
        return Matrix(tuple(positions[a] for a in self.axes), self.matrix)


@dataclass(frozen=True)
class TableLaw:
    """Factors on disjoint axes; an axis of none of them is published unchanged."""

    shape: tuple[int, ...]
    factors: tuple[Factor, ...]

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    def forward(self, table: Array) -> Array:
        return reduce(lambda part, factor: factor.forward(part), self.factors, table)

    def backward(self, table: Array) -> Array:
        return reduce(lambda part, factor: factor.backward(part), self.factors, table)

    def backward_squared(self, table: Array) -> Array:
        return reduce(lambda part, factor: factor.backward_squared(part), self.factors, table)

    def inverse(self, table: Array) -> Array:
        """The unbiased estimate of the true table."""
        return self.inverse_power(table, 1)

    def inverse_adjoint(self, table: Array) -> Array:
        return reduce(lambda part, factor: factor.inverse_adjoint(part), self.factors, table)

    def inverse_power(self, table: Array, power: int) -> Array:
        return reduce(lambda part, factor: factor.inverse_power(part, power), self.factors, table)


def law_of(mechanism: Mechanism | Exchange, sizes: Mapping[str, int]) -> TableLaw:
    """The law over the attributes named in `sizes`, in that order; those unknown to the mechanism are raw."""
    names = list(sizes)
    if isinstance(mechanism, RecordRetention):
        return TableLaw(tuple(sizes.values()), _record_factors(mechanism, names))
    if isinstance(mechanism, CoinGroups):
        own = [law_of(part, {n: sizes[n] for n in names if n in part.sizes}) for part in mechanism.parts]
        positions = [[i for i, n in enumerate(names) if n in part.sizes] for part in mechanism.parts]
        moved = [f.moved(dict(enumerate(at))) for law, at in zip(own, positions, strict=True) for f in law.factors]
        return TableLaw(tuple(sizes.values()), tuple(moved))
    if isinstance(mechanism, Product):
        groups: list[tuple[tuple[str, ...], Channel]] = [((n,), c) for n, c in mechanism.channels.items()]
    elif isinstance(mechanism, Exchange):
        groups = [(group.columns, group.channel) for group in mechanism.groups]
    else:
        raise InputError(
            "Estimates are known for independent channels and for coins of records and groups",
            type(mechanism).__name__,
        )
    factors = [_factor(channel, _axes_of(columns, names)) for columns, channel in groups if {*columns} & {*names}]
    return TableLaw(tuple(sizes.values()), tuple(f for f in factors if f is not None))


def _axes_of(columns: Sequence[str], names: Sequence[str]) -> tuple[int, ...]:
    if absent := [column for column in columns if column not in names]:
        raise InputError(
            "Columns that were randomised together must be asked for together",
            f"{', '.join(c for c in columns if c in names)} without {', '.join(absent)}",
        )
    return tuple(names.index(column) for column in columns)


def _record_factors(mechanism: RecordRetention, names: Sequence[str]) -> tuple[Factor, ...]:
    positions = tuple(i for i, name in enumerate(names) if name in mechanism.sizes)
    size = math.prod(mechanism.sizes[names[i]] for i in positions)
    if size == 1 or mechanism.bound == 0:
        return ()
    return (Keep(positions, float(mechanism.retention), size),)


def _factor(channel: Channel, axes: tuple[int, ...]) -> Factor | None:
    if isinstance(channel, Retention):
        if channel.size == 1 or channel.step == 0:
            return None
        return Keep(axes, float(channel.retention), channel.size)
    return Matrix(axes, np.asarray(channel.weights, np.float64) / ONE)


# Published tables: counts over named axes, and the law that made them from the true counts.


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
