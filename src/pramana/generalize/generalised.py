"""A generalised table: which class every row is in, and the cells of the classes, whatever search found them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, UnreachableError
from pramana.generalize.cells import (
    KINDS,
    Cells,
    cells_between,
    hierarchy_cells,
    interval_cells,
    pdf_cells,
    set_cells,
)
from pramana.generalize.classes import Classes, Ladder, Layout, Levels, grouped
from pramana.generalize.conditions import Condition
from pramana.generalize.lattice import search
from pramana.generalize.measures import measure_of
from pramana.generalize.partition import partition
from pramana.randomness import Codes

ALGORITHMS = {"incognito": None, "mondrian": "strict", "mondrian-relaxed": "relaxed", "kl": "kl"}


@dataclass(frozen=True, eq=False)
class Generalised:
    """`class_of` is -1 where a row is suppressed; `levels` is None unless every attribute is at one level."""

    ladders: tuple[Ladder, ...]
    columns: tuple[Codes, ...]
    class_of: NDArray[np.int32]
    classes: int
    levels: Levels | None = None
    cost: float | None = None
    nodes: int | None = None
    checked: int | None = None

    @property
    def suppressed(self) -> int:
        return int((self.class_of < 0).sum())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.class_of[self.class_of >= 0], minlength=self.classes)

    @cached_property
    def pdf(self) -> tuple[Cells, ...]:
        """The utility-optimal distributions of the classes."""
        kept = self.class_of >= 0
        whole = bool(kept.all())
        class_of = self.class_of if whole else self.class_of[kept]
        return tuple(
            pdf_cells(ladder, column if whole else column[kept], class_of, self.classes)
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
        levels = self.levels or (None,) * len(self.ladders)
        return tuple(
            hierarchy_cells(ladder, cells, level)
            for ladder, cells, level in zip(self.ladders, self.pdf, levels, strict=True)
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
) -> Generalised:
    """The optimal node of the lattice. `base` and `index` are those of `grouped`, with any further counts."""
    found = search(base, condition, measure_of(measure, base, weights), limit)
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
) -> Generalised:
    """A given node: classes that fail the condition are suppressed, the others numbered by what they show."""
    classes, into = base.rolled_with_index(levels)
    held = condition.held(classes.counts)
    if not held.any():
        raise UnreachableError("Some class must satisfy the conditions", "none", "Lower k, l or c, or raise t.")
    order = np.lexsort(classes.keys.T)  # an order that tells nothing of the rows' order
    order = order[held[order]]
    number = np.full(len(classes), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    class_of = number[into][index]
    return Generalised(
        layout.ladders, tuple(columns), class_of, len(order), levels, cost=cost, nodes=nodes, checked=checked
    )


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
) -> Generalised:
    """Mondrian, strict or relaxed, or the partition of least KL cost."""
    mode = ALGORITHMS.get(algorithm)
    if mode is None:
        raise RecipeError(f"The algorithm must be one of {', '.join(ALGORITHMS)}", repr(algorithm))
    found = partition(
        ladders, columns, k, mode, ordered=ordered, weights=weights, condition=condition, sensitive=sensitive
    )
    return Generalised(tuple(ladders), tuple(columns), found.class_of, found.classes)


def grouped_for(
    layout: Layout, columns: Sequence[Codes], sensitive: Sequence[tuple[Codes, int]] = ()
) -> tuple[Classes, NDArray[np.uint32]]:
    """Distinct rows, with the counts of every sensitive attribute's values side by side behind the size."""
    base, index = grouped(layout, columns)
    counts = [base.counts]
    for codes, size in sensitive:
        place = index.astype(np.int64) * size + codes
        counts.append(np.bincount(place, minlength=len(base) * size).reshape(-1, size).astype(np.uint32))
    if len(counts) > 1:
        base = Classes(layout, base.levels, base.keys, np.ascontiguousarray(np.concatenate(counts, axis=1)))
    return base, index
