"""Which frequent category each rare one exchanges records with.

A rare category r and a partner h of at least 1/xi records exchange theta records on average (theory:
`theta_for_pair`); that alone holds r's risk at xi. A partner may serve several rare categories, each with its own
theta, as long as its own odds stay the largest of its column, so that Theorem 3.1 holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy  # its parts load when first used
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
