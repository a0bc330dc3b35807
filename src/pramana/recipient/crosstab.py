"""A cross-tabulation as it is answered: estimates, intervals, and the whole numbers in which it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from pramana.pages.content import Bar, Bars, Block
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.results import TabularResult
from pramana.recipient.inversion import DEFAULT_CONFIDENCE
from pramana.recipient.law import Array
from pramana.schema.axis import MISSING, Axis

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
        return [{**cell, **{k: _plain(cell[k]) for k in ("estimate", "low", "high")}} for cell in self.shown()]

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
        labels = [cell[axis.name] for axis in self.axes]
        return [MISSING if label is None else str(label) for label in labels] or ["all records"]

    def _rows(self, estimate: Array, low: Array, high: Array) -> list[dict[str, Any]]:
        labels = [[axis.label(code) for code in range(axis.size)] for axis in self.axes]
        names = [axis.name for axis in self.axes]
        numbers = zip(estimate.ravel().tolist(), low.ravel().tolist(), high.ravel().tolist(), strict=True)
        return [
            {**dict(zip(names, values, strict=True)), "estimate": e, "low": a, "high": b}
            for values, (e, a, b) in zip(product(*labels), numbers, strict=True)
        ]


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
