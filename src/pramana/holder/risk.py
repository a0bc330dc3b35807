"""The risk that a table runs as it stands: how few people share what an intruder may know of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Ladder, Layout, grouped
from pramana.counting.value_counts import Risks
from pramana.errors import InputError
from pramana.holder.values import ColumnValues
from pramana.randomness.samplers import Codes
from pramana.theory import disclosure

# Minimal sample uniques, and how many records each combination of columns puts at risk.
#
# Combinations are counted once; a subset of columns is then counted over them. A record is unique on a subset
# exactly where its combination is the only one with these values and occurs once.


Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
_WORK = 120_000_000  # combinations times subsets that are looked at: about a second
_TABLE = 1 << 18  # cells that are counted in a plain table, which a cache holds
_DEARER = 6  # what it costs to look one up elsewhere


@dataclass(frozen=True, eq=False)
class Grouped:
    """The combinations that occur: a code for each column, and how many records have them."""

    codes: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    counts: Counts
    of_row: NDArray[np.uint32]  # the combination of every row

    @classmethod
    def of(cls, columns: Sequence[Codes], sizes: Sequence[int]) -> Grouped:
        layout = Layout(tuple(Ladder(str(a), (np.arange(size),)) for a, size in enumerate(sizes)))
        classes, index = grouped(layout, columns)
        codes = tuple(classes.codes(a) for a in range(len(sizes)))
        return cls(codes, tuple(sizes), classes.sizes.astype(np.int64), index)

    def __len__(self) -> int:
        return len(self.counts)

    def cells(self, columns: Sequence[int]) -> int:
        return math.prod(self.sizes[c] for c in columns)

    def totals(self, columns: Sequence[int]) -> tuple[Floats, NDArray[np.int64]]:
        """How many records each cell of the table of some columns has, and for each combination its cell."""
        if self.cells(columns) > _TABLE:
            layout = Layout(tuple(Ladder(str(c), (np.arange(self.sizes[c]),)) for c in columns))
            codes = [self.codes[c].astype(np.uint32) for c in columns]
            classes, index = grouped(layout, codes, self.counts.astype(np.uint32))
            return classes.sizes.astype(np.float64), index.astype(np.int64)
        cell = self.codes[columns[0]]
        for c in columns[1:]:
            cell = cell * self.sizes[c] + self.codes[c]
        totals = np.bincount(cell, weights=self.counts, minlength=self.cells(columns))
        return totals.astype(np.float64), cell


@dataclass(frozen=True)
class SubsetRisk:
    """A set of columns: how many records are alone on it, and how many share it with fewer than k - 1 others."""

    columns: tuple[int, ...]
    uniques: int
    below_k: int


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """By combination that occurs once: its scores; by subset of columns: what it tells."""

    subsets: tuple[SubsetRisk, ...]
    largest: int
    minimal: tuple[int, ...]  # how many minimal sample uniques of 1, 2, ... columns
    scores: Floats
    dis_scores: Floats
    dis: float
    contributions: tuple[float, ...]  # the share of all scores that goes through each column


def largest_subset(table: Grouped) -> int:
    """The most columns of a subset that can be looked at within the bound on work."""
    columns, work = len(table.codes), 0
    for size in range(1, columns + 1):
        for subset in combinations(range(columns), size):
            work += len(table) * (1 if table.cells(subset) <= _TABLE else _DEARER)
            if work > _WORK:
                return max(size - 1, 1)
    return columns


def special_uniques(table: Grouped, k: int, fraction: float, largest: int | None = None) -> SpecialUniques:
    """Look at every subset of up to `largest` columns, small ones first."""
    columns = len(table.codes)
    most = largest_subset(table) if largest is None else min(largest, columns)
    once = np.flatnonzero(table.counts == 1)
    unique_on: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    elliot, ihsn = disclosure.elliot_weights(columns, most), disclosure.ihsn_weights(columns, most)
    scores, other = np.zeros(len(once)), np.zeros(len(once))
    minimal, through, subsets = [0] * most, [0.0] * columns, []
    for size in range(1, most + 1):
        for subset in combinations(range(columns), size):
            risk, alone = _count(table, subset, once, k)
            subsets.append(risk)
            if not risk.uniques:
                continue
            msu = alone.copy()
            for left_out in range(size if size > 1 else 0):
                below = unique_on.get(subset[:left_out] + subset[left_out + 1 :])
                if below is not None:
                    msu &= ~below
            unique_on[subset] = alone
            number = int(msu.sum())
            minimal[size - 1] += number
            scores += elliot[size - 1] * msu
            other += ihsn[size - 1] * msu
            for c in subset:
                through[c] += elliot[size - 1] * number
    dis = disclosure.intrusion_simulation(len(once), 2 * int((table.counts == 2).sum()), fraction)
    total = float(scores.sum())
    contributions = tuple(part / total if total else 0.0 for part in through)
    return SpecialUniques(
        tuple(subsets),
        most,
        tuple(minimal),
        scores,
        disclosure.dis_scores(other, columns, len(once), dis),
        dis,
        contributions,
    )


def _count(
    table: Grouped, subset: tuple[int, ...], once: NDArray[np.int64], k: int
) -> tuple[SubsetRisk, NDArray[np.bool_]]:
    records, cell = table.totals(subset)
    small = records[records < k]
    alone = np.asarray(records[cell[once]] == 1.0)
    return SubsetRisk(subset, int(alone.sum()), int(small.sum())), alone


USUAL_FRACTION = 0.01  # what sdcMicro takes where nobody states the share of the population


@dataclass(frozen=True)
class IndividualRisk:
    """Benedetti and Franconi: the mean of 1/F by record, and how many records one must expect to be unique."""

    largest: float
    mean: float
    expected: float  # re-identifications
    above: int  # records with a risk above 1/k


@dataclass(frozen=True)
class SpecialRisk:
    """What the search for minimal sample uniques unique."""

    largest_subset: int
    minimal: tuple[int, ...]
    special: int  # records with a score
    largest_score: float
    mean_score: float  # of records with one
    dis: float
    fraction: float
    fraction_assumed: bool
    largest_dis_score: float
    dis_above: int  # records with a DIS-SUDA score above one tenth
    contributions: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TableRisk:
    """Everything said of the risk on one set of columns."""

    columns: tuple[str, ...]
    records: int
    k: int
    classes: int
    smallest: int
    uniques: int
    below_k: int
    sizes: tuple[tuple[str, int], ...]  # how many records are in classes of 1, 2, ... records
    prosecutor: float
    mean: float  # of 1/f over records: re-identifications to expect if all are tried, as a share
    journalist: float | None
    marketer: float
    subsets: tuple[tuple[tuple[str, ...], int, int], ...]  # columns, uniques, below k
    special: SpecialRisk
    individual: IndividualRisk | None
    population: disclosure.PopulationUniques | None

    @property
    def expected(self) -> float:
        """How many records someone finds who knows that everyone is in the table and tries each of them."""
        return float(self.classes)

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "k": self.k,
            "uniques": self.uniques,
            "below_k": self.below_k,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "class_sizes": [{"size": size, "records": records} for size, records in self.sizes],
            "prosecutor": {"largest": self.prosecutor, "mean": self.mean, "expected": self.expected},
            "journalist": self.journalist,
            "marketer": self.marketer,
            "subsets": [
                {"columns": list(columns), "uniques": uniques, "below_k": below}
                for columns, uniques, below in self.subsets
            ],
            "special_uniques": asdict(self.special) | {"contributions": dict(self.special.contributions)},
            "individual": None if self.individual is None else asdict(self.individual),
            "population": None
            if self.population is None
            else asdict(self.population) | {"share": self.population.share},
        }


def risk_of(
    columns: Sequence[ColumnValues], k: int, weights: Floats | None = None, population: int | None = None
) -> TableRisk:
    """The risk on some columns. Missing values count as one more value.

    `weights` of the records, or the size of the `population`, tell how many people stand behind each class.
    """
    table = Grouped.of([column.codes for column in columns], [column.size for column in columns])
    records = columns[0].records
    behind = _behind(table, records, weights, population)
    size = None if behind is None else max(round(float(behind.sum())), records)
    fraction = USUAL_FRACTION if size is None else records / size
    unique = special_uniques(table, k, fraction)
    names = [column.name for column in columns]
    risks = Risks.of(table.counts, None if behind is None else np.maximum(behind, table.counts))
    return TableRisk(
        columns=tuple(names),
        records=records,
        k=k,
        classes=len(table),
        smallest=int(table.counts.min()),
        uniques=int((table.counts == 1).sum()),
        below_k=int(table.counts[table.counts < k].sum()),
        sizes=_sizes(table.counts),
        prosecutor=risks.prosecutor,
        mean=len(table) / records,
        journalist=risks.journalist,
        marketer=risks.marketer,
        subsets=tuple((tuple(names[c] for c in s.columns), s.uniques, s.below_k) for s in unique.subsets),
        special=SpecialRisk(
            largest_subset=unique.largest,
            minimal=unique.minimal,
            special=int((unique.scores > 0).sum()),
            largest_score=float(unique.scores.max(initial=0.0)),
            mean_score=float(unique.scores[unique.scores > 0].mean()) if (unique.scores > 0).any() else 0.0,
            dis=unique.dis,
            fraction=fraction,
            fraction_assumed=size is None,
            largest_dis_score=float(unique.dis_scores.max(initial=0.0)),
            dis_above=int((unique.dis_scores > 0.1).sum()),
            contributions=tuple(zip(names, unique.contributions, strict=True)),
        ),
        individual=None if behind is None else _individual(table.counts, behind, k),
        population=None
        if size is None
        else disclosure.population_uniques(disclosure.SizeCounts.of(table.counts), size),
    )


def _behind(table: Grouped, records: int, weights: Floats | None, population: int | None) -> Floats | None:
    """How many people of the population each class is estimated to stand for."""
    if weights is not None:
        if wrong := int((~np.isfinite(weights) | (weights < 0)).sum()):
            raise InputError("Sampling weights must be numbers of at least 0", f"{wrong} that are not")
        return np.bincount(table.of_row, weights=weights, minlength=len(table)).astype(np.float64)
    if population is None:
        return None
    if population < records:
        raise InputError(f"The population must be at least the {records} records", str(population))
    return np.asarray(table.counts * (population / records), np.float64)


def _individual(counts: NDArray[np.int64], behind: Floats, k: int) -> IndividualRisk:
    risks, records = disclosure.individual_risks(counts, behind), int(counts.sum())
    expected = float((risks * counts).sum())
    return IndividualRisk(float(risks.max()), expected / records, expected, int(counts[risks > 1.0 / k].sum()))


def _sizes(counts: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    bounds = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 99), (100, None))
    parts = []
    for low, high in bounds:
        here = (counts >= low) & (counts <= high) if high is not None else counts >= low
        label = f"{low} or more" if high is None else str(low) if low == high else f"{low} to {high}"
        parts.append((label, int(counts[here].sum())))
    return tuple(parts)
