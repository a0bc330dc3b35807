"""Notions of the classes of one table: how many records, or people of a population, look alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    AT_THE_NINTH_PLACE,
    SINGLING_OUT,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    complete_sentences,
)

_NOTHING_ELSE = "This says nothing of what an intruder learns from the other columns, and nothing of other tables."
_SAME = "every record shows the same quasi-identifiers as"


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Guarantee):
    """Every record of this table shows the same quasi-identifiers as at least k - 1 others."""

    notion = "k-anonymity"
    title = "How many records look alike (k-anonymity)"
    meaning = (
        "k is the size of the smallest group of records that show the same quasi-identifiers: at k = 1 some "
        "record is alone. It says nothing of how much the records of a group have in common elsewhere."
    )
    sentences = complete_sentences(
        Sentence(f"{_SAME} at least {{others}} others (k = {{k}})", ("some", "of_records")),
        Sentence(f"{_SAME} records of at least {{others}} other people (k = {{k}})", ("some", "of_people")),
        Sentence(
            f"{_SAME} records of at least {{others}} other households (k = {{k}})", ("some", "of_households")
        ),
        Sentence(
            "some record may show quasi-identifiers that no other shows (k = {k})",
            ("none", "of_records"),
        ),
        Sentence(
            "some person's records may show quasi-identifiers that no other person's show (k = {k})",
            ("none", "of_people"),
        ),
        Sentence(
            "some household's records may show quasi-identifiers that no other household's show (k = {k})",
            ("none", "of_households"),
        ),
        then=_NOTHING_ELSE,
    )
    down = ("k", "others")
    promises: ClassVar[Promises] = {"k": lambda g, k: g.k >= k}
    kept_by = "each unit"
    together = "k-anonymity: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Risks] = {SINGLING_OUT: "how many records show the same quasi-identifiers"}
    is_empty: ClassVar[Callable[[Any], bool]] = lambda k: k == 1
    listed_model = ("k counted in the table", "k-anonymity model")
    k: int

    def numbers(self) -> Mapping[str, str]:
        return {**super().numbers(), "others": self.shown("others", self.k - 1)}


@dataclass(frozen=True, kw_only=True)
class KMap(Guarantee):
    """Every record of this table shows quasi-identifiers that at least k people of a population table have."""

    notion = "k-map"
    title = "How many people of the population look like a record (k-map)"
    meaning = (
        "k is the smallest number of people of the population table whose values a record's labels stand for: at "
        "1 there is a record that fits one person only. It is about someone who does not know who is in the table."
    )
    sentences = complete_sentences(
        Sentence("every record shows quasi-identifiers that at least {k} people of the population table have (k)"),
        then="It is counted in that table, and takes it to have everyone who could be meant.",
    )
    down = ("k",)
    promises: ClassVar[Promises] = {"k_map": lambda g, k: g.k >= k}
    together = "k-map: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Risks] = {SINGLING_OUT: "how many people of the population look like a record"}
    is_empty: ClassVar[Callable[[Any], bool]] = lambda k: k == 1
    k: int


@dataclass(frozen=True, kw_only=True)
class AverageRisk(Guarantee):
    """The mean over records of one over the size of their class."""

    notion = "average-risk"
    title = "How many records are found on average (average risk)"
    meaning = (
        "Someone who knows the quasi-identifiers of everyone in the table picks one of the records that fit "
        "for each. The number is the share of right picks to expect. It says nothing of a single record, which "
        "may be alone."
    )
    sentences = complete_sentences(
        Sentence(
            "anyone who looks for every person of the table by the quasi-identifiers and picks one of the records "
            "that fit is right for an expected share of at most {average} of them"
        ),
        then=_NOTHING_ELSE,
    )
    promises: ClassVar[Promises] = {"average_risk": lambda g, most: g.average <= most + AT_THE_NINTH_PLACE}
    together = "average risk: nothing. Classes of two releases can meet in one person."
    risks: ClassVar[Risks] = {
        SINGLING_OUT: "how many records are found on average; it says nothing of a single one"
    }
    kind_of_number = "an average, no bound"
    average: float


@dataclass(frozen=True, kw_only=True)
class PopulationUniqueness(Guarantee):
    """An estimate of how many people of the population are alone with their quasi-identifiers as published."""

    notion = "population-uniqueness"
    title = "How many people of the population are unique (estimated)"
    meaning = (
        "The share of the population whose published quasi-identifiers nobody else has, as a statistical model "
        "estimates it from the classes of this table. Models can be wrong: it is an estimate, and no bound."
    )
    sentences = complete_sentences(
        Sentence(
            "of {population} people of the population a share of {share} is estimated to be unique in the "
            "quasi-identifiers as they are published (model: {model})"
        ),
        then="It is an estimate by that model, and no bound.",
    )
    texts = ("population", "model")
    promises: ClassVar[Promises] = {"population_uniques": lambda g, most: g.share <= most + AT_THE_NINTH_PLACE}
    together = "population uniques: nothing. Two releases show more of everyone than one."
    risks: ClassVar[Risks] = {
        SINGLING_OUT: "how many people of the population are unique, as a model estimates it"
    }
    kind_of_number = "an estimate, no bound"
    share: float
    population: int
    model: str


@dataclass(frozen=True, kw_only=True)
class Profitability(Guarantee):
    """Publishing any record of this table pays, in a game between its publisher and an intruder."""

    notion = "profitability"
    title = "Whether publishing a record pays (profitability)"
    meaning = (
        "What a record is worth, less what its publisher loses by an attack that pays an intruder, in the "
        "recipe's units. It weighs costs that someone stated, and bounds no chance."
    )
    sentences = complete_sentences(
        Sentence(
            "publishing any record pays at least {payoff} in expectation, where a record is worth {benefit}, one "
            "that is found costs its publisher {loss} and gives an intruder {gain}, and an attack costs {cost} "
            "({intruder})"
        ),
        then=_NOTHING_ELSE,
    )
    down = ("payoff",)
    texts = ("benefit", "loss", "gain", "cost", "intruder", "attacked")
    promises: ClassVar[Promises] = {"profit": lambda g, _: g.payoff > 0}
    together = "profitability: nothing. Two releases are worth, and tell, more than one."
    risks: ClassVar[Risks] = {SINGLING_OUT: "whether publishing pays at stated costs; it bounds no chance"}
    kind_of_number = "a weighing of costs, no bound"
    payoff: float
    benefit: float
    loss: float
    gain: float
    cost: float
    intruder: str
    attacked: bool
