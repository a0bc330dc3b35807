"""What one release adds to the total about its people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pramana.theory import CentralPrivacy, Guarantee, LocalPrivacy, PrivacyProfile


@dataclass(frozen=True)
class Cost:
    """Local epsilon, the central guarantee at every epsilon, and all that is promised of the release alone.

    No epsilon stands for none that holds: nothing then bounds the total.
    """

    epsilon: float | None = None
    profile: PrivacyProfile | None = None
    promises: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, guarantees: Sequence[Guarantee], profile: PrivacyProfile | None, seeded: bool) -> Cost:
        """Where the key is no secret, nothing holds. A profile counts only where a central guarantee is stated."""
        promises = tuple({"notion": g.notion, "value": g.to_json()["value"]} for g in guarantees)
        if seeded:
            return cls(promises=promises)
        local = [g.epsilon for g in guarantees if isinstance(g, LocalPrivacy)]
        central = any(isinstance(g, CentralPrivacy) for g in guarantees)
        return cls(local[0] if local else None, profile if central else None, promises)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Cost:
        profile = body["profile"]
        return cls(
            None if body["epsilon"] is None else float(body["epsilon"]),
            None if profile is None else PrivacyProfile(tuple(profile["epsilons"]), tuple(profile["deltas"])),
            tuple(body["promises"]),
        )

    def to_json(self) -> dict[str, Any]:
        profile = self.profile
        return {
            "epsilon": self.epsilon,
            "profile": profile and {"epsilons": list(profile.epsilons), "deltas": list(profile.deltas)},
            "promises": [dict(promise) for promise in self.promises],
        }

    @property
    def central(self) -> PrivacyProfile | None:
        """What all of it, shuffled, tells of a record: never more than a record tells by itself."""
        if self.epsilon is None:
            return None
        return self.profile or PrivacyProfile.pure(self.epsilon)
