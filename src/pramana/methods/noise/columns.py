"""What `noise` adds: its setting, the noise of each column under the key, and how the sums are rounded.

A published number is a function of the key, the number of its row, the true number, and moments of the columns,
whose sums are exact: it is the same wherever the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from msgspec import Meta

from pramana.errors import RecipeError, SourceError
from pramana.io.columns import numbers
from pramana.methods.columns import Decimals, stated_decimals
from pramana.methods.noise.numbers import (
    Floats,
    Moments,
    doubles_of,
    kept_share,
    moments_of,
    normals,
    root_of,
    true_of,
)
from pramana.methods.perturbed import PerturbedDesign, refuse_domains
from pramana.methods.recipe import Recipe
from pramana.methods.usefulness import TableWorth, Usefulness, tables_asked
from pramana.randomness.key import Stream
from pramana.rows.protocol import ROW_NUMBER, Columns, Rows
from pramana.schema.sections import ColumnSection, Setting
from pramana.schema.typed import Flag

Kind = Literal["independent", "correlated"]
Amount = Annotated[float, Meta(gt=0, le=100, extra={"must": "a number above 0 and at most 100"})]
Spread = Annotated[float, Meta(gt=0, le=1e100, extra={"must": "a positive number"})]


class NoiseSetting(Setting, frozen=True, kw_only=True, tag="noise"):
    """method = "noise": normal random numbers are added to columns of numbers."""

    kind: Annotated[
        Kind,
        Meta(description='"independent": each column by itself; "correlated": means and covariances stay.'),
    ] = "independent"
    amount: Annotated[
        Amount | None,
        Meta(description="The noise's standard deviation, in those of a column that states no spread."),
    ] = None
    decimals: Annotated[Decimals | None, Meta(description="Places to round to, where a column has none.")] = None


class NoisedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a table with noise."""

    noise: Annotated[Flag, Meta(description="Whether noise is added to its numbers.")] = False
    spread: Annotated[
        Spread | None, Meta(description="The noise's standard deviation, in the column's own units.")
    ] = None
    decimals: Annotated[Decimals | None, Meta(description="Places to round its numbers to.")] = None

    @property
    def is_noised(self) -> bool:
        return self.noise or self.spread is not None


class NoiseDesign(PerturbedDesign, frozen=True, kw_only=True):
    """The same as a certificate states it; `decimals` is of the columns for which the recipe states them."""

    kind: Kind
    amount: Amount | None
    spread: dict[str, Spread]
    decimals: dict[str, Decimals]

    @property
    def relative(self) -> list[str]:
        """The columns whose noise is measured in their own standard deviations."""
        return [name for name in self.columns if name not in self.spread]

    def problem(self) -> str:
        """What does not fit together; empty where everything does."""
        if len(set(self.columns)) < len(self.columns):
            return "a column twice"
        if not {*self.spread, *self.decimals} <= set(self.columns):
            return "a column without noise"
        if self.kind == "correlated" and self.spread:
            return 'spread with kind = "correlated"'
        if (self.amount is not None) != bool(self.relative):
            return "no amount" if self.amount is None else "an amount that no column takes"
        return ""


NoiseRecipe = Recipe[NoiseSetting, NoisedColumn]


def design_of(recipe: NoiseRecipe) -> NoiseDesign:
    """Checked with the columns, before any row is read."""
    setting, published = recipe.release, recipe.published
    columns = [name for name, column in published.items() if column.is_noised]
    if not columns:
        raise RecipeError(
            "A recipe must have a column that gets noise",
            "none",
            "Write noise = true, or spread = 500 in its own units, in the section of a column.",
        )
    refuse_domains(recipe)
    own = {name: column.decimals for name, column in published.items()}
    decimals = stated_decimals(own, columns, setting.decimals, "a column that gets noise")
    design = NoiseDesign(
        kind=setting.kind,
        amount=setting.amount,
        columns=columns,
        spread={n: c.spread for n, c in published.items() if c.spread is not None},
        decimals=decimals,
    )
    if problem := design.problem():
        raise RecipeError(
            "Every column that gets noise must have a spread of its own, or the amount of [release]",
            problem,
            'With kind = "correlated" all columns take the amount.',
        )
    return design


# What noise costs: by its law, which everyone may know, and measured against the source, for its holder.


_NOTHING = 1e-9  # an eigenvalue of columns that follow from each other


