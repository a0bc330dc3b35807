"""Which frequent category each rare one exchanges records with.

A rare category r and a partner h of at least 1/xi records exchange theta records on average (theory:
`theta_for_pair`); that alone holds r's risk at xi. A partner may serve several rare categories, each with its own
theta, as long as its own odds stay the largest of its column, so that Theorem 3.1 holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from pramana.theory import identification

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Distance = Callable[[int, Places], Floats]  # from one category to others; infinite where exchange is forbidden

MOST_SHARED = 31  # rare categories at one partner
_MATRIX = 1 << 21  # rare times frequent categories up to which the best assignment is sought


@dataclass(frozen=True)
class PartnerExchange:
    """`rare` and `partner` exchange `theta` records on average in each direction."""

    rare: int
    partner: int
    theta: float


def anywhere(_rare: int, others: Places) -> Floats:
    """Every other category is as near."""
    return np.ones(len(others))


def exchanges(counts: Integers, xi: Fraction, distance: Distance) -> tuple[list[PartnerExchange], list[int]]:
    """Partners for the categories below 1/xi at the least expected error, and the categories left without.

    First no partner is shared (a block of two tells nothing more to whoever sees every count), then the
    categories that are left share.
    """
    least = -(-xi.denominator // xi.numerator)  # T >= 1/xi in integers
    rare, partners = np.flatnonzero((counts > 0) & (counts < least)), np.flatnonzero(counts >= least)
    if len(rare) == 0 or len(partners) == 0:
        return [], rare.tolist()
    hubs = _Hubs(counts, partners, xi, distance)
    left = hubs.assign(rare) if len(rare) * len(partners) <= _MATRIX else rare
    hardest = left[np.argsort(counts[left], kind="stable")]
    return hubs.found, [r for r in hardest.tolist() if not hubs.share(r)]


class _Hubs:
    """Frequent categories, and what they already exchange."""

    def __init__(self, counts: Integers, partners: Places, xi: Fraction, distance: Distance) -> None:
        self.counts, self.partners, self.xi, self.distance = counts, partners, xi, distance
        self.given = np.zeros(len(partners))
        self.odds = np.zeros(len(partners))  # the largest odds of a rare category landing here
        self.served = np.zeros(len(partners), np.int64)
        self.found: list[PartnerExchange] = []

    def costs(self, rare: int) -> tuple[Floats, Floats]:
        """theta and expected squared error (times distance) of exchanging with each partner."""
        t1, t2 = float(self.counts[rare]), self.counts[self.partners].astype(np.float64)
        theta = identification.theta_for_pair(t1, t2, self.xi)
        error = 2 * theta * (2 - theta / t1 - theta / t2)
        return theta, error * self.distance(rare, self.partners)

    def assign(self, rare: Places) -> Places:
        """Distinct partners by the assignment of least total cost; returns the rare that got none."""
        rows = [self.costs(int(r)) for r in rare]
        cost = np.array([row[1] for row in rows])
        finite = np.isfinite(cost)
        if not finite.any():
            return rare
        forbidden = (float(cost[finite].max()) + 1) * (len(rare) + 1)
        chosen, places = scipy.optimize.linear_sum_assignment(np.where(finite, cost, forbidden))
        served = np.zeros(len(rare), bool)
        for i, place in zip(chosen.tolist(), places.tolist(), strict=True):
            theta = float(rows[i][0][place])
            if finite[i, place] and self._room(int(rare[i]), rows[i][0])[place]:
                self._take(int(rare[i]), place, theta)
                served[i] = True
        return rare[~served]

    def share(self, rare: int) -> bool:
        theta, cost = self.costs(rare)
        # Large partners first, and spread out: whoever sees every count learns least from those.
        load = (self.given + theta) * (1 + self.odds) / self.counts[self.partners]
        cost = np.where(self._room(rare, theta), cost * (1 + 10 * load), np.inf)
        place = int(cost.argmin())
        if not np.isfinite(cost[place]):
            return False
        self._take(rare, place, float(theta[place]))
        return True

    def _room(self, rare: int, theta: Floats) -> NDArray[np.bool_]:
        """Whether the partner's own odds stay the largest of its column: beta_h >= beta_r for all it serves.

        The first always fits (identification.md); a share of room keeps later rounding from deciding.
        """
        given = self.given + theta
        odds = np.maximum(self.odds, theta / np.maximum(float(self.counts[rare]) - theta, 1e-300))
        fits: NDArray[np.bool_] = self.counts[self.partners] - given >= given * odds * (1 + 1e-9)
        room: NDArray[np.bool_] = (self.served == 0) | (fits & (self.served < MOST_SHARED))
        return room

    def _take(self, rare: int, place: int, theta: float) -> None:
        self.given[place] += theta
        self.odds[place] = max(self.odds[place], theta / (float(self.counts[rare]) - theta))
        self.served[place] += 1
        self.found.append(PartnerExchange(rare, int(self.partners[place]), theta))


# Rare categories that find no partner hide among each other.
#
# In a pool of N records a share c of every category is redrawn from the pool's own frequencies: p_ij = c
# T_j/N off the diagonal. Own odds are always the largest of a column, so Theorem 3.1 applies; c = 1 gives
# every member the risk 1/N. A pool of at least 1/xi records therefore always reaches xi, and c is the least
# that does.


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
