"""The combinations of values that occur: of rows or of a population, and as classes of the lattice's bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import (
    Classes,
    CombinationCounter,
    CountedCombinations,
    Counts,
    Ladder,
    Layout,
    grouped,
)
from pramana.counting.value_counts import Ints, JointValues
from pramana.errors import RecipeError, SourceError
from pramana.files.store_path import AnyPath
from pramana.io.codes import Encoder
from pramana.io.source import Source
from pramana.methods.columns import Quasi
from pramana.methods.generalize.models import Tree
from pramana.methods.sensitive import Sensitive
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Rows

if TYPE_CHECKING:
    from pramana.methods.generalize.recoding import Generalised
    from pramana.methods.generalize.setting import GeneralizeDesign

NO_COLUMN = Sensitive("", ("",), False)  # where only people are counted
_ROWS = 1 << 18  # of a population that are looked at together


@dataclass(frozen=True, eq=False)
class PopulationLines:
    """The combinations of quasi-identifying values that people have, and how many have each."""

    lines: CountedCombinations

    @property
    def people(self) -> int:
        return self.lines.rows

    def in_classes(self, generalised: Generalised) -> Ints:
        """How many people each published class stands for."""
        number = generalised.finder.find(list(self.lines.columns))
        sizes = np.bincount(number, self.lines.times, generalised.classes + 1).astype(np.int64)[:-1]
        if bool((sizes < generalised.sizes).any()):
            raise RecipeError("The population must contain every record of the table", "a class with fewer people")
        return sizes


def read_population(path: AnyPath, quasi: Sequence[Quasi]) -> PopulationLines:
    """From a file, piece by piece: what occurs is held, and no row."""
    encoders = [Encoder(q.attribute.coded, q.name) for q in quasi]
    counter = CombinationCounter([q.attribute.coded.size for q in quasi])
    for batch in Source(path=path).batches([q.name for q in quasi], _ROWS):
        codes = [encoder.encode(batch.column(q.name)) for encoder, q in zip(encoders, quasi, strict=True)]
        if not any(encoder.faults for encoder in encoders):
            counter.update(codes)
    for encoder in encoders:
        encoder.finish()
    if not counter.parts:
        raise SourceError("A population must have people", "an empty table")
    return PopulationLines(counter.counted())


@dataclass(frozen=True, eq=False)
class OccurringLines:
    """Combinations that occur: alone, with each sensitive column that conditions look at, and with a target.

    `population`: those of the people that classes are held against.
    """

    lines: CountedCombinations
    beside: Sequence[tuple[Sensitive, CountedCombinations]] = ()  # with its codes, or the numbers of joints, last
    target: tuple[Sensitive, CountedCombinations] | None = None
    population: PopulationLines | None = None

    def totals(self, joints: Sequence[JointValues] = ()) -> list[tuple[Ints, Tree]]:
        """How often each sensitive value occurs, and its tree: in rows or, with joint values, in people."""
        if joints:
            own = zip(joints, self.beside, strict=True)
            return [(joint.totals, s.parents) for joint, (s, _) in own if s is not NO_COLUMN]
        return [
            (np.bincount(lines.columns[-1], lines.times, s.size).astype(np.int64), s.parents)
            for s, lines in self.beside
        ]


def marked_lines(lines: CountedCombinations) -> CountedCombinations:
    """The lines that are marked, without their marks."""
    here = lines.columns[-1] == 1
    if not here.any():
        raise SourceError("A subset must have rows", "no row that is marked")
    return CountedCombinations(tuple(column[here] for column in lines.columns[:-1]), lines.times[here])


# ------------------------------------------------------------------ as classes


@dataclass(frozen=True, eq=False)
class CountedLines:
    """Rows, or lines that stand for several, and the classes of the lattice's bottom that they are in."""

    base: Classes
    index: NDArray[np.uint32]  # by line
    columns: Sequence[Codes]
    times: Counts | None = None


def grouped_for(
    layout: Layout,
    columns: Sequence[Codes],
    sensitive: Sequence[tuple[Codes, int]] = (),
    times: Counts | None = None,
) -> CountedLines:
    """Distinct rows, with the pairs of every sensitive attribute's values.

    They are in the order of their keys, so that what is made of them, sums of floats included, is the same for
    the same rows in any order. `times`: how many rows each line stands for, where that is not one.
    """
    classes, number = grouped(layout, columns, times)
    ordered, rank = classes.by_keys()
    index = rank.astype(np.uint32)[number]
    base = with_sensitive(ordered, [(index, codes, size, times) for codes, size in sensitive])
    return CountedLines(base, index, columns, times)


