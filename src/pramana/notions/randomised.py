"""Notions of releases in which chance changed the records: they hold for any table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    INFERENCE,
    LINKABILITY,
    OF_THIS_SIZE,
    SINGLING_OUT,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    complete_sentences,
    condition,
    e_to_the,
)

_BEFOREHAND = ": the belief beforehand must already take the person's values there into account"
_BELIEF = "a belief about a person's perturbed values"
_ALONE = "through the release, as long as other people's records tell nothing of them"
_ALL_RECORDS = (
    "all published records of a UNIT together are at most {times} times as likely under the UNIT's true records "
    "as under any others in their place (epsilon {epsilon})"
)
_OUTCOME = (
    " any outcome of the shuffled release at most {times} times as likely (epsilon {epsilon}), plus a probability "
    "of at most {delta} (delta)"
)

condition("finite", "epsilon is finite", lambda g: g["value"] is not None)
condition("infinite", "epsilon is infinite", lambda g: g["value"] is None)


@dataclass(frozen=True, kw_only=True)
class PkAnonymity(Guarantee):
    """No one links a person to a record with more than 1/k confidence."""

    notion = "pk-anonymity"
    title = "Linking a person to a published record (Pk-anonymity)"
    meaning = (
        "Someone tries to say which published record is a given person's. On the assumptions below they are "
        "right with a chance of at most 1/k: at k = 1 a link may be certain; the larger k, the less sure it is."
    )
    scopes = OF_THIS_SIZE
    sentences = complete_sentences(
        Sentence(
            "no one without the key links a person to a record with a confidence above {chance} (k = {k})",
            ("some", "keyed"),
        ),
        Sentence(
            "no one who did not watch records arrive links a person to a record with a confidence above {chance} "
            "(k = {k})",
            ("some", "keyless"),
        ),
        Sentence("a link of a person to a record may be certain (k = {k})", ("none",)),
        uncovered=": whoever links is taken not to know anyone's values there",
    )
    down = ("k",)
    promises: ClassVar[Promises] = {"k": lambda g, k: g.k >= k}
    kept_by = "each unit"
    together = (
        "k: each release keeps its own. Its intruder knows every true value that is randomised, and one release "
        "tells nothing of another's order and coins. What one releases unchanged, no other may tell."
    )
    risks: ClassVar[Risks] = {
        SINGLING_OUT: "how sure anyone can be that a record is a given person's",
        LINKABILITY: "how sure anyone can be who links what they hold of a person to a record",
    }
    is_empty: ClassVar[Callable[[Any], bool]] = lambda k: k == 1
    k: float

    def numbers(self) -> Mapping[str, str]:
        return {**super().numbers(), "chance": self.shown("chance", 1 / Fraction(self.k))}


@dataclass(frozen=True, kw_only=True)
class LocalPrivacy(Guarantee):
    """epsilon-differential privacy of each record's own randomisation. An infinite epsilon is None."""

    notion = "local-differential-privacy"
    title = "What one published record tells of the true one (local differential privacy)"
    meaning = (
        "Each record was changed by chance before publication. Epsilon measures how well a published record tells "
        "true records apart: at 0 not at all, and the larger epsilon, the better."
    )
    sentences = complete_sentences(
        Sentence(
            "any published record is at most {times} times as likely under one true record as under any other "
            "(epsilon {epsilon})",
            ("finite", "of_records"),
        ),
        Sentence(_ALL_RECORDS.replace("UNIT", "person"), ("finite", "of_people")),
        Sentence(_ALL_RECORDS.replace("UNIT", "household"), ("finite", "of_households")),
        Sentence(
            "a published record can rule out a true one with certainty: no finite epsilon holds", ("infinite",)
        ),
        uncovered=": the two true records are alike there",
    )
    promises: ClassVar[Promises] = {"epsilon": lambda g, epsilon: g.is_within(epsilon)}
    kept_by = "each unit"
    risks: ClassVar[Risks] = {INFERENCE: "how much a published record tells of the true one"}
    technique = ("values kept or replaced by chance (post-randomisation)", "randomization techniques")
    listed_model = ("local differential privacy stated", "differential privacy model")
    epsilon: float | None

    def numbers(self) -> Mapping[str, str]:
        return {} if self.epsilon is None else {**super().numbers(), "times": e_to_the(self.epsilon)}

    def is_within(self, wanted: float) -> bool:
        """Decided in rationals before; the logarithm in the certificate was rounded up by a last digit."""
        most = math.nextafter(math.nextafter(wanted, math.inf), math.inf)
        return self.epsilon is not None and self.epsilon <= most


