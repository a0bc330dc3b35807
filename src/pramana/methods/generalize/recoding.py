"""A generalised table, the class of every row with the cells of the classes, and the ways to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, ClassFinder, Counts, Keys, Ladder, Layout, Levels
from pramana.errors import RecipeError, SchemaError, UnreachableError
from pramana.methods.cells import (
    KINDS,
    Cells,
    cells_between,
    hierarchy_cells,
    interval_cells,
    pdf_cells,
    set_cells,
)
from pramana.methods.generalize import _partition
from pramana.methods.generalize.conditions import (
    Condition,
    Flags,
    Ints,
    TableCondition,
    least_rows,
    staying,
    whole_table_fails,
)
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.lines import CountedLines
from pramana.methods.generalize.measures import SEPARABLE, Factors, measure_of
from pramana.methods.generalize.suppression import cells_of, cheapest_with_cells, suppressed_at
from pramana.randomness.samplers import Codes

MOST_NODES = 1 << 18  # of a lattice for local recoding: each is asked in its turn
CUTS = {"mondrian": 0, "mondrian-relaxed": 1, "kl": 2}  # by algorithm, as the kernel numbers them
MOST_LEAVES = 1 << 16
_MOST_ROWS = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Generalised:
    """`class_of` is -1 where a row is suppressed; `levels` is None unless every attribute is at one level.

    `columns` and `class_of` have a line for each row, or for each combination of codes that occurs; `times` then
    tells how many rows have it. `keys` are those of a full-domain generalisation's classes, at its levels.
    """

    ladders: tuple[Ladder, ...]
    columns: tuple[Codes, ...]
    class_of: NDArray[np.int32]
    classes: int
    levels: Levels | None = None
    cost: float | None = None
    nodes: int | None = None
    checked: int | None = None
    times: Counts | None = None
    keys: Keys | None = None
    numbers: Ints | None = None  # the class of each key, where several are one
    masks: Flags | None = None  # classes x attributes: which show the top instead of their level
    fewest_cells: bool = False  # proved: nothing less, by weight, could be suppressed at these levels

    @property
    def rows(self) -> int:
        """Those of the table, suppressed or not."""
        return len(self.class_of) if self.times is None else int(self.times.sum(dtype=np.int64))

    @property
    def suppressed(self) -> int:
        gone = self.class_of < 0
        return int(gone.sum() if self.times is None else self.times[gone].sum(dtype=np.int64))

    @cached_property
    def sizes(self) -> Ints:
        kept = self.class_of >= 0
        times = None if self.times is None else self.times[kept]
        return np.bincount(self.class_of[kept], times, self.classes).astype(np.int64)

    @property
    def finder(self) -> ClassFinder:
        """Tells which class any row is in. Only the classes of a full-domain generalisation can be told so."""
        if self.keys is None or self.levels is None:
            raise RecipeError(
                "The classes of rows must be those of a full-domain generalisation",
                "classes with levels of their own",
            )
        return ClassFinder(Layout(self.ladders), self.levels, self.keys, self.numbers)

    def shown_level(self, attribute: int) -> Ints | int | None:
        """The level of a column's labels: of all classes or of each; None for the lowest each class has."""
        if self.levels is None:
            return None
        if self.masks is None:
            return self.levels[attribute]
        top = self.ladders[attribute].height - 1
        return np.where(self.masks[:, attribute], top, self.levels[attribute]).astype(np.int64)

    @property
    def suppressed_cells(self) -> tuple[int, ...]:
        """By attribute: in how many rows the top stands instead of the label."""
        if self.masks is None:
            return (0,) * len(self.ladders)
        return tuple(int(self.sizes[mask].sum()) for mask in self.masks.T)

    @cached_property
    def pdf(self) -> tuple[Cells, ...]:
        """The utility-optimal distributions of the classes."""
        kept = self.class_of >= 0
        whole = bool(kept.all())
        class_of = self.class_of if whole else self.class_of[kept]
        times = self.times if whole or self.times is None else self.times[kept]
        return tuple(
            pdf_cells(ladder, column if whole else column[kept], class_of, self.classes, times)
            for ladder, column in zip(self.ladders, self.columns, strict=True)
        )

    def cells(self, kind: str, step: tuple[int, int] | None = None) -> tuple[Cells, ...]:
        """The cells of one kind; with `step` = (j, m) the distributions j/m of the way from the sets."""
        if kind not in KINDS:
            raise RecipeError(f"The cells must be one of {', '.join(KINDS)}", repr(kind))
        if step is not None and kind != "pdf":
            raise RecipeError("Only pdf cells have intermediate steps", kind)
        if kind == "pdf":
            if step is None:
                return self.pdf
            return tuple(cells_between(set_cells(cells), cells, *step) for cells in self.pdf)
        if kind == "set":
            return tuple(set_cells(cells) for cells in self.pdf)
        if kind == "interval":
            return tuple(interval_cells(cells) for cells in self.pdf)
        return tuple(
            hierarchy_cells(ladder, cells, self.shown_level(a))
            for a, (ladder, cells) in enumerate(zip(self.ladders, self.pdf, strict=True))
        )


