"""Notions of releases in which chance changed the records: they hold for any table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pramana.notions.guarantee import INFERENCE, LINKABILITY, SINGLING_OUT, Guarantee, Promises, e_to_the
from pramana.notions.sentences import OF_THIS_SIZE, Sentence, Stated, complete_sentences, condition
from pramana.theory import rounding

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

condition("finite", "epsilon is finite", lambda g: g["value"] is not None)
condition("infinite", "epsilon is infinite", lambda g: g["value"] is None)


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
    down: ClassVar[tuple[str, ...]] = ("k",)
    promises: ClassVar[Promises] = {"k": lambda g, k: g.k >= k}
    together: ClassVar[str] = (
        "k: each release keeps its own. Its intruder knows every true value that is randomised, and one release "
        "tells nothing of another's order and coins. What one releases unchanged, no other may tell."
    )
    risks: ClassVar[Mapping[str, str]] = {
        SINGLING_OUT: "how sure anyone can be that a record is a given person's",
        LINKABILITY: "how sure anyone can be who links what they hold of a person to a record",
    }
    k: float = field(kw_only=True)

    def numbers(self) -> Mapping[str, str]:
        return {"k": self.shown("k", self.k), "chance": self.shown("chance", 1 / Fraction(self.k))}

    @classmethod
    def true_number(cls, name: str, stated: Stated) -> Fraction:
        k = Fraction(repr(stated["value"]))
        return 1 / k if name == "chance" else k

    @property
    def promised_of(self) -> str:
        """People and households, where both are counted."""
        return self.unit

    @classmethod
    def is_empty(cls, value: Any) -> bool:
        return bool(value == 1)


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
    promises: ClassVar[Promises] = {"epsilon": lambda g, epsilon: g.is_within(epsilon)}
    risks: ClassVar[Mapping[str, str]] = {INFERENCE: "how much a published record tells of the true one"}
    technique: ClassVar[tuple[str, str] | None] = (
        "values kept or replaced by chance (post-randomisation)",
        "randomization techniques",
    )
    listed_model: ClassVar[tuple[str, str] | None] = (
        "local differential privacy stated",
        "differential privacy model",
    )
    epsilon: float | None = field(kw_only=True)

    def numbers(self) -> Mapping[str, str]:
        if self.epsilon is None:
            return {}
        return {"epsilon": self.shown("epsilon", self.epsilon), "times": e_to_the(self.epsilon)}

    @classmethod
    def true_number(cls, name: str, stated: Stated) -> Fraction:
        return rounding.exp_down(stated["value"]) if name == "times" else super().true_number(name, stated)

    def is_within(self, wanted: float) -> bool:
        """Decided in rationals before; the logarithm in the certificate was rounded up by a last digit."""
        most = math.nextafter(math.nextafter(wanted, math.inf), math.inf)
        return self.epsilon is not None and self.epsilon <= most

    @property
    def promised_of(self) -> str:
        return self.unit


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
    promises: ClassVar[Promises] = {  # two numbers under delta are a range of presence
        "delta": lambda g, delta: g.delta <= delta if isinstance(delta, int | float) else None,
        "central": lambda g, both: g.epsilon <= both["epsilon"] and g.delta <= both["delta"],
    }
    risks: ClassVar[Mapping[str, str]] = {INFERENCE: "how much the whole release changes with one record"}
    listed_model: ClassVar[tuple[str, str] | None] = (
        "central differential privacy stated",
        "differential privacy model",
    )
    epsilon: float = field(kw_only=True)
    delta: float = field(kw_only=True)

    def numbers(self) -> Mapping[str, str]:
        return {**super().numbers(), "times": e_to_the(self.epsilon)}

    @classmethod
    def true_number(cls, name: str, stated: Stated) -> Fraction:
        if name == "times":
            return rounding.exp_down(stated["value"]["epsilon"])
        return super().true_number(name, stated)


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
    risks: ClassVar[Mapping[str, str]] = {INFERENCE: "how far a belief about a person can move"}
    down: ClassVar[tuple[str, ...]] = ("rho1",)  # less is said of a smaller belief
    pairs: tuple[tuple[float, float], ...] = field(kw_only=True)

    @property
    def value(self) -> list[dict[str, float]]:
        return [{"rho1": prior, "rho2": posterior} for prior, posterior in self.pairs]

    def numbers(self) -> Mapping[str, str]:
        words = [
            f"of at most {self.shown('rho1', prior)} becomes at most {self.shown('rho2', posterior)}"
            for prior, posterior in self.pairs
        ]
        return {"pairs": ", ".join(words)}

    @classmethod
    def overstated(cls, name: str, text: str, stated: Stated) -> bool:
        if name != "pairs":
            return False
        printed = re.findall(r"of at most (\S+) becomes at most ([^\s,]+)", text)
        return len(printed) != len(stated["value"]) or any(
            Fraction(a) > Fraction(repr(pair["rho1"])) or Fraction(b) < Fraction(repr(pair["rho2"]))
            for (a, b), pair in zip(printed, stated["value"], strict=True)
        )


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
    risks: ClassVar[Mapping[str, str]] = {INFERENCE: "how much a belief about a person can grow"}
    delta: float = field(kw_only=True)


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
    texts: ClassVar[tuple[str, ...]] = ("level",)
    risks: ClassVar[Mapping[str, str]] = {
        LINKABILITY: "what versions of this table at several levels tell together"
    }
    level: str = field(kw_only=True)
