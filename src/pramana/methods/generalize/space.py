"""The space of solutions: every node of the lattice with its cost, and what fails at it.

It is for the holder, who may choose another node than the cheapest: how many records fail tells of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, Levels
from pramana.methods.generalize.conditions import Condition
from pramana.pages.figures import Panel, Picture, Series
from pramana.randomness.samplers import joint_codes

# Classes at nodes of a lattice, rolled up from the smallest table at hand that is finer, not from the rows.
#
# Before a large table is rolled up, its rare rows are: all rows with the rarest labels of one attribute,
# which no class of a node leaves as long as the attribute is not at its top. Where too many of them fail, the
# node fails.


SMALL_TABLE = 256  # rolling up this few classes costs less than looking for fewer
LARGE_TABLE = 1 << 14  # from here on rare rows are asked first
MOST_PROBES = 16
TABLE_BYTES = 1 << 28  # memory for tables kept to roll up from


def down(levels: Levels) -> tuple[slice, ...]:
    """All specialisations of a node, itself included, as an index of an array over the lattice."""
    return tuple(slice(0, level + 1) for level in levels)


def up(levels: Levels) -> tuple[slice, ...]:
    """All generalisations of a node, itself included."""
    return tuple(slice(level, None) for level in levels)


def lost_rows(classes: Classes, held: NDArray[np.bool_]) -> int:
    """Rows in classes that do not hold."""
    return 0 if bool(held.all()) else int(classes.sizes[~held].sum(dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Probe:
    """The rows with the rarest labels of one or two attributes, at their highest level below the top."""

    attributes: tuple[int, ...]
    base: Classes
    into: NDArray[np.uint32]  # by class of the base
    rare: NDArray[np.bool_]

    def parts(self, node: Levels) -> bool:
        """Whether no class of a node has rows of both kinds: its attributes are below their top."""
        heights = self.base.layout.heights
        return all(node[a] + 1 < heights[a] for a in self.attributes)

    @cached_property
    def tables(self) -> Tables:
        """Made when it is asked: many a search ends before its last probe is."""
        base, here = self.base, self.rare[self.into]
        return Tables(Classes(base.layout, base.levels, base.keys[here], base.counts[here]))


class Probes:
    """Rare rows that are asked before a large table is rolled up."""

    def __init__(self, base: Classes, condition: Condition, limit: int) -> None:
        self.condition, self.limit = condition, limit
        self.probes = _probes(base, limit)

    def fail(self, node: Levels) -> bool:
        """Whether more rare rows fail than may."""
        for number, probe in enumerate(self.probes):
            if probe.parts(node):
                classes = probe.tables.at(node)
                if lost_rows(classes, self.condition.held(classes.counts)) > self.limit:
                    # what failed one node likely fails its neighbours: ask it first next time
                    self.probes.insert(0, self.probes.pop(number))
                    return True
        return False


def _probes(base: Classes, limit: int) -> list[_Probe]:
    """The smallest sets of rare rows of which more than `limit` could fail."""
    if len(base) <= LARGE_TABLE:
        return []
    ladders = base.layout.ladders
    usable = [a for a, ladder in enumerate(ladders) if ladder.height > 1]
    # below the top there are few combinations left, and every label that is counted is one of theirs
    high, into = base.rolled_with_index(tuple(max(ladder.height - 2, 0) for ladder in ladders))
    labels = {a: high.codes(a) for a in usable}
    candidates = []
    for attributes in [(a,) for a in usable] + list(combinations(usable, 2)):
        codes = labels[attributes[0]]
        if len(attributes) == 2:
            codes = joint_codes(pair := [labels[a] for a in attributes], [int(c.max()) + 1 for c in pair])
        rare = _rare(codes, high.sizes, max(4 * limit, base.rows // 500))
        if rare is not None:
            candidates.append((rare, attributes))
    lines = np.bincount(into, minlength=len(high))
    sized = [(int(lines @ rare), attributes, rare) for rare, attributes in candidates]
    smallest = sorted(sized, key=lambda f: f[:2])[:MOST_PROBES]
    return [_Probe(attributes, base, into, rare) for _, attributes, rare in smallest]


def _rare(codes: NDArray[np.int64], sizes: NDArray[np.uint32], enough: int) -> NDArray[np.bool_] | None:
    """Which classes have the rarest codes, up to `enough` rows; None if even those are common."""
    share = np.bincount(codes, weights=sizes)
    order = np.argsort(share)
    order = order[share[order] > 0]
    chosen = order[: int(np.searchsorted(np.cumsum(share[order]), enough)) + 1]
    if share[chosen].sum() > share.sum() / 3:
        return None
    rare = np.zeros(len(share), np.bool_)
    rare[chosen] = True
    return np.asarray(rare[codes])


class Tables:
    """Classes at nodes seen before, and for every node the smallest table it can be rolled up from."""

    def __init__(self, base: Classes) -> None:
        heights = base.layout.heights
        self.kept: list[Classes] = [base]
        self.source = np.zeros(heights, np.int32)
        self.size = np.full(heights, len(base), np.int64)
        self.bytes = 0

    def costly(self, node: Levels) -> bool:
        return bool(self.size[node] > LARGE_TABLE)

    def at(self, node: Levels) -> Classes:
        source = self.kept[int(self.source[node])]
        if source.levels == node:
            return source
        classes = source.rolled(node)
        worth = len(source) > SMALL_TABLE and len(classes) < 0.8 * len(source)
        if worth and self.bytes + classes.nbytes <= TABLE_BYTES:
            self._keep(node, classes)
        return classes

    def _keep(self, node: Levels, classes: Classes) -> None:
        self.bytes += classes.nbytes
        self.kept.append(classes)
        size, source = self.size[up(node)], self.source[up(node)]
        better = size > len(classes)
        size[better] = len(classes)
        source[better] = len(self.kept) - 1


MOST_NODES = 4096


@dataclass(frozen=True)
class SolutionNode:
    """One combination of levels: its classes, what it costs, and in how many records which condition fails."""

    levels: Levels
    classes: int
    smallest: int  # records in the smallest class
    fails: Mapping[str, int]  # records in classes that fail a condition, by its name
    records_failing: int  # those that fail any condition, and would be left out
    cells: int | None  # that would be suppressed, where cells may be and it is not hopeless
    cost: float | None  # None where nothing would be left
    holds: bool  # within what may be suppressed
    chosen: bool


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
                {**asdict(node), "levels": dict(zip(self.names, node.levels, strict=True))} for node in self.nodes
            ],
        }


def space_picture(space: SolutionSpace) -> Picture:
    """A point for each node that leaves something: the chosen one, those that hold, and those that fail."""
    kinds = {
        "fails": [n for n in space.nodes if not n.holds],
        "holds": [n for n in space.nodes if n.holds and not n.chosen],
        "chosen": [n for n in space.nodes if n.chosen],
    }
    series = []
    for name, nodes in kinds.items():
        shown = [(n.cost, 100 * n.records_failing / space.records) for n in nodes if n.cost is not None]
        if shown:
            series.append(Series(name, [cost for cost, _ in shown], [share for _, share in shown], kind="points"))
    title = "nodes of the lattice: the further left and down, the better"
    panel = Panel(series, title, f"cost ({space.measure})", "records that fail (%)")
    return Picture([panel], width=7.0, height=4.4)
