"""From a wanted k, local epsilon or central epsilon to the mechanism that reaches them with the least loss.

The search runs over mechanisms as they will be sampled, integers and all, and asks each whether it keeps the
promise, k and local epsilon in exact arithmetic. What is returned has been checked after rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from pramana.errors import UnreachableError
from pramana.mechanisms.channel import Redrawn, Retention, central_epsilon, central_excess
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import CoinGroups, Mechanism, Product, RecordRetention
from pramana.methods.usefulness import expected_error, tables_that_matter
from pramana.theory import blanket, pk, rounding, shuffling

M = TypeVar("M", bound=Mechanism)
DrawnLaw = Product | RecordRetention | CoinGroups
_LEAST = Fraction(1, pk.GRID)
_MOST_OVER = 3.0  # where the bound is of no use
_CLOSE = 1e-5  # of the log-odds, that a retention may be below the largest one
_MOST_TURNS = 60
_MANY = 6  # attributes from which a rough bound goes before the real one
_ROUGHLY = 100  # values that it tells apart
_ROUGH_LOGS = 300.0  # of epsilon and the combinations together, where the rough bound is still a float


@dataclass(frozen=True)
class Wanted:
    """The promise: k, local epsilon, central epsilon or several, for a table in given circumstances.

    Args:
        circumstances: What else the guarantees depend on.
        k: Nobody links a person to a record with a confidence above 1/k.
        epsilon: Of each record's own randomisation.
        central: The epsilon of the whole shuffled release at the delta of the circumstances.

    Raises:
        UnreachableError: Nothing is promised, or what no retention reaches in these circumstances.

    >>> import pramana
    >>> pramana.Wanted(pramana.Circumstances(records=1000), k=20).k
    20
    """

    circumstances: Circumstances
    k: float | Fraction | None = None
    epsilon: float | Fraction | None = None
    central: float | Fraction | None = None

    def __post_init__(self) -> None:
        if self.k is None and self.epsilon is None and self.central is None:
            raise UnreachableError(
                "A release must promise something",
                "neither k nor epsilon",
                "State k, epsilon or a central epsilon, or several of them.",
            )
        if self.k is not None:
            candidates = self.circumstances.candidates
            pk.check_k(self.circumstances.records if candidates is None else candidates, self.k)
        if self.epsilon is not None:
            pk.check_epsilon(self.epsilon)
        if self.central is not None:
            self._check_central(self.central)

    def _check_central(self, central: float | Fraction) -> None:
        pk.check_epsilon(central)
        around = self.circumstances
        if not around.shuffled or around.raw_columns or around.data_dependent:
            raise UnreachableError(
                "A central epsilon can be promised of a shuffled release without columns released unchanged",
                "one in the order of the source"
                if not around.shuffled
                else "columns released unchanged"
                if around.raw_columns
                else "matrices made from the table",
            )

    def is_kept_by(self, mechanism: Mechanism) -> bool:
        """k never short, epsilon never over: decided in rationals, central epsilon by what would be certified."""
        return self._local_is_kept_by(mechanism) and self._central_is_kept_by(mechanism)

    def _local_is_kept_by(self, mechanism: Mechanism) -> bool:
        if self.k is not None and k_of(mechanism, self.circumstances) < Fraction(self.k):
            return False
        if self.epsilon is None:
            return True
        ratio = mechanism.likelihood_ratio
        return ratio is not None and ratio <= rounding.exp_down(Fraction(self.epsilon))

    def _central_is_kept_by(self, mechanism: Mechanism) -> bool:
        if self.central is None:
            return True
        ratio, around = mechanism.likelihood_ratio, self.circumstances
        if ratio is not None and ratio <= rounding.exp_down(Fraction(self.central)):
            return True
        blankets = mechanism.blankets
        if ratio is None or blankets is None:
            return False
        at = shuffling.digits_down(self.central)
        if any(isinstance(one, blanket.Blanket) for one in blankets) and at > 0:
            # Certified is the smallest number of four digits whose delta is small enough: at most this one.
            return central_excess(blankets, ratio, around.records, at, around.delta) <= 0
        certified, _ = central_epsilon(blankets, ratio, around.records, around.delta)
        return certified < rounding.log_up(ratio) and certified <= shuffling.digits_down(self.central)


def calibrate(
    sizes: Mapping[str, int],
    wanted: Wanted,
    coin: str = "attribute",
    allocation: str = "equal",
    tables: Sequence[Sequence[str]] = (),
) -> DrawnLaw:
    """The mechanism of largest retention that keeps a promise.

    Args:
        sizes: How many values each attribute has.
        wanted: The promise.
        coin: "attribute" (the paper), "record", or "best" for whichever of these and of coins for groups of
            attributes, epsilon shared out among them, has the least expected error over `tables`.
        allocation: "equal" retention (the paper) or "best", which spends more on the attributes of the tables that
            matter.
        tables: The tables that matter.

    Returns:
        The mechanism.

    Raises:
        UnreachableError: No retention keeps the promise, or there is no attribute to randomise.

    >>> import pramana
    >>> wanted = pramana.Wanted(pramana.Circumstances(records=1000), epsilon=1.0)
    >>> pramana.calibrate({"sex": 2}, wanted).retentions()  # (e - 1) / (e + 1)
    [0.46211715726...]
    """
    if not sizes:
        raise UnreachableError("A release must randomise at least one attribute", "none")
    if coin == "record":
        return largest_factor(lambda rho: RecordRetention.at(rho, sizes), wanted)
    if coin == "best":
        from pramana.methods.retention.frontier import best_candidate
        from pramana.methods.retention.spending import SpendingQuestion

        return best_candidate(SpendingQuestion(sizes, tables, wanted.circumstances.records), wanted).law
    equal = largest_factor(
        lambda rho: Product({n: Retention.at(rho, v) for n, v in sizes.items()}),
        wanted,
        Product({n: Redrawn(v) for n, v in sizes.items()}),
    )
    return _best_allocation(equal, sizes, wanted, tables) if allocation == "best" else equal


def largest_factor(build: Callable[[Fraction], M], wanted: Wanted, redrawn: M | None = None) -> M:
    """What `build` makes of the largest number from 0 to 1 at which the promise is kept.

    `redrawn` tells nothing at all: it keeps what retention 0 misses by the rounding of its integers.
    """
    if not wanted.is_kept_by(build(Fraction(0))):
        if redrawn is not None and wanted.is_kept_by(redrawn):
            return redrawn
        raise UnreachableError(
            "The promise must be reachable by some retention",
            f"k = {wanted.k}, epsilon = {wanted.epsilon}, central epsilon = {wanted.central}, "
            "which not even retention 0 reaches",
        )
    rho = Fraction(1)
    if wanted.k is not None or wanted.epsilon is not None:
        rho = pk.largest_on_grid(lambda rho: wanted._local_is_kept_by(build(rho)))
    if wanted.central is not None and not wanted._central_is_kept_by(build(rho)):
        rho = _largest_central(build, wanted, wanted.central, rho)
    return build(rho)


def _largest_central(
    build: Callable[[Fraction], M], wanted: Wanted, central: float | Fraction, above: Fraction
) -> Fraction:
    """The largest retention below `above`, to five digits, that keeps the central promise.

    A rough bound finds about where; few turns of the real one are left.
    """
    at = shuffling.digits_down(central)
    start, slope = _guess(build, wanted, float(central)), 1.0
    rough = _rough_overshoot(build, wanted, at)
    if rough is not None:
        start, slope = _crossing(rough, start, above, 2e-3)
    return _crossing(_log_overshoot(build, wanted, at), start, above, _CLOSE, slope)[0]


def _crossing(
    over: Callable[[Fraction], float], start: Fraction, above: Fraction, close: float, slope: float = 1.0
) -> tuple[Fraction, float]:
    """The largest retention at which `over` is not above 0, about, and its slope there.

    delta is about e^(-(central/s)^2/2), where ln s, which is `over`, is nearly straight over the retention's
    log-odds: curves through the last turns find the place in few.
    """
    low, high = _log_odds(_LEAST), _log_odds(above)
    odds, turns = min(_log_odds(start), high), list[tuple[float, float]]()
    for turn in range(_MOST_TURNS):
        value = over(_from_log_odds(odds))
        turns.append((odds, value))
        if -close <= value <= 0:
            break
        low, high = (max(low, odds), high) if value <= 0 else (low, min(high, odds))
        odds = _following(turns, low, high, turn, close, slope)
    else:
        odds = low
    nearest = sorted(turns, key=lambda one: abs(one[1]))[:2]
    if len(nearest) == 2 and nearest[0][0] != nearest[1][0]:
        slope = max((nearest[1][1] - nearest[0][1]) / (nearest[1][0] - nearest[0][0]), 0.1)
    return (_from_log_odds(odds) if odds > _log_odds(_LEAST) else Fraction(0)), slope


def _following(
    turns: list[tuple[float, float]], low: float, high: float, turn: int, close: float, slope: float
) -> float:
    """Where the curve through the nearest turns meets a hair below 0, if that is between `low` and `high`."""
    at, value = turns[-1]
    nearest = sorted(turns, key=lambda one: abs(one[1]))[:3]
    proposals = [_through(nearest, -close / 2), _through(nearest[:2], -close / 2)]
    if len(turns) == 1:  # straight; far away the curve is steeper
        proposals = [at - (value + close / 2) / (slope if abs(value) < 0.5 else 2 * slope)]
    for proposed in proposals:
        if proposed is not None and low < proposed < high and turn % 8 != 7:
            return proposed
    if all(one[1] > 0 for one in turns) or all(one[1] <= 0 for one in turns):
        return min(max(at - 2 * math.copysign(1.0, value), (low + at) / 2), (at + high) / 2)
    return (low + high) / 2


def _through(points: Sequence[tuple[float, float]], aim: float) -> float | None:
    """The argument at which the polynomial through the points, as a function of the value, has the value `aim`."""
    total = 0.0
    for i, (at, value) in enumerate(points):
        for j, (_, other) in enumerate(points):
            if i != j:
                if value == other:
                    return None
                at *= (aim - other) / (value - other)
        total += at
    return total if len(points) > 1 else None


def _guess(build: Callable[[Fraction], M], wanted: Wanted, central: float) -> Fraction:
    """About the retention sought, by the variance of the privacy loss alone.

    The mean loss of n records has variance E(X - Y)^2/(n weight), in closed form for a product of retentions; a
    normal tail at the central epsilon is set equal to delta.
    """
    nothing, around = build(Fraction(0)), wanted.circumstances
    sizes = [size for size in nothing.sizes.values() if size > 1]
    if isinstance(nothing, RecordRetention):
        sizes = [math.prod(sizes)]
    deviations = 0.85 * math.sqrt(-2 * math.log(around.delta))

    def deviation(rho: float) -> float:
        weight, same, crossed = (1 - rho) ** len(sizes), 1.0, 1.0
        for size in sizes:
            own, other = 1 - rho + rho * size, 1 - rho
            same *= (own**2 + (size - 1) * other**2) / size
            crossed *= (2 * own * other + (size - 2) * other**2) / size
        return math.sqrt(max(2 * (same - crossed), 0.0) / (max(around.records, 1) * max(weight, 1e-300)))

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if deviations * deviation(middle) > central else (middle, high)
    return max(Fraction(math.floor(Fraction(low) * pk.GRID), pk.GRID), _LEAST)


def _log_overshoot(build: Callable[[Fraction], M], wanted: Wanted, central: float) -> Callable[[Fraction], float]:
    """ln s over the s allowed: not above 0 where a retention keeps the promise."""
    around, allowed = wanted.circumstances, math.log(wanted.circumstances.delta)

    def over(rho: Fraction) -> float:
        mechanism = build(rho)
        ratio, blankets = mechanism.likelihood_ratio, mechanism.blankets
        if ratio is None or blankets is None:
            return _MOST_OVER
        excess = central_excess(blankets, ratio, around.records, central, around.delta)
        if excess == -math.inf:
            return -_MOST_OVER
        return min(0.5 * math.log(allowed / min(excess + allowed, -1e-6)), _MOST_OVER)

    return over


def _rough_overshoot(
    build: Callable[[Fraction], M], wanted: Wanted, central: float
) -> Callable[[Fraction], float] | None:
    """The same for a common retention of many attributes, by a rough bound; None where the real one is quick."""
    nothing = build(Fraction(0))
    sizes = [size for size in nothing.sizes.values() if size > 1]
    if not isinstance(nothing, Product) or len(sizes) < _MANY:
        return None
    if central + sum(map(math.log, sizes)) > _ROUGH_LOGS:  # its ratios would be no floats
        return None
    around, allowed = wanted.circumstances, math.log(wanted.circumstances.delta)

    def over(rho: Fraction) -> float:
        law = blanket.roughly_of_retentions([float(rho)] * len(sizes), sizes)
        reached = shuffling.log_delta(around.records, law, central, _ROUGHLY)
        return min(max(0.5 * math.log(allowed / min(reached, -1e-6)), -_MOST_OVER), _MOST_OVER)

    return over


def _log_odds(rho: Fraction) -> float:
    return math.log(rho) - math.log(max(1 - rho, _LEAST))


def _from_log_odds(odds: float) -> Fraction:
    return Fraction(math.floor(pk.GRID / (1 + math.exp(-min(max(odds, -50.0), 50.0)))), pk.GRID)


def _best_allocation(
    equal: Product, sizes: Mapping[str, int], wanted: Wanted, tables: Sequence[Sequence[str]]
) -> Product:
    """Share the epsilon that equal retention reaches so that the tables that matter have the least error.

    ln h is convex and decreasing in an attribute's epsilon, so the error is a smooth convex function of the
    shares. A float optimiser proposes; a common factor on the shares is then searched in exact arithmetic.
    """
    from scipy import optimize

    live = [name for name, size in sizes.items() if size > 1]
    if equal.likelihood_ratio is None or len(live) < 2:
        return equal
    total = math.log(equal.likelihood_ratio)
    matter = tables_that_matter(tables, sizes)
    records = wanted.circumstances.records
    if total <= 0:
        return equal

    def with_shares(shares: Sequence[float], factor: Fraction) -> Product:
        epsilon = dict(zip(live, shares, strict=True))
        return Product(
            {n: Retention.at(_retention_of(float(factor) * epsilon.get(n, 0.0), v), v) for n, v in sizes.items()}
        )

    def error(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        mechanism = with_shares([max(1e-6, float(s)) for s in shares], Fraction(1))
        return sum(expected_error(mechanism, t, records) for t in matter)

    def left_over(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(shares.sum() - total)

    start = np.array([math.log(r) for n in live if (r := equal.channels[n].likelihood_ratio) is not None])
    found = optimize.minimize(
        error,
        start,
        method="SLSQP",
        bounds=[(1e-6, total)] * len(live),
        constraints={"type": "eq", "fun": left_over},
        options={"maxiter": 200, "ftol": 1e-10},
    )
    if not np.isfinite(found.x).all() or error(found.x) >= error(start):
        return equal
    shares = [max(0.0, float(s)) for s in found.x]
    # The shares sum to `total` only to rounding: a factor of up to 1 is enough to end on the private side.
    return largest_factor(lambda factor: with_shares(shares, factor), wanted)


def _retention_of(epsilon: float, size: int) -> Fraction:
    """Corollary 2 solved for rho: (e^eps - 1)/(e^eps + V - 1)."""
    grown = math.expm1(min(epsilon, 700.0))
    return min(Fraction(1), Fraction(grown / (grown + size)))
