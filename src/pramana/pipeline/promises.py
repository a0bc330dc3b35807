"""Promises are reconciled: what a recipe asks for is certified, or nothing is published.

Every key of a setting that is a promise is looked for here, whatever the method: a method that forgets one is
refused like one that fails to keep it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from pramana.errors import UnreachableError
from pramana.schema import Setting
from pramana.theory import (
    AddedNoise,
    AverageRisk,
    BLikeness,
    CentralPrivacy,
    DDisclosure,
    DeltaPresence,
    Guarantee,
    IdentificationBound,
    KAnonymity,
    KMap,
    LDiversity,
    LocalPrivacy,
    PkAnonymity,
    PopulationUniqueness,
    Profitability,
    Swapping,
    TCloseness,
)

G = TypeVar("G", bound=Guarantee)


def check_promises(setting: Setting, guarantees: Sequence[Guarantee], waived: Sequence[str] = ()) -> None:
    """Refuse a release that does not certify everything its recipe promises, and name what is missing."""
    stated = msgspec.to_builtins(setting)
    for key in PROMISES:
        value = stated.get(key)
        if value is None or key in waived:
            continue
        if not _is_kept(key, value, guarantees):
            certified = "; ".join(f"{g.notion} {_shown(g.value)}" for g in guarantees) or "nothing"
            raise UnreachableError(
                f"The promise {key} = {_shown(value)} of the recipe must be kept by the release",
                f"these guarantees: {certified}",
                "Nothing was published. Leave the promise out, or choose a method that makes it.",
            )


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _k(value: float, guarantees: Sequence[Guarantee]) -> bool:
    """For people and for households, where both are counted."""
    stated = [g for g in guarantees if isinstance(g, PkAnonymity | KAnonymity)]
    return bool(stated) and all(any(g.k >= value for g in own) for own in _by_unit(stated))


def _epsilon(value: float, guarantees: Sequence[Guarantee]) -> bool:
    """Decided in rationals before; the logarithm in the certificate was rounded up by a last digit."""
    most = math.nextafter(math.nextafter(value, math.inf), math.inf)
    stated = [g for g in guarantees if isinstance(g, LocalPrivacy)]
    kept = (any(g.epsilon is not None and g.epsilon <= most for g in own) for own in _by_unit(stated))
    return bool(stated) and all(kept)


def _by_unit(stated: Sequence[G]) -> list[list[G]]:
    return [[g for g in stated if g.unit == unit] for unit in {g.unit for g in stated}]


def _delta(value: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(isinstance(g, CentralPrivacy) and g.delta <= value for g in guarantees)


def _presence(low: float, high: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(
        isinstance(g, DeltaPresence) and g.reached_lowest >= low and g.reached_highest <= high for g in guarantees
    )


def _central(epsilon: float, delta: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(isinstance(g, CentralPrivacy) and g.epsilon <= epsilon and g.delta <= delta for g in guarantees)


def _xi(value: float, guarantees: Sequence[Guarantee]) -> bool:
    most = math.nextafter(value, math.inf)
    return any(isinstance(g, IdentificationBound) and g.xi <= most for g in guarantees)


def _l(value: float, guarantees: Sequence[Guarantee]) -> bool:
    diverse = [g for g in guarantees if isinstance(g, LDiversity)]
    return bool(diverse) and all(g.l >= value * (1 - 1e-9) for g in diverse)


def _c(value: float, guarantees: Sequence[Guarantee]) -> bool:
    recursive = [g for g in guarantees if isinstance(g, LDiversity) and g.c is not None]
    return bool(recursive) and all(g.c is not None and g.c <= value for g in recursive)


def _t(value: float, guarantees: Sequence[Guarantee]) -> bool:
    """A certificate's t is rounded up at the ninth place, also where it is what was asked for but for rounding."""
    close = [g for g in guarantees if isinstance(g, TCloseness)]
    return bool(close) and all(g.t <= value + 1.5e-9 for g in close)


def _k_map(value: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(isinstance(g, KMap) and g.k >= value for g in guarantees)


def _average(value: float, guarantees: Sequence[Guarantee]) -> bool:
    """Decided in whole numbers before, and rounded up at the ninth place, as the others here."""
    return any(isinstance(g, AverageRisk) and g.average <= value + _ROUNDED for g in guarantees)


def _uniques(value: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(isinstance(g, PopulationUniqueness) and g.share <= value + _ROUNDED for g in guarantees)


def _d(value: float, guarantees: Sequence[Guarantee]) -> bool:
    stated = [g for g in guarantees if isinstance(g, DDisclosure)]
    return bool(stated) and all(g.d <= value + _ROUNDED for g in stated)


def _b(value: float, guarantees: Sequence[Guarantee]) -> bool:
    stated = [g for g in guarantees if isinstance(g, BLikeness)]
    return bool(stated) and all(g.b <= value + _ROUNDED for g in stated)


def _rate(value: float, guarantees: Sequence[Guarantee]) -> bool:
    return any(isinstance(g, Swapping) and g.rate >= value - _ROUNDED for g in guarantees)


def _amount(value: float, guarantees: Sequence[Guarantee]) -> bool:
    """Of every column whose noise is measured in its standard deviation."""
    stated = [g for g in guarantees if isinstance(g, AddedNoise) and g.kind != "units"]
    return bool(stated) and all(g.amount >= value for g in stated)


_ROUNDED = 1.5e-9
_NUMBERS: dict[str, Callable[[float, Sequence[Guarantee]], bool]] = {
    "k": _k,
    "epsilon": _epsilon,
    "delta": _delta,
    "xi": _xi,
    "l": _l,
    "c": _c,
    "t": _t,
    "k_map": _k_map,
    "average_risk": _average,
    "population_uniques": _uniques,
    "d_disclosure": _d,
    "b_likeness": _b,
    "rate": _rate,
    "amount": _amount,
}
PROMISES = (*_NUMBERS, "central", "profit")


def _is_kept(key: str, value: object, guarantees: Sequence[Guarantee]) -> bool:
    """A number; two of them, which are a range of delta-presence; or a section, which is a central target."""
    if key == "profit":
        return any(isinstance(g, Profitability) and g.payoff > 0 for g in guarantees)
    if isinstance(value, Mapping):
        return _central(float(value["epsilon"]), float(value["delta"]), guarantees)
    if isinstance(value, list | tuple):
        low, high = value
        return _presence(float(low), float(high), guarantees)
    return isinstance(value, int | float) and _NUMBERS[key](float(value), guarantees)