@dataclass(frozen=True, kw_only=True)
class CentralPrivacy(Guarantee):
    """(epsilon, delta)-differential privacy of the whole shuffled release."""

    notion = "central-differential-privacy"
    title = "What one record changes in the whole release (central differential privacy)"
    meaning = (
        "The records are also published in random order. Epsilon and delta measure how much it can show whether "
        "the table had one particular record or another in its place: both 0 would be not at all."
    )
    scopes = OF_THIS_SIZE
    sentences = complete_sentences(
        Sentence("putting another record in the place of one makes" + _OUTCOME, ("of_records",)),
        Sentence("putting other records in the place of one person's makes" + _OUTCOME, ("of_people",)),
        Sentence("putting other records in the place of one household's makes" + _OUTCOME, ("of_households",)),
    )
    promises: ClassVar[Promises] = {  # two numbers under delta are a range of presence
        "delta": lambda g, delta: g.delta <= delta if isinstance(delta, int | float) else None,
        "central": lambda g, both: g.epsilon <= both["epsilon"] and g.delta <= both["delta"],
    }
    risks: ClassVar[Risks] = {INFERENCE: "how much the whole release changes with one record"}
    listed_model = ("central differential privacy stated", "differential privacy model")
    epsilon: float
    delta: float

    def numbers(self) -> Mapping[str, str]:
        return {**super().numbers(), "times": e_to_the(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class PosteriorBound(Guarantee):
    """rho1-rho2 privacy: pairs (prior of at most rho1, posterior of at most rho2), each also read backwards."""

    notion = "rho1-rho2-privacy"
    title = "How far a belief about a person can move (rho1-rho2 privacy)"
    meaning = (
        "Whoever sees the release may believe more of a person's perturbed values than before. Each pair is how "
        "sure they were at most beforehand, and how sure they are at most afterwards."
    )
    sentences = complete_sentences(Sentence(f"{_BELIEF} {{pairs}} {_ALONE}"), uncovered=_BEFOREHAND)
    risks: ClassVar[Risks] = {INFERENCE: "how far a belief about a person can move"}
    down = ("rho1",)  # less is said of a smaller belief
    pairs: tuple[tuple[float, float], ...]

    @property
    def value(self) -> list[dict[str, float]]:
        return [{"rho1": prior, "rho2": posterior} for prior, posterior in self.pairs]

    def numbers(self) -> Mapping[str, str]:
        words = [
            f"of at most {self.shown('rho1', prior)} becomes at most {self.shown('rho2', posterior)}"
            for prior, posterior in self.pairs
        ]
        return {"pairs": ", ".join(words)}


@dataclass(frozen=True, kw_only=True)
class GrowthBound(Guarantee):
    """delta-growth: no belief grows by more than delta."""

    notion = "delta-growth"
    title = "How much a belief about a person can grow (delta-growth)"
    meaning = (
        "The largest difference between how sure anyone is of something about a person's perturbed values before "
        "and after seeing the release: at 0 the release tells nothing of one person, at 1 it may tell all."
    )
    sentences = complete_sentences(
        Sentence(f"{_BELIEF} grows by at most {{delta}} (delta) {_ALONE}"), uncovered=_BEFOREHAND
    )
    risks: ClassVar[Risks] = {INFERENCE: "how much a belief about a person can grow"}
    delta: float


@dataclass(frozen=True, kw_only=True)
class CollusionBound(Guarantee):
    """Whoever holds versions at this level or below learns together what this version alone tells."""

    notion = "collusion"
    title = "Recipients who put their versions together (collusion)"
    meaning = (
        "Versions of one table at several levels are drawn so that lower ones add nothing to the highest that "
        "someone holds. What the highest tells is stated beside this."
    )
    sentences = complete_sentences(
        Sentence(
            "any number of recipients of versions at level {level} or below who put them together learn exactly "
            "what a version at level {level} tells by itself"
        )
    )
    texts = ("level",)
    risks: ClassVar[Risks] = {LINKABILITY: "what versions of this table at several levels tell together"}
    level: str
