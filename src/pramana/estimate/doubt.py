"""How far a recipient can trust published values that no law can correct."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Doubt:
    """How published values may differ from the true ones beyond what their cells say.

    `moved`: the largest share of the records that have another value than published.
    `lost`: of numbers, the largest share of their squared deviations that the published ones lost.
    `deviation`: of columns changed `together`, a bound on the standard deviation of how often any set of their
    values is published, which on average is as often as it occurs; of a single record nothing is known.
    """

    moved: float = 0.0
    lost: float | None = None
    together: tuple[str, ...] = ()
    deviation: float | None = None


TRUSTED = Doubt()
