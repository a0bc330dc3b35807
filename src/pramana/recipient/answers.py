"""What questions are answered with: estimates, intervals, and the whole numbers in which they are shown."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pramana.errors import InputError
from pramana.pages.content import Bar, Bars, Block
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.results import TabularResult
from pramana.recipient.inversion import DEFAULT_CONFIDENCE
from pramana.recipient.law import Array
from pramana.schema.domain import MISSING, Axis
from pramana.schema.kind import Kind

NUMBERS = ("estimate", "low", "high")
_SHOWN_GAP = 1e-3  # of the log-likelihood: less is not worth a word
_TINY = 1e-6  # a whole number that was computed may miss itself by so much


METHODS = {"em": "maximum likelihood", "inverse": "unbiased estimates", "smooth": "smoothed likelihood"}


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(TabularResult):
    """Estimates over the joint values of `axes`; counts, or shares of the selected records."""

    axes: tuple[Axis, ...]
    estimate: Array
    low: Array
    high: Array
    records: int
    method: str
    converged: bool = True
    confidence: float = DEFAULT_CONFIDENCE
    shares: bool = False
    simultaneous: bool = False  # all intervals hold together, not each by itself
    gap: float = 0.0  # by how much at most the log-likelihood could be higher

    def cells(self) -> list[dict[str, Any]]:
        """One dictionary per cell: the attributes, estimate, low and high."""
        return self._rows(self.estimate, self.low, self.high)

    def shown(self) -> list[dict[str, Any]]:
        """The cells as people read them: counts in whole numbers that add up as the estimates do, ends outward.

        Reports, the command line and notebooks all show these.
        """
        if self.shares:
            return self.cells()
        return self._rows(in_whole_numbers(self.estimate), np.floor(self.low + _TINY), np.ceil(self.high - _TINY))

    def to_rows(self) -> list[dict[str, Any]]:
        return self.cells()

    def shown_rows(self) -> list[dict[str, Any]]:
        return [{**cell, **{k: _plain(cell[k]) for k in NUMBERS}} for cell in self.shown()]

    def blocks(self) -> list[Block]:
        names = [axis.name for axis in self.axes] or ["all records"]
        return [Bars([interval_bar(self._labels(cell), cell) for cell in self.shown()], names)]

    def remarks(self) -> list[str]:
        what = "shares of the selected records" if self.shares else "counts"
        sure = f"{self.confidence:.4g} intervals" + (", which hold all together" if self.simultaneous else "")
        how = METHODS.get(self.method, self.method)
        return [f"Estimated {what} of {self.records:,} records by {how}, with {sure}.", *self.stopped()]

    def stopped(self) -> list[str]:
        """What to say where the likelihood was not run to its maximum."""
        if self.converged and self.gap <= _SHOWN_GAP * max(1.0, self.records / 1e6):
            return []
        late = "" if self.converged else "The likelihood was still rising when the iteration was stopped. "
        return [f"{late}The log-likelihood is within {self.gap:,.3g} of its maximum."]

    def picture(self) -> Picture:
        cells = self.shown()
        labels = [", ".join(self._labels(cell)) for cell in cells]
        return interval_picture(labels, cells, "share" if self.shares else "records")

    def _labels(self, cell: Mapping[str, Any]) -> list[str]:
        return labels_of(cell, [axis.name for axis in self.axes]) or ["all records"]

    def _rows(self, estimate: Array, low: Array, high: Array) -> list[dict[str, Any]]:
        labels = [[axis.label(code) for code in range(axis.size)] for axis in self.axes]
        names = [axis.name for axis in self.axes]
        numbers = zip(estimate.ravel().tolist(), low.ravel().tolist(), high.ravel().tolist(), strict=True)
        return [
            {**dict(zip(names, values, strict=True)), "estimate": e, "low": a, "high": b}
            for values, (e, a, b) in zip(product(*labels), numbers, strict=True)
        ]


class UnseenGroupError(InputError):
    """A group whose size is estimated as nothing: no share or mean can be taken in it."""


def unseen_group(question: str, noisy: bool) -> UnseenGroupError:
    """The refusal of a question about a group of which the cells, or what noise leaves of them, show nobody."""
    must = f"{question} must be asked of a group that the release can see"
    if noisy:
        hint = "The group is too small for this release's noise."
        return UnseenGroupError(must, "an estimated size that is not positive", hint)
    return UnseenGroupError(must, "an expected size of 0")


def without_end(question: str, name: str) -> InputError:
    """The refusal of a question about numbers that stand in a bin without an end."""
    must = f"{question} {name} must be asked of records whose bins have an end"
    return InputError(must, "a bin without one", f"Leave it out with a filter on {name}.")


@dataclass(frozen=True, repr=False)
class EstimatedNumber(TabularResult):
    """One number with its interval."""

    estimate: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """An end that nothing bounds is null."""
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return {name: end if math.isfinite(end) else None for name, end in ends.items()}

    def to_rows(self) -> list[dict[str, Any]]:
        return [self.to_json()]

    def blocks(self) -> list[Block]:
        return [Bars([interval_bar([""], self.to_json())], [""])]

    def picture(self) -> Picture:
        return interval_picture([""], [self.to_json()], "estimate")

    def __repr__(self) -> str:
        return f"{self.estimate:,.6g} ({self.low:,.6g} to {self.high:,.6g})"


@dataclass(frozen=True, repr=False)
class GroupComparison(TabularResult):
    """The same measure in two groups, and its difference (first minus second)."""

    first: EstimatedNumber
    second: EstimatedNumber
    difference: EstimatedNumber
    p_value: float | None = None  # of no difference, by the normal approximation; none where there is no law

    def to_json(self) -> dict[str, Any]:
        numbers = {"first": self.first, "second": self.second, "difference": self.difference}
        chance = {} if self.p_value is None else {"p_value": self.p_value}
        return {name: number.to_json() for name, number in numbers.items()} | chance

    def to_rows(self) -> list[dict[str, Any]]:
        return [{"what": name, **number} for name, number in self.to_json().items() if isinstance(number, dict)]

    def blocks(self) -> list[Block]:
        return [Bars([interval_bar([row["what"]], row) for row in self.to_rows()], ["what"])]

    def remarks(self) -> list[str]:
        return [] if self.p_value is None else [f"p-value {self.p_value:.3g} of no difference"]

    def picture(self) -> Picture:
        rows = self.to_rows()
        return interval_picture([row["what"] for row in rows], rows, "estimate")


class MeanTable(list[dict[str, Any]], TabularResult):
    """The mean of an attribute in each cell of others: the cells, as a list that can also show itself."""

    __hash__ = None  # type: ignore[assignment] # as of every list
    __repr__ = TabularResult.__repr__

    @property
    def names(self) -> list[str]:
        """The attributes whose cells these are."""
        return [name for name in (self[0] if self else {}) if name not in NUMBERS]

    def to_rows(self) -> list[dict[str, Any]]:
        return list(self)

    def blocks(self) -> list[Block]:
        return [Bars([interval_bar(labels_of(cell, self.names), cell) for cell in self], self.names)]

    def picture(self) -> Picture:
        return interval_picture([", ".join(labels_of(cell, self.names)) for cell in self], self, "mean")


@dataclass(frozen=True)
class EstimatedQuantile:
    """The value below which a share of the records lies. Ends are infinite where the outermost bin has none.

    `estimate` takes the values of a bin as spread evenly; the interval does not. Dates are days, as Python counts
    them, in the fields, and written as dates in JSON.
    """

    share: float
    estimate: float
    low: float
    high: float
    kind: Kind = Kind.NUMBER

    def to_json(self) -> dict[str, Any]:
        ends = {"estimate": self.estimate, "low": self.low, "high": self.high}
        return {"share": self.share, **{name: self._written(end) for name, end in ends.items()}}

    def _written(self, value: float) -> float | str | None:
        if not math.isfinite(value):
            return None
        return value if self.kind is Kind.NUMBER else datetime.date.fromordinal(int(value)).isoformat()


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its standard error and interval over the coins.

    `within`: how far it can move, at most, as the values of the regressed attribute move within their bins.
    """

    name: str
    estimate: float
    error: float
    low: float
    high: float
    p_value: float  # of no effect, by the normal approximation
    within: float

    def to_json(self) -> dict[str, Any]:
        return {**vars(self)}


