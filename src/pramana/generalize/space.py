"""The space of solutions: every node of the lattice with its cost, and what fails at it.

It is for the holder, who may choose another node than the cheapest: how many records fail tells of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import RecipeError
from pramana.generalize.classes import Classes, Levels
from pramana.generalize.conditions import All, Condition
from pramana.generalize.measures import Measure, Separable
from pramana.generalize.models.whole_table import TableCondition, staying
from pramana.generalize.roll_ups import Tables, lost_rows
from pramana.generalize.suppression import cells_of, cost_of, suppressed_at

MOST_NODES = 4096


@dataclass(frozen=True)
class SolutionNode:
    """One combination of levels: its classes, what it costs, and in how many records which condition fails."""

    levels: Levels
    classes: int
    smallest: int  # records in the smallest class
    fails: Mapping[str, int]  # records in classes that fail a condition, by its name
    records_failing: int  # those that fail any condition, and would be left out
    cost: float | None  # None where nothing would be left
    holds: bool  # within what may be suppressed
    cells: int | None = None  # that would be suppressed, where cells may be and it is not hopeless
    chosen: bool = False


@dataclass(frozen=True)
class SolutionSpace:
    """All nodes, the cheapest that hold first."""

    names: tuple[str, ...]
    records: int
    measure: str
    limit: int  # records, or cells, that may be suppressed
    suppress: str  # which of the two
    nodes: tuple[SolutionNode, ...]

    @property
    def chosen(self) -> SolutionNode | None:
        return next((node for node in self.nodes if node.chosen), None)

    def rows(self) -> list[dict[str, object]]:
        """A line for each node, as a table shows it."""
        kinds = list(dict.fromkeys(kind for node in self.nodes for kind in node.fails))
        return [
            {
                **dict(zip(self.names, node.levels, strict=True)),
                "classes": node.classes,
                "smallest": node.smallest,
                **{f"fail {kind}": node.fails[kind] for kind in kinds},
                **({"cells": node.cells} if self.suppress == "cells" else {}),
                "cost": None if node.cost is None else round(node.cost, 6),
                "": "chosen" if node.chosen else "holds" if node.holds else "fails",
            }
            for node in self.nodes
        ]

    def to_json(self) -> dict[str, object]:
        return {
            "records": self.records,
            "measure": self.measure,
            "suppress": self.suppress,
            "limit": self.limit,
            "nodes": [
                {
                    "levels": dict(zip(self.names, node.levels, strict=True)),
                    "classes": node.classes,
                    "smallest": node.smallest,
                    "fails": dict(node.fails),
                    "records_failing": node.records_failing,
                    "cells": node.cells,
                    "cost": node.cost,
                    "holds": node.holds,
                    "chosen": node.chosen,
                }
                for node in self.nodes
            ],
        }


def space_of(
    base: Classes,
    conditions: Sequence[tuple[str, Condition]],
    measure: Measure,
    measure_name: str,
    *,
    limit: int,
    cells: bool,
    chosen: Levels | None,
    weights: Mapping[str, float] | None = None,
    table: TableCondition | None = None,
) -> SolutionSpace:
    """Every node is looked at, so a lattice must be small. `limit` is of records, or with `cells` of cells."""
    heights = base.layout.heights
    nodes = int(np.prod(np.array(heights, dtype=object)))
    if nodes > MOST_NODES:
        raise RecipeError(
            f"A space of solutions that is looked at must have at most {MOST_NODES} nodes",
            f"{nodes}",
            "Use fewer levels or columns: begin at a higher level of a hierarchy (level = 1).",
        )
    tables, pairs = Tables(base.bare), [Tables(table) for table in base.pairs]
    every = conditions[0][1] if len(conditions) == 1 else All(tuple(condition for _, condition in conditions))
    found = []
    for place in range(nodes):
        levels = tuple(int(i) for i in np.unravel_index(place, heights))
        rolled = tables.at(levels).occupied
        classes = Classes(
            rolled.layout, rolled.levels, rolled.keys, rolled.counts, tuple(t.at((*levels, 0)) for t in pairs)
        )
        fails = {name: lost_rows(classes, condition.held(classes.seen)) for name, condition in conditions}
        failing = lost_rows(classes, every.held(classes.seen))
        held = np.ones(len(classes), np.bool_) if cells else staying(every, classes, table)[1]
        gone = failing if cells else lost_rows(classes, held)
        number, cost = None, float(measure.cost(classes, held)) if bool(held.any()) else None
        if cells and failing <= limit:
            ordered = classes.by_keys()[0]
            suppression = suppressed_at(ordered, every, weights)
            gone = number = cells_of(ordered, suppression)
            if isinstance(measure, Separable):
                cost = cost_of(measure, ordered, suppression)
        found.append(
            SolutionNode(
                levels,
                len(classes),
                int(classes.sizes.min()),
                fails,
                failing if cells else gone,
                cost,
                gone <= limit and bool(held.any()),
                number,
                levels == chosen,
            )
        )
    names = tuple(ladder.name for ladder in base.layout.ladders)
    ordered_nodes = sorted(
        found, key=lambda n: (not n.chosen, not n.holds, n.cost is None, n.cost or 0.0, n.levels)
    )
    kind = "cells" if cells else "rows"
    return SolutionSpace(names, base.rows, measure_name, limit, kind, tuple(ordered_nodes))