def worth_of_noise(design: NoiseDesign, records: int, named: Sequence[Sequence[str]]) -> Usefulness:
    """Of the columns whose noise is measured in their standard deviations: how far a published number is off.

    With correlated noise the numbers are also drawn to their mean; the two come to 2 - 2s, with s what is kept.
    A mean is known better than a number by the root of the records. Of noise in units nothing follows without
    the rows.
    """
    if design.amount is None:
        return Usefulness()
    error = design.amount if design.kind == "independent" else math.sqrt(2 - 2 * kept_share(design.amount))
    tables, is_named = tables_asked(named, design.relative)
    worth = [
        TableWorth(names, None, error, 1.0, "value", halves=design.amount / math.sqrt(records)) for names in tables
    ]
    return Usefulness(tuple(worth), is_named)


@dataclass(frozen=True, eq=False)
class NoiseSums:
    """Some rows by column, with and without noise: sums and products of true numbers first, then of published.

    `steps` and `largest` are no sums: the largest published numbers, in steps of the last digit and as they are.
    """

    rows: int
    known: Floats  # rows that have a number
    distances: Floats
    sums: Floats
    products: Floats
    steps: Floats
    largest: Floats

    @classmethod
    def of(cls, true: Floats, published: Floats, centres: Floats, places: Sequence[int]) -> NoiseSums:
        """Numbers by column and row, NaN where there is none; taken off their `centres` they keep their digits."""
        both = np.nan_to_num(np.stack([true, published]) - centres[:, None])
        largest = np.abs(np.nan_to_num(published)).max(axis=1, initial=0)
        return cls(
            true.shape[1],
            (~np.isnan(true)).sum(axis=1),
            np.abs(both[1] - both[0]).sum(axis=1),
            both.sum(axis=2),
            both @ both.transpose(0, 2, 1),
            np.rint(largest * 10.0 ** np.array(places)),
            largest,
        )

    def __add__(self, more: NoiseSums) -> NoiseSums:
        return NoiseSums(
            self.rows + more.rows,
            self.known + more.known,
            self.distances + more.distances,
            self.sums + more.sums,
            self.products + more.products,
            np.maximum(self.steps, more.steps),
            np.maximum(self.largest, more.largest),
        )

    def covariances(self) -> Floats:
        """Before and after; right for two columns without gaps, and for variances in any case."""
        several = np.maximum(self.known, 2)
        off = self.products - self.sums[:, :, None] * self.sums[:, None, :] / several
        return np.asarray(off / (several - 1))


@dataclass(frozen=True)
class NoiseLoss:
    """Measures of sdcMicro's `dUtility`, which need the source.

    `distance`, by column: mean |published - true| over the root of 2 and the true standard deviation (IL1s).
    `eigenvalues`: relative differences of those of the columns' correlations, before and after, added up; None
    where there are no two columns, or rows lack numbers.
    """

    distance: dict[str, float]
    eigenvalues: float | None

    @classmethod
    def of(cls, names: Sequence[str], sums: NoiseSums) -> NoiseLoss:
        matrices = sums.covariances()
        spreads = np.sqrt(np.maximum(np.diagonal(matrices[0]), 0))
        varying = [i for i in range(len(names)) if spreads[i] > 0]
        means = sums.distances / np.maximum(sums.known, 1)
        distance = {names[i]: float(means[i]) / (math.sqrt(2) * float(spreads[i])) for i in varying}
        if len(varying) < 2 or any(sums.known[i] < sums.rows for i in varying):
            return cls(distance, None)
        varied = matrices[:, varying][:, :, varying]
        scales = np.sqrt(np.diagonal(varied, axis1=1, axis2=2))
        before, after = np.linalg.eigvalsh(varied / (scales[:, :, None] * scales[:, None, :]))
        present = before > _NOTHING
        return cls(distance, float(np.sum(np.abs(after - before)[present] / before[present])))

    def sentences(self) -> tuple[str, ...]:
        """For the holder alone: they are numbers of the source."""
        shares = ", ".join(f"{name} {share:.2g}" for name, share in self.distance.items())
        words = [f"Measured against the source, for you alone: IL1s of {shares}."] if shares else []
        if self.eigenvalues is not None:
            words.append(
                "Measured against the source, for you alone: eigenvalues of the correlations differ by "
                f"{self.eigenvalues:.2g}, relatively and in all."
            )
        return tuple(words)


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
    together = design.kind == "correlated"
    moments = moments_of(rows, design.columns, design.relative, together)
    streams = [rows.stream("noise", context, name, 0) for name in design.columns]
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


def published_numbers(name: str, integers: bool, columns: Columns) -> pa.Array:
    """A column with its noise, as integers or doubles."""
    values = doubles_of(columns[noised_of(name)])
    known = ~np.isnan(values)
    shown = values if known.all() else np.where(known, values, 0.0)
    return numbers(shown.astype(np.int64) if integers else shown, None if known.all() else known)
