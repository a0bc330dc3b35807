"""Before any row is written: every published cell contains the values of the records it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RefusedError
from pramana.generalize import Cells
from pramana.methods.quasi import Quasi
from pramana.schema import Kind


def check_cells(
    quasi: Sequence[Quasi], true: Sequence[Cells], published: Sequence[Cells], *, intervals: bool
) -> None:
    """`true` are the values of the records by class. Intervals are also held against the line of their kind."""
    for q, values, cells in zip(quasi, true, published, strict=True):
        inside = np.isin(cells.keyed(values.class_of, values.values), cells.keys)
        if not inside.all():
            raise _false(q.name, int((~inside).sum()))
        if intervals and q.attribute.kind in (Kind.NUMBER, Kind.DATE):
            _check_intervals(q, values, cells)


def _check_intervals(q: Quasi, values: Cells, cells: Cells) -> None:
    """An interval is printed by its two ends: all values must lie between them by value, not by place."""
    lower, upper = _ends(q)
    first, last = cells.values[cells.first[:-1]], cells.values[cells.first[1:] - 1]
    low, high = lower[first][values.class_of], upper[last][values.class_of]
    outside = (lower[values.values] < low) | (upper[values.values] > high)
    if outside.any():
        raise _false(q.name, int(outside.sum()))


def _ends(q: Quasi) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each leaf begins and ends; a missing value, which has the last code, lies beyond all numbers."""
    ends = [q.attribute.kind.ends_of(label) for label in q.attribute.coded.labels]
    beyond = [np.inf] * q.attribute.coded.missing
    lower = [np.inf if pair is None else float(pair[0]) for pair in ends]
    upper = [np.inf if pair is None else float(pair[1]) for pair in ends]
    return np.array([*lower, *beyond]), np.array([*upper, *beyond])


def _false(name: str, values: int) -> RefusedError:
    return RefusedError(
        f"Every published cell of {name!r} must contain the values it stands for",
        f"{values} values of classes outside theirs",
        "State a domain of numbers or dates in the order of its values.",
    )
