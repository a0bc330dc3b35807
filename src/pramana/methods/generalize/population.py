"""The population that records are of: another file, or the source itself with the published rows marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, SourceError
from pramana.generalize import Combinations, Generalised, JointValues
from pramana.methods.generalize.sensitive import Sensitive
from pramana.methods.generalize.units import NO_COLUMN, joint_columns
from pramana.methods.marks import MARK, derive_marks
from pramana.methods.quasi import Quasi
from pramana.randomness import code_dtype
from pramana.rows import Lines, Rows
from pramana.sources import Encoder, Source
from pramana.stores import AnyPath

_ROWS = 1 << 18  # of a population that are looked at together


@dataclass(frozen=True, eq=False)
class PopulationLines:
    """The combinations of quasi-identifying values that people have, and how many have each."""

    lines: Lines

    @property
    def people(self) -> int:
        return self.lines.rows

    def in_classes(self, generalised: Generalised) -> NDArray[np.int64]:
        """How many people each published class stands for."""
        number = generalised.finder.find(list(self.lines.columns))
        sizes = np.bincount(number, self.lines.times, generalised.classes + 1).astype(np.int64)[:-1]
        if bool((sizes < generalised.sizes).any()):
            raise RecipeError("The population must contain every record of the table", "a class with fewer people")
        return sizes


def read_population(path: AnyPath, quasi: Sequence[Quasi]) -> PopulationLines:
    """From a file, piece by piece: what occurs is held, and no row."""
    encoders = [Encoder(q.attribute.coded, q.name) for q in quasi]
    sizes = [q.attribute.coded.size for q in quasi]
    counting = Combinations(sizes)
    for batch in Source(path=path).batches([q.name for q in quasi], _ROWS):
        codes = [encoder.encode(batch.column(q.name)) for encoder, q in zip(encoders, quasi, strict=True)]
        if not any(encoder.has_faults for encoder in encoders):
            counting.update(codes)
    for encoder in encoders:
        encoder.finish()
    if not counting.parts:
        raise SourceError("A population must have people", "an empty table")
    found = counting.merged()
    order = np.lexsort(found.keys.T)
    columns = tuple(found.codes(a).astype(code_dtype(size))[order] for a, size in enumerate(sizes))
    return PopulationLines(Lines(columns, np.ascontiguousarray(found.sizes[order])))


@dataclass(frozen=True, eq=False)
class OccurringLines:
    """Combinations that occur: by themselves, with each sensitive column, with a target, and of the population."""

    lines: Lines
    beside: list[tuple[Sensitive, Lines]]
    learnt: tuple[Sensitive, Lines] | None
    everyone: PopulationLines | None


def occurring_lines(
    rows: Rows,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
    subset: str | None,
    target: Sensitive | None,
) -> OccurringLines:
    """With a subset those of its rows, beside all of them; with `joints` people are counted."""
    own = {q.name: q.attribute.coded.size for q in quasi}
    beside = joint_columns(joints) or {s.coded: s.size for s in looked}
    groups = [own, *({**own, name: size} for name, size in beside.items())]
    if target is not None:
        groups.append({**own, target.coded: target.size})
    (lines, *others), everyone = _in_subset(rows, groups, subset)
    learnt = None if target is None else (target, others.pop())
    paired = list(zip(looked or [NO_COLUMN] * len(joints), others, strict=True))
    return OccurringLines(lines, paired, learnt, everyone)


def _in_subset(
    rows: Rows, groups: Sequence[Mapping[str, int]], subset: str | None
) -> tuple[list[Lines], PopulationLines | None]:
    if subset is None:
        return rows.combinations(groups), None
    derive_marks(rows, subset)
    everyone, *marked = rows.combinations([groups[0], *({**group, MARK: 2} for group in groups)])
    return [_meant(lines) for lines in marked], PopulationLines(everyone)


def _meant(lines: Lines) -> Lines:
    """The lines that are marked, without their marks."""
    here = lines.columns[-1] == 1
    if not here.any():
        raise SourceError("A subset must have rows", "none that is marked")
    return Lines(tuple(column[here] for column in lines.columns[:-1]), lines.times[here])
