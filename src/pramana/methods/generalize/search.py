"""The classes of a generalised release, from the rows wherever they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, CountedCombinations, Counts, Layout
from pramana.counting.value_counts import JointValues
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.cell_table import CLASS_NUMBER, MARK
from pramana.methods.columns import Quasi
from pramana.methods.generalize.class_models import TableCondition
from pramana.methods.generalize.conditions import Condition, InUnits
from pramana.methods.generalize.measures import SEPARABLE, measure_of
from pramana.methods.generalize.models import PopulationLines, occurring_lines
from pramana.methods.generalize.partition_search import (
    COPIES,
    by_combinations,
    by_rows,
    by_unit_lines,
    condition_of,
    counted_lines,
    totals_of,
)
from pramana.methods.generalize.recoding import Generalised, at_levels, full_domain, full_domain_with_cells
from pramana.methods.generalize.setting import GeneralizeDesign, whole_table_keys
from pramana.methods.generalize.space import TABLE_BYTES, SolutionSpace, space_of
from pramana.methods.sensitive import NO_COLUMN, Sensitive, derive_codes, joint_values, sensitive_in
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Columns, Rows

MOST_ENTRIES = 20_000_000  # entries of lists in one Parquet file; beyond, cells go to the companion


@dataclass(frozen=True, eq=False)
class Searched:
    """The classes of a table, and the population that they were made beside, if any."""

    generalised: Generalised
    population: PopulationLines | None


def solve(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    sensitive: Sequence[Sensitive],
    levels: tuple[int, ...] | None,
    population: PopulationLines | None = None,
) -> Searched:
    """The classes, and every row's number of its class as a column; with `levels` those of a known solution.

    `population`: that of a file; a subset's is read with the rows.
    """
    _check_units(rows, design)
    if design.k > (most := rows.records if rows.owners is None else rows.owners.largest_units):
        units = "rows" if rows.owners is None else "people" if rows.owners.household is None else "households"
        raise UnreachableError(f"k must be at most the number of {units}, {most}", str(design.k))
    looked = tuple(sensitive) if design.looks_at_sensitive else ()
    derive_codes(rows, looked)
    joints = joint_values(rows, design, looked)
    if rows.owners is not None and design.suppress == "cells":
        raise RecipeError(
            'suppress = "cells" must be of rows that are people',
            "a [unit] of several rows",
            'Use suppress = "rows".',
        )
    if design.algorithm == "incognito":
        return _by_counts(rows, design, quasi, looked, levels, joints, population)
    if joints and design.algorithm != "local":
        return Searched(by_unit_lines(rows, design, quasi, looked), population)
    if design.cuts_between_values:
        return Searched(by_combinations(rows, design, quasi, looked, joints), population)
    return Searched(by_rows(rows, design, quasi, looked), population)


def _check_units(rows: Rows, design: GeneralizeDesign) -> None:
    """What is not counted in people is refused where people have several rows."""
    if rows.owners is None:
        return
    asked = whole_table_keys(design)
    if rows.owners.household is not None:
        asked += [key for key in ("d_disclosure", "b_likeness") if msgspec.structs.asdict(design)[key] is not None]
    if asked:
        raise RecipeError(f"{asked[0]} must be of rows that are people", "a [unit] of several rows")


def _by_counts(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    levels: tuple[int, ...] | None,
    joints: Sequence[JointValues],
    population: PopulationLines | None,
) -> Searched:
    """A full-domain generalisation rolls up the combinations that occur; no row is held."""
    target = _target(rows, design) if levels is None else None
    asked = occurring_lines(rows, quasi, looked, joints, design.subset, target)
    lines, others = asked.lines, [found for _, found in asked.beside]
    population = asked.everyone or population
    layout = Layout(tuple(q.ladder for q in quasi))
    # a key and a count for each combination; with a sensitive value a key may need one word more
    size = len(lines.times) * (8 * layout.words + 4)
    size += sum(len(found.times) * (8 * (layout.words + 1) + 4) for found in others)
    rows.check_room(COPIES * size + (0 if levels is not None else _kept(design, layout, size)))
    generalised = solve_lines(design, quasi, lines, asked.beside, levels, joints, population, asked.learnt)
    finder, names, in_none = generalised.finder, tuple(q.name for q in quasi), generalised.classes
    marks = () if design.subset is None else (MARK,)

    def number(columns: Columns) -> Codes:
        found = finder.find([columns[name] for name in names])
        for mark in marks:  # rows outside the subset are in no class
            found = np.where(columns[mark] == 1, found, in_none).astype(found.dtype)
        return found

    rows.derive(CLASS_NUMBER, (*names, *marks), number)
    return Searched(generalised, population)


def _target(rows: Rows, design: GeneralizeDesign) -> Sensitive | None:
    """The column that a search keeps learnable, with its codes beside the rows."""
    if design.target is None:
        return None
    target = sensitive_in(design.target, rows)
    derive_codes(rows, [target])
    return target


def _kept(design: GeneralizeDesign, layout: Layout, size: int) -> int:
    """Bytes of tables that a search keeps to roll up from, about; with a separable measure they are few."""
    if design.measure in SEPARABLE:
        return 0
    return min(TABLE_BYTES, math.prod(layout.heights) * size // 8)


def solve_lines(
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    lines: CountedCombinations,
    looked: Sequence[tuple[Sensitive, CountedCombinations]],
    levels: tuple[int, ...] | None,
    joints: Sequence[JointValues] = (),
    population: PopulationLines | None = None,
    learnt: tuple[Sensitive, CountedCombinations] | None = None,
) -> Generalised:
    """The full-domain classes of the rows that `lines` stand for, counted in rows or, with `joints`, in people."""
    counted = counted_lines(quasi, lines, looked, joints, population if design.compares_people else None, learnt)
    condition = condition_of(design, counted.totals, [s for s, _ in looked if s is not NO_COLUMN], joints)
    table = design.table(0 if population is None else population.people, lines.rows)
    return _full_domain(design, lines.columns, counted.base, counted.index, condition, levels, lines.times, table)


def space_in(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    sensitive: Sequence[Sensitive],
    chosen: tuple[int, ...] | None,
    population: PopulationLines | None = None,
) -> SolutionSpace:
    """Every node of the lattice on these rows."""
    _check_units(rows, design)
    looked = tuple(sensitive) if design.looks_at_sensitive else ()
    derive_codes(rows, looked)
    joints = joint_values(rows, design, looked)
    asked = occurring_lines(rows, quasi, looked, joints, design.subset, _target(rows, design))
    lines, population = asked.lines, asked.everyone or population
    beside = population if design.compares_people else None
    counted = counted_lines(quasi, lines, asked.beside, joints, beside, asked.learnt)
    named = design.named_conditions(totals_of(counted.totals, looked, joints))
    cells = design.suppress == "cells"
    weights = design.weights or None
    return space_of(
        counted.base,
        [(name, InUnits(one, tuple(joints))) for name, one in named] if joints else named,
        measure_of(
            design.measure, counted.base.occupied.bare, weights, design.factors_of([q.name for q in quasi])
        ),
        design.measure,
        limit=int(design.suppression * counted.base.rows * (len(quasi) if cells else 1)),
        cells=cells,
        chosen=chosen,
        weights=weights,
        table=design.table(0 if population is None else population.people, lines.rows),
    )


def _full_domain(
    design: GeneralizeDesign,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    levels: tuple[int, ...] | None,
    times: Counts | None = None,
    table: TableCondition | None = None,
) -> Generalised:
    layout, weights = base.layout, design.weights or None
    if design.suppress == "cells":
        limit = int(design.suppression * base.rows * len(layout.ladders))
        return full_domain_with_cells(
            layout,
            columns,
            base,
            index,
            condition,
            levels=levels,
            measure=design.measure,
            limit=limit,
            weights=weights,
            times=times,
        )
    if levels is not None:
        return at_levels(layout, columns, base, index, condition, levels, times=times, table=table)
    return full_domain(
        layout,
        columns,
        base,
        index,
        condition,
        measure=design.measure,
        limit=int(design.suppression * base.rows),
        weights=weights,
        factors=design.factors_of([ladder.name for ladder in layout.ladders]),
        times=times,
        table=table,
    )


def goes_by_class(design: GeneralizeDesign, generalised: Generalised, output: str) -> bool:
    """Whether the cells go to a companion table."""
    if design.cells not in ("set", "pdf"):
        return False
    entries = sum(int((cells.sizes * generalised.sizes).sum()) for cells in generalised.pdf)
    return output == "csv" or entries > MOST_ENTRIES
