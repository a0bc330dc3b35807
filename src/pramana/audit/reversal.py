"""The reversal attack on a published bundle: all from the bundle and the public table, nothing from private rows.

The intruder groups the public table by the certified levels, reads the cells of every class, and undoes them as
`generalize.reversed_of` describes. Independently, existence probabilities are computed again from what was read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pramana.bundle import Bundle
from pramana.errors import BundleError, CheckError
from pramana.generalize import (
    Cells,
    Layout,
    People,
    Presence,
    PresenceDesign,
    Reversal,
    Seen,
    grouped,
    hierarchy_cells,
    pdf_cells,
    reached_range,
    reversed_of,
    set_cells,
)
from pramana.methods import PublishedCells, restore
from pramana.methods.presence import PresencePlan
from pramana.sources import Source, encode
from pramana.stores import located


@dataclass(frozen=True)
class ReversalAudit:
    """The attack's outcome beside what the certificate claims."""

    claimed: tuple[float, float]
    at_their_word: tuple[float, float]  # existence probabilities of someone who takes the cells at their word
    reversal: Reversal

    @property
    def ok(self) -> bool:
        low, high = self.at_their_word
        return self.reversal.ok and self.claimed[0] <= low + 1e-9 and high <= self.claimed[1] + 1e-9

    def to_json(self) -> dict[str, Any]:
        """As a line of `attacks`."""
        measured = [self.reversal.lowest, self.reversal.highest]
        return {
            "name": "reversal",
            "claimed": list(self.claimed),
            "measured": measured,
            "ok": self.ok,
            "at_their_word": list(self.at_their_word),
            **self.reversal.to_json(),
        }


def reversal(bundle: str | Path, public: Any) -> ReversalAudit:
    """Attack a bundle of method presence with the public table (a path or a data frame) in hand."""
    opened = Bundle.open(bundle)
    if opened.certificate.method != "presence":
        raise BundleError("Reversal must be tried on a bundle of method presence", opened.certificate.method)
    plan = restore(opened.certificate)
    if not isinstance(plan, PresencePlan):
        raise BundleError("The certificate must state how presence was reached")
    seen = seen_by_intruder(plan, PublishedCells.open(bundle), public)
    low, high = reached_range(seen.people, seen.present, seen.cells)
    wanted = (float(plan.wanted.lowest), float(plan.wanted.highest))
    return ReversalAudit(wanted, (0.0 if seen.alone else low, high), reversed_of(seen))


def seen_by_intruder(plan: PresencePlan, published: PublishedCells, public: Any) -> Seen:
    quasi = plan.quasi
    source = Source(path=located(public)) if isinstance(public, str | os.PathLike) else Source(frame=public)
    table = source.read([q.name for q in quasi])
    columns = [encode(table.column(q.name), q.attribute.coded, q.name) for q in quasi]
    layout = Layout(tuple(q.ladder for q in quasi))
    order = [published.names.index(q.name) for q in quasi]
    cells = tuple(published.cells[i] for i in order)
    labels = [_labels(q.ladder.maps[level], c) for q, level, c in zip(quasi, plan.levels, cells, strict=True)]
    base, index = grouped(layout, columns)
    rolled, into = base.rolled_with_index(plan.levels)
    number = {key: c for c, key in enumerate(zip(*labels, strict=True))}
    if len(number) != len(cells[0]):
        raise CheckError("Published classes must differ in their labels", "two that do not")
    keys = zip(*[rolled.codes(a).tolist() for a in range(len(quasi))], strict=True)
    class_number = np.array([number.get(key, -1) for key in keys], np.int64)
    if len(set(class_number.tolist()) - {-1}) != len(number):
        raise CheckError("Every published class must have people of the public table", "one without")
    return _seen(plan, layout, base, class_number[into], index, columns, cells, published.sizes)


def _labels(labels: Any, cells: Cells) -> list[int]:
    return [int(label) for label in labels[cells.values[cells.first[:-1]]]]


def _seen(
    plan: PresencePlan,
    layout: Layout,
    base: Any,
    row_class: Any,
    index: Any,
    columns: list[Any],
    cells: tuple[Cells, ...],
    present: Any,
) -> Seen:
    rows = np.argsort(row_class, kind="stable")
    rows = rows[row_class[rows] >= 0]
    classes = len(present)
    first = np.searchsorted(row_class[rows], np.arange(classes + 1)).astype(np.int64)
    people = People(
        first, base.sizes[rows].astype(np.int64), tuple(base.codes(a)[rows] for a in range(len(columns)))
    )
    class_of = row_class[index]
    kept = class_of >= 0
    public = tuple(
        pdf_cells(ladder, column[kept], class_of[kept], classes)
        for ladder, column in zip(layout.ladders, columns, strict=True)
    )
    setting: PresenceDesign = plan.design
    wanted: Presence = plan.wanted
    uniform = tuple(
        set_cells(c) if setting.start == "set" else hierarchy_cells(ladder, c, level)
        for ladder, c, level in zip(layout.ladders, public, plan.levels, strict=True)
    )
    names = tuple(ladder.name for ladder in layout.ladders)
    return Seen(people, present, uniform, public, cells, wanted, setting, names, int((~kept).sum()))
