"""What several releases about the same people tell together: composed privacy profiles.

A profile is a bound on delta for every epsilon, whichever of two neighbouring tables is the true one. The law of
the privacy loss whose profile is the chord between two known points dominates every law below it, because delta is
convex in e^epsilon (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots"). Such laws live on a
grid, and for independent releases they are convolved. Chances are differences: each is raised by the most that
floats can have taken from it. After that all terms are positive, and errors are relative and small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pramana.theory import rounding

Floats = NDArray[np.float64]
_STEPS = 64  # of the grid up to where the narrowest profile has ended
_NEGLIGIBLE = 1e-4  # of the delta that is asked for: all profiles may lose so much of it by ending early
_MOST_POINTS = 2**15  # of the grid of all releases together; with more the steps grow
_WIDEST = 40.0  # what lies beyond such a loss is taken to be lost: e^-40 of it is nothing


@dataclass(frozen=True)
class PrivacyProfile:
    """Bounds on delta at ascending epsilons, of which the first is 0. Beyond the last one delta stays."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def __post_init__(self) -> None:
        pairs = zip(self.epsilons, self.epsilons[1:], strict=False)
        if len(self.epsilons) != len(self.deltas) or self.epsilons[:1] != (0.0,):
            raise ValueError("a profile must have as many deltas as epsilons, of which the first is 0")
        if not all(a < b < math.inf for a, b in pairs) or not all(0 <= delta <= 1 for delta in self.deltas):
            raise ValueError("a profile must have ascending epsilons, and deltas between 0 and 1")

    @classmethod
    def pure(cls, epsilon: float) -> PrivacyProfile:
        """Everything that is (epsilon, 0)-private: randomised response is the worst of it."""
        if epsilon == 0:
            return cls((0.0,), (0.0,))
        return cls((0.0, epsilon), (math.nextafter(math.tanh(epsilon / 2), 1.0), 0.0))

    def width(self, negligible: float) -> float:
        """The epsilon of its first point at which delta is negligible, or of its last."""
        ended = [e for e, d in zip(self.epsilons, self.deltas, strict=True) if d <= negligible]
        return ended[0] if ended else self.epsilons[-1]

    def at(self, epsilon: float) -> float:
        """The bound on delta: a chord over e^epsilon."""
        if epsilon >= self.epsilons[-1]:
            return self.deltas[-1]
        i = int(np.searchsorted(self.epsilons, epsilon, "right")) - 1
        low, high = self.epsilons[i], self.epsilons[i + 1]
        share = math.expm1(epsilon - low) / math.expm1(high - low)
        return min(1.0, (self.deltas[i] * (1 - share) + self.deltas[i + 1] * share) * (1 + 2**-48))


@dataclass(frozen=True)
class _LossLaw:
    """Chances of the losses lowest*step, (lowest + 1)*step, ..., and of an infinite one."""

    lowest: int
    chances: Floats
    infinite: float

    def beside(self, other: _LossLaw) -> _LossLaw:
        """Of two independent releases."""
        return _LossLaw(
            self.lowest + other.lowest,
            np.convolve(self.chances, other.chances),
            self.infinite + other.infinite,
        )


def composed_epsilon(profiles: Sequence[PrivacyProfile], delta: float) -> float | None:
    """The smallest epsilon, of four digits, at which all releases together are (epsilon, delta)-private.

    None where their own deltas leave no room within this one.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    negligible = delta * _NEGLIGIBLE / max(len(profiles), 1)
    told = [profile for profile in profiles if profile.deltas[0] > negligible]
    if not told:
        return 0.0
    silent = math.fsum(profile.deltas[0] for profile in profiles if profile.deltas[0] <= negligible)
    widths = [min(profile.width(negligible), _WIDEST) for profile in told]
    step = max(min(widths) / _STEPS, 2 * sum(widths) / _MOST_POINTS)
    laws = (_loss_law(profile, width, step) for profile, width in zip(told, widths, strict=True))
    law = reduce(_LossLaw.beside, laws)
    losses = step * (law.lowest + np.arange(len(law.chances)))

    def delta_at(epsilon: float) -> float:
        beyond = losses > epsilon
        told_more = law.chances[beyond] @ -np.expm1(epsilon - losses[beyond])
        return float(told_more + law.infinite + silent) * (1 + 1e-9)

    highest = float(losses[-1])
    if delta_at(highest) > delta:
        return None
    low, high = 0.0, highest
    if delta_at(0.0) <= delta:
        return 0.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return float(rounding.shown_up(high, 4))


def _loss_law(profile: PrivacyProfile, width: float, step: float) -> _LossLaw:
    """The law on the grid that dominates the profile, by chords. What lies beyond the width is lost."""
    most = math.ceil(width / step)
    right = np.array([profile.at(step * i) for i in range(most + 1)])
    epsilons = step * np.arange(-most, most + 1)
    # The other of the two tables may be the true one: H at e^-epsilon is 1 - e^-epsilon + e^-epsilon * delta.
    left = -np.expm1(epsilons[:most]) + np.exp(epsilons[:most]) * right[:0:-1]
    points = np.append(np.exp(epsilons), 0.0)[np.r_[2 * most + 1, : 2 * most + 1]]
    deltas = _hull(points, np.concatenate([[1.0], np.minimum(left, 1.0), right]))
    slopes = (deltas[:-1] - deltas[1:]) / (points[1:] - points[:-1])
    after = np.append(slopes[1:], 0.0)
    lost = 2.0**-48 * deltas[:-1] / (points[1:] - points[:-1])  # what slopes can be wrong by
    chances = (np.maximum(slopes - after, 0.0) + lost) * points[1:]
    return _LossLaw(-most, chances, float(deltas[-1]))


def _hull(points: Floats, deltas: Floats) -> Floats:
    """The largest convex function below some bounds: what is convex and below the bounds is below it, too."""
    kept: list[int] = []
    for i in range(len(points)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            chord = deltas[a] + (deltas[i] - deltas[a]) * (points[b] - points[a]) / (points[i] - points[a])
            if deltas[b] < chord:
                break
            kept.pop()
        kept.append(i)
    return np.asarray(np.interp(points, points[kept], deltas[kept]), np.float64)
