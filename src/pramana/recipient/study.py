"""Questions put to a published table: cross-tabulations, totals, shares, means and comparisons, with intervals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from operator import and_
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.mechanisms.table import Mechanism
from pramana.recipient.answers import (
    METHODS,
    NUMBERS,
    Crosstab,
    EstimatedNumber,
    EstimatedQuantile,
    EstimatedRegression,
    GroupComparison,
    MeanTable,
    UnseenGroupError,
    normal_p_value,
)
from pramana.recipient.filters import Filter
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, simultaneous_confidence
from pramana.recipient.law import Array, PublishedTable, check_memory, tabulate_pieces
from pramana.recipient.likelihood import fit, profile_interval
from pramana.recipient.ratios import EstimatedRatios, Ratio, estimate_cells, estimate_ratios, selected_cells
from pramana.schema.domain import Axis
from pramana.schema.typed import near

Codes = Mapping[str, NDArray[np.unsignedinteger]]
Columns = Callable[[list[str]], Codes]
PartCounts = list[NDArray[np.int64]]
PartWork = Callable[[Iterable[Codes]], PartCounts]  # on the pieces of a part
MOST_PROFILES = 200


_Parsed = TypeVar("_Parsed", bound=Filter | None)


def _as_filter(where: str | _Parsed) -> Filter | _Parsed:
    """What a question was asked with, parsed if it is text."""
    return Filter.parse(where) if isinstance(where, str) else where


class Questions(ABC):
    """What can be asked of a published table. Filters are texts, such as "age >= 65 and sex = F", or objects.

    Of a release with a law, estimates are corrected by it and intervals are over its coins. Of others, estimates
    are what the published cells make one expect, and intervals what they leave open.
    """

    axes: Mapping[str, Axis]
    methods: ClassVar[tuple[str, ...]]

    def axis(self, name: str) -> Axis:
        try:
            return self.axes[name]
        except KeyError:
            hint = near(name, list(self.axes)) or f"It has {', '.join(self.axes)}."
            raise InputError("An attribute must be in the release", repr(name), hint) from None

    def crosstab(
        self,
        by: Sequence[str],
        where: str | Filter | None = None,
        *,
        method: str = "em",
        confidence: float = DEFAULT_CONFIDENCE,
        shares: bool = False,
        profile: bool = False,
        simultaneous: bool = False,
    ) -> Crosstab:
        """Estimated counts of the private table by the values of `by`, among records for which `where` holds.

        `method`: "em" (maximum likelihood, never negative), "inverse" (unbiased) or, for one attribute in order,
        "smooth" (likelihood less a penalty on jumps, as strong as the counts ask for); without a law there is one
        way to count cells, and the first two name it. `shares` divides by the selected records; `profile` gives
        likelihood intervals, for small tables. `simultaneous` intervals hold all together, so that the largest
        cells may be picked from them afterwards.
        """
        if method not in self.methods:
            raise InputError(f"The method must be one of {', '.join(self.methods)}", repr(method))
        if len(set(by)) != len(by):
            raise InputError("A table must name each attribute once", ", ".join(by))
        cells = math.prod(self.axis(name).size for name in by)
        each = simultaneous_confidence(confidence, cells) if simultaneous else confidence
        table = self._crosstab(by, _as_filter(where), method, each, shares, profile)
        return replace(table, confidence=confidence, simultaneous=simultaneous)

    def total(
        self, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """How many records (or how much weight) of the private table fulfil `where`; unbiased."""
        return self._total(_as_filter(where), confidence)

    def share(
        self, of: str | Filter, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """The share of records with `of` among those with `where`."""
        return self._share(_as_filter(of), _as_filter(where), confidence)

    def mean(
        self,
        attribute: str,
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        within_bins: bool = False,
    ) -> EstimatedNumber:
        """The mean of a numeric attribute, each bin standing for its middle, among records with `where`.

        With `within_bins` the interval also holds the mean of the values themselves, wherever in bins they are.
        """
        axis, among = self.axis(attribute), _as_filter(where)
        return self._mean_of(axis, [], among, confidence, within_bins)(among)

    def means(
        self,
        attribute: str,
        by: Sequence[str],
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
        within_bins: bool = False,
    ) -> MeanTable:
        """The mean of a numeric attribute in each cell of `by`; null where the release cannot see the cell."""
        axes, among = [self.axis(name) for name in by], _as_filter(where)
        mean_of = self._mean_of(self.axis(attribute), by, among, confidence, within_bins)
        cells = MeanTable()
        for codes in product(*(range(axis.size) for axis in axes)):
            cell = {axis.name: axis.label(code) for axis, code in zip(axes, codes, strict=True)}
            terms = [Filter.missing(n) if v is None else Filter.compare(n, "=", v) for n, v in cell.items()]
            terms += [] if among is None else [among]
            try:
                number = mean_of(reduce(and_, terms) if terms else None).to_json()
            except UnseenGroupError:
                number = dict.fromkeys(NUMBERS)
            cells.append({**cell, **number})
        return cells

    def quantiles(
        self,
        attribute: str,
        shares: Sequence[float] = (0.25, 0.5, 0.75),
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> list[EstimatedQuantile]:
        """The values below which these shares of the records with `where` lie; the intervals hold whole bins."""
        return self._quantiles(self.axis(attribute), shares, _as_filter(where), confidence)

    def regression(
        self,
        attribute: str,
        on: Sequence[str],
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> EstimatedRegression:
        """Least squares of a numeric attribute on others, corrected for the release's law, which it must have."""
        return self._regression([self.axis(name) for name in (attribute, *on)], _as_filter(where), confidence)

    def compare(
        self,
        first: str | Filter,
        second: str | Filter,
        *,
        share: str | Filter | None = None,
        mean: str | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> GroupComparison:
        """The share of `share`, or the mean of `mean`, among records with `first` against those with `second`."""
        of = _as_filter(share)
        if (of is None) == (mean is None):
            raise InputError("A comparison must be of a share or of a mean", "both" if mean else "neither")
        measure = self.axis(str(mean)) if of is None else of
        return self._compare(measure, _as_filter(first), _as_filter(second), confidence)

    @abstractmethod
    def _crosstab(
        self, by: Sequence[str], where: Filter | None, method: str, confidence: float, shares: bool, profile: bool
    ) -> Crosstab: ...

    @abstractmethod
    def _total(self, where: Filter | None, confidence: float) -> EstimatedNumber: ...

    @abstractmethod
    def _share(self, of: Filter, where: Filter | None, confidence: float) -> EstimatedNumber: ...

    @abstractmethod
    def _mean_of(
        self, axis: Axis, by: Sequence[str], where: Filter | None, confidence: float, within_bins: bool
    ) -> Callable[[Filter | None], EstimatedNumber]:
        """The mean of an attribute among records with a filter, which speaks of `by` and of `where`."""

    @abstractmethod
    def _quantiles(
        self, axis: Axis, shares: Sequence[float], where: Filter | None, confidence: float
    ) -> list[EstimatedQuantile]: ...

    @abstractmethod
    def _regression(self, axes: Sequence[Axis], where: Filter | None, confidence: float) -> EstimatedRegression:
        """Of the first attribute on the others."""

    @abstractmethod
    def _compare(self, of: Filter | Axis, first: Filter, second: Filter, confidence: float) -> GroupComparison: ...


@dataclass(frozen=True, eq=False)
class Study(Questions):
    """A published table to ask questions of: its axes, its law, and where its columns are read from."""

    axes: Mapping[str, Axis]
    mechanism: Mechanism
    columns: Columns
    records: int
    weights: str | None = None
    pieces: Callable[[list[str]], Iterable[Codes]] | None = None  # for tables larger than memory
    counted: Callable[[list[str]], NDArray[np.int64] | None] | None = None  # another engine's counts, if it can
    parted: Callable[[list[str], PartWork], list[PartCounts] | None] | None = None  # the same, part by part
    repeated: Mapping[str, int] = field(default_factory=dict)  # columns of which so many rows may share a draw
    methods = tuple(METHODS)

    @classmethod
    def of_codes(cls, axes: Sequence[Axis], mechanism: Mechanism, codes: Codes) -> Study:
        records = len(next(iter(codes.values())))
        return cls({a.name: a for a in axes}, mechanism, lambda names: {n: codes[n] for n in names}, records)

    def table(self, names: Sequence[str]) -> PublishedTable:
        """The published counts over these attributes; one that is named again is taken once."""
        wanted = list(dict.fromkeys(names))
        axes = [self.axis(name) for name in wanted]
        check_memory([axis.size for axis in axes])
        counts = None
        if wanted and self.counted is not None and self.weights is None:
            counts = self.counted(wanted)
        if counts is not None:
            table = PublishedTable.of_counts(axes, counts, self.mechanism)
        else:
            table = tabulate_pieces(self._weighted(wanted or [next(iter(self.axes))]), axes, self.mechanism)
        # The sum over n rows that share a draw has at most n times the variance that n rows of their own have.
        most = max((self.repeated.get(name, 1) for name in wanted), default=1)
        return table if most == 1 else replace(table, squares=table.squares * most)

    def codes(self, names: Sequence[str]) -> Iterable[Codes]:
        """The published codes of some columns, in pieces where the table is larger than memory."""
        return [self.columns(list(names))] if self.pieces is None else self.pieces(list(names))

    def _weighted(self, names: list[str]) -> Iterator[tuple[Codes, Array | None]]:
        """The rows in pieces, with their survey weights if they have any."""
        for codes in self.codes(list(dict.fromkeys([*names, self.weights or names[0]]))):
            weights = None if self.weights is None else weights_of(self.axis(self.weights), codes[self.weights])
            yield codes, weights

    def _crosstab(
        self, by: Sequence[str], where: Filter | None, method: str, confidence: float, shares: bool, profile: bool
    ) -> Crosstab:
        if profile and method != "em":
            raise InputError("Profile intervals must be asked of the method em", method)
        table, holds = self._selection(by, where)
        values, low, high = estimate_cells(table, holds, len(by), confidence, shares)
        converged, gap = True, 0.0
        if method != "inverse":
            if method == "em":
                fitted = fit(table)
                gap = fitted.gap
            else:  # what is smoothed is not meant to be the likeliest
                from pramana.recipient.numbers import smooth_fit

                fitted = smooth_fit(table)
            converged = fitted.converged
            chosen = np.asarray((fitted.values * holds).sum(axis=tuple(range(len(by), holds.ndim))))
            most = 1.0 if shares else table.total
            values = chosen / max(float(chosen.sum()), 1e-300) if shares else chosen
            if profile:
                low, high = self._profile_intervals(table, where, shares, confidence)
            low, high = np.clip(low, 0.0, most), np.clip(high, 0.0, most)
        low, high = np.minimum(low, values), np.maximum(high, values)
        axes = table.axes[: len(by)]
        return Crosstab(axes, values, low, high, self.records, method, converged, shares=shares, gap=gap)

    def _profile_intervals(
        self, table: PublishedTable, where: Filter | None, shares: bool, confidence: float
    ) -> tuple[Array, Array]:
        if once := [axis.name for axis in table.axes if axis.name in self.repeated]:
            raise InputError(
                "Profile intervals must be asked of columns that are drawn with every row",
                f"{', '.join(once)}, drawn once for a person",
            )
        if where is not None or shares:
            raise InputError("Profile intervals must be asked of counts without a filter", "a filter or shares")
        cells = table.law.cells
        if cells > MOST_PROFILES:
            raise InputError(f"Profile intervals must be asked of at most {MOST_PROFILES} cells", str(cells))
        ends = [profile_interval(table, cell, confidence) for cell in np.ndindex(table.law.shape)]
        pairs = np.array(ends).reshape((*table.law.shape, 2))
        return pairs[..., 0], pairs[..., 1]

    def _total(self, where: Filter | None, confidence: float) -> EstimatedNumber:
        cell = selected_cells(*self._selection([], where), 0, confidence)
        value = float(cell.values)
        return EstimatedNumber(value, min(float(cell.low), value), max(float(cell.high), value))

    def _share(self, of: Filter, where: Filter | None, confidence: float) -> EstimatedNumber:
        return self._ratios([Ratio(of, where)], confidence).numbers[0]

    def _mean_of(
        self, axis: Axis, by: Sequence[str], where: Filter | None, confidence: float, within_bins: bool
    ) -> Callable[[Filter | None], EstimatedNumber]:
        from pramana.recipient.numbers import mean_within_bins

        table = self.table([*by, *Ratio(axis, where).names])
        if within_bins:
            return lambda among: mean_within_bins(table, axis, among, confidence)
        return lambda among: estimate_ratios(table, [Ratio(axis, among)], confidence).numbers[0]

    def _quantiles(
        self, axis: Axis, shares: Sequence[float], where: Filter | None, confidence: float
    ) -> list[EstimatedQuantile]:
        from pramana.recipient.numbers import estimate_quantiles

        return estimate_quantiles(self.table(Ratio(axis, where).names), axis, where, shares, confidence)

    def _regression(self, axes: Sequence[Axis], where: Filter | None, confidence: float) -> EstimatedRegression:
        from pramana.recipient.numbers import estimate_regression

        table = self.table([*(axis.name for axis in axes), *([] if where is None else where.names)])
        return estimate_regression(table, axes[0], axes[1:], where, confidence)

    def _compare(self, of: Filter | Axis, first: Filter, second: Filter, confidence: float) -> GroupComparison:
        ratios = [Ratio(of, where) for where in (first, second)]
        estimated = self._ratios(ratios, confidence)
        difference = float(estimated.plain[0][0] - estimated.plain[1][0])
        covariance = estimated.covariance
        error = float(np.sqrt(max(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1], 0.0)))
        least, most = ratios[0].range
        p_value = normal_p_value(difference, error)
        one, other = estimated.numbers
        return GroupComparison(one, other, estimated.difference(most - least), p_value)

    def _selection(self, by: Sequence[str], where: Filter | None) -> tuple[PublishedTable, Array]:
        """The table over `by` and what the filter names besides, and 1 in its cells where the filter holds."""
        table = self.table([*by, *(() if where is None else where.names)])
        return table, np.ones(table.law.shape) if where is None else where.select(table.axes)

    def _ratios(self, ratios: Sequence[Ratio], confidence: float) -> EstimatedRatios:
        return estimate_ratios(self.table([n for ratio in ratios for n in ratio.names]), ratios, confidence)


def weights_of(axis: Axis, codes: NDArray[np.unsignedinteger]) -> Array:
    """The survey weights that codes stand for."""
    numbers: Array = axis.middles[codes]
    if wrong := int((~(numbers >= 0)).sum()):
        raise InputError(f"The weights {axis.name} must be numbers of at least 0", f"{wrong:,} that are not")
    return numbers
