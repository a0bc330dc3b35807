"""What a generalised table came to: counted from what is published, at the release and again by `verify`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.generalize import (
    Counts,
    Generalised,
    Risks,
    SensitiveCounts,
    cell_codes,
    kl_cost,
)
from pramana.randomness import Codes
from pramana.release.generalized_columns import Sensitive
from pramana.release.generalized_setting import Setting
from pramana.sources import numbers
from pramana.theory import THIS_TABLE, Guarantee, KAnonymity, LDiversity, TCloseness

_DIGITS = 1e9  # l is rounded down and t up at the ninth place


@dataclass(frozen=True)
class Measured:
    """Numbers of this table. `l` and `t` are by sensitive column."""

    records: int
    classes: int
    k: int
    l: Mapping[str, Mapping[str, Any]]  # noqa: E741 - the notion's own name
    t: Mapping[str, float]
    single_valued: int
    inferred: Mapping[str, float]  # the largest share of one sensitive value in a class
    kl_cost: float
    cost: float | None
    nodes: int | None
    checked: int | None
    by_class: bool
    prosecutor: float
    journalist: float | None
    marketer: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Measured:
        return cls(**statement)

    def guarantees(
        self, setting: Setting, raw: Sequence[str], seeded: bool, gaps: Sequence[str] = ()
    ) -> tuple[Guarantee, ...]:
        """`raw`: the columns released unchanged; `gaps`: the sensitive ones that have missing values."""
        common = [
            "the quasi-identifying columns are all an intruder can know of a person",
            "this is the only release about these people; another one of the same people may tell classes apart",
        ]
        if raw:
            common.append(f"the intruder does not know the columns released unchanged: {', '.join(raw)}")
        if seeded:
            common.append("the order of the records comes from a seed and is no secret")
        words = tuple(common)
        found: list[Guarantee] = [
            KAnonymity(THIS_TABLE, "paper 4, Definition 1", k=self.k, uncovered=tuple(raw), assumptions=words)
        ]
        for name, value in self.l.items():
            statement = "Machanavajjhala et al. 2006, counted in the published classes"
            kind, c = str(value["kind"]), value.get("c")
            found.append(
                LDiversity(
                    THIS_TABLE,
                    statement,
                    attribute=name,
                    kind=kind,
                    l=value["l"],
                    c=c,
                    uncovered=tuple(column for column in raw if column != name),
                    assumptions=(*words, *_of_gaps(name, gaps)),
                )
            )
        for name, distance in self.t.items():
            statement = "Li, Li and Venkatasubramanian 2007, counted in the published classes"
            found.append(
                TCloseness(
                    THIS_TABLE,
                    statement,
                    attribute=name,
                    distance=setting.t_distance,
                    t=distance,
                    uncovered=tuple(column for column in raw if column != name),
                    assumptions=(*words, *_of_gaps(name, gaps)),
                )
            )
        return tuple(found)


def _of_gaps(name: str, gaps: Sequence[str]) -> tuple[str, ...]:
    return (f"a missing value of {name} counts as a value of its own",) if name in gaps else ()


@dataclass(frozen=True, eq=False)
class InClasses:
    """A sensitive column's codes and the classes they are in, -1 for none; `times` as in `Generalised`."""

    class_of: NDArray[np.integer]
    codes: Codes
    times: Counts | None = None

    def counts(self, alike: NDArray[np.int64], values: int) -> SensitiveCounts:
        """Of the classes as they are shown: those with the same number in `alike` are one."""
        kept = self.class_of >= 0
        shown = alike[self.class_of[kept]].astype(np.uint32)
        times = None if self.times is None else self.times[kept]
        return SensitiveCounts.of([shown], self.codes[kept], times, values)


