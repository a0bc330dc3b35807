"""The picture of a space of solutions: what each node costs, and how many records fail at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pramana.pages.figures import Panel, Picture, Series


class ShownNode(Protocol):
    @property
    def cost(self) -> float | None: ...

    @property
    def records_failing(self) -> int: ...

    @property
    def holds(self) -> bool: ...

    @property
    def chosen(self) -> bool: ...


class ShownSpace(Protocol):
    @property
    def records(self) -> int: ...

    @property
    def measure(self) -> str: ...

    @property
    def nodes(self) -> Sequence[ShownNode]: ...


def space_picture(space: ShownSpace) -> Picture:
    """A point for each node that leaves something: the chosen one, those that hold, and those that fail."""
    kinds = {
        "fails": [n for n in space.nodes if not n.holds],
        "holds": [n for n in space.nodes if n.holds and not n.chosen],
        "chosen": [n for n in space.nodes if n.chosen],
    }
    series = []
    for name, nodes in kinds.items():
        shown = [(n.cost, n.records_failing) for n in nodes if n.cost is not None]
        shares = [100 * failing / space.records for _, failing in shown]
        if shown:
            series.append(Series(name, [cost for cost, _ in shown], shares, kind="points"))
    title = "nodes of the lattice: the further left and down, the better"
    return Picture(
        [Panel(series, title, f"cost ({space.measure})", "records that fail (%)")], width=7.0, height=4.4
    )
