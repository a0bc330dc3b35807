"""delta-presence of a private table among the people of a public one (paper 4, section V), through one interface.

SPALM finds the best full-domain generalisation at which every class has a share of present people within delta,
or at which distributions in its cells keep everyone's exact probability within delta. WPALM, PPALM and the optimal
algorithm give SPALM's classes distributions. Where these come from is the mode (presence_modes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, ClassFinder, Counts, Keys, Layout, Levels, grouped
from pramana.errors import SourceError, UnreachableError
from pramana.methods.cell_table import MARK, derive_marks
from pramana.methods.cells import Cells, hierarchy_cells, pdf_cells, set_cells
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.measures import separable
from pramana.methods.presence.algorithms import (
    ALGORITHMS,
    PresenceDesign,
    StreamOf,
    in_levels,
    shaped,
    target_cells,
)
from pramana.methods.presence.shaping import Ints, People, Presence, Task, cost_by_class, holding, reached_range
from pramana.randomness.samplers import Codes
from pramana.rows.digest import ContentDigest
from pramana.rows.protocol import Columns, Rows
from pramana.theory.pk import coin_divergence

MEASURES = ("loss", "entropy", "precision")
RISK, SPREAD = 0.05, 2.0


@dataclass(frozen=True, eq=False)
class Pair:
    """A public table, and which of its people are in the private one.

    `columns` have a line for each person, or for each combination of codes that occurs; `times` then tells how
    many people have it, and `present` how many of them are in the private table.
    """

    layout: Layout
    columns: tuple[Codes, ...]
    present: NDArray[np.bool_] | NDArray[np.unsignedinteger]
    times: Counts | None = None

    def __post_init__(self) -> None:
        if any(len(column) != len(self.present) for column in self.columns):
            raise SourceError("Every column of the public table must be as long as its mark of presence")
        if not self.present.any():
            raise SourceError("Someone of the public table must be in the private one", "nobody")

    @property
    def people(self) -> int:
        return len(self.present) if self.times is None else int(self.times.sum(dtype=np.int64))

    @property
    def people_present(self) -> int:
        return int(self.present.sum(dtype=np.int64))

    @cached_property
    def _grouped(self) -> tuple[Classes, NDArray[np.uint32]]:
        """In the order of their keys: what is made of them is the same for the same people in any order."""
        lines, index = grouped(self.layout, self.columns, self.times)
        counts = np.stack([lines.sizes, np.bincount(index, self.present, len(lines)).astype(np.uint32)], axis=1)
        order = np.lexsort(lines.keys.T)
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        base = Classes(lines.layout, lines.levels, lines.keys[order], np.ascontiguousarray(counts[order]))
        return base, rank[index]

    @property
    def base(self) -> Classes:
        """The distinct rows: people, and present people."""
        return self._grouped[0]

    @property
    def index(self) -> NDArray[np.uint32]:
        return self._grouped[1]


def matched(layout: Layout, public: Sequence[Codes], private: Sequence[Codes]) -> NDArray[np.bool_]:
    """Which people of the public table the private rows are, by all attributes.

    People who agree on every attribute cannot be told apart by anyone; the first of them are taken.
    """
    number, here = _private_rows(layout, public, private)
    return _ranks(number, len(here)) < here[number]


def _ranks(number: NDArray[np.integer], groups: int) -> Ints:
    """For each row how many rows of its group are before it."""
    order, sizes = np.argsort(number, kind="stable"), np.bincount(number, minlength=groups)
    rank = np.empty(len(number), np.int64)
    rank[order] = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


def _private_rows(
    layout: Layout,
    public: Sequence[Codes],
    private: Sequence[Codes],
    public_times: Counts | None = None,
    private_times: Counts | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.number]]:
    """The combination of each public line, and how many private rows have each; there must be people for all."""
    both = [np.concatenate([a, b]) for a, b in zip(public, private, strict=True)]
    classes, index = grouped(layout, both)
    lines = len(public[0])
    there = np.bincount(index[:lines], public_times, len(classes))
    here = np.bincount(index[lines:], private_times, len(classes))
    extra = np.maximum(here - there, 0)
    if extra.any():
        raise SourceError(
            "Every private row must be someone of the public table, by all quasi-identifying columns",
            f"{int(extra.sum())} of {int(here.sum())} rows without a match of their own",
            "Add these people to the public table, or leave out columns that differ between the tables.",
        )
    return index[:lines], here


def pair_of(quasi: Sequence[Quasi], rows: Rows, public: Rows | None, flag: str | None) -> Pair:
    """Both tables: the combinations that people have, how many have each, and how many of them are private."""
    layout = Layout(tuple(q.ladder for q in quasi))
    sizes = {q.name: q.attribute.coded.size for q in quasi}
    if public is None:
        assert flag is not None, "one of the two tells who is present"
        derive_marks(rows, flag)
        [lines] = rows.combinations([{**sizes, MARK: 2}])
        *codes, marks = lines.columns
        return Pair(layout, tuple(codes), np.where(marks == 1, lines.times, 0).astype(np.uint32), lines.times)
    [private], [everyone] = rows.combinations([sizes]), public.combinations([sizes])
    number, here = _private_rows(layout, everyone.columns, private.columns, everyone.times, private.times)
    return Pair(layout, everyone.columns, here[number].astype(np.uint32), everyone.times)


def digest_of_pair(quasi: Sequence[Quasi], pair: Pair, rows: Rows, public: Rows | None) -> str:
    """Of the public table person by person, in its order, with who of them is present."""
    digest, names = ContentDigest(), [q.name for q in quasi]
    pieces = rows.in_order([*names, MARK]) if public is None else _with_marks(pair, public, names)
    for columns in pieces:
        people = {str(i): columns[name] for i, name in enumerate(names)}
        digest.update({**people, "present": columns[MARK]})
    return digest.hexdigest()


def _with_marks(pair: Pair, public: Rows, names: Sequence[str]) -> Iterator[Columns]:
    """People who agree on every attribute cannot be told apart by anyone; the first of them are present."""
    base, index = grouped(pair.layout, pair.columns)
    left = np.bincount(index, pair.present, len(base)).astype(np.int64)
    finder = ClassFinder(pair.layout, pair.layout.bottom, base.keys)
    for columns in public.in_order(names):
        number = finder.find([columns[name] for name in names]).astype(np.int64)
        yield {**columns, MARK: (_ranks(number, len(base)) < left[number]).astype(np.uint8)}
        left = np.maximum(left - np.bincount(number, minlength=len(base)), 0)


@dataclass(frozen=True, eq=False)
class PresentClasses:
    """SPALM's answer. Classes are those with someone present; `class_of` a public line is -1 in the others."""

    pair: Pair
    wanted: Presence
    levels: Levels
    class_of: NDArray[np.int32]
    present: Ints
    people: People
    alone: int  # people in classes in which nobody is present
    keys: Keys
    cost: float = math.nan  # to the private rows, where levels were searched on them

    @property
    def classes(self) -> int:
        return len(self.present)

    @property
    def finder(self) -> ClassFinder:
        """Tells which class any row is in."""
        return ClassFinder(self.pair.layout, self.levels, self.keys)

    @cached_property
    def public(self) -> tuple[Cells, ...]:
        """What the public people of each class are."""
        return self._counted(self.class_of >= 0, self.pair.times)

    @cached_property
    def private(self) -> tuple[Cells, ...]:
        """What the present people of each class are."""
        here = self.pair.present
        return self._counted(here > 0, None if self.pair.times is None else here.astype(np.uint32))

    def _counted(self, lines: NDArray[np.bool_], times: Counts | None) -> tuple[Cells, ...]:
        class_of, of_lines = self.class_of[lines], None if times is None else times[lines]
        return tuple(
            pdf_cells(ladder, column[lines], class_of, self.classes, of_lines)
            for ladder, column in zip(self.pair.layout.ladders, self.pair.columns, strict=True)
        )

    def uniform(self, start: str) -> tuple[Cells, ...]:
        """With `set` the values that people of the public class have, else all leaves under the label."""
        if start == "set":
            return tuple(set_cells(cells) for cells in self.public)
        return tuple(
            hierarchy_cells(ladder, cells, level)
            for ladder, cells, level in zip(self.pair.layout.ladders, self.public, self.levels, strict=True)
        )


