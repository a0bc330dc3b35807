"""The classes of a generalised release, from the rows wherever they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana.counting.classes import ClassFinder, Counts, Ladder, Layout, grouped
from pramana.counting.value_counts import Ints, JointValues
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.cell_table import CLASS_NUMBER, MARK, derive_marks
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import All, Condition, InUnits, staying
from pramana.methods.generalize.lines import (
    NO_COLUMN,
    OccurringLines,
    PopulationLines,
    counted_lines,
    joint_columns,
    joint_values,
    marked_lines,
)
from pramana.methods.generalize.measures import SEPARABLE, Separable, measure_of
from pramana.methods.generalize.models import Tree
from pramana.methods.generalize.recoding import (
    Generalised,
    at_levels,
    full_domain,
    full_domain_with_cells,
    local_recoding,
    partition,
)
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.generalize.space import (
    MOST_NODES,
    TABLE_BYTES,
    SolutionNode,
    SolutionSpace,
    Tables,
    lost_rows,
)
from pramana.methods.generalize.suppression import cells_of, cost_of, suppressed_at
from pramana.methods.sensitive import Sensitive, derive_codes, lines_of_units, sensitive_in
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import Columns, Rows

COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it
MOST_ENTRIES = 20_000_000  # entries of lists in one Parquet file; beyond, cells go to the companion


@dataclass(frozen=True, eq=False)
class Searched:
    """The classes of a table, and the population that they were made beside, if any."""

    generalised: Generalised
    population: PopulationLines | None


@dataclass(frozen=True, eq=False)
class ClassTask:
    """What classes are made from: rows, how they are to be generalised, and what conditions look at."""

    rows: Rows
    design: GeneralizeDesign
    quasi: Sequence[Quasi]
    sensitive: Sequence[Sensitive]
    population: PopulationLines | None  # of a file; a subset's is read with the rows

    @property
    def looked(self) -> tuple[Sensitive, ...]:
        """The sensitive columns that conditions look at."""
        return tuple(self.sensitive) if self.design.looks_at_sensitive else ()

    @cached_property
    def joints(self) -> list[JointValues]:
        """The values of those columns where people have several rows; what is not counted in people is refused."""
        rows, design = self.rows, self.design
        if rows.owners is not None:
            refused = design.keys_by_levels
            if rows.owners.household is not None:
                refused += [model.key for model in design.sensitive_models if not model.of_households]
            if refused:
                raise RecipeError(f"{refused[0]} must be of rows that are people", "a [unit] of several rows")
        derive_codes(rows, self.looked)
        return joint_values(rows, design, self.looked)

    def occurring(self, target: Sensitive | None = None) -> OccurringLines:
        """With a subset those of its rows, beside all of them; with joint values people are counted."""
        own = {q.name: q.attribute.coded.size for q in self.quasi}
        beside = joint_columns(self.joints) or {s.coded: s.size for s in self.looked}
        groups = [own, *({**own, name: size} for name, size in beside.items())]
        if target is not None:
            groups.append({**own, target.coded: target.size})
        population = self.population
        if self.design.subset is None:
            lines, *others = self.rows.combinations(groups)
        else:
            derive_marks(self.rows, self.design.subset)
            everyone, *marked = self.rows.combinations([own, *({**group, MARK: 2} for group in groups)])
            lines, *others = map(marked_lines, marked)
            population = PopulationLines(everyone)
        with_target = None if target is None else (target, others.pop())
        paired = list(zip(self.looked or [NO_COLUMN] * len(self.joints), others, strict=True))
        return OccurringLines(lines, paired, with_target, population)

    def target(self) -> Sensitive | None:
        """The column that a search keeps learnable, with its codes beside the rows."""
        if self.design.target is None:
            return None
        target = sensitive_in(self.design.target, self.rows)
        derive_codes(self.rows, [target])
        return target

    def check_one_column(self) -> None:
        if len(self.looked) > 1 and self.design.algorithm != "local":
            raise RecipeError(
                f"The algorithm {self.design.algorithm} takes l and t of one sensitive column",
                f"{len(self.looked)}",
            )

    def codes(self) -> dict[str, Codes]:
        """Those of the quasi-identifying columns in all rows, and of the sensitive ones behind them."""
        sizes = {q.name: q.attribute.coded.size for q in self.quasi} | {s.coded: s.size for s in self.looked}
        codes = self.rows.whole().codes(sizes)
        return {name: codes[name] for name in sizes}

    def cut(self, columns: Sequence[Codes], k: int | None = None, times: Counts | None = None) -> Generalised:
        """A partition of lines whose last column, where one is looked at, is the sensitive one."""
        design = self.design
        totals = [(np.bincount(columns[-1], times, s.size).astype(np.int64), s.parents) for s in self.looked]
        return partition(
            tuple(q.ladder for q in self.quasi),
            columns[: len(self.quasi)],
            design.k if k is None else k,
            design.algorithm,
            ordered=[q.ordered for q in self.quasi],
            weights=design.weights,
            condition=design.condition(totals) if self.looked else None,
            sensitive=(columns[-1], self.looked[0].size) if self.looked else None,
            times=times,
        )

    def attach(self, generalised: Generalised) -> Generalised:
        """With every row's number of its class as a column."""
        number = np.where(generalised.class_of < 0, generalised.classes, generalised.class_of)
        self.rows.whole().attach(CLASS_NUMBER, number.astype(code_dtype(generalised.classes + 1)))
        return generalised


