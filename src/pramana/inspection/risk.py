"""The risk that a table runs as it stands: how few people share what an intruder may know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.generalize import Risks
from pramana.inspection.special import Grouped, SubsetRisk, special_uniques
from pramana.inspection.values import ColumnValues
from pramana.theory import disclosure

USUAL_FRACTION = 0.01  # what sdcMicro takes where nobody states the share of the population
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class IndividualRisk:
    """Benedetti and Franconi: the mean of 1/F by record, and how many records one must expect to be found."""

    largest: float
    mean: float
    expected: float  # re-identifications
    above: int  # records with a risk above 1/k


@dataclass(frozen=True)
class SpecialRisk:
    """What the search for minimal sample uniques found."""

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
    found = special_uniques(table, k, fraction)
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
        subsets=tuple(_named(subset, names) for subset in found.subsets),
        special=SpecialRisk(
            largest_subset=found.largest,
            minimal=found.minimal,
            special=int((found.scores > 0).sum()),
            largest_score=float(found.scores.max(initial=0.0)),
            mean_score=float(found.scores[found.scores > 0].mean()) if (found.scores > 0).any() else 0.0,
            dis=found.dis,
            fraction=fraction,
            fraction_assumed=size is None,
            largest_dis_score=float(found.dis_scores.max(initial=0.0)),
            dis_above=int((found.dis_scores > 0.1).sum()),
            contributions=tuple(zip(names, found.contributions, strict=True)),
        ),
        individual=None if behind is None else _individual(table.counts, behind, k),
        population=None
        if size is None
        else disclosure.population_uniques(disclosure.SizeCounts.of(table.counts), size),
    )


def _behind(table: Grouped, records: int, weights: Floats | None, population: int | None) -> Floats | None:
    """How many people of the population each class is estimated to stand for."""
    if weights is not None:
        if not np.isfinite(weights).all() or bool((weights < 0).any()):
            raise InputError("Sampling weights must be numbers of at least 0", "others")
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


def _named(subset: SubsetRisk, names: Sequence[str]) -> tuple[tuple[str, ...], int, int]:
    return tuple(names[c] for c in subset.columns), subset.uniques, subset.below_k
