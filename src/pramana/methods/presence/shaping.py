"""Distributions for classes of a public table, as far towards a target as presence allows (paper 4, section V).

Every class is shaped by itself, and all of them at once: entries of all classes stand in one array. A class knows
its people as distinct rows, how many are present, the uniform cells it starts from and the target it moves to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Classes, SeenCounts
from pramana.errors import RecipeError
from pramana.methods.cells import Cells, cells_between, chosen_cells, entries_of
from pramana.theory import presence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
STEPS = 10  # the paper's mxs
_FINEST = 10**9  # denominators of delta: with 2^32 people the products still fit 64 bits
_FEW = 256  # people of a class in which a tie is decided in rationals
_ROOM = 1e-9  # relative; what floats are given when they are compared with the wanted range


@dataclass(frozen=True)
class Presence:
    """(lowest, highest)-presence (paper 4, Definition 3): closed on both sides, decided in integers.

    As a condition of a class whose counts are people and present people, with uniform cells. Any union of classes
    that hold does too, so a search may prune by it.
    """

    lowest: Fraction
    highest: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.lowest <= self.highest <= 1:
            raise RecipeError(
                "delta must be two numbers from 0 to 1, the smaller first",
                f"{float(self.lowest):g} and {float(self.highest):g}",
            )
        if max(self.lowest.denominator, self.highest.denominator) > _FINEST:
            raise RecipeError("delta must have at most nine decimals", f"{self.lowest} and {self.highest}")

    @classmethod
    def of(cls, lowest: float | str | Fraction, highest: float | str | Fraction) -> Presence:
        """From numbers as they are written: 0.05 is a twentieth."""
        try:
            return cls(Fraction(str(lowest)), Fraction(str(highest)))
        except (ValueError, ZeroDivisionError):
            raise RecipeError("delta must be two numbers from 0 to 1", f"{lowest!r} and {highest!r}") from None

    anchor = None

    def held(self, counts: SeenCounts) -> Flags:
        if not isinstance(counts, np.ndarray):
            raise TypeError("presence is asked of people and present people, in two columns")
        people, present = counts[:, 0].astype(np.int64), counts[:, 1].astype(np.int64)
        low, high = self.lowest, self.highest
        enough = present * low.denominator >= people * low.numerator
        return np.asarray(enough & (present * high.denominator <= people * high.numerator))

    def holds(self, least: float, most: float) -> bool:
        """Of existence probabilities in floats: rounded against ourselves, except where nothing was rounded."""
        low = least >= float(self.lowest) * (1 + _ROOM) or self.lowest == 0
        return low and (most <= float(self.highest) * (1 - _ROOM) or self.highest == 1)

    def nearly(self, least: float, most: float) -> bool:
        """Whether floats might be within the range but for their rounding."""
        return least >= float(self.lowest) * (1 - _ROOM) and most <= float(self.highest) * (1 + _ROOM)


@dataclass(frozen=True, eq=False)
class People:
    """The distinct rows of each class: class c has the rows first[c]:first[c+1], `counts` people in each."""

    first: Ints
    counts: Ints
    codes: tuple[Ints, ...]  # by attribute

    @classmethod
    def of(cls, base: Classes, class_of: NDArray[np.integer], classes: int) -> People:
        """The rows of `base` by their class; -1 is none."""
        rows = np.argsort(class_of, kind="stable")
        rows = rows[class_of[rows] >= 0]
        first = np.searchsorted(class_of[rows], np.arange(classes + 1)).astype(np.int64)
        codes = tuple(base.codes(a)[rows] for a in range(len(base.layout.ladders)))
        return cls(first, base.sizes[rows].astype(np.int64), codes)

    @cached_property
    def class_of(self) -> Ints:
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def sizes(self) -> Ints:
        return np.asarray(np.add.reduceat(self.counts, self.first[:-1]), np.int64)

    def shares(self, cells: Cells, attribute: int) -> Floats:
        """f of each row's value in its class; 0 where the cell excludes it."""
        return cells.share_of(self.class_of, self.codes[attribute])

    def logs(self, cells: Sequence[Cells]) -> Floats:
        """ln of each row's likelihood (Definition 10)."""
        with np.errstate(divide="ignore"):
            return np.asarray(sum(np.log(self.shares(c, a)) for a, c in enumerate(cells)), np.float64)


