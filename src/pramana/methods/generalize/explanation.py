"""What a report says of columns that were made coarser, of the classes, and of the risks in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pramana.methods.columns import Quasi
from pramana.methods.generalize.measured import Measured
from pramana.methods.generalize.setting import GeneralizeSetting
from pramana.methods.protocol import Change, Explanation
from pramana.pages.content import Cell, Grid, Meter, Section, Steps, Text
from pramana.schema.domain import Attribute
from pramana.theory import rounding

if TYPE_CHECKING:
    from pramana.methods.generalize.plan import GeneralizePlan

_LABELS = (
    "The published values are true, and coarser than the source's where a label stands for several values. Labels "
    "can be counted as they are."
)
_CELLS_USE = (
    "The published values are true but coarser than the source's: a cell stands for the values of several people. "
    "`pramana.PublishedCells.open(BUNDLE).expected(NAMES)` gives expected counts."
)
_VERIFIED = "It finds the classes in the published file again, and counts in them what is promised."
_STEPS = (
    "The boxes are the levels of a column from the finest to the coarsest, each with its number of labels; the "
    "grey one is published. One label stands for as many values of the source as the next column says."
)
_BY_CLASS = (
    "The columns were cut class by class, so that how fine they are differs from class to class; the published "
    "cells show it."
)
_CELLS = {
    "pdf": "a distribution over the values of a class",
    "set": "the set of the values of a class",
    "interval": "the interval of the values of a class",
    "hierarchy": "a label of the hierarchy",
}


def explanation_of_classes(plan: GeneralizePlan) -> Explanation:
    treatments = treatments_of(plan.attributes, plan.quasi, plan.levels)
    cells = plan.design.cells
    notes = [_BY_CLASS if plan.levels is None else _STEPS, f"A published cell is {_CELLS[cells]}."]
    use = _LABELS if cells == "hierarchy" else _CELLS_USE
    return Explanation(treatments, notes, [_classes(plan.measured, plan.of_source)], use, _VERIFIED)


def treatments_of(
    attributes: Sequence[Attribute], quasi: Sequence[Quasi], levels: Sequence[int] | None
) -> dict[str, dict[str, Cell]]:
    """By column: what was done to it and, where all classes share one level, how coarse that is."""
    blank: dict[str, Cell] = {} if levels is None else {"levels": None, "values per label": None}
    treatments: dict[str, dict[str, Cell]] = {
        a.name: {"treatment": "released unchanged", **blank, "values": None} for a in attributes
    }
    for number, q in enumerate(quasi):
        if levels is None:
            treatments[q.name] = {"treatment": "generalised by class", "values": q.ladder.leaves}
        else:
            treatments[q.name] = _at_level(q, levels[number])
    return treatments


def _at_level(q: Quasi, level: int) -> dict[str, Cell]:
    sizes = q.ladder.sizes
    each = np.bincount(q.ladder.maps[level])
    least, most = int(each.min()), int(each.max())
    done = "as in the source" if most == 1 else "one label for all" if sizes[level] == 1 else "generalised"
    return {
        "treatment": done,
        "levels": Steps(sizes, level),
        "values per label": f"{least:,}" if least == most else f"{least:,} to {most:,}",
        "values": q.ladder.leaves,
    }


def chance(share: float, most: bool = True) -> Meter:
    """A risk, rounded against ourselves where it is a largest one."""
    words = rounding.shown_up(100 * share, 4)
    return Meter(f"at most {words}%" if most else f"{words}%", share, risk=True)


def _classes(measured: Measured, of_source: int) -> Section:
    who = {None: "records", "person": "people", "household": "households"}[measured.counted_unit]
    rows: list[tuple[str, Cell]] = [
        ("classes of records that look alike", f"{measured.classes:,}"),
        (f"{who} in the smallest class (k)", f"{measured.k:,}"),
        ("records in a class on average", f"{measured.records / measured.classes:,.1f}"),
        ("records left out", f"{of_source - measured.records:,} of {of_source:,}"),
        ("chance to find a person who is known to be in the table (prosecutor)", chance(measured.prosecutor)),
    ]
    if measured.journalist is not None:
        rows.append(("chance to find a person of the population (journalist)", chance(measured.journalist)))
    share = chance(measured.marketer, most=False)
    rows.append(("share of all records found on average (marketer)", share))
    for name, confidence in sorted(measured.inferred.items()):
        rows.append((f"confidence of inferring {name} from the quasi-identifiers", chance(confidence)))
    each = measured.kl_cost / measured.records
    loss = f"Loss: {each:.4g} a record (Kullback-Leibler cost in nats; 0 is none), {measured.kl_cost:,.6g} in all."
    grid = Grid([{"in the published classes": words, "figure": cell} for words, cell in rows])
    risks = Text("Purple bars are risks, from 0 to 1.", quiet=True)
    return Section("Classes, risks and loss", [grid, risks, Text(loss)], anchor="classes")


# What would make a useless generalisation useful: each a change of one key of [release].


_FEWER = (50, 20, 10, 5, 3, 2)
_SUPPRESSED = 0.05
PDF = 'With cells = "pdf" the share of every value of a single column is known exactly, at the same k.'


def offers_pdf(setting: GeneralizeSetting) -> bool:
    return setting.cells != "pdf" and setting.suppress == "rows"


def changes_of(setting: GeneralizeSetting) -> Iterator[list[Change]]:
    """Lists of changes, of each of which the first that helps is said."""
    if setting.algorithm == "incognito" and setting.suppression < _SUPPRESSED:
        yield [(f"With suppression = {_SUPPRESSED}", {"suppression": _SUPPRESSED})]
    yield [(f"With k = {k}", {"k": k}) for k in _FEWER if k < setting.k]
    if setting.algorithm == "incognito":
        finer = {"algorithm": "mondrian", "suppression": 0.0, "suppress": "rows", "levels": None}
        yield [('With algorithm = "mondrian"', finer)]
