"""What is known in public before a coin is chosen, and the error that a way of spending epsilon must expect.

A way of spending has groups of attributes (each kept or redrawn by one coin), a share of epsilon for each, and
for some attributes fewer values. Its error is told for the tables as the recipe has them, in their finest values:
a published value that stands for m of them is spread evenly over these. Ways are compared by `mean_error` over the
tables. Formulas: spending.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError

Floats = NDArray[np.float64]
Groups = tuple[tuple[str, ...], ...]
_DIGITS = 9  # that are compared, so that another machine's last digits choose nothing
_LEAST_SHARE = 1e-6
SMALL = 0.1  # an expected L1 error: a tenth of all records misplaced, counted twice


@dataclass(frozen=True)
class Coarsening:
    """Published values by how many of the finest each stands for, such as (5, 5, 2); a missing category is one."""

    merged: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.merged) < 2 or min(self.merged) < 1:
            raise InputError("A coarsening must leave two values or more, each of at least one", str(self.merged))

    @property
    def size(self) -> int:
        return len(self.merged)

    @property
    def finest(self) -> int:
        return sum(self.merged)

    @property
    def inverses(self) -> float:
        """The sum of 1/m over published values: how much of a value's variance its finest values inherit."""
        return math.fsum(1 / m for m in self.merged)


