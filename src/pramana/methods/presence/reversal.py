"""Reversal: what an intruder learns who knows the public table and the algorithm, and undoes the distributions.

Paper 4 names the attack and leaves it open. Here it is run. For each class the worlds (who of its people are
present) that would have led to the published cells are enumerated, each as likely as any other; where they are too
many, exact counts are solved for. Three verdicts: `withstood` where every existence probability left to the
intruder keeps to delta, proved or enumerated; `broken` where one does not; `unproven` where neither was shown.

Not looked at is what the choice of the levels tells: that no finer generalisation which costs less holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.methods.cells import Cells
from pramana.methods.presence.algorithms import PresenceDesign, shaped, target_cells
from pramana.methods.presence.search import Presented
from pramana.methods.presence.shaping import Floats, Ints, People, Presence, Task
from pramana.schema.typed import Ordinal
from pramana.theory import rounding

# Ways to choose the present of a class, people with equal rows counted together; in all so many times that. Each
# is published anew, which the best distributions make dear.
MOST_WORLDS = {"spalm": 2_000, "wpalm": 2_000, "ppalm": 2_000, "optimal": 200}
MOST_IN_ALL = 5


Chance = Annotated[float, Meta(ge=0, le=1)]
Verdict = Literal["withstood", "broken", "unproven"]


class Reversal(Form, frozen=True):
    """What came of undoing the release, as a certificate states it."""

    verdict: Verdict
    reason: str
    lowest: Chance | None  # existence probability that the intruder is left with, where known
    highest: Chance | None
    classes: Ordinal
    enumerated: Ordinal
    broken: Ordinal
    fewest_worlds: Ordinal | None

    @property
    def ok(self) -> bool:
        return self.verdict == "withstood"


@dataclass(frozen=True, eq=False)
class Seen:
    """All that an intruder has: the public table's classes, the published cells, and how they were made."""

    people: People
    present: Ints
    uniform: tuple[Cells, ...]
    public: tuple[Cells, ...]
    cells: tuple[Cells, ...]
    wanted: Presence
    setting: PresenceDesign
    names: tuple[str, ...]
    alone: int  # people of classes that publish nothing
    remade: tuple[Cells, ...] | None = None  # what the public table leads to, where that is known already

    @classmethod
    def of(cls, shown: Presented) -> Seen:
        classes = shown.classes
        from_public = all(t is p for t, p in zip(shown.target, classes.public, strict=True))
        return cls(
            classes.people,
            classes.present,
            classes.uniform(shown.setting.start),
            classes.public,
            shown.cells,
            classes.wanted,
            shown.setting,
            tuple(ladder.name for ladder in classes.pair.layout.ladders),
            classes.alone,
            shown.cells if from_public else None,  # made of nothing else: no need to make them once more
        )


def reversed_of(seen: Seen) -> Reversal:
    """Run the attack that fits what is seen."""
    # private counts may by chance be in proportion to the public ones, and then tell more than these
    uniform = seen.setting.algorithm == "spalm" and seen.setting.start != "pdf"
    harmless = seen.setting.mode == "public" or uniform
    if harmless and _from_public(seen):
        return _by_share(
            seen, 0.0, "the cells are what the public table and the published counts of classes alone lead to"
        )
    if seen.setting.mode == "noised":
        spent = seen.setting.spent(len(seen.cells)) or 0.0
        return _by_share(
            seen, spent, f"the cells come from counts with noise of epsilon {rounding.shown_up(spent)}"
        )
    if harmless:
        reason = "the cells are not those of the public table"
        return Reversal("broken", reason, None, None, len(seen.present), 0, 0, None)
    return _by_worlds(seen)


def _from_public(seen: Seen) -> bool:
    """Whether the cells can be made from what is public: then they add nothing to it."""
    cells = seen.remade
    if cells is None:
        start = seen.setting.start_cells(seen.uniform, seen.public)
        task = Task(seen.people, seen.present, start, seen.public, seen.wanted, seen.setting.steps)
        cells = shaped(task, seen.setting.algorithm).cells
    return all(
        np.array_equal(getattr(again, part), getattr(published, part))  # integers: what an intruder compares
        for again, published in zip(cells, seen.cells, strict=True)
        for part in ("first", "values", "weights")
    )


