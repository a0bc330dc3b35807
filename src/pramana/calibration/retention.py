"""From a wanted k and epsilon to the mechanism that reaches them with the least loss.

The search runs over mechanisms as they will be sampled, integers and all, and asks each whether it keeps the
promise in exact arithmetic. What is returned has therefore been checked after rounding, by construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from pramana.calibration.error import expected_error, tables_that_matter
from pramana.errors import UnreachableError
from pramana.mechanisms import Circumstances, Mechanism, Product, RecordRetention, Redrawn, Retention, k_of
from pramana.theory import pk, rounding

M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True)
class Wanted:
    """The promise: k, epsilon or both, for a table in given circumstances."""

    circumstances: Circumstances
    k: float | Fraction | None = None
    epsilon: float | Fraction | None = None

    def __post_init__(self) -> None:
        if self.k is None and self.epsilon is None:
            raise UnreachableError(
                "A release must promise something", "neither k nor epsilon", "State k, epsilon or both."
            )
        if self.k is not None:
            candidates = self.circumstances.candidates
            pk.check_k(self.circumstances.records if candidates is None else candidates, self.k)
        if self.epsilon is not None:
            pk.check_epsilon(self.epsilon)

    def is_kept_by(self, mechanism: Mechanism) -> bool:
        """Decided in rationals: k never short, epsilon never over."""
        if self.k is not None and k_of(mechanism, self.circumstances) < Fraction(self.k):
            return False
        if self.epsilon is None:
            return True
        ratio = mechanism.likelihood_ratio
        return ratio is not None and ratio <= rounding.exp_down(Fraction(self.epsilon))


def calibrate(
    sizes: Mapping[str, int],
    wanted: Wanted,
    coin: str = "attribute",
    allocation: str = "equal",
    tables: Sequence[Sequence[str]] = (),
) -> Product | RecordRetention:
    """The mechanism of largest retention that keeps the promise.

    `coin`: "attribute" (the paper), "record", or "best" for the one with the smaller expected error over
    `tables`. `allocation`: "equal" retention (the paper) or "best", which spends more on the attributes of the
    tables that matter.
    """
    if not sizes:
        raise UnreachableError("A release must randomise at least one attribute", "none")
    if coin == "record":
        return _largest(lambda rho: RecordRetention.at(rho, sizes), wanted)
    equal = _largest(
        lambda rho: Product({n: Retention.at(rho, v) for n, v in sizes.items()}),
        wanted,
        Product({n: Redrawn(v) for n, v in sizes.items()}),
    )
    chosen = _best_allocation(equal, sizes, wanted, tables) if allocation == "best" else equal
    if coin == "attribute":
        return chosen
    record = calibrate(sizes, wanted, "record")
    records, matter = wanted.circumstances.records, tables_that_matter(tables, sizes)
    return min((chosen, record), key=lambda m: sum(expected_error(m, t, records) for t in matter))


def _largest(build: Callable[[Fraction], M], wanted: Wanted, redrawn: M | None = None) -> M:
    """`redrawn` tells nothing at all: it keeps what retention 0 misses by the rounding of its integers."""
    if not wanted.is_kept_by(build(Fraction(0))):
        if redrawn is not None and wanted.is_kept_by(redrawn):
            return redrawn
        raise UnreachableError(
            "The promise must be reachable by some retention",
            f"k = {wanted.k}, epsilon = {wanted.epsilon}, which not even retention 0 reaches",
        )
    return build(pk.largest_on_grid(lambda rho: wanted.is_kept_by(build(rho))))


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

    start = np.array([math.log(r) for n in live if (r := equal.channels[n].likelihood_ratio) is not None])
    found = optimize.minimize(
        error,
        start,
        method="SLSQP",
        bounds=[(1e-6, total)] * len(live),
        constraints=[{"type": "eq", "fun": lambda shares: shares.sum() - total}],
        options={"maxiter": 200, "ftol": 1e-10},
    )
    if not np.isfinite(found.x).all() or error(found.x) >= error(start):
        return equal
    shares = [max(0.0, float(s)) for s in found.x]
    # The shares sum to `total` only to rounding: a factor of up to 1 is enough to end on the private side.
    return _largest(lambda factor: with_shares(shares, factor), wanted)


def _retention_of(epsilon: float, size: int) -> Fraction:
    """Corollary 2 solved for rho: (e^eps - 1)/(e^eps + V - 1)."""
    grown = math.expm1(min(epsilon, 700.0))
    return min(Fraction(1), Fraction(grown / (grown + size)))
