"""The classes of a generalised release, from the rows wherever they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.counting.classes import Layout
from pramana.counting.value_counts import JointValues
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.cell_table import CLASS_NUMBER, MARK
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import InUnits
from pramana.methods.generalize.lines import (
    OccurringLines,
    PopulationLines,
    counted_lines,
    joint_values,
    occurring_lines,
)
from pramana.methods.generalize.measures import SEPARABLE, measure_of
from pramana.methods.generalize.partition import COPIES, by_combinations, by_rows, by_unit_lines, condition_in
from pramana.methods.generalize.recoding import Generalised, at_levels, full_domain, full_domain_with_cells
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.generalize.space import TABLE_BYTES, SolutionSpace, space_of
from pramana.methods.sensitive import Sensitive, derive_codes, sensitive_in
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
    if design.k > (most := rows.records if rows.owners is None else rows.owners.largest_units):
        units = "rows" if rows.owners is None else "people" if rows.owners.household is None else "households"
        raise UnreachableError(f"k must be at most the number of {units}, {most}", str(design.k))
    looked, joints = _looked_at(rows, design, sensitive)
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


def _looked_at(
    rows: Rows, design: GeneralizeDesign, sensitive: Sequence[Sensitive]
) -> tuple[tuple[Sensitive, ...], list[JointValues]]:
    """The sensitive columns that conditions look at, and their joint values where people have several rows.

    What is not counted in people is refused there.
    """
    if rows.owners is not None:
        refused = design.keys_by_levels
        if rows.owners.household is not None:
            refused += [model.key for model in design.sensitive_models if not model.of_households]
        if refused:
            raise RecipeError(f"{refused[0]} must be of rows that are people", "a [unit] of several rows")
    looked = tuple(sensitive) if design.looks_at_sensitive else ()
    derive_codes(rows, looked)
    return looked, joint_values(rows, design, looked)


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
    occurring = occurring_lines(rows, quasi, looked, joints, design.subset, target, population)
    layout = Layout(tuple(q.ladder for q in quasi))
    # a key and a count for each combination; with a sensitive value a key may need one word more
    size = len(occurring.lines.times) * (8 * layout.words + 4)
    size += sum(len(own.times) * (8 * (layout.words + 1) + 4) for _, own in occurring.beside)
    kept = 0  # bytes of tables that a search keeps to roll up from, about; with a separable measure they are few
    if levels is None and design.measure not in SEPARABLE:
        kept = min(TABLE_BYTES, math.prod(layout.heights) * size // 8)
    rows.check_room(COPIES * size + kept)
    generalised = solve_lines(design, quasi, occurring, levels, joints)
    finder, names, in_none = generalised.finder, tuple(q.name for q in quasi), generalised.classes
    marks = () if design.subset is None else (MARK,)

    def number(columns: Columns) -> Codes:
        numbers = finder.find([columns[name] for name in names])
        for mark in marks:  # rows outside the subset are in no class
            numbers = np.where(columns[mark] == 1, numbers, in_none).astype(numbers.dtype)
        return numbers

    rows.derive(CLASS_NUMBER, (*names, *marks), number)
    return Searched(generalised, occurring.population)


def _target(rows: Rows, design: GeneralizeDesign) -> Sensitive | None:
    """The column that a search keeps learnable, with its codes beside the rows."""
    if design.target is None:
        return None
    target = sensitive_in(design.target, rows)
    derive_codes(rows, [target])
    return target


def _people_of(occurring: OccurringLines) -> int:
    return 0 if occurring.population is None else occurring.population.people


def solve_lines(
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    occurring: OccurringLines,
    levels: tuple[int, ...] | None,
    joints: Sequence[JointValues] = (),
) -> Generalised:
    """The full-domain classes of what the lines stand for, counted in rows or, with `joints`, in people."""
    counted = counted_lines(quasi, occurring, joints, design.compares_people)
    condition = condition_in(design, occurring.totals(joints), joints)
    weights = design.weights or None
    limit = _limit(design, counted.base.rows, len(quasi))
    if design.suppress == "cells":
        return full_domain_with_cells(
            counted, condition, levels=levels, measure=design.measure, limit=limit, weights=weights
        )
    table = design.table(_people_of(occurring), occurring.lines.rows)
    if levels is not None:
        return at_levels(counted, condition, levels, table)
    factors = design.factors_of([q.name for q in quasi])
    return full_domain(
        counted, condition, measure=design.measure, limit=limit, weights=weights, factors=factors, table=table
    )


def _limit(design: GeneralizeDesign, rows: int, columns: int) -> int:
    """How many rows, or cells, may be suppressed."""
    return int(design.suppression * rows * (columns if design.suppress == "cells" else 1))


def space_in(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    sensitive: Sequence[Sensitive],
    chosen: tuple[int, ...] | None,
    population: PopulationLines | None = None,
) -> SolutionSpace:
    """Every node of the lattice on these rows."""
    looked, joints = _looked_at(rows, design, sensitive)
    target = _target(rows, design)
    occurring = occurring_lines(rows, quasi, looked, joints, design.subset, target, population)
    counted = counted_lines(quasi, occurring, joints, design.compares_people)
    named = design.named_conditions(occurring.totals(joints))
    weights, factors = design.weights or None, design.factors_of([q.name for q in quasi])
    return space_of(
        counted.base,
        [(name, InUnits(one, tuple(joints))) for name, one in named] if joints else named,
        measure_of(design.measure, counted.base.occupied.bare, weights, factors),
        design.measure,
        limit=_limit(design, counted.base.rows, len(quasi)),
        cells=design.suppress == "cells",
        chosen=chosen,
        weights=weights,
        table=design.table(_people_of(occurring), occurring.lines.rows),
    )


def goes_by_class(design: GeneralizeDesign, generalised: Generalised, output: str) -> bool:
    """Whether the cells go to a companion table."""
    if design.cells not in ("set", "pdf"):
        return False
    entries = sum(int((cells.sizes * generalised.sizes).sum()) for cells in generalised.pdf)
    return output == "csv" or entries > MOST_ENTRIES