@dataclass(frozen=True)
class EstimatedRegression:
    """What least squares would give on the private table, with each bin at its middle."""

    attribute: str
    records: float  # estimated, of those with all values
    coefficients: tuple[Coefficient, ...]

    def coefficient(self, name: str) -> Coefficient:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise InputError(
            "A coefficient must be one of the regression's",
            repr(name),
            f"It has {', '.join(c.name for c in self.coefficients)}.",
        )

    def to_json(self) -> dict[str, Any]:
        coefficients = [coefficient.to_json() for coefficient in self.coefficients]
        return {"attribute": self.attribute, "records": self.records, "coefficients": coefficients}


def normal_p_value(difference: float, error: float) -> float:
    """The chance of so large a difference where there is none, by the normal approximation."""
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else float(difference == 0)


def labels_of(cell: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [MISSING if cell[name] is None else str(cell[name]) for name in names]


def in_whole_numbers(values: Array) -> Array:
    """Each rounded down or up so that the sum is that of the values, rounded: the largest remainders go up."""
    down = np.floor(values + _TINY)
    up = round(float(values.sum() - down.sum()))
    order = np.argsort(-(values - down).ravel(), kind="stable")
    whole = down.ravel().copy()
    whole[order[: max(up, 0)]] += 1
    return np.asarray(whole.reshape(values.shape))


def _plain(number: float) -> float:
    """A whole number as one, which is then written with all its digits."""
    return int(number) if number == int(number) else number


def interval_bar(labels: Sequence[str], number: Mapping[str, Any]) -> Bar:
    """A line of a table of intervals; what lies below zero is told and not drawn."""
    drawn = number["low"] is not None and number["low"] >= 0
    return Bar(labels, estimate=number["estimate"], low=number["low"], high=number["high"], drawn=drawn)


def interval_picture(labels: Sequence[str], numbers: Sequence[Mapping[str, Any]], what: str) -> Picture:
    """Points with their intervals, one above each label; what could not be estimated is left out."""
    known = [(label, n) for label, n in zip(labels, numbers, strict=True) if n["estimate"] is not None]
    columns = [[n[key] for _, n in known] for key in ("estimate", "low", "high")]
    points = Series("estimate", [label for label, _ in known], columns[0], columns[1], columns[2], kind="bars")
    return Picture([Panel([points], y_label=what)], columns=1, height=3.4)