@dataclass(frozen=True, eq=False)
class Task:
    """Classes to be shaped: who is in them, how many are present, where cells start and what they move towards."""

    people: People
    present: Ints
    uniform: tuple[Cells, ...]
    target: tuple[Cells, ...]
    wanted: Presence
    steps: int = STEPS

    def __len__(self) -> int:
        return len(self.present)


@dataclass(frozen=True, eq=False)
class Shaped:
    """The cells, and how far each class came: steps out of `Task.steps`, or -1 for a clipped distribution."""

    cells: tuple[Cells, ...]
    reached: Ints


# ------------------------------------------------------------------ along the line (Eq. 3)


def walked(task: Task, exact: bool) -> Shaped:
    """The last step at which each class holds: feasibility is not monotone, so none is skipped on the way down."""
    people, steps = task.people, task.steps
    ends = [
        (people.shares(u, a), people.shares(t, a))
        for a, (u, t) in enumerate(zip(task.uniform, task.target, strict=True))
    ]
    reached = np.zeros(len(task), np.int64)
    left = np.arange(len(task))
    for step in range(steps, 0, -1):
        part = entries_of(people.first, left)
        share = step / steps
        with np.errstate(divide="ignore"):
            logs = sum(np.log((1 - share) * u[part] + share * t[part]) for u, t in ends)
        holds = holding(
            np.asarray(logs),
            people.counts[part],
            people.first,
            left,
            task.present[left],
            task.wanted,
            exact,
            partial(_between, task, left, step),
        )
        reached[left[holds]] = step
        left = left[~holds]
        if not len(left):
            break
    return Shaped(_cells_at(task, reached), reached)


def _between(task: Task, left: Ints, step: int, position: int) -> list[Fraction]:
    """The likelihood of each distinct row of a class at a step, in rationals."""
    c, share = int(left[position]), Fraction(step, task.steps)
    here = slice(int(task.people.first[c]), int(task.people.first[c + 1]))
    likelihoods = [Fraction(1)] * (here.stop - here.start)
    for codes, uniform, target in zip(task.people.codes, task.uniform, task.target, strict=True):
        u, t = uniform.at(c), target.at(c)
        mixed = {v: (1 - share) * u.get(v, 0) + share * t.get(v, 0) for v in {*u, *t}}
        likelihoods = [w * mixed.get(v, 0) for w, v in zip(likelihoods, codes[here].tolist(), strict=True)]
    return likelihoods


def _cells_at(task: Task, reached: Ints) -> tuple[Cells, ...]:
    """Each class's cells at its own step."""
    cells, used = [], np.unique(reached)
    for uniform, target in zip(task.uniform, task.target, strict=True):
        variants = [cells_between(uniform, target, int(step), task.steps) for step in used]
        cells.append(chosen_cells(variants, np.searchsorted(used, reached), np.arange(len(task))))
    return tuple(cells)


# ------------------------------------------------------------------ checking


def holding(
    logs: Floats,
    counts: Ints,
    first: Ints,
    chosen: Ints,
    present: Ints,
    wanted: Presence,
    exact: bool,
    rational: Callable[[int], list[Fraction]] | None = None,
) -> Flags:
    """Which of the chosen classes keep to the wanted range. `logs` and `counts` are the entries of these alone.

    Theorem 5 first; where that does not hold and the answer must be exact, the bounds from the mode; and only
    where these do not decide either, the law itself. The range is closed: what floats cannot tell from its ends is
    decided by the `rational` likelihoods of a small class's entries, and refused without them.
    """
    start = start_of(first, chosen)
    size = np.add.reduceat(counts, start[:-1])
    limit = np.array([log_ratio(int(n), int(p), wanted) for n, p in zip(size, present, strict=True)])
    least, most = np.minimum.reduceat(logs, start[:-1]), np.maximum.reduceat(logs, start[:-1])
    holds = np.asarray((most - least <= limit - _ROOM) | (np.isposinf(limit)) | ((most == least) & (limit >= 0)))
    near = np.abs(most - least - limit) <= 2 * _ROOM if rational else np.zeros(len(holds), np.bool_)
    for c in np.flatnonzero(near & ~holds & (limit >= 0)):
        star = presence.ratio_bound(int(size[c]), int(present[c]), wanted.lowest, wanted.highest)
        w = rational(int(c)) if rational else []
        holds[c] = star is not None and max(w) <= star * min(w)
    if not exact or bool(holds.all()):
        return holds
    sure, refused = _decided(logs, counts.astype(np.float64), start, present, wanted, least, most)
    holds |= sure & (limit >= 0)
    for c in np.flatnonzero(~holds & ~refused & (limit >= 0)):
        here = slice(int(start[c]), int(start[c + 1]))
        low, high = exact_extremes(logs[here], counts[here], int(present[c]))
        holds[c] = wanted.holds(low, high)
        if not holds[c] and rational is not None and size[c] <= _FEW and wanted.nearly(low, high):
            each = np.repeat(np.array(rational(int(c)), object), counts[here]).tolist()
            low_exact, high_exact = presence.exact_extremes(each, int(present[c]))
            holds[c] = wanted.lowest <= low_exact and high_exact <= wanted.highest
    return holds


