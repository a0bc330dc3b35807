"""Columns with noise: what is added under the key, and how the sums are rounded.

A published number is a function of the key, the number of its row, the true number, and moments of the columns,
whose sums are exact: it is the same wherever the rows are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle import canonical
from pramana.errors import SourceError
from pramana.methods.noise.moments import Moments, doubles_of, moments_of, true_of
from pramana.methods.noise.normal import kept_share, normals, root_of
from pramana.methods.noise.setting import NoiseDesign
from pramana.methods.noise.sums import Floats
from pramana.methods.noise.worth import NoiseLoss, NoiseSums
from pramana.methods.protocol import Counts
from pramana.methods.swap.columns import take_content
from pramana.randomness import Stream
from pramana.rows import ROW_NUMBER, Column, Columns, ContentDigest, Rows
from pramana.schema import Attribute
from pramana.sources import numbers

_MOST = 2.0**53  # multiples of the last digit up to here are exact


def noised_of(name: str) -> str:
    """The column of a column's published numbers as doubles."""
    return f"\0noised {name}"


@dataclass(frozen=True)
class ColumnNoise:
    """What is published of a column: mean + kept (true - mean + amount * noise), rounded to its places.

    The noise is the sum of normal numbers, one from each stream, times their weights.
    """

    name: str
    places: int
    amount: float
    weights: tuple[float, ...]
    streams: tuple[Stream, ...] = field(repr=False)
    mean: float = 0.0
    kept: float = 1.0

    def published(self, columns: Columns) -> pa.Array:
        """NaN where there is no true number."""
        true, row_numbers = doubles_of(columns[true_of(self.name)]), columns[ROW_NUMBER]
        first = int(row_numbers[0]) if len(row_numbers) else 0
        noise = np.zeros(len(true))
        for weight, stream in zip(self.weights, self.streams, strict=True):
            if weight:
                noise = noise + weight * normals(stream.words(first, len(true)))
        return numbers(self._rounded(self.mean + self.kept * ((true - self.mean) + self.amount * noise)))

    def _rounded(self, sums: Floats) -> Floats:
        """The doubles nearest to the decimals; a zero has no sign."""
        if self.places > 0:
            return np.rint(sums * float(10**self.places)) / float(10**self.places) + 0.0
        return np.rint(sums / float(10**-self.places)) * float(10**-self.places) + 0.0


@dataclass(frozen=True)
class NoisedRows:
    """Columns with noise beside the rows: which of them are of integers, and how far they are off."""

    integers: frozenset[str]
    loss: NoiseLoss


def add_noise(rows: Rows, design: NoiseDesign, context: str) -> NoisedRows:
    """Every column of the design with its noise, to be published; refused where it would be lost in rounding."""
    moments = moments_of(rows, design)
    streams = [rows.stream("noise", context, name, 0) for name in design.columns]
    together = design.kind == "correlated"
    columns = (_together if together else _alone)(moments, design, streams)
    for column in columns:
        rows.derive(noised_of(column.name), (true_of(column.name), ROW_NUMBER), column.published)
    names = [of(name) for name in design.columns for of in (true_of, noised_of)]
    centres = np.array([moments.mean(name) for name in design.columns])
    sums = rows.summed(names, partial(_compared, columns, centres))
    for column, largest in zip(columns, sums.steps, strict=True):
        if largest > _MOST:
            raise SourceError(f"The numbers of {column.name!r} must have at most 15 digits in all", "longer ones")
    return NoisedRows(
        frozenset(c.name for c, x in zip(columns, sums.largest, strict=True) if c.places <= 0 and x <= _MOST),
        NoiseLoss.of(design.columns, sums),
    )