def measured(
    made: Generalised,
    setting: Setting,
    sensitive: Sequence[Sensitive],
    held: Sequence[InClasses],
    by_class: bool,
    population: NDArray[np.int64] | None,
) -> Measured:
    # a class number in the file tells classes apart even where their cells are the same
    alike = np.arange(made.classes) if by_class else _alike(made, setting)
    counts = {s.name: h.counts(alike, s.size) for s, h in zip(sensitive, held, strict=True)}
    sizes = np.bincount(alike, made.sizes).astype(np.uint32)
    if population is None:
        risks = Risks.of(sizes)
    else:
        risks = Risks.of(made.sizes.astype(np.uint32), population.astype(np.uint32))
    published = made.cells(setting.cells, setting.intermediate)
    return Measured(
        records=int(made.sizes.sum()),
        classes=len(sizes),
        k=int(sizes.min()),
        l={} if setting.l is None else {name: _diversity(found, setting) for name, found in counts.items()},
        t={} if setting.t is None else {s.name: _distance(counts[s.name], s, setting) for s in sensitive},
        single_valued=sum(found.single_valued for found in counts.values()),
        inferred={name: _rounded_up(found.largest_share) for name, found in counts.items()},
        kl_cost=float(sum(kl_cost(o, p) for o, p in zip(made.pdf, published, strict=True))),
        cost=made.cost,
        nodes=made.nodes,
        checked=made.checked,
        by_class=by_class,
        **asdict(risks),
    )


def _alike(made: Generalised, setting: Setting) -> NDArray[np.int64]:
    """For each class a number that classes with the same published cells share."""
    published = made.cells(setting.cells, setting.intermediate)
    known: dict[tuple[bytes, ...], int] = {}
    found = np.empty(made.classes, np.int64)
    bounds = [(c.first.tolist(), c.values, c.weights) for c in published]
    for number in range(made.classes):
        cell = []
        for first, values, weights in bounds:
            here = slice(first[number], first[number + 1])
            cell.append(values[here].tobytes() + weights[here].tobytes())
        found[number] = known.setdefault(tuple(cell), len(known))
    return found


def _diversity(found: SensitiveCounts, setting: Setting) -> dict[str, Any]:
    if setting.l_kind == "distinct":
        return {"kind": "distinct", "l": found.distinct_l}
    if setting.l_kind == "entropy":
        # e^H of l equally frequent values is l up to rounding: shave only beyond the ninth place
        return {"kind": "entropy", "l": math.floor(found.entropy_l * _DIGITS + 0.5) / _DIGITS}
    least = found.recursive_c(int(setting.l or 1))
    return {"kind": "recursive", "l": int(setting.l or 1), "c": math.ceil(least * _DIGITS) / _DIGITS}


def _distance(found: SensitiveCounts, column: Sensitive, setting: Setting) -> float:
    return _rounded_up(found.t(setting.t_distance, () if column.parents is None else column.parents))


def _rounded_up(share: float) -> float:
    return min(math.ceil(share * _DIGITS) / _DIGITS, 1.0)


# ------------------------------------------------------------------ in the published data


class CellContent:
    """A column's cells as the content digest sees them, row by row in pieces: no row's cell is looked at.

    Cells are numbered as they first appear, and told in that order at the end.
    """

    def __init__(self, name: str, cells: Any) -> None:
        self.name, self.cells = name, cells
        self.alike, _ = cell_codes(cells)
        self.number = np.zeros(int(self.alike.max()) + 1, np.uint32)  # from 1 on; 0 where a cell has not appeared
        self.shown: list[int] = []  # a class of each cell that has

    def codes(self, class_of: NDArray[np.integer]) -> NDArray[np.uint32]:
        mine = self.alike[class_of]
        new = np.flatnonzero(self.number[mine] == 0)
        for row in np.sort(np.unique(mine[new], return_index=True)[1]).tolist():
            self.shown.append(int(class_of[new[row]]))
            self.number[mine[new[row]]] = len(self.shown)
        return np.asarray(self.number[mine] - np.uint32(1))

    def told(self) -> dict[str, Any]:
        cells = self.cells.take(numbers(np.array(self.shown, np.int64)))
        text = json.dumps(cells.to_pylist(), ensure_ascii=True)
        return {f"{self.name} cells": np.frombuffer(text.encode(), np.uint8)}


def content_by_class(name: str, cells: Any, class_of: NDArray[np.int32]) -> dict[str, Any]:
    """A column's content from its cells by class, all rows at once."""
    content = CellContent(name, cells)
    return {name: content.codes(class_of)} | content.told()