def _decided(
    logs: Floats, people: Floats, first: Ints, present: Ints, wanted: Presence, least: Floats, most: Floats
) -> tuple[Flags, Flags]:
    """Which classes surely hold and which surely do not, by the bounds from the mode."""
    room = _ROOM * (1.0 + present)
    sure, refused = np.ones(len(present), np.bool_), np.zeros(len(present), np.bool_)
    if wanted.highest < 1:
        others = presence.expected_at(logs, people, first, most, float(wanted.highest))
        sure &= others >= present + room
        refused |= others <= present - 1 - room
    if wanted.lowest > 0:
        possible = ~np.isneginf(least)
        others = presence.expected_at(logs, people, first, np.where(possible, least, most), float(wanted.lowest))
        sure &= (others <= present - 1 - room) & possible
        refused |= (others >= present + room) | ~possible
    return sure, refused


def log_ratio(people: int, present: int, wanted: Presence) -> float:
    star = presence.ratio_bound(people, present, wanted.lowest, wanted.highest)
    if star is None:
        return math.inf
    return math.log(star) if star > 0 else -math.inf


def exact_extremes(logs: Floats, counts: Ints, present: int) -> tuple[float, float]:
    return presence.extremes(np.exp(logs - logs.max()), present, counts)


def start_of(first: Ints, chosen: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(np.diff(first)[chosen])])


def _probability_bounds(
    logs: Floats, counts: Ints, first: Ints, present: Ints
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """For the smallest and for the largest existence probability of each class: from below, from above."""
    possible = ~np.isneginf(logs)
    sizes = np.add.reduceat(possible.astype(np.int64), first[:-1])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    here, people, n = logs[possible], counts[possible].astype(np.float64), present.astype(np.float64)
    least = presence.mode_bounds(here, people, start, n, _where(here, start, np.minimum))
    most = presence.mode_bounds(here, people, start, n, _where(here, start, np.maximum))
    excluded = sizes < np.diff(first)  # someone whose value the cells exclude cannot be present
    return (np.where(excluded, 0.0, least[0]), np.where(excluded, 0.0, least[1])), most


def _where(logs: Floats, first: Ints, extreme: np.ufunc) -> Ints:
    """An entry of each class that has its extreme."""
    value = extreme.reduceat(logs, first[:-1])
    class_of = np.repeat(np.arange(len(value)), np.diff(first))
    hits = np.flatnonzero(logs == value[class_of])
    entries = np.zeros(len(value), np.int64)
    entries[class_of[hits][::-1]] = hits[::-1]
    return entries


def reached_range(people: People, present: Ints, cells: Sequence[Cells]) -> tuple[float, float]:
    """The smallest and the largest existence probability of all classes; a law only where it may be an extreme."""
    logs = people.logs(cells)
    low, high = _probability_bounds(logs, people.counts, people.first, present)
    least, most = math.inf, -math.inf

    def exact(c: int) -> tuple[float, float]:
        here = slice(int(people.first[c]), int(people.first[c + 1]))
        return exact_extremes(logs[here], people.counts[here], int(present[c]))

    for c in np.argsort(low[0]):
        if low[0][c] >= least:
            break
        least = min(least, exact(int(c))[0])
    for c in np.argsort(-high[1]):
        if high[1][c] <= most:
            break
        most = max(most, exact(int(c))[1])
    return least, most


# ------------------------------------------------------------------ cost


def cost_by_class(counts: Sequence[Cells], published: Sequence[Cells]) -> Floats:
    """Paper 4, Eq. 1 by class: minus the sum of c ln f over attributes and values."""
    total = np.zeros(len(published[0]))
    for c, p in zip(counts, published, strict=True):
        with np.errstate(divide="ignore"):
            logs = np.log(p.share_of(c.class_of, c.values))
        total -= np.bincount(c.class_of, weights=c.weights * logs, minlength=len(total))
    return np.asarray(total)