def _alone(moments: Moments, design: NoiseDesign, streams: Sequence[Stream]) -> tuple[ColumnNoise, ...]:
    columns = []
    for name, stream in zip(design.columns, streams, strict=True):
        if name in design.spread:
            spread = design.spread[name]
        else:
            assert design.amount is not None
            spread = design.amount * moments.deviation(name)
        places = _places(name, moments, spread, design)
        columns.append(ColumnNoise(name, places, spread, (1.0,), (stream,)))
    return tuple(columns)


def _together(moments: Moments, design: NoiseDesign, streams: Sequence[Stream]) -> tuple[ColumnNoise, ...]:
    """Noise with the columns' own covariances, times amount squared; sums are drawn to the means (Kim 1986)."""
    assert design.amount is not None
    names, kept = design.columns, kept_share(design.amount)
    deviations = [moments.deviation(name) for name in names]
    root = root_of([[moments.covariances[a, b] for b in names[: i + 1]] for i, a in enumerate(names)])
    columns = []
    for i, name in enumerate(names):
        places = _places(name, moments, kept * design.amount * deviations[i], design)
        own = tuple(root[i][: i + 1]), tuple(streams[: i + 1])
        columns.append(ColumnNoise(name, places, design.amount, *own, moments.mean(name), kept))
    return tuple(columns)


def _places(name: str, moments: Moments, spread: float, design: NoiseDesign) -> int:
    """As stated, or as many as the source has: digits beyond would tell of the number below."""
    places = design.decimals.get(name)
    if places is None:
        if not moments.summaries[name].whole:
            raise SourceError(
                f"The numbers of the column {name!r} must have at most 15 decimals, or be rounded to some",
                "longer ones",
                "Write decimals = 2, or another number of them, in the section of the column.",
            )
        places = moments.summaries[name].places
    if spread < 10.0**-places:
        raise SourceError(
            f"The noise of {name!r} must have a standard deviation of at least one step of its last digit, "
            f"{10.0**-places:g}",
            "less, most of which rounding would take away",
            "Add more noise, or write more decimals in the section of the column.",
        )
    return places


def _compared(columns: Sequence[ColumnNoise], centres: Floats, rows: Columns) -> NoiseSums:
    true = np.stack([doubles_of(rows[true_of(column.name)]) for column in columns])
    published = np.stack([doubles_of(rows[noised_of(column.name)]) for column in columns])
    return NoiseSums.of(true, published, centres, [column.places for column in columns])


class NoisedTable:
    """Makes the published columns: those with noise as integers or doubles, the others as they are."""

    def __init__(
        self, attributes: Sequence[Attribute], noised: Collection[str], integers: Collection[str]
    ) -> None:
        self._made_of = attributes, noised, integers
        self._digest = ContentDigest()

    def table(self, columns: Columns) -> pa.Table:
        attributes, noised, integers = self._made_of
        published: dict[str, Column] = {
            a.name: _arrow(columns[noised_of(a.name)], a.name in integers) if a.name in noised else columns[a.name]
            for a in attributes
        }
        table = pa.table(published)
        take_content(self._digest, table)
        return table

    def content(self) -> str:
        return self._digest.hexdigest(sorted(self._digest.parts))

    def counts(self) -> Mapping[str, Counts]:
        return {}

    def kept(self, columns: Columns) -> NDArray[np.bool_]:
        return np.ones(len(next(iter(columns.values()))), np.bool_)

    def at(self, row: int) -> NoisedTable:
        del row
        return NoisedTable(*self._made_of)


def _arrow(column: Column, integers: bool) -> pa.Array:
    values = doubles_of(column)
    known = ~np.isnan(values)
    shown = values if known.all() else np.where(known, values, 0.0)
    return numbers(shown.astype(np.int64) if integers else shown, None if known.all() else known)


def context_of(dataset: str, design: NoiseDesign, rows: Rows) -> str:
    """What coins and order are bound to: the same key gives another table, or another design, others."""
    stated = hashlib.sha256(canonical(msgspec.to_builtins(design))).hexdigest()
    return f"{dataset}\nnoise\n{stated}\n{rows.commitment()}"
