"""The central guarantee of a shuffled release: the best of the bounds that its mechanism's blankets give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from pramana.mechanisms.channel import Channel, Retention
from pramana.theory import PrivacyProfile, blanket, rounding, shuffling

Blankets = tuple[blanket.Blanket | blanket.RowsOverBlanket, ...]
LOCAL = "the local guarantee, on which no bound for shuffled releases improves at this delta"
_MOST_RATIO = 10**120  # beyond it a blanket is thinner than any table is long, and floats end
_PROFILE_POINTS = 40
_PROFILE_ENDS = 1e-15  # the delta of its last point but the local one
_MOST_ROWS = 128  # true records of a joint matrix whose pairs are all compared


def blankets_of_channels(
    channels: Sequence[Channel], ratio: Fraction | None, coins: Sequence[tuple[Fraction, Fraction]] = ()
) -> Blankets | None:
    """Independent attributes with this likelihood ratio; every blanket gives a bound, and the smallest holds.

    `coins`: of groups that are kept together, their retention and the chance of their least likely redraw.
    """
    live = [channel for channel in channels if channel.size > 1]
    kept = [channel for channel in live if isinstance(channel, Retention)]
    if len(kept) == len(live) or ratio is None or ratio > _MOST_RATIO:
        retentions = [*(c.retention for c in kept), *(retention for retention, _ in coins)]
        least: list[Fraction | int] = [*(c.size for c in kept), *(redraw for _, redraw in coins)]
        return blankets_of_retentions(retentions, least, ratio)
    if not coins and math.prod(channel.size for channel in live) <= _MOST_ROWS:
        return (blanket.rows_over_blanket([channel.weights for channel in live]),)
    laws = [*map(_law, live), *(blanket.blanket_of_retentions([kept], [redraw]) for kept, redraw in coins)]
    return (blanket.blanket_of_product(laws), blanket.blanket_of_ratio(rounding.float_up(ratio)))


def blankets_of_retentions(
    retentions: Sequence[Fraction], least: Sequence[Fraction | int], ratio: Fraction | None
) -> Blankets | None:
    """Attributes kept or redrawn; `least` is the chance of the least likely redraw, or how many are alike."""
    if ratio is None:
        return None
    return () if ratio > _MOST_RATIO else (blanket.blanket_of_retentions(retentions, least),)


def _law(channel: Channel) -> blanket.Blanket:
    if isinstance(channel, Retention):
        return blanket.blanket_of_retentions([channel.retention], [channel.size])
    return blanket.envelope_of_rows(blanket.rows_over_blanket([channel.weights]))


def central_epsilon(blankets: Blankets, ratio: Fraction, records: int, delta: float) -> tuple[float, str]:
    """The smallest central epsilon that is proved at delta, and by what. Never above the local one."""
    local = rounding.log_up(ratio)
    proved = [(shuffling.shuffled_epsilon(records, ratio, one, delta), one.statement) for one in blankets]
    epsilon, statement = min(proved, default=(local, LOCAL))
    return (epsilon, f"shuffling: {statement}") if epsilon < local else (local, LOCAL)


def central_excess(blankets: Blankets, ratio: Fraction, records: int, epsilon: float, delta: float) -> float:
    """ln of a bound on delta at epsilon, over the delta allowed: at most 0 where the promise is kept.

    For calibration: one evaluation, where `central_epsilon` is a search. A matrix of which no worst pair is known
    has no such bound here.
    """
    if ratio <= rounding.exp_down(Fraction(epsilon)):
        return -math.inf
    laws = [one for one in blankets if isinstance(one, blanket.Blanket)]
    return min((shuffling.log_delta(records, one, epsilon) for one in laws), default=math.inf) - math.log(delta)


def profile_of_shuffled(blankets: Blankets, ratio: Fraction, records: int) -> PrivacyProfile:
    """Delta over epsilon, for composing a shuffled release with others: the smallest that any blanket gives."""
    local = rounding.log_up(ratio)
    laws = [one if isinstance(one, blanket.Blanket) else blanket.envelope_of_rows(one) for one in blankets]
    if not laws or not local:
        return PrivacyProfile.pure(local)
    widest = min(shuffling.shuffled_epsilon(records, ratio, law, _PROFILE_ENDS) for law in laws)
    pure = PrivacyProfile.pure(local)
    epsilons = [widest * i / _PROFILE_POINTS for i in range(_PROFILE_POINTS + 1)]
    deltas = [min(pure.at(e), *(shuffling.shuffled_delta(records, law, e) for law in laws)) for e in epsilons]
    if widest >= local:
        return PrivacyProfile((*epsilons[:-1], local), (*deltas[:-1], 0.0))
    return PrivacyProfile((*epsilons, local), (*deltas, 0.0))
