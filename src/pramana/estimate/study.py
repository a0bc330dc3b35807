"""Questions put to a published table: cross-tabulations, totals, shares, means and comparisons, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.estimate.axis import Axis
from pramana.estimate.filters import Filter
from pramana.estimate.inversion import (
    DEFAULT_CONFIDENCE,
    Selection,
    covariance_with_total,
    invert,
    linear,
    quantile,
)
from pramana.estimate.law import Array
from pramana.estimate.likelihood import fit, profile_interval
from pramana.estimate.table import PublishedTable, check_memory, tabulate_pieces
from pramana.mechanisms import Mechanism
from pramana.schema import near

Codes = Mapping[str, NDArray[np.unsignedinteger]]
Columns = Callable[[list[str]], Codes]
MOST_PROFILES = 200


class UnseenGroupError(InputError):
    """A group whose size is estimated as nothing: no share or mean can be taken in it."""


@dataclass(frozen=True)
class Measure:
    """One number with its interval."""

    estimate: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Comparison:
    """The same measure in two groups, and its difference (first minus second)."""

    first: Measure
    second: Measure
    difference: Measure
    p_value: float  # of no difference, by the normal approximation

    def to_json(self) -> dict[str, Any]:
        measures = {"first": self.first, "second": self.second, "difference": self.difference}
        return {**{name: m.to_json() for name, m in measures.items()}, "p_value": self.p_value}


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Estimates over the joint values of `axes`; counts, or shares of the selected records."""

    axes: tuple[Axis, ...]
    estimate: Array
    low: Array
    high: Array
    records: int
    method: str
    converged: bool = True

    def cells(self) -> list[dict[str, Any]]:
        """One dictionary per cell: the attributes, estimate, low and high."""
        labels = [[axis.label(code) for code in range(axis.size)] for axis in self.axes]
        names = [axis.name for axis in self.axes]
        numbers = zip(
            self.estimate.ravel().tolist(), self.low.ravel().tolist(), self.high.ravel().tolist(), strict=True
        )
        return [
            {**dict(zip(names, values, strict=True)), "estimate": e, "low": a, "high": b}
            for values, (e, a, b) in zip(product(*labels), numbers, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Study:
    """A published table to ask questions of: its axes, its law, and where its columns are read from."""

    axes: Mapping[str, Axis]
    mechanism: Mechanism
    columns: Columns
    records: int
    weights: str | None = None
    pieces: Callable[[list[str]], Iterable[Codes]] | None = None  # for tables larger than memory
    counted: Callable[[list[str]], NDArray[np.int64] | None] | None = None  # another engine's counts, if it can

    @classmethod
    def of_codes(cls, axes: Sequence[Axis], mechanism: Mechanism, codes: Codes) -> Study:
        records = len(next(iter(codes.values())))
        return cls({a.name: a for a in axes}, mechanism, lambda names: {n: codes[n] for n in names}, records)

    def axis(self, name: str) -> Axis:
        try:
            return self.axes[name]
        except KeyError:
            hint = near(name, list(self.axes)) or f"It has {', '.join(self.axes)}."
            raise InputError("An attribute must be in the release", repr(name), hint) from None

    def table(self, names: Sequence[str]) -> PublishedTable:
        axes = [self.axis(name) for name in names]
        check_memory([axis.size for axis in axes])
        wanted = [*dict.fromkeys(names)] or [next(iter(self.axes))]
        if len(wanted) < len(names):
            raise InputError("A table must name each attribute once", ", ".join(names))
        if names and self.counted is not None and self.weights is None:
            counts = self.counted(wanted)
            if counts is not None:
                return PublishedTable.of_counts(axes, counts, self.mechanism)
        return tabulate_pieces(self._weighted(wanted), axes, self.mechanism)

    def _weighted(self, names: list[str]) -> Iterator[tuple[Codes, Array | None]]:
        """The rows in pieces, with their survey weights if they have any."""
        read = [*dict.fromkeys([*names, self.weights or names[0]])]
        for codes in [self.columns(read)] if self.pieces is None else self.pieces(read):
            weights = None if self.weights is None else _weights(self.axis(self.weights), codes[self.weights])
            yield codes, weights

    def crosstab(
        self,
        by: Sequence[str],
        where: str | None = None,
        *,
        method: str = "em",
        confidence: float = DEFAULT_CONFIDENCE,
        shares: bool = False,
        profile: bool = False,
    ) -> Crosstab:
        """Estimated counts of the private table by the values of `by`, among records for which `where` holds.

        `method`: "em" (maximum likelihood, never negative) or "inverse" (unbiased). `shares` divides by the
        selected records; `profile` gives likelihood intervals, for small tables.
        """
        if method not in ("em", "inverse"):
            raise InputError("The method must be em or inverse", repr(method))
        table, holds = self._selection(by, where)
        values, variances, low, high = _cells(table, holds, len(by), confidence)
        converged = True
        if shares:
            values, low, high = _shares(table, holds, len(by), values, variances, confidence)
        if method == "em":
            fitted = fit(table)
            converged = fitted.converged
            chosen = np.asarray((fitted.values * holds).sum(axis=tuple(range(len(by), holds.ndim))))
            most = 1.0 if shares else table.total
            unbiased = values
            values = chosen / max(float(chosen.sum()), 1e-300) if shares else chosen
            if profile:
                low, high = _profiles(table, where, shares, confidence)
            else:
                low, high = _possible(unbiased, low, high, most)
            low, high = np.minimum(low, values), np.maximum(high, values)
        elif profile:
            raise InputError("Profile intervals must be asked of the method em", method)
        return Crosstab(table.axes[: len(by)], values, low, high, self.records, method, converged)

    def total(self, where: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE) -> Measure:
        """How many records (or how much weight) of the private table fulfil `where`; unbiased."""
        table, holds = self._selection([], where)
        values, _, low, high = _cells(table, holds, 0, confidence)
        return Measure(float(values), float(low), float(high))

    def share(self, of: str, where: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE) -> Measure:
        """The share of records with `of` among those with `where`."""
        return self._ratios([_Ratio(of, where)], confidence)[0][0]

    def mean(self, attribute: str, where: str | None = None, *, confidence: float = DEFAULT_CONFIDENCE) -> Measure:
        """The mean of a numeric attribute, each bin standing for its middle, among records with `where`."""
        return self._ratios([_Ratio(self.axis(attribute), where)], confidence)[0][0]

    def means(
        self,
        attribute: str,
        by: Sequence[str],
        where: str | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> list[dict[str, Any]]:
        """The mean of a numeric attribute in each cell of `by`; null where the release cannot see the cell."""
        axes = [self.axis(name) for name in by]
        found = []
        for codes in product(*(range(axis.size) for axis in axes)):
            cell = {axis.name: axis.label(code) for axis, code in zip(axes, codes, strict=True)}
            terms = [f"({where})"] if where else []
            terms += [
                f"{_quoted(name)} is missing" if label is None else f"{_quoted(name)} = {_quoted(label)}"
                for name, label in cell.items()
            ]
            try:
                measure = self.mean(attribute, " and ".join(terms) or None, confidence=confidence).to_json()
            except UnseenGroupError:
                measure = {"estimate": None, "low": None, "high": None}
            found.append({**cell, **measure})
        return found

    def compare(
        self,
        first: str,
        second: str,
        *,
        share: str | None = None,
        mean: str | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> Comparison:
        """The share of `share`, or the mean of `mean`, among records with `first` against those with `second`."""
        if (share is None) == (mean is None):
            raise InputError("A comparison must be of a share or of a mean", "both" if share else "neither")
        of: str | Axis = share if share is not None else self.axis(str(mean))
        measures, plain, variances = self._ratios([_Ratio(of, first), _Ratio(of, second)], confidence)
        difference = plain[0] - plain[1]
        error = float(np.sqrt(max(variances[0, 0] + variances[1, 1] - 2 * variances[0, 1], 0.0)))
        half = quantile(confidence) * error
        p_value = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else float(difference == 0)
        least, most = _Ratio(of, None).range()
        widest = most - least
        one, other = measures  # impossible shares were moved into their range: the difference is of these
        kept = one.estimate - other.estimate
        low, high = max(difference - half, -widest), min(difference + half, widest)
        return Comparison(one, other, Measure(kept, min(low, kept), max(high, kept)), p_value)

    def _selection(self, by: Sequence[str], where: str | None) -> tuple[PublishedTable, Array]:
        """The table over `by` and what the filter names besides, and 1 in its cells where the filter holds."""
        condition = None if where is None else Filter.parse(where)
        extra = [] if condition is None else [name for name in condition.names if name not in by]
        table = self.table([*by, *extra])
        return table, np.ones(table.law.shape) if condition is None else condition.over(table.axes)

    def _ratios(self, ratios: Sequence[_Ratio], confidence: float) -> tuple[list[Measure], list[float], Array]:
        """Each ratio with its interval, within what it can be; the plain ratios; and their covariance matrix."""
        names = list(dict.fromkeys(name for ratio in ratios for name in ratio.names()))
        table = self.table(names)
        pairs = [ratio.coefficients(table.axes) for ratio in ratios]
        values, covariance = linear(table, [c for pair in pairs for c in pair])
        z = quantile(confidence)
        measures, plain, gradient = [], [], np.zeros((len(ratios), len(values)))
        for i, ratio in enumerate(ratios):
            top, bottom = 2 * i, 2 * i + 1
            if values[bottom] <= 0:
                raise UnseenGroupError(
                    "A share or mean must be asked of a group that the release can see",
                    "an estimated size that is not positive",
                    "The group is too small for this release's noise.",
                )
            least, most = ratio.range()
            plain.append(float(values[top] / values[bottom]))
            low, high = _fieller(values[top : top + 2], covariance[top : top + 2, top : top + 2], z)
            measures.append(_within(plain[-1], low, high, least, most))
            gradient[i, top] = 1 / values[bottom]
            gradient[i, bottom] = -values[top] / values[bottom] ** 2
        return measures, plain, np.asarray(gradient @ covariance @ gradient.T)


@dataclass(frozen=True)
class _Ratio:
    """Two sums over the table: of a filter or a number, and of the records they are taken among."""

    of: str | Axis
    where: str | None

    def names(self) -> list[str]:
        own = [self.of.name] if isinstance(self.of, Axis) else list(Filter.parse(self.of).names)
        return own + ([] if self.where is None else list(Filter.parse(self.where).names))

    def coefficients(self, axes: Sequence[Axis]) -> tuple[Array, Array]:
        among = np.ones([a.size for a in axes]) if self.where is None else Filter.parse(self.where).over(axes)
        if isinstance(self.of, str):
            return Filter.parse(self.of).over(axes) * among, among
        place = [axis.name for axis in axes].index(self.of.name)
        numbers = self.of.middles
        shape = [-1 if i == place else 1 for i in range(len(axes))]
        if (np.isinf(numbers).reshape(shape) * among).any():
            raise InputError(
                f"A mean of {self.of.name} must be asked of records whose bins have an end",
                "a bin without one",
                f"Leave it out with a filter on {self.of.name}.",
            )
        known = np.isfinite(numbers)
        return np.where(known, numbers, 0.0).reshape(shape) * among, known.reshape(shape) * among

    def range(self) -> tuple[float, float]:
        if isinstance(self.of, str):
            return 0.0, 1.0
        known = self.of.middles[np.isfinite(self.of.middles)]
        return float(known.min()), float(known.max())


def _fieller(values: Array, covariance: Array, z: float) -> tuple[float, float]:
    """Every ratio r for which values[0] - r*values[1] is not significantly away from zero."""
    top, bottom = float(values[0]), float(values[1])
    a = bottom**2 - z * z * float(covariance[1, 1])
    b = top * bottom - z * z * float(covariance[0, 1])
    c = top**2 - z * z * float(covariance[0, 0])
    if a <= 0:  # the denominator itself may be zero: every ratio is possible
        return -np.inf, np.inf
    half = float(np.sqrt(max(b * b - a * c, 0.0)))
    return (b - half) / a, (b + half) / a


def _within(estimate: float, low: float, high: float, least: float, most: float) -> Measure:
    """A measure that lies between `least` and `most`; an impossible estimate keeps the width of its interval."""
    kept = min(max(estimate, least), most)
    moved = kept - estimate
    low, high = low + min(moved, 0.0), high + max(moved, 0.0)
    return Measure(kept, min(max(low, least), kept), max(min(high, most), kept))


def _patterns(holds: Array, kept: int) -> list[tuple[Selection, NDArray[np.bool_]]]:
    """The distinct conditions on the last axes, and for which cells of the first axes each one stands.

    A filter may speak of the attributes that a table is made by; then different cells select differently.
    """
    flat = holds.reshape((int(np.prod(holds.shape[:kept])), -1))
    distinct, which = np.unique(flat, axis=0, return_inverse=True)
    which = which.reshape(holds.shape[:kept])
    return [(Selection(row.reshape(holds.shape[kept:])), which == i) for i, row in enumerate(distinct)]


def _cells(table: PublishedTable, holds: Array, kept: int, confidence: float) -> tuple[Array, Array, Array, Array]:
    """Unbiased estimates, variances and intervals of the cells of the first axes among what is selected."""
    found = np.zeros((4, *holds.shape[:kept]))
    for selection, cells in _patterns(holds, kept):
        if selection.holds.any():
            part = invert(table, selection, confidence)
            found = np.where(cells, np.stack([part.values, part.variances, part.low, part.high]), found)
    return found[0], found[1], found[2], found[3]


def _shares(
    table: PublishedTable, holds: Array, kept: int, values: Array, variances: Array, confidence: float
) -> tuple[Array, Array, Array]:
    z = quantile(confidence)
    total, spread = linear(table, [holds])
    if total[0] <= 0:
        raise InputError("Shares must be asked of records that the release can see", "an estimated count below 1")
    together = np.zeros_like(values)
    for selection, cells in _patterns(holds, kept):
        together = np.where(cells, covariance_with_total(table, holds, selection), together)
    low, high = np.empty_like(values), np.empty_like(values)
    for place in np.ndindex(values.shape):
        matrix = np.array([[variances[place], together[place]], [together[place], spread[0, 0]]])
        low[place], high[place] = _fieller(np.array([values[place], total[0]]), matrix, z)
    shares = values / total[0]
    least, most = np.minimum(shares, 0.0), np.maximum(shares, 1.0)  # unbiased shares can lie outside [0, 1]
    return shares, np.clip(low, least, most), np.clip(high, least, most)


def _possible(values: Array, low: Array, high: Array, most: float) -> tuple[Array, Array]:
    """Intervals of the unbiased estimates, for what lies between 0 and `most`.

    They cover as they are; where the estimate itself is impossible, its interval is moved to the nearest one
    that is possible, which keeps its width instead of cutting it to nothing.
    """
    moved = np.clip(values, 0.0, most) - values
    return np.clip(low + np.minimum(moved, 0), 0.0, most), np.clip(high + np.maximum(moved, 0), 0.0, most)


def _profiles(table: PublishedTable, where: str | None, shares: bool, confidence: float) -> tuple[Array, Array]:
    if where is not None or shares:
        raise InputError("Profile intervals must be asked of counts without a filter", "a filter or shares")
    if table.law.cells > MOST_PROFILES:
        raise InputError(f"Profile intervals must be asked of at most {MOST_PROFILES} cells", str(table.law.cells))
    ends = [profile_interval(table, place, confidence) for place in np.ndindex(table.law.shape)]
    pairs = np.array(ends).reshape((*table.law.shape, 2))
    return pairs[..., 0], pairs[..., 1]


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


def _weights(axis: Axis, codes: NDArray[np.unsignedinteger]) -> Array:
    numbers: Array = axis.middles[codes]
    if np.isnan(numbers).any() or (numbers < 0).any():
        raise InputError(f"The weights {axis.name} must be numbers of at least 0", "others")
    return numbers
