"""What all releases about some people add up to, by the tightest composition that is sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pramana.ledger.state import Release, State
from pramana.theory import PrivacyProfile, composed_epsilon, rounding

DEFAULT_DELTA = 1e-6
# Of each kind of promise: what can be said of several releases that make it.
SEVERAL = {
    "pk-anonymity": "k: each release keeps its own. Its intruder knows every true value that is randomised, and "
    "one release tells nothing of another's order and coins. What one releases unchanged, no other may tell.",
    "k-anonymity": "k-anonymity: nothing. Classes of two releases can meet in one person.",
    "l-diversity": "l-diversity: nothing. Classes of two releases can meet in one value.",
    "t-closeness": "t-closeness: nothing. Classes of two releases can meet in one value.",
    "identification-bound": "xi: nothing. Two releases give an intruder two chances to match.",
    "k-map": "k-map: nothing. Classes of two releases can meet in one person.",
    "average-risk": "average risk: nothing. Classes of two releases can meet in one person.",
    "population-uniqueness": "population uniques: nothing. Two releases show more of everyone than one.",
    "d-disclosure": "d-disclosure: nothing. Classes of two releases can meet in one value.",
    "b-likeness": "b-likeness: nothing. Classes of two releases can meet in one value.",
    "profitability": "profitability: nothing. Two releases are worth, and tell, more than one.",
    "swapping": "swapping: nothing. It bounds nothing in one release either.",
    "added-noise": "noise: nothing. It bounds nothing in one release either, and averages out over several.",
    "delta-presence": "delta-presence: nothing. Its bounds hold for one release about these people.",
}


@dataclass(frozen=True)
class Total:
    """The local epsilons of independent releases add up; the central ones are composed at one delta.

    No epsilon stands for none that holds. `notes` say what is not in these numbers.
    """

    people: str
    releases: int
    epsilon: float | None
    central: float | None
    delta: float
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return {
            "people": self.people,
            "releases": self.releases,
            "epsilon": self.epsilon,
            "central": {"epsilon": self.central, "delta": self.delta},
            "notes": list(self.notes),
        }

    def words(self) -> str:
        if self.epsilon is None:
            return "no epsilon: some release about them has none"
        central = "" if self.central is None else f", central {rounding.shown_up(self.central, 4)}"
        return f"epsilon {rounding.shown_up(self.epsilon)}{central} at delta {self.delta:g}"


def total_about(state: State, people: str, delta: float = DEFAULT_DELTA, extra: Release | None = None) -> Total:
    """With `extra`, as it would be after one more release."""
    single = [*state.single(people), *([extra] if extra is not None and extra.cost is not None else [])]
    versions = None if extra is None or extra.cost is not None else extra
    ratio = state.total_ratio(people, versions)
    epsilons = [None if r.cost is None else r.cost.epsilon for r in single]
    at_levels = [r for name, d in state.datasets.items() if d.people == people for r in state.live(name)]
    count = len(single) + len(at_levels) + (versions is not None)
    notes = tuple(_notes(single))
    if ratio is None or None in epsilons:
        return Total(people, count, None, None, delta, notes)
    exact = Fraction(rounding.log_up(ratio)) + sum(Fraction(e) for e in epsilons if e is not None)
    local = rounding.float_up(exact)
    profiles = [p for r in single if r.cost is not None and (p := r.cost.central) is not None]
    profiles += [PrivacyProfile.pure(rounding.log_up(one)) for one in state.ratios(people, versions) if one]
    central = composed_epsilon(profiles, delta)
    return Total(people, count, local, local if central is None else min(central, local), delta, notes)


def _notes(single: Sequence[Release]) -> Iterator[str]:
    promised = {str(p["notion"]) for r in single if r.cost is not None for p in r.cost.promises}
    if len(single) > 1:
        yield from (words for notion, words in SEVERAL.items() if notion in promised)
    without = [r for r in single if r.cost is not None and r.cost.epsilon is None]
    if without:
        yield f"{len(without)} of these releases have no epsilon, so none holds of all."
