"""Rare categories that find no partner hide among each other.

In a pool of N records a share c of every category is redrawn from the pool's own frequencies: p_ij = c T_j/N off
the diagonal. Own odds are always the largest of a column, so Theorem 3.1 applies; c = 1 gives every member the
risk 1/N. A pool of at least 1/xi records therefore always reaches xi, and c is the least that does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.calibration.partners import Distance, PartnerExchange

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COMFORTABLE_POOL = 32  # a pool of so many categories takes no more of them than it needs
_LARGEST_POOL = 1 << 10


@dataclass(frozen=True)
class Pool:
    members: tuple[int, ...]
    share: float  # the paper has no name for it: c above

    def flows(self, counts: Integers, slack: float) -> Floats:
        t = counts[list(self.members)].astype(np.float64)
        share = self.share + slack * (1 - self.share)
        flows: Floats = share * np.outer(t, t) / t.sum()
        return flows


def pools(
    counts: Integers, left: list[int], served: list[PartnerExchange], xi: Fraction, distance: Distance
) -> tuple[list[Pool], list[PartnerExchange]] | None:
    """Pools for the categories in `left`, and the exchanges that stay; None when records do not suffice.

    A pool takes other rare categories first, then idle frequent ones, then a partner away from those it serves,
    which then need a pool themselves.
    """
    wanted = 1 / xi
    hubs: dict[int, list[PartnerExchange]] = {}
    for one in served:
        hubs.setdefault(one.partner, []).append(one)
    busy = {one.rare for one in served} | set(hubs) | set(left)
    idle = [int(c) for c in np.argsort(counts, kind="stable") if counts[c] > 0 and int(c) not in busy]
    todo = sorted(left, key=lambda c: (int(counts[c]), c))
    found: list[list[int]] = []
    while todo:
        members = [todo[0]]
        # more than 1/xi records among the rare themselves: c then stays well below 1
        _fill(members, todo, counts, wanted * 5 / 4, distance)
        if len(members) < _COMFORTABLE_POOL:
            _fill(members, todo, counts, 2 * wanted, distance)
        for source in (idle, sorted(hubs, key=lambda h: int(counts[h]))):
            _fill(members, source, counts, wanted, distance)
        if int(counts[members].sum()) < wanted and not _joined(members, found, distance):
            return None
        for hub in [m for m in members if m in hubs]:
            todo += [one.rare for one in hubs.pop(hub) if one.rare not in members]
        todo = [c for c in todo if c not in members]
        idle = [c for c in idle if c not in members]
        if int(counts[members].sum()) >= wanted:
            found.append(members)
    kept = [one for spokes in hubs.values() for one in spokes]
    return [Pool(tuple(m), _least_share(counts[m], wanted)) for m in found], kept


def _fill(
    members: list[int], source: Iterable[int], counts: Integers, wanted: Fraction, distance: Distance
) -> None:
    """Add from `source` while records are short, only what may exchange with every member."""
    for candidate in source:
        if int(counts[members].sum()) >= wanted or len(members) >= _LARGEST_POOL:
            return
        if candidate not in members and _allowed(candidate, members, distance):
            members.append(candidate)


def _joined(members: list[int], found: list[list[int]], distance: Distance) -> bool:
    """Too few records for a pool of their own: join one that is there."""
    for other in found:
        if all(_allowed(member, other, distance) for member in members):
            other += members
            return True
    return False


def _allowed(candidate: int, members: list[int], distance: Distance) -> bool:
    return bool(np.isfinite(distance(candidate, np.array(members, np.intp))).all())


def _least_share(t: Integers, wanted: Fraction) -> float:
    """The least c at which no member's R1(1,t) = [T_i + (N-T_i) beta/beta_i]^-1 is above xi."""
    total, goal = float(t.sum()), float(wanted)
    own = t[t < goal].astype(np.float64)

    def short(c: float) -> bool:
        away = c * (1 - own / total)  # the chance to leave i
        into = c * own / total  # the chance that another's record lands on i
        return bool((own + (total - own) * (into / (1 - into)) * (away / (1 - away)) < goal).any())

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high