def _by_share(seen: Seen, epsilon: float, reason: str) -> Reversal:
    """Odds of presence are n/(N-n), moved by at most a factor of e^epsilon."""
    n, absent = seen.present.astype(float), (seen.people.sizes - seen.present).astype(float)
    low = float((n / (n + absent * math.exp(epsilon))).min())
    high = float((n / (n + absent * math.exp(-epsilon))).max())
    low = 0.0 if seen.alone else low
    uniform = seen.wanted.held(np.stack([seen.people.sizes, seen.present], axis=1).astype(np.uint32)).all()
    holds = bool(uniform) if epsilon == 0 else seen.wanted.holds(low, high)
    if not holds:
        reason += ", which does not keep an informed intruder within delta"
    return Reversal("withstood" if holds else "unproven", reason, low, high, len(seen.present), 0, 0, None)


# ------------------------------------------------------------------ worlds


def _by_worlds(seen: Seen) -> Reversal:
    """Counts are solved for first, which is quick; worlds are enumerated where that broke nothing."""
    classes = len(seen.present)
    ranges: dict[int, tuple[float, float, int]] = {}
    for c in range(classes):
        chances = _solved(seen, c)
        if chances is not None and _outside(seen.wanted, chances[0], chances[1]):
            ranges[c] = chances
    left = MOST_IN_ALL * MOST_WORLDS[seen.setting.algorithm]
    enumerated: dict[int, tuple[float, float, int]] = {}
    for c in np.argsort(seen.people.sizes, kind="stable").tolist():
        ways = _ways(seen, c)
        if ways is None or ways > left:
            continue
        left -= ways
        chances = _class_worlds(seen, c)
        if chances is not None:
            enumerated[c] = chances
    fewest = min((worlds for _, _, worlds in enumerated.values()), default=None)
    ranges |= enumerated
    broken = sum(_outside(seen.wanted, low, high) for low, high, _ in ranges.values())
    unproven = classes - len(enumerated)
    verdict: Verdict = "withstood"
    reason = "every world that leads to these cells was enumerated, and none tells more than delta allows"
    if broken:
        verdict, reason = "broken", f"at least {broken} of {classes} classes can be undone beyond delta"
    elif unproven:
        verdict, reason = "unproven", f"{unproven} of {classes} classes have more worlds than were enumerated"
    known = verdict != "unproven"  # with classes left out, what is left to the intruder is known only in part
    low = (0.0 if seen.alone else min(r[0] for r in ranges.values())) if known else None
    high = max(r[1] for r in ranges.values()) if known else None
    return Reversal(verdict, reason, low, high, classes, len(enumerated), broken, fewest)


def _outside(wanted: Presence, low: float, high: float) -> bool:
    return low < float(wanted.lowest) - 1e-12 or high > float(wanted.highest) + 1e-12


def _class_worlds(seen: Seen, c: int) -> tuple[float, float, int] | None:
    """Least and greatest probability, and the number of worlds, of one class; None where no world fits."""
    here = slice(int(seen.people.first[c]), int(seen.people.first[c + 1]))
    counts, n = seen.people.counts[here], int(seen.present[c])
    chosen = np.array(list(_choices(counts.tolist(), n)), np.int64)
    codes = [column[here] for column in seen.people.codes]
    fits = _fitting(seen, c, chosen, counts, codes)
    if not fits.any():
        return None
    chosen = chosen[fits]
    weights = [math.prod(math.comb(int(m), int(k)) for m, k in zip(counts, row, strict=True)) for row in chosen]
    total = sum(weights)
    each = [
        float(
            Fraction(sum(w * int(k) for w, k in zip(weights, chosen[:, g], strict=True)), total * int(counts[g]))
        )
        for g in range(len(counts))
    ]
    return min(each), max(each), total


def _ways(seen: Seen, c: int) -> int | None:
    """How many worlds a class has, people with equal rows counted together; None where they are too many."""
    counts = seen.people.counts[seen.people.first[c] : seen.people.first[c + 1]].tolist()
    n, most = int(seen.present[c]), MOST_WORLDS[seen.setting.algorithm]
    if min(n, sum(counts) - n) * len(counts) > most:  # at least so many, but for a class of few distinct rows
        return None
    ways = [1] + [0] * n
    for limit in counts:
        ways = [min(sum(ways[max(0, i - limit) : i + 1]), most + 1) for i in range(n + 1)]
    return ways[n] if ways[n] <= most else None


