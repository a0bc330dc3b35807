"""The combinations that occur as classes at the bottom of the lattice, and what is asked of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.generalize import (
    Classes,
    Condition,
    InUnits,
    JointValues,
    Layout,
    beside_people,
    grouped_for,
    with_sensitive,
)
from pramana.methods.generalize.population import PopulationLines
from pramana.methods.generalize.sensitive import Sensitive
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.quasi import Quasi
from pramana.rows import Lines

COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it


@dataclass(frozen=True, eq=False)
class Counted:
    """The combinations that occur as classes of the lattice's bottom, and how often each sensitive value does."""

    base: Classes
    index: NDArray[np.uint32]
    lines: Lines
    totals: list[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]]


def counted_lines(
    quasi: Sequence[Quasi],
    lines: Lines,
    looked: Sequence[tuple[Sensitive, Lines]],
    joints: Sequence[JointValues] = (),
    population: PopulationLines | None = None,
    learnt: tuple[Sensitive, Lines] | None = None,
) -> Counted:
    """`looked`: for each sensitive column the conditions look at, the combinations with its codes last.

    Where people are counted, with the numbers of `joints` last. `learnt`: the target of a measure, likewise.
    """
    layout = Layout(tuple(q.ladder for q in quasi))
    sizes = [len(joint) for joint in joints] or [s.size for s, _ in looked]
    base, index = grouped_for(layout, lines.columns, times=lines.times)
    counted, totals = [], []
    for (s, joint), size in zip(looked, sizes, strict=True):  # the same classes in the order of their keys
        _, places = grouped_for(layout, joint.columns[:-1], times=joint.times)
        counted.append((places, joint.columns[-1], size, joint.times))
        totals.append((np.bincount(joint.columns[-1], joint.times, size).astype(np.int64), s.parents))
    if learnt is not None:
        _, places = grouped_for(layout, learnt[1].columns[:-1], times=learnt[1].times)
        counted.append((places, learnt[1].columns[-1], learnt[0].size, learnt[1].times))
    base = with_sensitive(base, counted)
    if population is not None:
        base, index = beside_people(base, index, population.lines.columns, population.lines.times)
    return Counted(base, index, lines, totals)


def totals_of(
    totals: Sequence[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
) -> list[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]]:
    """How often each sensitive value occurs: in rows or, with joint values, in people."""
    if not joints:
        return list(totals)
    return [(joint.totals, s.parents) for joint, s in zip(joints, looked, strict=bool(looked))]


def condition_of(
    design: GeneralizeDesign,
    totals: Sequence[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
) -> Condition:
    """What classes must satisfy, counted in rows or, with joint values, in people."""
    condition = design.condition(totals_of(totals, looked, joints))
    return InUnits(condition, tuple(joints)) if joints else condition
