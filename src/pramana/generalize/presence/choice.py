"""Levels chosen without a look at who is present: from the public table, the number present and delta alone.

The choice then tells nothing. It aims at levels at which the private table is likely to hold. Were the people
present drawn from everyone, each with a chance within a factor `spread` of the overall share, then by Chernoff's
bound, which covers drawing without replacement (Hoeffding 1963), a class of N people has a share outside of
[dmin, dmax] with a chance of at most e^(-N KL(dmax, high)) + e^(-N KL(dmin, low)); and there are at most people/N
classes. The smallest N for which some class falls outside with a chance of at most RISK is asked of every class: a
search for k-anonymity with k = N.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pramana.errors import UnreachableError
from pramana.generalize.classes import Classes, Levels
from pramana.generalize.conditions import KAnonymous
from pramana.generalize.lattice import search
from pramana.generalize.measures import separable
from pramana.generalize.presence.search import Pair, check_share
from pramana.generalize.presence.shaping import Presence

RISK = 0.05
SPREAD = 2.0


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
    high = _divergence(highest, min(share * above, 1.0)) if highest < 1 else math.inf
    low = _divergence(lowest, share / below) if lowest > 0 else math.inf

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


def _divergence(share: float, chance: float) -> float:
    """Kullback and Leibler's, between two coins, in nats."""
    if share <= 0 or share >= 1 or not 0 < chance < 1:
        return 0.0 if share == chance else math.inf
    return share * math.log(share / chance) + (1 - share) * math.log((1 - share) / (1 - chance))