def solve(task: ClassTask, levels: tuple[int, ...] | None) -> Searched:
    """The classes, and every row's number of its class as a column; with `levels` those of a known solution."""
    rows, design = task.rows, task.design
    if design.k > (most := rows.records if rows.owners is None else rows.owners.largest_units):
        units = "rows" if rows.owners is None else "people" if rows.owners.household is None else "households"
        raise UnreachableError(f"k must be at most the number of {units}, {most}", str(design.k))
    joints = task.joints
    if rows.owners is not None and design.suppress == "cells":
        raise RecipeError(
            'suppress = "cells" must be of rows that are people',
            "a [unit] of several rows",
            'Use suppress = "rows".',
        )
    if design.algorithm == "incognito":
        return _by_counts(task, levels)
    if joints and design.algorithm != "local":
        return Searched(_by_unit_lines(task), task.population)
    return Searched(_by_combinations(task) if design.cuts_between_values else _by_rows(task), task.population)


def _by_counts(task: ClassTask, levels: tuple[int, ...] | None) -> Searched:
    """A full-domain generalisation rolls up the combinations that occur; no row is held."""
    design, quasi = task.design, task.quasi
    occurring = task.occurring(task.target() if levels is None else None)
    layout = Layout(tuple(q.ladder for q in quasi))
    # a key and a count for each combination; with a sensitive value a key may need one word more
    size = len(occurring.lines.times) * (8 * layout.words + 4)
    size += sum(len(own.times) * (8 * (layout.words + 1) + 4) for _, own in occurring.beside)
    kept = 0  # bytes of tables that a search keeps to roll up from, about; with a separable measure they are few
    if levels is None and design.measure not in SEPARABLE:
        kept = min(TABLE_BYTES, math.prod(layout.heights) * size // 8)
    task.rows.check_room(COPIES * size + kept)
    generalised = solve_lines(design, quasi, occurring, levels, task.joints)
    finder, names, in_none = generalised.finder, tuple(q.name for q in quasi), generalised.classes
    marks = () if design.subset is None else (MARK,)

    def number(columns: Columns) -> Codes:
        numbers = finder.find([columns[name] for name in names])
        for mark in marks:  # rows outside the subset are in no class
            numbers = np.where(columns[mark] == 1, numbers, in_none).astype(numbers.dtype)
        return numbers

    task.rows.derive(CLASS_NUMBER, (*names, *marks), number)
    return Searched(generalised, occurring.population)


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
    condition = _condition(design, occurring.totals(joints), joints)
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


def space_in(task: ClassTask, chosen: tuple[int, ...] | None) -> SolutionSpace:
    """Every node of the lattice on these rows is looked at, so that must be small."""
    design, quasi, joints = task.design, task.quasi, task.joints
    if (size := math.prod(q.ladder.height for q in quasi)) > MOST_NODES:
        raise RecipeError(
            f"A space of solutions that is looked at must have at most {MOST_NODES} nodes",
            f"{size}",
            "Use fewer levels or columns: begin at a higher level of a hierarchy (level = 1).",
        )
    occurring = task.occurring(task.target())
    counted = counted_lines(quasi, occurring, joints, design.compares_people)
    named = design.named_conditions(occurring.totals(joints))
    if joints:
        named = [(name, InUnits(one, tuple(joints))) for name, one in named]
    every = named[0][1] if len(named) == 1 else All(tuple(condition for _, condition in named))
    base, weights = counted.base, design.weights or None
    measure = measure_of(design.measure, base.occupied.bare, weights, design.factors_of([q.name for q in quasi]))
    limit, cells = _limit(design, base.rows, len(quasi)), design.suppress == "cells"
    table = design.table(_people_of(occurring), occurring.lines.rows)
    tables, pairs = Tables(base.bare), [Tables(own) for own in base.pairs]
    nodes = []
    for levels in np.ndindex(*base.layout.heights):
        rolled = tables.at(levels).occupied
        classes = replace(rolled, pairs=tuple(own.at((*levels, 0)) for own in pairs))
        fails = {name: lost_rows(classes, condition.held(classes.seen)) for name, condition in named}
        failing = lost_rows(classes, every.held(classes.seen))
        held = np.ones(len(classes), np.bool_) if cells else staying(every, classes, table)[1]
        gone = failing if cells else lost_rows(classes, held)
        number, cost = None, float(measure.cost(classes, held)) if bool(held.any()) else None
        if cells and failing <= limit:
            ordered = classes.by_keys()[0]
            suppression = suppressed_at(ordered, every, weights)
            gone = number = cells_of(ordered, suppression)
            if isinstance(measure, Separable):
                cost = cost_of(measure, ordered, suppression)
        nodes.append(
            SolutionNode(
                levels,
                len(classes),
                int(classes.sizes.min()),
                fails,
                failing if cells else gone,
                number,
                cost,
                gone <= limit and bool(held.any()),
                levels == chosen,
            )
        )
    nodes.sort(key=lambda n: (not n.chosen, not n.holds, n.cost is None, n.cost or 0.0, n.levels))
    names = tuple(q.name for q in quasi)
    return SolutionSpace(names, base.rows, design.measure, limit, design.suppress, tuple(nodes))


# ------------------------------------------------------------------ classes that are no level of the lattice


def _by_combinations(task: ClassTask) -> Generalised:
    """Classes that rows of the same values share: cut, or taken out, from the combinations that occur."""
    task.check_one_column()
    design, quasi, occurring = task.design, task.quasi, task.occurring()
    beside = [own for _, own in occurring.beside]
    room = sum(len(own.times) * (8 * len(quasi) + 4) for own in (occurring.lines, *beside))
    task.rows.check_room(COPIES * room)
    if design.algorithm == "local":
        condition = _condition(design, occurring.totals(task.joints), task.joints)
        counted = counted_lines(quasi, occurring, task.joints)
        generalised = local_recoding(counted, condition, design.measure, design.weights or None)
    else:
        lines = beside[0] if task.looked else occurring.lines
        generalised = task.cut(lines.columns, times=lines.times)
    names = tuple(q.name for q in quasi)
    layout = Layout(tuple(Ladder.flat(q.name, q.attribute.coded.size) for q in quasi))
    base, index = grouped(layout, generalised.columns, generalised.times)
    numbers = np.empty(len(base), np.int64)
    numbers[index] = generalised.class_of
    finder = ClassFinder(layout, layout.bottom, base.keys, numbers)

    def number(columns: Columns) -> Codes:
        return finder.find([columns[name] for name in names])

    task.rows.derive(CLASS_NUMBER, names, number)
    return generalised


def _by_rows(task: ClassTask) -> Generalised:
    """A partition that may cut between rows of the same values: the codes of all rows are held."""
    task.check_one_column()
    return task.attach(task.cut(list(task.codes().values())))


def _by_unit_lines(task: ClassTask) -> Generalised:
    """A partition of people: a person's rows that agree in all quasi-identifiers are one line.

    Of lines of people with at most m lines each, (k - 1) m + 1 are of k people at least.
    """
    codes, looked = task.codes(), task.looked
    lines = lines_of_units(task.rows, codes)
    if looked and (len(looked) > 1 or lines.most > 1):
        raise RecipeError(
            f"The algorithm {task.design.algorithm} takes l and t of one sensitive column, of people whose rows "
            "agree",
            f"{len(looked)} columns" if len(looked) > 1 else "people whose rows differ",
            'Use algorithm = "incognito" or "local".',
        )
    at = lines.first_rows
    k = min((task.design.k - 1) * lines.most + 1, len(at))
    of_lines = task.cut([column[at] for column in codes.values()], k)
    columns = tuple(codes[q.name] for q in task.quasi)
    return task.attach(replace(of_lines, columns=columns, class_of=of_lines.class_of[lines.line_of_row]))


def _condition(
    design: GeneralizeDesign, totals: list[tuple[Ints, Tree]], joints: Sequence[JointValues]
) -> Condition:
    """What classes must satisfy, counted in rows or, with joint values, in people."""
    condition = design.condition(totals)
    return InUnits(condition, tuple(joints)) if joints else condition


def goes_by_class(design: GeneralizeDesign, generalised: Generalised, output: str) -> bool:
    """Whether the cells go to a companion table."""
    if design.cells not in ("set", "pdf"):
        return False
    entries = sum(int((cells.sizes * generalised.sizes).sum()) for cells in generalised.pdf)
    return output == "csv" or entries > MOST_ENTRIES
