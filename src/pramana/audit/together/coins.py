"""Two releases about the same people: coins are thrown anew for each, and so is the order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.audit.linkage import AttackedLaw, LinkedTable
from pramana.audit.rows import order_attack
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms import Channel, CoinGroups, Product, RecordRetention, Retention
from pramana.randomness import ONE, Codes

_LARGEST = 1 << 12
Part = tuple[str, ...]  # attributes with one coin
Kept = tuple[NDArray[np.bool_], NDArray[np.float64]]  # who shows the true value, and the chance of it


def reused_coins(one: LinkedTable, other: LinkedTable) -> Outcome:
    """How often both releases show a person's true value: as often as independent coins would do."""
    name = "two releases, coins thrown anew"
    if len(one.order) != len(other.order):
        return NotRun(name, "they are not of the same rows")
    first, second = _kept_by_part(one), _kept_by_part(other)
    shared = [part for part in first if part in second]
    if not shared:
        return NotRun(name, "no coin is of the same attributes in both")
    worst = None
    for part in shared:
        (kept, chance), (again, also) = first[part], second[part]
        claimed = float((chance * also).mean())
        both = int((kept & again).sum())
        low, high = clopper_pearson(both, one.records, CHANCE_OF_FALSE_ALARM / len(shared))
        ok = low <= claimed <= high
        if worst is None or (worst.ok and not ok):
            share = both / one.records
            what = (
                f"{', '.join(part)}: both show the true value in {share:.4g} of people; "
                f"independent coins do in {claimed:.4g}"
            )
            worst = Attack(name, claimed, share, ok, what, (low, high))
    assert worst is not None
    return worst


def _kept_by_part(table: LinkedTable) -> dict[Part, Kept]:
    """By the attributes that have one coin, a record's or a group's together: everyone's, as in the source."""
    rows = np.sort(table.order)
    shown = {name: np.empty_like(codes) for name, codes in table.true.items()}
    for name, codes in table.published.items():
        shown[name][table.order] = codes
    same = {name: (table.true[name] == shown[name])[rows] for name in table.published}
    parts: dict[Part, Kept] = {}
    for law in _independent(table.law):
        if isinstance(law, RecordRetention):
            redrawn = law.bound / ONE
            chance = 1 - redrawn + redrawn / float(np.prod([float(v) for v in law.sizes.values()]))
            whole = np.logical_and.reduce([same[name] for name in law.sizes])
            parts[tuple(law.sizes)] = whole, np.full(len(rows), chance)
        else:
            some = {n: c for n, c in law.channels.items() if 1 < c.size <= _LARGEST}
            parts |= {(n,): (same[n], _diagonal(c)[table.true[n][rows]]) for n, c in some.items()}
    return parts


def _independent(law: AttackedLaw) -> tuple[Product | RecordRetention, ...]:
    if isinstance(law, CoinGroups):
        return law.parts
    return (law,) if isinstance(law, Product | RecordRetention) else ()


def _diagonal(channel: Channel) -> NDArray[np.float64]:
    """The chance to be published as it is, by true value."""
    if isinstance(channel, Retention):
        return np.full(channel.size, float(channel.diagonal))
    return np.asarray(np.diagonal(channel.weights) / ONE, np.float64)


def side_by_side(one: Mapping[str, Codes], other: Mapping[str, Codes]) -> Outcome:
    """Rows at the same place of two files: if they are the same people, one file's order tells the other's.

    Needs neither key nor source. Rows of two orders agree as often as rows at random do.
    """
    name = "two releases, rows side by side"
    shared = [column for column in one if column in other and len(one[column]) == len(other[column])]
    if not shared:
        return NotRun(name, "they share no column, or have other numbers of rows")
    if all(np.array_equal(one[column], other[column]) for column in shared) and len(shared) == len(one) == len(
        other
    ):
        return Attack(name, None, 1.0, True, "both files have the same rows: the second adds nothing")

    def agreement(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(np.mean([one[n] == other[n][rows] for n in shared], axis=0), np.float64)

    records = len(one[shared[0]])
    found = order_attack(agreement, {"the first file": np.arange(records)})
    what = (
        f"rows at the same place agree {found.measured:.4g}; at random places at most {found.claimed or 0.0:.4g}"
    )
    return Attack(name, found.claimed, found.measured, found.ok, what, more=found.more)