@dataclass(frozen=True)
class SpendingQuestion:
    """Domains, named tables, number of records, and how attributes may be made coarser. All of it is public."""

    sizes: Mapping[str, int]
    tables: Sequence[Sequence[str]]
    records: int
    coarser: Mapping[str, tuple[Coarsening, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, ways in self.coarser.items():
            if name not in self.sizes or any(way.finest != self.sizes[name] for way in ways):
                raise InputError("Coarsenings must be of all of the finest values of an attribute", repr(name))

    @cached_property
    def asked(self) -> tuple[tuple[str, ...], ...]:
        """The named tables (without, every pair), and each attribute that is in none of them."""
        from pramana.methods.usefulness import tables_that_matter

        named = list(dict.fromkeys(tables_that_matter(self.tables, self.sizes)))
        covered = {name for table in named for name in table}
        return (*named, *((name,) for name in self.sizes if name not in covered))

    @property
    def live(self) -> tuple[str, ...]:
        """Attributes that have something to hide."""
        return tuple(name for name, size in self.sizes.items() if size > 1)

    def coarsened(self, chosen: Mapping[str, int]) -> dict[str, int]:
        """Published sizes; `chosen` has the place of a coarsening, by attribute."""
        own = {name: self.coarser[name][place].size for name, place in chosen.items()}
        return {name: own.get(name, size) for name, size in self.sizes.items()}

    def shape(self, groups: Groups, chosen: Mapping[str, int]) -> TableShapes:
        """Of every table asked for, by groups of attributes and coarsenings."""
        published = self.coarsened(chosen)
        inverses = {name: self.coarser[name][place].inverses for name, place in chosen.items()}
        places = {name: g for g, names in enumerate(groups) for name in names}
        sizes = np.ones((len(self.asked), len(groups)))
        cells, spread, coarse = (np.ones(len(self.asked)) for _ in range(3))
        for t, table in enumerate(self.asked):
            for name in table:
                cells[t] *= self.sizes[name]
                coarse[t] *= published[name]
                spread[t] *= inverses.get(name, self.sizes[name])
                if name in places:
                    sizes[t, places[name]] *= published[name]
        joint = np.array([math.prod(float(published[name]) for name in names) for names in groups])
        return TableShapes(self.records, joint, sizes, cells, coarse, spread)


@dataclass(frozen=True, eq=False)
class TableShapes:
    """Cells of every table: `sizes` by table and group, `joint` of whole groups, `coarse` published of `cells`."""

    records: int
    joint: Floats
    sizes: Floats
    cells: Floats
    coarse: Floats
    spread: Floats  # the product over attributes of the sum of 1/m

    def errors(self, epsilons: Floats) -> Floats:
        """The expected L1 error of every table at these epsilons of the groups."""
        squares = np.where(self.cells > 1, self._squares(epsilons)[0], 0.0)
        return np.sqrt(2 / math.pi * self.cells * squares)

    def _squares(self, epsilons: Floats) -> tuple[Floats, Floats]:
        """Summed squared errors of the shares of each table, and how they fall with each group's epsilon."""
        with np.errstate(all="ignore"):
            grown = np.expm1(np.minimum(epsilons, 300.0))
            kept = grown / (grown + self.joint)
            faster = (grown + 1) * self.joint / (grown + self.joint) ** 2  # d kept / d epsilon
            blank = (1 - kept) / self.sizes
            above = 1 - 2 * blank + self.sizes * blank**2
            inflation = np.where(self.sizes > 1, above / kept**2, 1.0)
            slope = np.where(self.sizes > 1, 2 / (self.sizes * kept) - 2 * above / kept**3, 0.0) * faster
            total = inflation.prod(axis=1)
            share = self.spread / self.coarse / self.records
            # What a coarse cell leaves open of its finest ones, over all tables alike likely.
            left_open = (self.cells - self.coarse) / (self.cells * (self.cells + 1))
            squares = np.maximum(total - 1, 0.0) * share + left_open
            slopes = (total * share)[:, None] * slope / inflation
        return np.nan_to_num(squares, nan=math.inf, posinf=math.inf), np.nan_to_num(-slopes, nan=0.0, posinf=1e300)

    def _mean(self, epsilons: Floats) -> tuple[float, Floats]:
        """`mean_error` of all tables, and how its logarithm falls with epsilons, up to a factor."""
        squares, slopes = self._squares(epsilons)
        scale = 2 / math.pi * self.cells
        with np.errstate(all="ignore"):
            errors = np.where(self.cells > 1, np.sqrt(scale * squares), 0.0)
            falling = slopes * (scale / (2 * errors * (errors + SMALL)))[:, None]
        return mean_error(errors.tolist()), np.nan_to_num(falling, nan=0.0, posinf=1e300).sum(axis=0)

    def spent(self, total: float, start: Floats | None = None, steps: int = 40) -> tuple[Floats, float]:
        """The epsilons of the groups, which sum to `total`, with the least `mean_error`; and that.

        Where it is least, one more of epsilon helps as much everywhere: groups that it helps more get more. Every
        step lowers it.
        """
        epsilons = np.full(len(self.joint), total / len(self.joint)) if start is None else start
        least, gains = self._mean(epsilons)
        power = 0.5
        for _ in range(steps if len(epsilons) > 1 else 0):
            gains = np.maximum(gains, 1e-300)
            moved = np.maximum(epsilons * (gains / gains.max()) ** power, _LEAST_SHARE * total)
            moved *= total / moved.sum()
            reached, tried = self._mean(moved)
            if reached < least:
                done = reached > least * (1 - 1e-8)
                epsilons, gains, least = moved, tried, reached
                if done:
                    break
            else:
                power /= 2
                if power < 1e-2:
                    break
        return epsilons, kept_digits(least)


def mean_error(errors: Sequence[float]) -> float:
    """The geometric mean of errors, each with SMALL added before and taken off after.

    Of large errors halving one is worth doubling another, so that a table of which nothing can be learnt neither
    decides alone nor is given up; of small ones their sum decides.
    """
    return math.exp(math.fsum(math.log(error + SMALL) for error in errors) / len(errors)) - SMALL


def kept_digits(error: float) -> float:
    return float(f"{error:.{_DIGITS}g}")


# Which attributes share a coin, and which are made coarser: searched in floats, from public numbers alone.
#
# Up to six attributes every partition is tried. Beyond, groups are joined two by two, always the pair that
# helps most, from a coin for each attribute on; one coin for all is tried as well.


_EVERY = 6  # attributes whose partitions are all tried: 203
_FULLY = 40  # steps that share epsilon out
_ROUGH = 6  # steps of the first look at a partition
_REFINED = 8  # partitions that are looked at twice
_QUICK = 2  # steps after two groups were joined
_MOST_JOINED = 24  # attributes beyond which no groups are looked for
_MOST_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Spending:
    """A way to spend epsilon: groups, the place of a coarsening by attribute, an epsilon for each group."""

    groups: Groups
    chosen: Mapping[str, int]
    epsilons: Floats
    error: float  # `mean_error` over the tables asked for


def best_spendings(question: SpendingQuestion, total: float) -> list[Spending]:
    """The best partitions, best first: of coarser values, where that is better, then of the finest ones."""
    finest = _by_groups(question, {}, total)
    best = finest[0]
    for _ in range(_MOST_ROUNDS if question.coarser else 0):
        coarser = _by_groups(question, _coarsened(question, best, total), total)[0]
        if coarser.error >= best.error:
            break
        best = coarser
    return [best, *finest] if best.chosen else finest


def _by_groups(question: SpendingQuestion, chosen: Mapping[str, int], total: float) -> list[Spending]:
    live = question.live
    if len(live) <= _EVERY:
        rough = [spend(question, groups, chosen, total, _ROUGH) for groups in partitions(live)]
    else:
        rough = list(_joined(question, chosen, total))
    rough.sort(key=lambda one: (one.error, len(one.groups), one.groups))
    refined = [spend(question, one.groups, chosen, total) for one in rough[:_REFINED]]
    return sorted(refined, key=lambda one: (one.error, len(one.groups), one.groups))


def spend(
    question: SpendingQuestion,
    groups: Groups,
    chosen: Mapping[str, int],
    total: float,
    steps: int = _FULLY,
    start: Floats | None = None,
) -> Spending:
    epsilons, error = question.shape(groups, chosen).spent(total, start, steps)
    return Spending(groups, dict(chosen), epsilons, error)


def partitions(names: tuple[str, ...]) -> Iterator[Groups]:
    """Every way to put names into groups, each in the order of the names."""
    if not names:
        yield ()
        return
    first, rest = names[0], names[1:]
    for groups in partitions(rest):
        yield ((first,), *groups)
        for place, group in enumerate(groups):
            yield ((first, *group), *groups[:place], *groups[place + 1 :])


def _joined(question: SpendingQuestion, chosen: Mapping[str, int], total: float) -> Iterator[Spending]:
    """From a coin for each on, the two groups joined that help most, as long as it helps; and one coin for all."""
    live = question.live
    order = {name: i for i, name in enumerate(live)}
    yield spend(question, (live,), chosen, total, _ROUGH)
    best = spend(question, tuple((name,) for name in live), chosen, total, _ROUGH)
    yield best
    together = {frozenset((a, b)) for table in question.asked for a in table for b in table if a != b}
    while len(best.groups) > 1 and len(live) <= _MOST_JOINED:
        pairs = [
            (a, b)
            for i, a in enumerate(best.groups)
            for b in best.groups[i + 1 :]
            if any(frozenset((x, y)) in together for x in a for y in b)
        ]
        own = dict(zip(best.groups, best.epsilons.tolist(), strict=True))
        tried = []
        for a, b in pairs:
            both = tuple(sorted((*a, *b), key=lambda name: order[name]))
            groups = tuple(both if group is a else group for group in best.groups if group is not b)
            start = np.array([own[a] + own[b] if group is both else own[group] for group in groups])
            tried.append(spend(question, groups, chosen, total, _QUICK, start))
        if not tried:
            return
        joined = min(tried, key=lambda one: (one.error, one.groups))
        better = spend(question, joined.groups, chosen, total, _ROUGH, joined.epsilons)
        if better.error >= best.error:
            return
        best = better
        yield best


def _coarsened(question: SpendingQuestion, best: Spending, total: float) -> dict[str, int]:
    """With these groups: one attribute after the other as coarse as is best, until none changes."""
    chosen, least = dict(best.chosen), best.error
    for _ in range(_MOST_ROUNDS):
        before = dict(chosen)
        for name, ways in question.coarser.items():
            others = {other: place for other, place in chosen.items() if other != name}
            for tried in (others, *({**others, name: place} for place in range(len(ways)))):
                error = kept_digits(spend(question, best.groups, tried, total, _ROUGH).error)
                if error < least:
                    chosen, least = tried, error
        if chosen == before:
            break
    return {name: chosen[name] for name in question.sizes if name in chosen}