def counted_lines(
    quasi: Sequence[Quasi], occurring: OccurringLines, joints: Sequence[JointValues], with_people: bool = False
) -> CountedLines:
    """With the pairs of every column beside the lines, and the people that each class stands for."""
    layout, lines = Layout(tuple(q.ladder for q in quasi)), occurring.lines
    sizes = [len(joint) for joint in joints] or [s.size for s, _ in occurring.beside]
    columns = [(own, size) for (_, own), size in zip(occurring.beside, sizes, strict=True)]
    if occurring.target is not None:
        columns.append((occurring.target[1], occurring.target[0].size))
    counted = grouped_for(layout, lines.columns, times=lines.times)
    pairs = []
    for own, size in columns:  # the same classes in the order of their keys
        index = grouped_for(layout, own.columns[:-1], times=own.times).index
        pairs.append((index, own.columns[-1], size, own.times))
    counted = replace(counted, base=with_sensitive(counted.base, pairs))
    if not with_people or occurring.population is None:
        return counted
    base, index = beside_people(counted.base, counted.index, occurring.population.lines)
    return replace(counted, base=base, index=index)


def with_sensitive(
    base: Classes, sensitive: Sequence[tuple[NDArray[np.uint32], Codes, int, Counts | None]]
) -> Classes:
    """The same classes with their sensitive values: by attribute the lines' classes, codes, range and times.

    Only pairs of a class and a value that occur take room, however many values there are.
    """
    pairs = []
    for index, codes, size, times in sensitive:
        layout = Layout((*base.layout.ladders, Ladder("", (np.arange(size),))))
        columns: list[Codes] = [base.codes(a)[index].astype(np.uint32) for a in range(len(base.layout.ladders))]
        # in the order of their keys: sums of floats over them do not know the rows' order
        pairs.append(grouped(layout, [*columns, codes], times)[0].by_keys()[0])
    return replace(base, pairs=tuple(pairs))


def beside_people(
    base: Classes, index: NDArray[np.uint32], people: CountedCombinations
) -> tuple[Classes, NDArray[np.uint32]]:
    """The same classes with how many people of a population each stands for behind its size.

    People who are like none of the rows are classes without rows: at higher levels they may fall into others.
    """
    others = grouped(base.layout, people.columns, people.times)[0]
    counts = np.zeros((len(base) + len(others), 2), np.uint32)
    counts[: len(base), 0] = base.sizes
    counts[len(base) :, 1] = others.sizes
    both = Classes(base.layout, base.levels, np.concatenate([base.keys, others.keys]), counts)
    joined, into = both.rolled_with_index(base.levels)
    ordered, rank = joined.by_keys()
    return replace(ordered, pairs=base.pairs), rank[into[: len(base)]][index].astype(np.uint32)


# Pairs of a unit and a sensitive value, where people or households have several rows.


def joint_values(rows: Rows, design: GeneralizeDesign, looked: Sequence[Sensitive]) -> list[JointValues]:
    """The pairs of a unit and a sensitive value, as columns beside the rows; none where rows are people."""
    owners = rows.owners
    if owners is None:
        return []
    whole, joints = rows.whole(), []
    units = owners.numbers_of(owners.largest)
    codes = whole.codes({s.coded: s.size for s in looked}) if looked else {}
    for position, s in enumerate(looked or [NO_COLUMN]):
        own = codes[s.coded] if looked else np.zeros(len(units), np.uint8)
        joint, number = JointValues.of(units, own, s.size)
        if looked and not joint.single and any(model.by_shares for model in design.sensitive_models):
            raise RecipeError(
                f"For t, d, b, or l by entropy or recursive, a {owners.largest} must have one value of {s.name!r}",
                f"several for one {owners.largest} or more",
                'l with l_kind = "distinct" takes them as they are.',
            )
        whole.attach(_joint_name(position), number)
        joints.append(joint)
    return joints


def joint_columns(joints: Sequence[JointValues]) -> dict[str, int]:
    """Their columns, and how many codes each has."""
    return {_joint_name(position): len(joint) for position, joint in enumerate(joints)}


def _joint_name(position: int) -> str:
    return f"\0unit {position}"
