"""A generalised table: which class every row is in, and the cells of the classes, whatever search found them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, ClassFinder, Counts, Keys, Ladder, Layout, Levels, grouped
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.cells import (
    KINDS,
    Cells,
    cells_between,
    hierarchy_cells,
    interval_cells,
    pdf_cells,
    set_cells,
)
from pramana.methods.generalize.class_models import TableCondition, staying
from pramana.methods.generalize.conditions import Condition, least_rows
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.measures import SEPARABLE, Factors, measure_of
from pramana.methods.generalize.partition import partition
from pramana.methods.generalize.suppression import cells_of, cheapest_with_cells, suppressed_at
from pramana.randomness.samplers import Codes

# Local recoding: every class at levels of its own, the finest first.
#
# Full-domain generalisation asks one level of every row, for the sake of the rarest. Here nodes are taken by
# what they cost, the cheapest first; at each the classes of rows not yet placed that satisfy the conditions
# are taken out, and the others wait for a coarser node. What is left at the end joins the classes taken last.
# A class shows the lowest labels its rows share, which may be finer than its node.


MOST_NODES = 1 << 18  # each is asked in its turn
Ints = NDArray[np.int64]


def local_classes(
    base: Classes, condition: Condition, measure: str = "loss", weights: Mapping[str, float] | None = None
) -> tuple[Ints, int]:
    """For each class of `base` the number of the class it is published in, and how many there are."""
    if measure not in SEPARABLE:
        raise RecipeError(
            f'With algorithm = "local" the measure must be one of {", ".join(SEPARABLE)}', repr(measure)
        )
    prior = measure_of(measure, base.bare, weights).prior()
    if prior.size > MOST_NODES:
        raise RecipeError(
            f"A lattice of levels for local recoding must have at most {MOST_NODES} nodes",
            f"{prior.size}",
            'Use fewer levels or attributes, or algorithm = "mondrian".',
        )
    number, classes = np.full(len(base), -1, np.int64), 0
    waiting, left = np.arange(len(base)), base
    for place in np.argsort(prior, axis=None, kind="stable").tolist():
        levels = tuple(int(level) for level in np.unravel_index(place, prior.shape))
        into, held = _taken(left, levels, condition)
        if not held.any():
            continue
        own = np.cumsum(held) - 1 + classes
        classes += int(held.sum())
        going = held[into]
        number[waiting[going]] = own[into[going]]
        waiting, left = waiting[~going], left.only(~going)
        if not len(waiting):
            return number, classes
    return _joined(base, number, classes, condition)


def _taken(left: Classes, levels: Levels, condition: Condition) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
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
    raise UnreachableError(
        "The whole table as one class must satisfy the conditions",
        "a table that does not",
        "Lower k, l or c, or raise t.",
    )


ALGORITHMS = {"incognito": None, "local": None, "mondrian": "strict", "mondrian-relaxed": "relaxed", "kl": "kl"}


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
    numbers: NDArray[np.int64] | None = None  # the class of each key, where several are one
    masks: NDArray[np.bool_] | None = None  # classes x attributes: which show the top instead of their level
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
    def sizes(self) -> NDArray[np.int64]:
        kept = self.class_of >= 0
        times = None if self.times is None else self.times[kept]
        return np.bincount(self.class_of[kept], times, self.classes).astype(np.int64)

    @property
    def finder(self) -> ClassFinder:
        """Tells which class any row is in. Only the classes of a full-domain generalisation can be told so."""
        if self.keys is None or self.levels is None:
            raise RecipeError("The classes of rows must be those of a full-domain generalisation", "others")
        return ClassFinder(Layout(self.ladders), self.levels, self.keys, self.numbers)

    def shown_level(self, attribute: int) -> NDArray[np.int64] | int | None:
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
    layout: Layout,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    *,
    measure: str = "loss",
    limit: int = 0,
    weights: Mapping[str, float] | None = None,
    factors: Factors | None = None,
    times: Counts | None = None,
    table: TableCondition | None = None,
) -> Generalised:
    """The optimal node of the lattice. `base` and `index` are those of `grouped`, with any further counts."""
    priced = measure_of(measure, base.occupied.bare, weights, factors)
    found = search(base, condition, priced, limit, table=table)
    return at_levels(
        layout,
        columns,
        base,
        index,
        condition,
        found.levels,
        cost=found.cost,
        nodes=found.nodes,
        checked=found.checked,
        times=times,
        table=table,
    )


def at_levels(
    layout: Layout,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    levels: Levels,
    *,
    cost: float | None = None,
    nodes: int | None = None,
    checked: int | None = None,
    times: Counts | None = None,
    table: TableCondition | None = None,
) -> Generalised:
    """A given node: classes that fail the condition are suppressed, the others numbered by what they show.

    With a population beside the rows `index` is of the rows alone, and classes without any are in none.
    """
    classes, into = base.rolled_with_index(levels)
    held = staying(condition, classes, table)[1]
    if not held.any():
        raise UnreachableError("Some class must satisfy the conditions", "none", "Lower k, l or c, or raise t.")
    order = np.lexsort(classes.keys.T)  # an order that tells nothing of the rows' order
    order = order[held[order]]
    number = np.full(len(classes), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    class_of = number[into][index]
    return Generalised(
        layout.ladders,
        tuple(columns),
        class_of,
        len(order),
        levels,
        cost=cost,
        nodes=nodes,
        checked=checked,
        times=times,
        keys=classes.keys[order],
    )


def full_domain_with_cells(
    layout: Layout,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    *,
    levels: Levels | None = None,
    measure: str = "loss",
    limit: int = 0,
    weights: Mapping[str, float] | None = None,
    times: Counts | None = None,
) -> Generalised:
    """The cheapest node, or a given one: every row is published, and at most `limit` cells show the top."""
    found = None
    if levels is None:
        found = cheapest_with_cells(base, condition, measure, limit, weights)
        levels = found.classes.levels
    rolled, into = base.rolled_with_index(levels)
    classes, place = rolled.by_keys()
    suppression = suppressed_at(classes, condition, weights) if found is None else found.suppression
    if found is None and cells_of(classes, suppression) > limit:
        raise UnreachableError(
            f"These levels must need at most {limit} suppressed cells",
            f"{cells_of(classes, suppression)}",
            "Allow more suppression, choose higher levels, or leave levels out to have them searched for.",
        )
    return Generalised(
        layout.ladders,
        tuple(columns),
        suppression.block[place[into]][index].astype(np.int32),
        len(suppression.masks),
        levels,
        cost=None if found is None else found.cost,
        nodes=None if found is None else found.nodes,
        checked=None if found is None else found.checked,
        times=times,
        keys=classes.keys,
        numbers=suppression.block,
        masks=suppression.masks,
        fewest_cells=suppression.proved,
    )


def local_recoding(
    layout: Layout,
    columns: Sequence[Codes],
    base: Classes,
    index: NDArray[np.uint32],
    condition: Condition,
    *,
    measure: str = "loss",
    weights: Mapping[str, float] | None = None,
    times: Counts | None = None,
) -> Generalised:
    """Classes at levels of their own. `base` and `index` are those of `grouped_for`, with any pairs."""
    number, classes = local_classes(base, condition, measure, weights)
    return Generalised(layout.ladders, tuple(columns), number[index].astype(np.int32), classes, times=times)


def multidimensional(
    ladders: Sequence[Ladder],
    columns: Sequence[Codes],
    k: int,
    algorithm: str,
    *,
    ordered: Sequence[bool] | None = None,
    weights: Mapping[str, float] | None = None,
    condition: Condition | None = None,
    sensitive: tuple[Codes, int] | None = None,
    times: Counts | None = None,
) -> Generalised:
    """Mondrian, strict or relaxed, or the partition of least KL cost. `times`: of lines, for strict cuts alone."""
    mode = ALGORITHMS.get(algorithm)
    if mode is None:
        raise RecipeError(f"The algorithm must be one of {', '.join(ALGORITHMS)}", repr(algorithm))
    found = partition(
        ladders,
        columns,
        k,
        mode,
        ordered=ordered,
        weights=weights,
        condition=condition,
        sensitive=sensitive,
        times=times,
    )
    return Generalised(tuple(ladders), tuple(columns), found.class_of, found.classes, times=times)


def grouped_for(
    layout: Layout,
    columns: Sequence[Codes],
    sensitive: Sequence[tuple[Codes, int]] = (),
    times: Counts | None = None,
) -> tuple[Classes, NDArray[np.uint32]]:
    """Distinct rows, with the counts of every sensitive attribute's values side by side behind the size.

    They are in the order of their keys, so that what is made of them, sums of floats included, is the same for
    the same rows in any order. `times`: how many rows each line stands for, where that is not one.
    """
    found, places = grouped(layout, columns, times)
    order = np.lexsort(found.keys.T)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    base, index = Classes(layout, found.levels, found.keys[order], found.counts[order]), rank[places]
    return with_sensitive(base, [(index, codes, size, times) for codes, size in sensitive]), index


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
        found = grouped(layout, [*columns, codes], times)[0]
        order = np.lexsort(found.keys.T)  # sums of floats over them do not know the rows' order
        pairs.append(replace(found, keys=found.keys[order], counts=found.counts[order]))
    return replace(base, pairs=tuple(pairs))


def beside_people(
    base: Classes, index: NDArray[np.uint32], columns: Sequence[Codes], times: Counts
) -> tuple[Classes, NDArray[np.uint32]]:
    """The same classes with how many people of a population each stands for behind its size.

    People who are like none of the rows are classes without rows: at higher levels they may fall into others.
    """
    people = grouped(base.layout, columns, times)[0]
    counts = np.zeros((len(base) + len(people), 2), np.uint32)
    counts[: len(base), 0] = base.sizes
    counts[len(base) :, 1] = people.sizes
    both = Classes(base.layout, base.levels, np.concatenate([base.keys, people.keys]), counts)
    found, into = both.rolled_with_index(base.levels)
    ordered, place = found.by_keys()
    return replace(ordered, pairs=base.pairs), place[into[: len(base)]][index].astype(np.uint32)
