"""Notions of the classes of one table: how many records, or people of a population, look alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pramana.notions.guarantee import AT_THE_NINTH_PLACE, SINGLING_OUT, Guarantee, Promises
from pramana.notions.sentences import Sentence, Stated, complete_sentences

NOTHING_ELSE = "This says nothing of what an intruder learns from the other columns, and nothing of other tables."


@dataclass(frozen=True)
class KAnonymity(Guarantee):
    """Every record of this table shows the same quasi-identifiers as at least k - 1 others."""

    notion: ClassVar[str] = "k-anonymity"
    title: ClassVar[str] = "How many records look alike (k-anonymity)"
    meaning: ClassVar[str] = (
        "k is the size of the smallest group of records that show the same quasi-identifiers: at k = 1 some "
        "record is alone. It says nothing of how much the records of a group have in common elsewhere."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "every record shows the same quasi-identifiers as at least {others} others (k = {k})",
            ("some", "of_records"),
            NOTHING_ELSE,
        ),
        Sentence(
            "every record shows the same quasi-identifiers as records of at least {others} other people (k = {k})",
            ("some", "of_people"),
            NOTHING_ELSE,
        ),
        Sentence(
            "every record shows the same quasi-identifiers as records of at least {others} other households "
            "(k = {k})",
            ("some", "of_households"),
            NOTHING_ELSE,
        ),
        Sentence(
            "some record may show quasi-identifiers that no other shows (k = {k})",
            ("none", "of_records"),
            NOTHING_ELSE,
        ),
        Sentence(
            "some person's records may show quasi-identifiers that no other person's show (k = {k})",
            ("none", "of_people"),
            NOTHING_ELSE,
        ),
        Sentence(
            "some household's records may show quasi-identifiers that no other household's show (k = {k})",
            ("none", "of_households"),
            NOTHING_ELSE,
        ),
    )
    down: ClassVar[tuple[str, ...]] = ("k", "others")
    promises: ClassVar[Promises] = {"k": lambda g, k: g.k >= k}
    together: ClassVar[str] = "k-anonymity: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Mapping[str, str]] = {SINGLING_OUT: "how many records show the same quasi-identifiers"}
    listed_model: ClassVar[tuple[str, str] | None] = ("k counted in the table", "k-anonymity model")
    k: int = field(kw_only=True)

    def numbers(self) -> Mapping[str, str]:
        return {"k": self.shown("k", self.k), "others": self.shown("others", self.k - 1)}

    @classmethod
    def true_number(cls, name: str, stated: Stated) -> Fraction:
        k = Fraction(repr(stated["value"]))
        return k - 1 if name == "others" else k

    @property
    def promised_of(self) -> str:
        """People and households, where both are counted."""
        return self.unit

    @classmethod
    def is_empty(cls, value: Any) -> bool:
        return bool(value == 1)


@dataclass(frozen=True)
class KMap(Guarantee):
    """Every record of this table shows quasi-identifiers that at least k people of a population table have."""

    notion: ClassVar[str] = "k-map"
    title: ClassVar[str] = "How many people of the population look like a record (k-map)"
    meaning: ClassVar[str] = (
        "k is the smallest number of people of the population table whose values a record's labels stand for: at "
        "1 there is a record that fits one person only. It is about someone who does not know who is in the table."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "every record shows quasi-identifiers that at least {k} people of the population table have (k)",
            (),
            "It is counted in that table, and takes it to have everyone who could be meant.",
        ),
    )
    down: ClassVar[tuple[str, ...]] = ("k",)
    promises: ClassVar[Promises] = {"k_map": lambda g, k: g.k >= k}
    together: ClassVar[str] = "k-map: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Mapping[str, str]] = {SINGLING_OUT: "how many people of the population look like a record"}
    k: int = field(kw_only=True)

    @classmethod
    def is_empty(cls, value: Any) -> bool:
        return bool(value == 1)


@dataclass(frozen=True)
class AverageRisk(Guarantee):
    """The mean over records of one over the size of their class."""

    notion: ClassVar[str] = "average-risk"
    title: ClassVar[str] = "How many records are found on average (average risk)"
    meaning: ClassVar[str] = (
        "Someone who knows the quasi-identifiers of everyone in the table picks one of the records that fit "
        "for each. The number is the share of right picks to expect. It says nothing of a single record, which "
        "may be alone."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "anyone who looks for every person of the table by the quasi-identifiers and picks one of the records "
            "that fit is right for an expected share of at most {average} of them",
            (),
            NOTHING_ELSE,
        ),
    )
    promises: ClassVar[Promises] = {"average_risk": lambda g, most: g.average <= most + AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "average risk: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Mapping[str, str]] = {
        SINGLING_OUT: "how many records are found on average; it says nothing of a single one"
    }
    kind_of_number: ClassVar[str] = "an average, no bound"
    average: float = field(kw_only=True)


@dataclass(frozen=True)
class PopulationUniqueness(Guarantee):
    """An estimate of how many people of the population are alone with their quasi-identifiers as published."""

    notion: ClassVar[str] = "population-uniqueness"
    title: ClassVar[str] = "How many people of the population are unique (estimated)"
    meaning: ClassVar[str] = (
        "The share of the population whose published quasi-identifiers nobody else has, as a statistical model "
        "estimates it from the classes of this table. Models can be wrong: it is an estimate, and no bound."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "of {population} people of the population a share of {share} is estimated to be unique in the "
            "quasi-identifiers as they are published (model: {model})",
            (),
            "It is an estimate by that model, and no bound.",
        ),
    )
    texts: ClassVar[tuple[str, ...]] = ("population", "model")
    promises: ClassVar[Promises] = {"population_uniques": lambda g, most: g.share <= most + AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "population uniques: nothing. Two releases show more of everyone than one."
    risks: ClassVar[Mapping[str, str]] = {
        SINGLING_OUT: "how many people of the population are unique, as a model estimates it"
    }
    kind_of_number: ClassVar[str] = "an estimate, no bound"
    share: float = field(kw_only=True)
    population: int = field(kw_only=True)
    model: str = field(kw_only=True)


@dataclass(frozen=True)
class Profitability(Guarantee):
    """Publishing any record of this table pays, in a game between its publisher and an intruder."""

    notion: ClassVar[str] = "profitability"
    title: ClassVar[str] = "Whether publishing a record pays (profitability)"
    meaning: ClassVar[str] = (
        "What a record is worth, less what its publisher loses by an attack that pays an intruder, in the "
        "recipe's units. It weighs costs that someone stated, and bounds no chance."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "publishing any record pays at least {payoff} in expectation, where a record is worth {benefit}, one "
            "that is found costs its publisher {loss} and gives an intruder {gain}, and an attack costs {cost} "
            "({intruder})",
            (),
            NOTHING_ELSE,
        ),
    )
    down: ClassVar[tuple[str, ...]] = ("payoff",)
    texts: ClassVar[tuple[str, ...]] = ("benefit", "loss", "gain", "cost", "intruder", "attacked")
    promises: ClassVar[Promises] = {"profit": lambda g, _: g.payoff > 0}
    together: ClassVar[str] = "profitability: nothing. Two releases are worth, and tell, more than one."
    risks: ClassVar[Mapping[str, str]] = {
        SINGLING_OUT: "whether publishing pays at stated costs; it bounds no chance"
    }
    kind_of_number: ClassVar[str] = "a weighing of costs, no bound"
    payoff: float = field(kw_only=True)
    benefit: float = field(kw_only=True)
    loss: float = field(kw_only=True)
    gain: float = field(kw_only=True)
    cost: float = field(kw_only=True)
    intruder: str = field(kw_only=True)
    attacked: bool = field(kw_only=True)
