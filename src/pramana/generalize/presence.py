"""delta-presence of a private table among the people of a public one (paper 4, section V), through one interface.

SPALM finds the best full-domain generalisation at which every class has a share of present people within delta.
WPALM, PPALM and the optimal algorithm then give its classes distributions. Where these come from is the mode:

  public      the public table's own counts: they tell nothing that is not public
  noised      the private counts with two-sided geometric noise, which costs an epsilon
  quantised   the private counts rounded to some levels
  private     the private counts, as in the paper: they can often be reversed
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, SourceError, UnreachableError
from pramana.generalize.algorithms import shaped
from pramana.generalize.cells import Cells, hierarchy_cells, pdf_cells, set_cells
from pramana.generalize.classes import Classes, Layout, Levels, grouped, with_counts_of
from pramana.generalize.lattice import search
from pramana.generalize.measures import separable
from pramana.generalize.shaping import STEPS, Ints, People, Presence, Task, cost_by_class, reached_range
from pramana.randomness import ONE, Codes, Key

MODES = ("public", "noised", "quantised", "private")
STARTS = ("hierarchy", "set")
MEASURES = ("loss", "entropy", "precision")
QUANTUM = 8


@dataclass(frozen=True, eq=False)
class Pair:
    """A public table, and which of its people are in the private one."""

    layout: Layout
    columns: tuple[Codes, ...]
    present: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if any(len(column) != len(self.present) for column in self.columns):
            raise SourceError("Every column of the public table must be as long as its mark of presence")
        if not self.present.any():
            raise SourceError("Someone of the public table must be in the private one", "nobody")

    @cached_property
    def _grouped(self) -> tuple[Classes, NDArray[np.uint32]]:
        base, index = grouped(self.layout, self.columns)
        counted = with_counts_of(base, index, self.present.astype(np.uint8), 2)
        counts = np.ascontiguousarray(counted.counts[:, [0, 2]])
        return Classes(base.layout, base.levels, base.keys, counts), index

    @property
    def base(self) -> Classes:
        """The distinct rows: people, and present people."""
        return self._grouped[0]

    @property
    def index(self) -> NDArray[np.uint32]:
        return self._grouped[1]


def matched(
    layout: Layout, public: Sequence[Codes], private: Sequence[Codes]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which people of the public table the private rows are, by all attributes, and for each private row whose.

    People who agree on every attribute cannot be told apart by anyone; the first of them are taken.
    """
    both = [np.concatenate([a, b]) for a, b in zip(public, private, strict=True)]
    classes, index = grouped(layout, both)
    people = len(public[0])
    there = np.bincount(index[:people], minlength=len(classes))
    here = np.bincount(index[people:], minlength=len(classes))
    extra = np.maximum(here - there, 0)
    if extra.any():
        raise SourceError(
            "Every private row must be someone of the public table, by all quasi-identifying columns",
            f"{int(extra.sum())} of {len(private[0])} rows without a match of their own",
            "Add these people to the public table, or leave out columns that differ between the tables.",
        )
    row_order = np.argsort(index[:people], kind="stable")
    private_order = np.argsort(index[people:], kind="stable")
    start = np.concatenate([[0], np.cumsum(there)])
    mine = index[people:][private_order]
    rank = np.arange(len(mine)) - np.concatenate([[0], np.cumsum(here)])[mine]
    row_of = np.empty(len(mine), np.int64)
    row_of[private_order] = row_order[start[mine] + rank]
    present = np.zeros(people, np.bool_)
    present[row_of] = True
    return present, row_of


@dataclass(frozen=True, eq=False)
class PresentClasses:
    """SPALM's answer. Classes are those with someone present; `class_of` a public row is -1 in the others."""

    pair: Pair
    wanted: Presence
    levels: Levels
    class_of: NDArray[np.int32]
    present: Ints
    people: People
    alone: int  # people in classes in which nobody is present
    cost: float
    nodes: int
    checked: int

    @property
    def classes(self) -> int:
        return len(self.present)

    @cached_property
    def public(self) -> tuple[Cells, ...]:
        """What the public people of each class are."""
        return self._counted(self.class_of >= 0)

    @cached_property
    def private(self) -> tuple[Cells, ...]:
        """What the present people of each class are."""
        return self._counted(self.pair.present)

    def _counted(self, rows: NDArray[np.bool_]) -> tuple[Cells, ...]:
        class_of = self.class_of[rows]
        return tuple(
            pdf_cells(ladder, column[rows], class_of, self.classes)
            for ladder, column in zip(self.pair.layout.ladders, self.pair.columns, strict=True)
        )

    def uniform(self, start: str) -> tuple[Cells, ...]:
        """`hierarchy`: all leaves under the label; `set`: the values that people of the public class have."""
        if start not in STARTS:
            raise RecipeError(f"The cells must be one of {', '.join(STARTS)}", repr(start))
        if start == "set":
            return tuple(set_cells(cells) for cells in self.public)
        return tuple(
            hierarchy_cells(ladder, cells, level)
            for ladder, cells, level in zip(self.pair.layout.ladders, self.public, self.levels, strict=True)
        )