def _choices(counts: Sequence[int], n: int) -> Iterator[list[int]]:
    if not counts:
        if n == 0:
            yield []
        return
    rest = sum(counts[1:])
    for k in range(max(0, n - rest), min(counts[0], n) + 1):
        for tail in _choices(counts[1:], n - k):
            yield [k, *tail]


def _fitting(seen: Seen, c: int, chosen: Ints, counts: Ints, codes: Sequence[Ints]) -> NDArray[np.bool_]:
    """Which worlds lead to the published cells: every distinct table of counts is published once more."""
    marginals = [_marginal(chosen, code) for code in codes]  # values of each attribute, and their counts by world
    joined = np.concatenate([table for _, table in marginals], axis=1)
    distinct, which = np.unique(joined, axis=0, return_inverse=True)
    worlds, start = len(distinct), 0
    people = People(
        np.arange(worlds + 1) * len(counts),
        np.tile(counts, worlds),
        tuple(np.tile(code, worlds) for code in codes),
    )
    private = []
    for (values, table), published in zip(marginals, seen.cells, strict=True):
        private.append(_as_cells(published.leaves, values, distinct[:, start : start + table.shape[1]]))
        start += table.shape[1]
    again = np.full(worlds, c)
    public = [p.select(again) for p in seen.public]
    target = target_cells(seen.setting, public, private, seen.names)
    start_at = seen.setting.start_cells(tuple(u.select(again) for u in seen.uniform), target)
    present = np.full(worlds, int(seen.present[c]))
    task = Task(people, present, start_at, target, seen.wanted, seen.setting.steps)
    again_shaped = shaped(task, seen.setting.algorithm).cells
    same = np.ones(worlds, np.bool_)
    for mine, published in zip(again_shaped, seen.cells, strict=True):
        wanted = published.entries(c)
        same &= np.array([mine.entries(w) == wanted for w in range(worlds)])
    return np.asarray(same[which.reshape(-1)])


def _marginal(chosen: Ints, code: Ints) -> tuple[Ints, Ints]:
    values, index = np.unique(code, return_inverse=True)
    return values, chosen @ np.eye(len(values), dtype=np.int64)[index]


def _as_cells(leaves: int, values: Ints, table: Ints) -> Cells:
    world, value = np.nonzero(table)
    first = np.searchsorted(world, np.arange(len(table) + 1)).astype(np.int64)
    return Cells(leaves, first, values[value], table[world, value])


# ------------------------------------------------------------------ counts


def _solved(seen: Seen, c: int) -> tuple[float, float, int] | None:
    """Exact counts from the distributions of a class on the line from uniform to private counts (Eq. 3).

    Whoever knows that k of the m people with some value are present knows each of them to be with a chance of k/m.
    """
    if seen.setting.mode != "private" or seen.setting.algorithm == "optimal":
        return None
    steps = seen.setting.steps
    first = steps if seen.setting.start == "pdf" else 1
    solutions = [s for j in range(first, steps + 1) if (s := _at_step(seen, c, j)) is not None]
    if not solutions:
        return None
    # with several solutions the intruder is only sure of what all of them say
    chances = np.array(solutions)
    low, high = chances.max(axis=0).min(), chances.min(axis=0).max()
    return float(low), float(high), len(solutions)


def _at_step(seen: Seen, c: int, step: int) -> Floats | None:
    """For every value of every attribute the share of its people who are present, if the class is at this step."""
    n, steps, chances = int(seen.present[c]), seen.setting.steps, []
    for uniform, public, cells in zip(seen.uniform, seen.public, seen.cells, strict=True):
        support = int(uniform.sizes[c])
        shares = cells.at(c)
        for value, people in zip(*public.entries(c), strict=True):
            share = shares.get(value, Fraction(0))
            count = (share - Fraction(steps - step, steps * support)) * n * steps / step
            if count.denominator != 1 or not 0 <= count <= people:
                return None
            chances.append(float(count / people))
    return np.array(chances)
