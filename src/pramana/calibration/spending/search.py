"""Which attributes share a coin, and which are made coarser: searched in floats, from public numbers alone.

Up to six attributes every partition is tried. Beyond, groups are joined two by two, always the pair that helps
most, from a coin for each attribute on; one coin for all is tried as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pramana.calibration.spending.question import Floats, Groups, SpendingQuestion, kept_digits

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
        rough = [_spent(question, groups, chosen, total, _ROUGH) for groups in partitions(live)]
    else:
        rough = list(_joined(question, chosen, total))
    rough.sort(key=lambda one: (one.error, len(one.groups), one.groups))
    refined = [_spent(question, one.groups, chosen, total) for one in rough[:_REFINED]]
    return sorted(refined, key=lambda one: (one.error, len(one.groups), one.groups))


def _spent(
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
    yield _spent(question, (live,), chosen, total, _ROUGH)
    best = _spent(question, tuple((name,) for name in live), chosen, total, _ROUGH)
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
            tried.append(_spent(question, groups, chosen, total, _QUICK, start))
        if not tried:
            return
        joined = min(tried, key=lambda one: (one.error, one.groups))
        better = _spent(question, joined.groups, chosen, total, _ROUGH, joined.epsilons)
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
                error = kept_digits(_spent(question, best.groups, tried, total, _ROUGH).error)
                if error < least:
                    chosen, least = tried, error
        if chosen == before:
            break
    return {name: chosen[name] for name in question.sizes if name in chosen}