def spalm(
    pair: Pair, wanted: Presence, measure: str = "loss", weights: Mapping[str, float] | None = None
) -> PresentClasses:
    """The full-domain generalisation of least cost to the private rows that has (dmin, dmax)-presence."""
    if measure not in MEASURES:
        raise RecipeError(f"With method presence the measure must be one of {', '.join(MEASURES)}", repr(measure))
    _check_share(pair, wanted)
    base = pair.base
    private = Classes(base.layout, base.levels, base.keys, np.ascontiguousarray(base.counts[:, 1:]))
    try:
        found = search(base, wanted, separable(measure, private, weights))
    except UnreachableError:
        raise _nothing(pair, wanted) from None
    return at_presence_levels(pair, wanted, found.levels, found.cost, found.nodes, found.checked)


def at_presence_levels(
    pair: Pair, wanted: Presence, levels: Levels, cost: float = math.nan, nodes: int = 0, checked: int = 0
) -> PresentClasses:
    """A given node, whose classes must hold."""
    base = pair.base
    classes, into = base.rolled_with_index(levels)
    if not bool(wanted.held(classes.counts).all()):
        raise UnreachableError("Every class at these levels must have delta-presence", "one that has not")
    order = np.lexsort(classes.keys.T)  # an order that tells nothing of the rows' order
    order = order[classes.counts[order, 1] > 0]
    number = np.full(len(classes), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    row_class = number[into]
    rows = np.argsort(row_class, kind="stable")
    rows = rows[row_class[rows] >= 0]
    first = np.searchsorted(row_class[rows], np.arange(len(order) + 1)).astype(np.int64)
    codes = tuple(base.codes(a)[rows] for a in range(len(base.layout.ladders)))
    people = People(first, base.sizes[rows].astype(np.int64), codes)
    present = classes.counts[order, 1].astype(np.int64)
    alone = int(classes.sizes[classes.counts[:, 1] == 0].sum(dtype=np.int64))
    return PresentClasses(
        pair, wanted, levels, row_class[pair.index], present, people, alone, cost, nodes, checked
    )


def _check_share(pair: Pair, wanted: Presence) -> None:
    people, present = len(pair.present), int(pair.present.sum())
    share = Fraction(present, people)
    said = f"{present} of {people} people present, a share of {float(share):.6g}"
    if share < wanted.lowest:
        raise UnreachableError(
            f"dmin must be at most the share of people present, got dmin = {float(wanted.lowest):g} with {said}"
        )
    if share > wanted.highest:
        raise UnreachableError(
            f"dmax must be at least the share of people present, got dmax = {float(wanted.highest):g} with {said}"
        )


def _nothing(pair: Pair, wanted: Presence) -> UnreachableError:
    top = pair.base.rolled(pair.layout.top)
    shares = top.counts[:, 1] / top.counts[:, 0]
    return UnreachableError(
        f"Some generalisation must have ({float(wanted.lowest):g}, {float(wanted.highest):g})-presence",
        f"none: the top of the hierarchies has {len(top)} classes with shares of people present from "
        f"{float(shares.min()):.6g} to {float(shares.max()):.6g}",
        "Widen delta, or let the hierarchies end in one label.",
    )


# ------------------------------------------------------------------ where distributions come from


@dataclass(frozen=True)
class Setting:
    """Algorithm, mode and their numbers."""

    algorithm: str = "optimal"
    mode: str = "public"
    start: str = "hierarchy"
    steps: int = STEPS
    quantum: int = QUANTUM
    epsilon: float | None = None  # wanted of the noise

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise RecipeError(f"The mode must be one of {', '.join(MODES)}", repr(self.mode))
        if not 2 <= self.quantum <= 1 << 20:
            raise RecipeError("quantum must be from 2 to 1048576 levels", str(self.quantum))
        if (self.mode == "noised") != (self.epsilon is not None):
            raise RecipeError('noise_epsilon must go with mode = "noised"', f"mode = {self.mode!r}")
        if self.epsilon is not None and not 1e-6 <= self.epsilon <= 100:
            raise RecipeError("noise_epsilon must be from 0.000001 to 100", str(self.epsilon))

    def coin(self, attributes: int) -> int:
        """The chance, out of ONE, that noise goes one further: ONE e^(-epsilon/(2A)), rounded up."""
        return min(ONE - 1, math.ceil(ONE * math.exp(-(self.epsilon or 0.0) / (2 * attributes))))

    def spent(self, attributes: int) -> float | None:
        """The epsilon of what the integers really do: 2A steps of ln(ONE/coin), rounded up.

        One present person in place of another of the class moves two counts of each attribute by one.
        """
        if self.mode != "noised":
            return None
        return 2 * attributes * -math.log(self.coin(attributes) / ONE) * (1 + 1e-12)


def target_cells(
    setting: Setting,
    public: Sequence[Cells],
    private: Sequence[Cells],
    names: Sequence[str],
    key: Key | None = None,
    context: str = "",
) -> tuple[Cells, ...]:
    """The distributions that classes are moved towards. Only `private` may exclude a value of a public person."""
    if setting.mode == "public":
        return tuple(public)
    if setting.mode == "private":
        return tuple(private)
    aligned = [_aligned(p, q) for p, q in zip(public, private, strict=True)]
    if setting.mode == "quantised":
        return tuple(
            _quantised(cells, counts, setting.quantum) for cells, counts in zip(public, aligned, strict=True)
        )
    if key is None:
        raise RecipeError("Noise must have a key to be drawn from")
    coin = setting.coin(len(public))
    found = []
    for cells, counts, name in zip(public, aligned, names, strict=True):
        noisy = counts + _geometric(key, context, name, coin, 0, len(counts))
        noisy -= _geometric(key, context, name, coin, 1, len(counts))
        found.append(Cells(cells.leaves, cells.first, cells.values, np.maximum(noisy, 1)))
    return tuple(found)


def _aligned(public: Cells, private: Cells) -> Ints:
    """Private counts of every value of the public class."""
    counts = np.zeros(len(public.values), np.int64)
    place = np.searchsorted(
        public.class_of * public.leaves + public.values, private.class_of * private.leaves + private.values
    )
    counts[place] = private.weights
    return counts


def _quantised(public: Cells, counts: Ints, quantum: int) -> Cells:
    """Shares to the nearest of `quantum` levels, none below half a level, so that no value is excluded."""
    total = np.add.reduceat(counts, public.first[:-1])[public.class_of]
    levels = (2 * counts * quantum + total) // (2 * total)
    return Cells(public.leaves, public.first, public.values, np.maximum(2 * levels, 1))


def _geometric(key: Key, context: str, name: str, coin: int, which: int, length: int) -> Ints:
    """Heads before the first tail, for every entry: a coin of `coin` out of ONE, one word for each toss."""
    found, going, draw = np.zeros(length, np.int64), np.arange(length), which
    while len(going):
        words = key.stream("presence noise", context, name, draw).words(0, length)[going]
        going = going[(words >> np.uint64(2)) < np.uint64(coin)]
        found[going] += 1
        draw += 2
    return found


# ------------------------------------------------------------------ all together


@dataclass(frozen=True, eq=False)
class Presented:
    """Classes with their cells, what was reached, and what it costs."""

    classes: PresentClasses
    setting: Setting
    cells: tuple[Cells, ...]
    target: tuple[Cells, ...]
    reached: Ints

    @property
    def levels(self) -> Levels:
        return self.classes.levels

    @cached_property
    def existence(self) -> tuple[float, float]:
        """The smallest and the largest existence probability of anyone in the public table."""
        low, high = reached_range(self.classes.people, self.classes.present, self.cells)
        return (0.0 if self.classes.alone else low), high

    @cached_property
    def cost(self) -> float:
        """KL cost of the private rows (Eq. 1): for the holder, since it is a number about private rows."""
        return float(cost_by_class(self.classes.private, self.cells).sum())

    @cached_property
    def uniform_cost(self) -> float:
        """The same of SPALM alone."""
        return float(cost_by_class(self.classes.private, self.classes.uniform(self.setting.start)).sum())

    @property
    def gain(self) -> float:
        """What the distributions save over SPALM, as a share of its cost."""
        return 1 - self.cost / self.uniform_cost if self.uniform_cost else 0.0

    @cached_property
    def expected_costs(self) -> tuple[float, float]:
        """These cells' and SPALM's cost if the present were any of their class: from what is public alone."""
        share = self.classes.present / self.classes.people.sizes
        uniform = self.classes.uniform(self.setting.start)
        mine = cost_by_class(self.classes.public, self.cells)
        return float(share @ mine), float(share @ cost_by_class(self.classes.public, uniform))


def presented(classes: PresentClasses, setting: Setting, key: Key | None = None, context: str = "") -> Presented:
    """The cells of SPALM's classes by one of the four algorithms, in one of the modes."""
    names = [ladder.name for ladder in classes.pair.layout.ladders]
    target = target_cells(setting, classes.public, classes.private, names, key, context)
    uniform = classes.uniform(setting.start)
    task = Task(classes.people, classes.present, uniform, target, classes.wanted, setting.steps)
    made = shaped(task, setting.algorithm)
    return Presented(classes, setting, made.cells, target, made.reached)
