"""Columns with noise: what is added under the key, and how the sums are rounded."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle import canonical
from pramana.errors import SourceError
from pramana.methods.microaggregate.numbers import NumberColumn, NumberUse, number_column
from pramana.methods.noise.normal import Floats, covariances, kept_share, mean_of, normals, root_of
from pramana.methods.noise.setting import NoiseDesign
from pramana.methods.protocol import Counts
from pramana.methods.swap.columns import take_content
from pramana.rows import Column, Columns, ContentDigest, Rows
from pramana.schema import Attribute
from pramana.sources import numbers

ROW_NUMBER = "\0row"  # which no column of a source is called
_MOST = 2.0**53  # multiples of the last digit up to here are exact
_USE = NumberUse("get noise", "A column of other values is published unchanged, or swapped", gaps=True)


@dataclass(frozen=True, eq=False)
class NoisedNumbers:
    """A column before and after: at the holder's only. Rows without a number have `known` false."""

    name: str
    true: Floats
    published: NDArray[np.float64] | NDArray[np.int64]
    known: NDArray[np.bool_]

    def column(self) -> pa.Array:
        return numbers(self.published, None if self.known.all() else self.known)


def add_noise(rows: Rows, design: NoiseDesign, context: str) -> tuple[NoisedNumbers, ...]:
    """Every column of the design with its noise; refused where it would be lost in rounding."""
    use = replace(_USE, gaps=design.kind == "independent")  # covariances need every number
    columns = [number_column(name, rows, use) for name in design.columns]
    draws = [normals(rows.stream("noise", context, name, 0).words(0, rows.records)) for name in design.columns]
    if design.kind == "independent":
        return tuple(_alone(c, draw, design) for c, draw in zip(columns, draws, strict=True))
    return _together(columns, draws, design)


def _alone(column: NumberColumn, draw: Floats, design: NoiseDesign) -> NoisedNumbers:
    true = column.numbers.astype(np.float64)
    known = np.ones(len(true), np.bool_) if column.missing is None else ~column.missing
    if column.name in design.spread:
        spread = design.spread[column.name]
    else:
        assert design.amount is not None
        spread = design.amount * _deviation(column.name, true[known])
    published = np.where(known, true + spread * draw, 0.0)
    return NoisedNumbers(column.name, true, _rounded(column, published, spread, design), known)


def _together(
    columns: Sequence[NumberColumn], draws: Sequence[Floats], design: NoiseDesign
) -> tuple[NoisedNumbers, ...]:
    """Noise with the columns' own covariances, times amount squared; sums are drawn to the means (Kim 1986)."""
    assert design.amount is not None
    every = [c.numbers.astype(np.float64) for c in columns]
    deviations = [_deviation(c.name, true) for c, true in zip(columns, every, strict=True)]
    means = [mean_of(true) for true in every]
    root = root_of(covariances([true - mean for true, mean in zip(every, means, strict=True)]))
    kept = kept_share(design.amount)
    done = []
    for i, (column, true, mean) in enumerate(zip(columns, every, means, strict=True)):
        noise = np.zeros(len(true))
        for j in range(i + 1):
            noise = noise + root[i][j] * draws[j]
        published = mean + kept * ((true - mean) + design.amount * noise)
        step = _rounded(column, published, kept * design.amount * deviations[i], design)
        done.append(NoisedNumbers(column.name, true, step, np.ones(len(true), np.bool_)))
    return tuple(done)


def _deviation(name: str, values: Floats) -> float:
    """The standard deviation of a column, which its noise is measured in."""
    if len(values) > 1:
        centred = values - mean_of(values)
        if (squared := math.fsum((centred * centred).tolist())) > 0:
            return math.sqrt(squared / (len(values) - 1))
    raise SourceError(
        f"The numbers of the column {name!r} must differ, for noise measured in their standard deviation",
        "one number, or none",
        "Write spread = ... in the section of the column: noise in its own units.",
    )


def _rounded(
    column: NumberColumn, values: Floats, spread: float, design: NoiseDesign
) -> NDArray[np.float64] | NDArray[np.int64]:
    """To the stated decimals, or to as many as the source has: digits beyond would tell of the number below."""
    places = design.decimals.get(column.name)
    if places is None:
        if column.values.dtype.kind == "f":
            raise SourceError(
                f"The numbers of the column {column.name!r} must have at most 15 decimals, or be rounded to some",
                "longer ones",
                "Write decimals = 2, or another number of them, in the section of the column.",
            )
        places = column.places
    if spread < 10.0**-places:
        raise SourceError(
            f"The noise of {column.name!r} must have a standard deviation of at least one step of its last digit, "
            f"{10.0**-places:g}",
            "less, most of which rounding would take away",
            "Add more noise, or write more decimals in the section of the column.",
        )
    steps = np.rint(values * float(10**places) if places >= 0 else values / float(10**-places))
    if np.abs(steps).max(initial=0) > _MOST:
        raise SourceError(f"The numbers of {column.name!r} must have at most 15 digits in all", "longer ones")
    if places > 0:
        return np.asarray(steps / float(10**places)) + 0.0  # the double nearest to the decimal; a zero has no sign
    whole = steps * float(10**-places)
    return whole.astype(np.int64) if np.abs(whole).max(initial=0) <= _MOST else whole + 0.0


class NoisedTable:
    """Makes the published columns: those with noise by the number of their row, the others as they are."""

    def __init__(self, attributes: Sequence[Attribute], noised: Sequence[NoisedNumbers]) -> None:
        self._made_of = attributes, noised
        self._names = [a.name for a in attributes]
        self._columns: Mapping[str, pa.Array] = {one.name: one.column() for one in noised}
        self._digest = ContentDigest()

    def table(self, columns: Columns) -> pa.Table:
        at = numbers(columns[ROW_NUMBER].astype(np.int64))
        published: dict[str, Column] = {
            name: self._columns[name].take(at) if name in self._columns else columns[name] for name in self._names
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


def context_of(dataset: str, design: NoiseDesign, rows: Rows) -> str:
    """What coins and order are bound to: the same key gives another table, or another design, others."""
    stated = hashlib.sha256(canonical(msgspec.to_builtins(design))).hexdigest()
    return f"{dataset}\nnoise\n{stated}\n{rows.commitment()}"
