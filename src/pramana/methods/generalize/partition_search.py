"""Classes that are no level of the lattice: cut from the whole table, or taken out class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, ClassFinder, CountedCombinations, Ladder, Layout, grouped
from pramana.counting.value_counts import JointValues
from pramana.errors import RecipeError
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import Condition, InUnits
from pramana.methods.generalize.models import PopulationLines, occurring_lines
from pramana.methods.generalize.recoding import (
    Generalised,
    beside_people,
    grouped_for,
    local_recoding,
    multidimensional,
    with_sensitive,
)
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.sensitive import Sensitive, lines_of_units
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import Columns, Rows, WholeRows

# The combinations that occur as classes at the bottom of the lattice, and what is asked of classes.


COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it


@dataclass(frozen=True, eq=False)
class Counted:
    """The combinations that occur as classes of the lattice's bottom, and how often each sensitive value does."""

    base: Classes
    index: NDArray[np.uint32]
    lines: CountedCombinations
    totals: list[tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]]


def counted_lines(
    quasi: Sequence[Quasi],
    lines: CountedCombinations,
    looked: Sequence[tuple[Sensitive, CountedCombinations]],
    joints: Sequence[JointValues] = (),
    population: PopulationLines | None = None,
    learnt: tuple[Sensitive, CountedCombinations] | None = None,
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


def by_combinations(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
) -> Generalised:
    """Classes that rows of the same values share: cut, or taken out, from the combinations that occur."""
    _check_one_column(design, looked)
    asked = occurring_lines(rows, quasi, looked, joints, None, None)
    size = sum(len(found.times) * (8 * len(quasi) + 4) for found in (asked.lines, *(f for _, f in asked.beside)))
    rows.check_room(COPIES * size)
    if design.algorithm == "local":
        counted = counted_lines(quasi, asked.lines, asked.beside, joints)
        generalised = local_recoding(
            counted.base.layout,
            asked.lines.columns,
            counted.base,
            counted.index,
            condition_of(design, counted.totals, looked, joints),
            measure=design.measure,
            weights=design.weights or None,
            times=asked.lines.times,
        )
    else:
        lines = asked.beside[0][1] if looked else asked.lines
        codes, times = lines.columns[: len(quasi)], lines.times
        values = [(np.bincount(lines.columns[-1], times, s.size).astype(np.int64), s.parents) for s in looked]
        generalised = multidimensional(
            tuple(q.ladder for q in quasi),
            codes,
            design.k,
            design.algorithm,
            ordered=[q.ordered for q in quasi],
            weights=design.weights,
            condition=design.condition(values) if looked else None,
            sensitive=(lines.columns[-1], looked[0].size) if looked else None,
            times=times,
        )
    _derive_classes(rows, generalised, quasi)
    return generalised


def _derive_classes(rows: Rows, generalised: Generalised, quasi: Sequence[Quasi]) -> None:
    """Every row's class, looked up by its codes where the row lies."""
    names = tuple(q.name for q in quasi)
    layout = Layout(tuple(Ladder.flat(q.name, q.attribute.coded.size) for q in quasi))
    base, index = grouped(layout, generalised.columns, generalised.times)
    numbers = np.empty(len(base), np.int64)
    numbers[index] = generalised.class_of
    finder = ClassFinder(layout, layout.bottom, base.keys, numbers)

    def number(columns: Columns) -> Codes:
        return finder.find([columns[name] for name in names])

    rows.derive(CLASS_NUMBER, names, number)


def _check_one_column(design: GeneralizeDesign, looked: Sequence[Sensitive]) -> None:
    if len(looked) > 1 and design.algorithm != "local":
        raise RecipeError(
            f"The algorithm {design.algorithm} takes l and t of one sensitive column", f"{len(looked)}"
        )


def by_rows(
    rows: Rows, design: GeneralizeDesign, quasi: Sequence[Quasi], looked: Sequence[Sensitive]
) -> Generalised:
    """A partition that may cut between rows of the same values: the codes of all rows are held."""
    _check_one_column(design, looked)
    whole = rows.whole()
    own = {q.name: q.attribute.coded.size for q in quasi}
    codes = whole.codes({**own, **{s.coded: s.size for s in looked}})
    totals = [(np.bincount(codes[s.coded], minlength=s.size), s.parents) for s in looked]
    generalised = multidimensional(
        tuple(q.ladder for q in quasi),
        [codes[name] for name in own],
        design.k,
        design.algorithm,
        ordered=[q.ordered for q in quasi],
        weights=design.weights,
        condition=design.condition(totals) if looked else None,
        sensitive=(codes[looked[0].coded], looked[0].size) if looked else None,
    )
    return _attached(whole, generalised, own)


def by_unit_lines(
    rows: Rows, design: GeneralizeDesign, quasi: Sequence[Quasi], looked: Sequence[Sensitive]
) -> Generalised:
    """A partition of people: a person's rows that agree in all quasi-identifiers are one line.

    Of lines of people with at most m lines each, (k - 1) m + 1 are of k people at least.
    """
    whole, own = rows.whole(), {q.name: q.attribute.coded.size for q in quasi}
    codes = whole.codes({**own, **{s.coded: s.size for s in looked}})
    lines = lines_of_units(rows, codes)
    if looked and (len(looked) > 1 or lines.most > 1):
        raise RecipeError(
            f"The algorithm {design.algorithm} takes l and t of one sensitive column, of people whose rows agree",
            "several columns" if len(looked) > 1 else "people whose rows differ",
            'Use algorithm = "incognito" or "local".',
        )
    at = lines.first_rows
    totals = [(np.bincount(codes[s.coded][at], minlength=s.size), s.parents) for s in looked]
    found = multidimensional(
        tuple(q.ladder for q in quasi),
        [codes[name][at] for name in own],
        min((design.k - 1) * lines.most + 1, len(at)),
        design.algorithm,
        ordered=[q.ordered for q in quasi],
        weights=design.weights,
        condition=design.condition(totals) if looked else None,
        sensitive=(codes[looked[0].coded][at], looked[0].size) if looked else None,
    )
    columns = tuple(codes[name] for name in own)
    generalised = replace(found, columns=columns, class_of=found.class_of[lines.line_of_row])
    return _attached(whole, generalised, own)


def _attached(whole: WholeRows, generalised: Generalised, own: Mapping[str, int]) -> Generalised:
    number = np.where(generalised.class_of < 0, generalised.classes, generalised.class_of)
    whole.attach(CLASS_NUMBER, tuple(own), number.astype(code_dtype(generalised.classes + 1)))
    return generalised
