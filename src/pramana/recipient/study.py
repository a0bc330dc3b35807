"""Questions put to a published table: cross-tabulations, totals, shares, means and comparisons, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.mechanisms.table import Mechanism
from pramana.pages.content import Bars, Block
from pramana.pages.figures import Picture
from pramana.pages.results import TabularResult
from pramana.recipient.crosstab import METHODS, Crosstab, interval_bar, interval_picture
from pramana.recipient.filters import Filter, as_filter
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, simultaneous_confidence
from pramana.recipient.law import Array, PublishedTable, check_memory, tabulate_pieces
from pramana.recipient.likelihood import Fit, fit, profile_interval
from pramana.recipient.ratios import (
    EstimatedNumber,
    EstimatedRatios,
    Ratio,
    UnseenGroupError,
    estimate_cells,
    estimate_ratios,
    selected_cells,
)
from pramana.schema.axis import MISSING, Axis
from pramana.schema.typed import near

if TYPE_CHECKING:
    from pramana.recipient.quantiles import EstimatedQuantile
    from pramana.recipient.regression import EstimatedRegression


Codes = Mapping[str, NDArray[np.unsignedinteger]]
Columns = Callable[[list[str]], Codes]
PartCounts = list[NDArray[np.int64]]
PartWork = Callable[[Iterable[Codes]], PartCounts]  # on the pieces of a part
MOST_PROFILES = 200


@dataclass(frozen=True, repr=False)
class GroupComparison(TabularResult):
    """The same measure in two groups, and its difference (first minus second)."""

    first: EstimatedNumber
    second: EstimatedNumber
    difference: EstimatedNumber
    p_value: float  # of no difference, by the normal approximation

    def to_json(self) -> dict[str, Any]:
        numbers = {"first": self.first, "second": self.second, "difference": self.difference}
        return {**{name: number.to_json() for name, number in numbers.items()}, "p_value": self.p_value}

    def to_rows(self) -> list[dict[str, Any]]:
        return [{"what": name, **number} for name, number in self.to_json().items() if isinstance(number, dict)]

    def blocks(self) -> list[Block]:
        return [Bars([interval_bar([row["what"]], row) for row in self.to_rows()], ["what"])]

    def remarks(self) -> list[str]:
        return [f"p-value {self.p_value:.3g} of no difference"]

    def picture(self) -> Picture:
        rows = self.to_rows()
        return interval_picture([row["what"] for row in rows], rows, "estimate")


class MeanTable(list[dict[str, Any]], TabularResult):
    """The mean of an attribute in each cell of others: the cells, as a list that can also show itself."""

    __hash__ = None  # type: ignore[assignment] # as of every list
    __repr__ = TabularResult.__repr__

    def to_rows(self) -> list[dict[str, Any]]:
        return list(self)

    def blocks(self) -> list[Block]:
        names = [name for name in (self[0] if self else {}) if name not in ("estimate", "low", "high")]
        return [Bars([interval_bar(_labels_of(cell, names), cell) for cell in self], names)]

    def picture(self) -> Picture:
        names = [name for name in (self[0] if self else {}) if name not in ("estimate", "low", "high")]
        return interval_picture([", ".join(_labels_of(cell, names)) for cell in self], self, "mean")


def _labels_of(cell: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [MISSING if cell[name] is None else str(cell[name]) for name in names]


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
    parted: Callable[[list[str], PartWork], list[PartCounts] | None] | None = None  # the same, part by part
    repeated: Mapping[str, int] = field(default_factory=dict)  # columns of which so many rows may share a draw

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
                return self._clustered(PublishedTable.of_counts(axes, counts, self.mechanism))
        return self._clustered(tabulate_pieces(self._weighted(wanted), axes, self.mechanism))

    def _clustered(self, table: PublishedTable) -> PublishedTable:
        """The table with variances for rows that share draws.

        The sum over n rows that share one has at most n times the variance that n rows of their own would have.
        """
        most = max((self.repeated.get(axis.name, 1) for axis in table.axes), default=1)
        return table if most == 1 else replace(table, squares=table.squares * most)

    def _weighted(self, names: list[str]) -> Iterator[tuple[Codes, Array | None]]:
        """The rows in pieces, with their survey weights if they have any."""
        read = [*dict.fromkeys([*names, self.weights or names[0]])]
        for codes in [self.columns(read)] if self.pieces is None else self.pieces(read):
            weights = None if self.weights is None else _weights_of(self.axis(self.weights), codes[self.weights])
            yield codes, weights

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
        "smooth" (likelihood less a penalty on jumps, as strong as the counts ask for). `shares` divides by the
        selected records; `profile` gives likelihood intervals, for small tables. `simultaneous` intervals hold all
        together, so that the largest cells may be picked from them afterwards.
        """
        if method not in METHODS:
            raise InputError(f"The method must be one of {', '.join(METHODS)}", repr(method))
        if profile and method != "em":
            raise InputError("Profile intervals must be asked of the method em", method)
        condition = as_filter(where)
        table, holds = self._selection(by, condition)
        cells = math.prod(holds.shape[: len(by)])
        each = simultaneous_confidence(confidence, cells) if simultaneous else confidence
        values, low, high = estimate_cells(table, holds, len(by), each, shares)
        converged, gap = True, 0.0
        if method != "inverse":
            fitted = fit(table) if method == "em" else _smoothed(table)
            converged = fitted.converged
            gap = fitted.gap if method == "em" else 0.0  # what is smoothed is not meant to be the likeliest
            chosen = np.asarray((fitted.values * holds).sum(axis=tuple(range(len(by), holds.ndim))))
            most = 1.0 if shares else table.total
            values = chosen / max(float(chosen.sum()), 1e-300) if shares else chosen
            if profile and any(axis.name in self.repeated for axis in table.axes):
                raise InputError(
                    "Profile intervals must be asked of columns that are drawn with every row",
                    "a column that is drawn once for a person",
                )
            if profile:
                low, high = _profile_intervals(table, condition, shares, each)
            low, high = np.clip(low, 0.0, most), np.clip(high, 0.0, most)
        low, high = np.minimum(low, values), np.maximum(high, values)
        axes = table.axes[: len(by)]
        return Crosstab(
            axes, values, low, high, self.records, method, converged, confidence, shares, simultaneous, gap
        )

    def total(
        self, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """How many records (or how much weight) of the private table fulfil `where`; unbiased."""
        table, holds = self._selection([], as_filter(where))
        cell = selected_cells(table, holds, 0, confidence)
        value = float(cell.values)
        return EstimatedNumber(value, min(float(cell.low), value), max(float(cell.high), value))

    def share(
        self, of: str | Filter, where: str | Filter | None = None, *, confidence: float = DEFAULT_CONFIDENCE
    ) -> EstimatedNumber:
        """The share of records with `of` among those with `where`."""
        return self._ratios([Ratio.of_share(of, where)], confidence).numbers[0]

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
        from pramana.recipient.quantiles import mean_of_middles, mean_within_bins

        axis, among = self.axis(attribute), as_filter(where)
        table = self.table(list(dict.fromkeys(Ratio(axis, among).names)))
        return (mean_within_bins if within_bins else mean_of_middles)(table, axis, among, confidence)

    def quantiles(
        self,
        attribute: str,
        shares: Sequence[float] = (0.25, 0.5, 0.75),
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> list[EstimatedQuantile]:
        """The values below which these shares of the records with `where` lie; the intervals hold whole bins."""
        from pramana.recipient.quantiles import estimate_quantiles

        axis, among = self.axis(attribute), as_filter(where)
        table = self.table(list(dict.fromkeys(Ratio(axis, among).names)))
        return estimate_quantiles(table, axis, among, shares, confidence)

    def regression(
        self,
        attribute: str,
        on: Sequence[str],
        where: str | Filter | None = None,
        *,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> EstimatedRegression:
        """Least squares of a numeric attribute on others, corrected for the release's law."""
        from pramana.recipient.regression import estimate_regression

        axes, among = [self.axis(name) for name in (attribute, *on)], as_filter(where)
        table = self.table(list(dict.fromkeys([*(a.name for a in axes), *([] if among is None else among.names)])))
        return estimate_regression(table, axes[0], axes[1:], among, confidence)

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
        from pramana.recipient.quantiles import mean_of_middles, mean_within_bins

        estimate = mean_within_bins if within_bins else mean_of_middles
        axes = [self.axis(name) for name in by]
        among, of = as_filter(where), self.axis(attribute)
        table = self.table(list(dict.fromkeys([*by, *Ratio(of, among).names])))
        cells = MeanTable()
        for codes in product(*(range(axis.size) for axis in axes)):
            cell = {axis.name: axis.label(code) for axis, code in zip(axes, codes, strict=True)}
            terms = [Filter.missing(n) if v is None else Filter.compare(n, "=", v) for n, v in cell.items()]
            if among is not None:
                terms.append(among)
            try:
                number = estimate(table, of, reduce(and_, terms) if terms else None, confidence).to_json()
            except UnseenGroupError:
                number = {"estimate": None, "low": None, "high": None}
            cells.append({**cell, **number})
        return cells

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
        of = as_filter(share)
        if (of is None) == (mean is None):
            raise InputError("A comparison must be of a share or of a mean", "both" if mean else "neither")
        ratios = [Ratio(self.axis(str(mean)) if of is None else of, as_filter(where)) for where in (first, second)]
        estimated = self._ratios(ratios, confidence)
        difference = float(estimated.plain[0][0] - estimated.plain[1][0])
        covariance = estimated.covariance
        error = float(np.sqrt(max(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1], 0.0)))
        p_value = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else float(difference == 0)
        least, most = ratios[0].range
        one, other = estimated.numbers
        return GroupComparison(one, other, estimated.difference(most - least), p_value)

    def _selection(self, by: Sequence[str], where: Filter | None) -> tuple[PublishedTable, Array]:
        """The table over `by` and what the filter names besides, and 1 in its cells where the filter holds."""
        extra = [] if where is None else [name for name in where.names if name not in by]
        table = self.table([*by, *extra])
        return table, np.ones(table.law.shape) if where is None else where.select(table.axes)

    def _ratios(self, ratios: Sequence[Ratio], confidence: float) -> EstimatedRatios:
        names = list(dict.fromkeys(name for ratio in ratios for name in ratio.names))
        return estimate_ratios(self.table(names), ratios, confidence)


def _smoothed(table: PublishedTable) -> Fit:
    from pramana.recipient.quantiles import smooth_fit

    return smooth_fit(table)


def _profile_intervals(
    table: PublishedTable, where: Filter | None, shares: bool, confidence: float
) -> tuple[Array, Array]:
    if where is not None or shares:
        raise InputError("Profile intervals must be asked of counts without a filter", "a filter or shares")
    if table.law.cells > MOST_PROFILES:
        raise InputError(f"Profile intervals must be asked of at most {MOST_PROFILES} cells", str(table.law.cells))
    ends = [profile_interval(table, cell, confidence) for cell in np.ndindex(table.law.shape)]
    pairs = np.array(ends).reshape((*table.law.shape, 2))
    return pairs[..., 0], pairs[..., 1]


def _weights_of(axis: Axis, codes: NDArray[np.unsignedinteger]) -> Array:
    numbers: Array = axis.middles[codes]
    if np.isnan(numbers).any() or (numbers < 0).any():
        raise InputError(f"The weights {axis.name} must be numbers of at least 0", "others")
    return numbers
