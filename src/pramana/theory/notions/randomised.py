"""Notions of releases in which chance changed the records: they hold for any table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from pramana.theory.notions.guarantee import Guarantee, times
from pramana.theory.notions.wording import OF_THIS_SIZE, Sentence, complete_sentences
from pramana.theory.rounding import shown

_TAKEN_NOT_TO_KNOW = ": whoever links is taken not to know anyone's values there"
_BEFOREHAND = ": the belief beforehand must already take the person's values there into account"

_ALL_RECORDS = (
    "all published records of a UNIT together are at most {times} times as likely under the UNIT's true records "
    "as under any others in their place (epsilon {epsilon})"
)
_OUTCOME = (
    " any outcome of the shuffled release at most {times} times as likely (epsilon {epsilon}), plus a probability "
    "of at most {delta} (delta)"
)


@dataclass(frozen=True)
class PkAnonymity(Guarantee):
    """No one links a person to a record with more than 1/k confidence."""

    notion: ClassVar[str] = "pk-anonymity"
    title: ClassVar[str] = "Linking a person to a published record (Pk-anonymity)"
    meaning: ClassVar[str] = (
        "Someone tries to say which published record is a given person's. On the assumptions below they are "
        "right with a chance of at most 1/k: at k = 1 a link may be certain; the larger k, the less sure it is."
    )
    scopes: ClassVar[Mapping[str, str]] = OF_THIS_SIZE
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
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
        uncovered=_TAKEN_NOT_TO_KNOW,
    )
    k: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.k

    def numbers(self) -> Mapping[str, str]:
        return {"k": shown("k", self.k), "chance": shown("chance", 1 / Fraction(self.k))}


@dataclass(frozen=True)
class LocalPrivacy(Guarantee):
    """epsilon-differential privacy of each record's own randomisation. An infinite epsilon is None."""

    notion: ClassVar[str] = "local-differential-privacy"
    title: ClassVar[str] = "What one published record tells of the true one (local differential privacy)"
    meaning: ClassVar[str] = (
        "Each record was changed by chance before publication. Epsilon measures how well a published record tells "
        "true records apart: at 0 not at all, and the larger epsilon, the better."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
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
    epsilon: float | None = field(kw_only=True)

    @property
    def value(self) -> float | None:
        return self.epsilon

    def numbers(self) -> Mapping[str, str]:
        if self.epsilon is None:
            return {}
        return {"epsilon": shown("epsilon", self.epsilon), "times": times(self.epsilon)}


@dataclass(frozen=True)
class CentralPrivacy(Guarantee):
    """(epsilon, delta)-differential privacy of the whole shuffled release."""

    notion: ClassVar[str] = "central-differential-privacy"
    title: ClassVar[str] = "What one record changes in the whole release (central differential privacy)"
    meaning: ClassVar[str] = (
        "The records are also published in random order. Epsilon and delta measure how much it can show whether "
        "the table had one particular record or another in its place: both 0 would be not at all."
    )
    scopes: ClassVar[Mapping[str, str]] = OF_THIS_SIZE
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence("putting another record in the place of one makes" + _OUTCOME, ("of_records",)),
        Sentence("putting other records in the place of one person's makes" + _OUTCOME, ("of_people",)),
        Sentence("putting other records in the place of one household's makes" + _OUTCOME, ("of_households",)),
    )
    epsilon: float = field(kw_only=True)
    delta: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def numbers(self) -> Mapping[str, str]:
        return {
            "epsilon": shown("epsilon", self.epsilon),
            "times": times(self.epsilon),
            "delta": shown("delta", self.delta),
        }


@dataclass(frozen=True)
class PosteriorBound(Guarantee):
    """rho1-rho2 privacy: pairs (prior of at most rho1, posterior of at most rho2), each also read backwards."""

    notion: ClassVar[str] = "rho1-rho2-privacy"
    title: ClassVar[str] = "How far a belief about a person can move (rho1-rho2 privacy)"
    meaning: ClassVar[str] = (
        "Whoever sees the release may believe more of a person's perturbed values than before. Each pair is how "
        "sure they were at most beforehand, and how sure they are at most afterwards."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "a belief about a person's perturbed values {pairs} through the release, as long as other people's "
            "records tell nothing of them"
        ),
        uncovered=_BEFOREHAND,
    )
    pairs: tuple[tuple[float, float], ...] = field(kw_only=True)

    @property
    def value(self) -> list[dict[str, float]]:
        return [{"rho1": prior, "rho2": posterior} for prior, posterior in self.pairs]

    def numbers(self) -> Mapping[str, str]:
        said = (f"of at most {shown('rho1', a)} becomes at most {shown('rho2', b)}" for a, b in self.pairs)
        return {"pairs": ", ".join(said)}


@dataclass(frozen=True)
class GrowthBound(Guarantee):
    """delta-growth: no belief grows by more than delta."""

    notion: ClassVar[str] = "delta-growth"
    title: ClassVar[str] = "How much a belief about a person can grow (delta-growth)"
    meaning: ClassVar[str] = (
        "The largest difference between how sure anyone is of something about a person's perturbed values before "
        "and after seeing the release: at 0 the release tells nothing of one person, at 1 it may tell all."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "a belief about a person's perturbed values grows by at most {delta} (delta) through the release, as "
            "long as other people's records tell nothing of them"
        ),
        uncovered=_BEFOREHAND,
    )
    delta: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.delta

    def numbers(self) -> Mapping[str, str]:
        return {"delta": shown("delta", self.delta)}


@dataclass(frozen=True)
class CollusionBound(Guarantee):
    """Whoever holds versions at this level or below learns together what this version alone tells."""

    notion: ClassVar[str] = "collusion"
    title: ClassVar[str] = "Recipients who put their versions together (collusion)"
    meaning: ClassVar[str] = (
        "Versions of one table at several levels are drawn so that lower ones add nothing to the highest that "
        "someone holds. What the highest tells is stated beside this."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "any number of recipients of versions at level {level} or below who put them together learn exactly "
            "what a version at level {level} tells by itself"
        ),
    )
    level: str = field(kw_only=True)

    @property
    def value(self) -> str:
        return self.level

    def numbers(self) -> Mapping[str, str]:
        return {"level": self.level}