def full_domain(
    counted: CountedLines,
    condition: Condition,
    *,
    measure: str = "loss",
    limit: int = 0,
    weights: Mapping[str, float] | None = None,
    factors: Factors | None = None,
    table: TableCondition | None = None,
) -> Generalised:
    """The optimal node of the lattice."""
    priced = measure_of(measure, counted.base.occupied.bare, weights, factors)
    best = search(counted.base, condition, priced, limit, table=table)
    generalised = at_levels(counted, condition, best.levels, table)
    return replace(generalised, cost=best.cost, nodes=best.nodes, checked=best.checked)


def at_levels(
    counted: CountedLines, condition: Condition, levels: Levels, table: TableCondition | None = None
) -> Generalised:
    """A given node: classes that fail the condition are suppressed, the others numbered by what they show.

    With a population beside the rows the index is of the rows alone, and classes without any are in none.
    """
    classes, into = counted.base.rolled_with_index(levels)
    held = staying(condition, classes, table)[1]
    if not held.any():
        raise UnreachableError(
            "Some class must satisfy the conditions", f"none of {len(classes)}", "Lower k, l or c, or raise t."
        )
    order = np.lexsort(classes.keys.T)  # an order that tells nothing of the rows' order
    order = order[held[order]]
    number = np.full(len(classes), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    class_of = number[into][counted.index]
    return _generalised(counted, class_of, len(order), levels=levels, keys=classes.keys[order])


def _generalised(counted: CountedLines, class_of: NDArray[np.int32], classes: int, **known: Any) -> Generalised:
    ladders, columns = counted.base.layout.ladders, tuple(counted.columns)
    return Generalised(ladders, columns, class_of, classes, times=counted.times, **known)


def full_domain_with_cells(
    counted: CountedLines,
    condition: Condition,
    *,
    levels: Levels | None = None,
    measure: str = "loss",
    limit: int = 0,
    weights: Mapping[str, float] | None = None,
) -> Generalised:
    """The cheapest node, or a given one: every row is published, and at most `limit` cells show the top."""
    search_figures = {}
    if levels is None:
        best = cheapest_with_cells(counted.base, condition, measure, limit, weights)
        levels, suppression = best.classes.levels, best.suppression
        search_figures = {"cost": best.cost, "nodes": best.nodes, "checked": best.checked}
    rolled, into = counted.base.rolled_with_index(levels)
    classes, rank = rolled.by_keys()
    if not search_figures:
        suppression = suppressed_at(classes, condition, weights)
        if (cells := cells_of(classes, suppression)) > limit:
            raise UnreachableError(
                f"These levels must need at most {limit} suppressed cells",
                f"{cells}",
                "Allow more suppression, choose higher levels, or leave levels out to have them searched for.",
            )
    return _generalised(
        counted,
        suppression.block[rank[into]][counted.index].astype(np.int32),
        len(suppression.masks),
        levels=levels,
        keys=classes.keys,
        numbers=suppression.block,
        masks=suppression.masks,
        fewest_cells=suppression.proved,
        **search_figures,
    )


# ------------------------------------------------------------------ local recoding


def local_recoding(
    counted: CountedLines,
    condition: Condition,
    measure: str = "loss",
    weights: Mapping[str, float] | None = None,
) -> Generalised:
    """Every class at levels of its own, the finest first.

    Full-domain generalisation asks one level of every row, for the sake of the rarest. Here nodes are taken by
    what they cost, the cheapest first; at each the classes of rows not yet placed that satisfy the conditions are
    taken out, and the others wait for a coarser node. What is left at the end joins the classes taken last. A
    class shows the lowest labels its rows share, which may be finer than its node.
    """
    if measure not in SEPARABLE:
        raise RecipeError(
            f'With algorithm = "local" the measure must be one of {", ".join(SEPARABLE)}', repr(measure)
        )
    base = counted.base
    prior = measure_of(measure, base.bare, weights).prior()
    if prior.size > MOST_NODES:
        raise RecipeError(
            f"A lattice of levels for local recoding must have at most {MOST_NODES} nodes",
            f"{prior.size}",
            'Use fewer levels or attributes, or algorithm = "mondrian".',
        )
    number, classes = np.full(len(base), -1, np.int64), 0
    waiting, left = np.arange(len(base)), base
    for node in np.argsort(prior, axis=None, kind="stable").tolist():
        levels = tuple(int(level) for level in np.unravel_index(node, prior.shape))
        into, held = _classes_taken(left, levels, condition)
        if not held.any():
            continue
        own = np.cumsum(held) - 1 + classes
        classes += int(held.sum())
        going = held[into]
        number[waiting[going]] = own[into[going]]
        waiting, left = waiting[~going], left.only(~going)
        if not len(waiting):
            break
    else:
        number, classes = _joined(base, number, classes, condition)
    return _generalised(counted, number[counted.index].astype(np.int32), classes)


def _classes_taken(left: Classes, levels: Levels, condition: Condition) -> tuple[NDArray[np.uint32], Flags]:
    """Which class of a node each of the rows left is in, and which of those classes hold."""
    classes, into = left.bare.rolled_with_index(levels)
    held = classes.sizes >= least_rows(condition)
    if left.pairs and held.any():
        held = condition.held(left.rolled(levels).seen)  # the same classes in the same order, with their pairs
    elif held.any():
        held = condition.held(classes.seen)
    return into, np.asarray(held)


def _joined(base: Classes, number: Ints, classes: int, condition: Condition) -> tuple[Ints, int]:
    """The rows left as one class, with as many of the classes taken last as it takes to satisfy the conditions."""
    joined = number.copy()
    while classes > 0:
        classes -= 1
        joined[(number < 0) | (number >= classes)] = classes
        if bool(condition.held(base.only(joined == classes).rolled(base.layout.top).seen).all()):
            return joined, classes + 1
    raise whole_table_fails()


# ------------------------------------------------------------------ multidimensional: Mondrian, and least KL cost
#
# Mondrian (LeFevre, DeWitt and Ramakrishnan, 2006) cuts the widest attribute as evenly as it can, again and
# again, as long as both sides satisfy the conditions. Ordered attributes are cut between two values, or, relaxed,
# anywhere; the others along their hierarchy, into the children of the label all rows share.
#
# The KL partition takes, each time, the cut that lowers the KL cost of the distributions in the cells most (paper
# 4, Eq. 1), over all attributes, in their own order and from the commonest value down.


def partition(
    ladders: Sequence[Ladder],
    columns: Sequence[Codes],
    k: int,
    algorithm: str = "mondrian",
    *,
    ordered: Sequence[bool] | None = None,
    weights: Mapping[str, float] | None = None,
    condition: Condition | None = None,
    sensitive: tuple[Codes, int] | None = None,
    times: Counts | None = None,
) -> Generalised:
    """Classes of at least k rows. `condition` sees class size and counts of the sensitive values, if given.

    `times`: how many rows each line stands for. Strict cuts lie between values, so that counts are all they need:
    the classes are those of the rows, in the same order.
    """
    if algorithm not in CUTS:
        raise RecipeError(f"The algorithm must be one of {', '.join(CUTS)}", repr(algorithm))
    if times is not None and algorithm != "mondrian":
        raise RecipeError("Lines that stand for several rows must be cut between values", repr(algorithm))
    lines = len(columns[0]) if columns else 0
    rows = lines if times is None else int(times.sum(dtype=np.int64))
    if rows > _MOST_ROWS:
        raise UnreachableError(f"A table to be cut must have at most {_MOST_ROWS} rows", str(rows))
    if k < 1 or k > rows:
        raise UnreachableError(f"k must be from 1 to the number of rows, {rows}", str(k))
    for ladder in ladders:
        if ladder.leaves > MOST_LEAVES:
            raise SchemaError(
                f"An attribute to be cut must have at most {MOST_LEAVES} values",
                f"{ladder.leaves} for {ladder.name}",
                "Group its values first, with bins or a higher level of its hierarchy.",
            )
    values = sensitive[1] if sensitive is not None else 0
    codes = _matrix([*columns, sensitive[0]] if sensitive is not None else columns, lines)
    flags = [ordered is None or ordered[a] for a in range(len(ladders))]
    shape = [(ladder.leaves, 0 if flag else ladder.height) for ladder, flag in zip(ladders, flags, strict=True)]
    labels = [m for ladder, flag in zip(ladders, flags, strict=True) if not flag for m in ladder.maps]
    holds = None if condition is None else _every_piece_holds(condition, values)
    if holds is not None and not holds(_counts(codes, len(ladders), values, times).tobytes()):
        raise whole_table_fails()
    class_of = np.empty(lines, np.uint32)
    classes = _partition.partition(
        codes,
        None if times is None else times.astype(np.uint32),  # its own: they move with the lines
        np.array(shape, np.int64),
        np.concatenate([*labels, np.zeros(1)]).astype(np.int32),
        np.array([float((weights or {}).get(ladder.name, 1.0)) for ladder in ladders]),
        k,
        CUTS[algorithm],
        values,
        holds,
        class_of,
    )
    return Generalised(tuple(ladders), tuple(columns), class_of.astype(np.int32), classes, times=times)


def _matrix(columns: Sequence[Codes], rows: int) -> NDArray[np.uint16]:
    codes = np.empty((rows, len(columns)), np.uint16)
    for a, column in enumerate(columns):
        if len(column) != rows:
            raise SchemaError("The columns of a table must be equally long", f"{rows} and {len(column)} rows")
        codes[:, a] = column
    return codes


def _counts(codes: NDArray[np.uint16], attributes: int, values: int, times: Counts | None) -> NDArray[np.uint32]:
    """The whole table as one class."""
    inner = np.bincount(codes[:, attributes], times, values) if values else np.zeros(0)
    rows = len(codes) if times is None else times.sum(dtype=np.int64)
    return np.concatenate([[rows], inner]).astype(np.uint32)


def _every_piece_holds(condition: Condition, values: int) -> Callable[[bytes], bool]:
    """What the kernel asks of the pieces of a cut, which come as the bytes of their counts."""

    def holds(counts: bytes) -> bool:
        return bool(condition.held(np.frombuffer(counts, np.uint32).reshape(-1, values + 1)).all())

    return holds
