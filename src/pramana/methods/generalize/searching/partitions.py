"""Classes that are no level of the lattice: cut from the whole table, or taken out class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pramana.errors import RecipeError
from pramana.generalize import (
    ClassFinder,
    Generalised,
    JointValues,
    Ladder,
    Layout,
    grouped,
    local_recoding,
    multidimensional,
)
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.generalize.population import occurring_lines
from pramana.methods.generalize.searching.counted import COPIES, condition_of, counted_lines
from pramana.methods.generalize.sensitive import Sensitive
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.generalize.units import lines_of_units
from pramana.methods.quasi import Quasi
from pramana.randomness import Codes, code_dtype
from pramana.rows import Columns, Rows, WholeRows


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