def spalm(
    pair: Pair,
    wanted: Presence,
    measure: str = "loss",
    weights: Mapping[str, float] | None = None,
    setting: PresenceDesign | None = None,
) -> PresentClasses:
    """The full-domain generalisation of least cost to the private rows that has (dmin, dmax)-presence.

    With uniform cells people of a class are equally likely, and what holds does so in every generalisation. A
    setting with `pdf` cells has its own distributions checked, by exact probabilities; these are not monotone, but
    their mean in a class is its share of people present, so that only nodes with uniform presence may pass.
    """
    check_share(pair, wanted)
    base = pair.base
    private = Classes(base.layout, base.levels, base.keys, np.ascontiguousarray(base.counts[:, 1:]))
    also = None
    if setting is not None and setting.start == "pdf":
        also = partial(target_holds, pair, wanted, setting)
    try:
        best = search(base, wanted, separable(measure, private, weights), also=also)
    except UnreachableError:
        raise _nothing(pair, wanted, also is not None) from None
    return replace(at_presence_levels(pair, wanted, best.levels), cost=best.cost)


def at_presence_levels(pair: Pair, wanted: Presence, levels: Levels) -> PresentClasses:
    """A node that was not searched on the private table, whose classes must hold."""
    base = pair.base
    classes, into = base.rolled_with_index(levels)
    holds = wanted.held(classes.counts)
    if not bool(holds.all()):
        raise UnreachableError(
            f"Every class at levels {list(levels)} must have {_named(wanted)}",
            f"{int((~holds).sum())} of {len(holds)} classes that have not, with {_shares(classes)}",
            'Give higher levels, raise `spread`, widen delta, or write choose = "searched", which tells more.',
        )
    order = np.lexsort(classes.keys.T)  # an order that tells nothing of the rows' order
    order = order[classes.counts[order, 1] > 0]
    number = np.full(len(classes), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    row_class = number[into]
    return PresentClasses(
        pair,
        wanted,
        levels,
        class_of=row_class[pair.index],
        present=classes.counts[order, 1].astype(np.int64),
        people=People.of(base, row_class, len(order)),
        alone=int(classes.sizes[classes.counts[:, 1] == 0].sum(dtype=np.int64)),
        keys=classes.keys[order],
    )


def check_share(pair: Pair, wanted: Presence) -> None:
    share = Fraction(pair.people_present, pair.people)
    if wanted.lowest <= share <= wanted.highest:
        return
    too_high = share < wanted.lowest
    must = "dmin must be at most" if too_high else "dmax must be at least"
    got = f"dmin = {float(wanted.lowest):g}" if too_high else f"dmax = {float(wanted.highest):g}"
    raise UnreachableError(
        f"{must} the share of people present, got {got} with {pair.people_present} of {pair.people} people "
        f"present, a share of {float(share):.6g}"
    )


def _nothing(pair: Pair, wanted: Presence, shaped_cells: bool) -> UnreachableError:
    top = pair.base.rolled(pair.layout.top)
    if shaped_cells and bool(wanted.held(top.counts).all()):
        return UnreachableError(
            f"Some generalisation must have {_named(wanted)} with distributions as its cells",
            f"none; with uniform cells the top of the hierarchies has it, with {_shares(top)}",
            'Use algorithm = "optimal", which shapes distributions until they hold, or widen delta.',
        )
    return UnreachableError(
        f"Some generalisation must have {_named(wanted)}",
        f"none: the top of the hierarchies has {len(top)} classes with {_shares(top)}",
        "Widen delta, or let the hierarchies end in one label.",
    )


def _named(wanted: Presence) -> str:
    return f"({float(wanted.lowest):g}, {float(wanted.highest):g})-presence"


def _shares(classes: Classes) -> str:
    shares = classes.counts[:, 1] / classes.counts[:, 0]
    return f"shares of people present from {float(shares.min()):.6g} to {float(shares.max()):.6g}"


# ------------------------------------------------------------------ levels from what is public
#
# Levels chosen without a look at who is present: from the public table, the number present and delta alone. The
# choice then tells nothing. It aims at levels at which the private table is likely to hold. Were the people
# present drawn from everyone, each with a chance within a factor `spread` of the overall share, then by
# Chernoff's bound, which covers drawing without replacement (Hoeffding 1963), a class of N people has a share
# outside of [dmin, dmax] with a chance of at most e^(-N KL(dmax, high)) + e^(-N KL(dmin, low)); and there are
# at most people/N classes. The smallest N for which some class falls outside with a chance of at most RISK is
# asked of every class: a search for k-anonymity with k = N.


def levels_from_public(
    pair: Pair,
    wanted: Presence,
    measure: str = "loss",
    weights: Mapping[str, float] | None = None,
    spread: float = SPREAD,
) -> Levels:
    """The cheapest levels, for everyone, whose classes are large enough. Only the number present is private."""
    check_share(pair, wanted)
    base = pair.base
    public = Classes(base.layout, base.levels, base.keys, np.ascontiguousarray(base.counts[:, :1]))
    least = smallest_class(pair.people, pair.people_present, wanted, spread)
    try:
        return search(public, KAnonymous(least), separable(measure, public, weights)).levels
    except UnreachableError:
        raise UnreachableError(
            f"Some generalisation must have classes of at least {least:,} people of the public table",
            "none",
            "Let the hierarchies end in one label, widen delta, lower `spread`, or give the levels.",
        ) from None


def smallest_class(people: int, present: int, wanted: Presence, spread: float = SPREAD) -> int:
    """How many people a class must have to hold in nearly every table that may be; at most all of them."""
    share = present / people
    lowest, highest = float(wanted.lowest), float(wanted.highest)
    # Half of the room between the share and each end, by factors, is left to chance.
    above = min(spread, math.sqrt(highest / share))
    below = min(spread, math.sqrt(share / lowest)) if lowest > 0 else spread
    high = coin_divergence(highest, min(share * above, 1.0)) if highest < 1 else math.inf
    low = coin_divergence(lowest, share / below) if lowest > 0 else math.inf

    def fails(size: int) -> bool:
        chance = math.exp(-size * high) + math.exp(-size * low)
        return people / size * chance > RISK

    if fails(people):
        return people
    least, most = 0, people
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fails(middle) else (least, middle)
    return most


# ------------------------------------------------------------------ distributions


def target_holds(pair: Pair, wanted: Presence, setting: PresenceDesign, levels: Levels) -> bool:
    """Whether the target itself, as the cells of every class at these levels, has presence: exact probabilities.

    Only proportions within a class matter, so weights stand for shares, and rows of the base for people.
    """
    base = pair.base
    classes, into = base.rolled_with_index(levels)
    into = into.astype(np.int64)
    present = classes.counts[:, 1].astype(np.int64)
    column = 0 if setting.mode == "public" else 1
    logs, weights = np.zeros(len(into)), []
    for a, ladder in enumerate(pair.layout.ladders):
        key = into * ladder.leaves + base.codes(a)
        counts = np.bincount(key, base.counts[:, column], len(classes) * ladder.leaves).astype(np.int64)[key]
        if setting.mode == "quantised":
            counts = in_levels(counts, np.maximum(present[into], 1), setting.quantum)
        with np.errstate(divide="ignore"):
            logs += np.log(counts)
        weights.append(counts)
    order = np.argsort(into, kind="stable")
    order = order[present[into[order]] > 0]
    with_present = np.flatnonzero(present > 0)
    first = np.searchsorted(into[order], np.append(with_present, len(classes))).astype(np.int64)
    sizes = base.sizes[order].astype(np.int64)

    def rational(c: int) -> list[Fraction]:
        rows = order[first[c] : first[c + 1]]
        return [Fraction(math.prod(int(w[i]) for w in weights)) for i in rows]

    everyone = np.arange(len(with_present))
    return bool(holding(logs[order], sizes, first, everyone, present[with_present], wanted, True, rational).all())


# ------------------------------------------------------------------ all together


@dataclass(frozen=True, eq=False)
class Presented:
    """Classes with their cells, what was reached, and what it costs."""

    classes: PresentClasses
    setting: PresenceDesign
    cells: tuple[Cells, ...]
    target: tuple[Cells, ...]
    reached: Ints

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

    @property
    def expected_gain(self) -> float:
        mine, uniform = self.expected_costs
        return 1 - mine / uniform if uniform else 0.0


def presented(
    classes: PresentClasses, setting: PresenceDesign, streams: StreamOf | None = None, context: str = ""
) -> Presented:
    """The cells of SPALM's classes by one of the four algorithms, in one of the modes."""
    names = [ladder.name for ladder in classes.pair.layout.ladders]
    target = target_cells(setting, classes.public, classes.private, names, streams, context)
    if setting.start == "pdf" and not target_holds(classes.pair, classes.wanted, setting, classes.levels):
        raise UnreachableError(
            f"The distributions at these levels must have {_named(classes.wanted)}",
            "a class whose distribution has not",
            'Let the levels be searched, or use algorithm = "optimal".',
        )
    return _with_target(classes, setting, target)


def _with_target(classes: PresentClasses, setting: PresenceDesign, target: tuple[Cells, ...]) -> Presented:
    start = setting.start_cells(classes.uniform(setting.start), target)
    task = Task(classes.people, classes.present, start, target, classes.wanted, setting.steps)
    result = shaped(task, setting.algorithm)
    return Presented(classes, setting, result.cells, target, result.reached)


def compared(shown: Presented) -> dict[str, Presented]:
    """All four algorithms on the same classes, in the same mode and with the same counts: what each gains."""
    start = "hierarchy" if shown.setting.start == "pdf" else shown.setting.start
    others = [a for a in ALGORITHMS if a != shown.setting.algorithm]
    settings = {a: replace(shown.setting, algorithm=a, start=start) for a in others}
    results = {a: _with_target(shown.classes, setting, shown.target) for a, setting in settings.items()}
    return {a: results.get(a, shown) for a in ALGORITHMS}
