"""Notions of this table that people know from ARX: of a population, of averages, and of sensitive values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pramana.theory.notions.guarantee import Guarantee
from pramana.theory.notions.of_tables import NOTHING_ELSE
from pramana.theory.notions.wording import UNITS_IN_WORDS, Sentence, complete_sentences
from pramana.theory.rounding import shown

BOUNDS_NOTHING = "This bounds nothing that anyone learns."


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
    k: int = field(kw_only=True)

    @property
    def value(self) -> int:
        return self.k

    def numbers(self) -> Mapping[str, str]:
        return {"k": shown("k", self.k)}


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
    average: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.average

    def numbers(self) -> Mapping[str, str]:
        return {"average": shown("average", self.average)}


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
    share: float = field(kw_only=True)
    population: int = field(kw_only=True)
    model: str = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"share": self.share, "population": self.population, "model": self.model}

    def numbers(self) -> Mapping[str, str]:
        return {"share": shown("share", self.share), "population": str(self.population), "model": self.model}


@dataclass(frozen=True)
class DDisclosure(Guarantee):
    """In no class is a sensitive value more, or less, frequent than in the whole table by more than a factor."""

    notion: ClassVar[str] = "d-disclosure"
    title: ClassVar[str] = "How far the frequency of a value moves, either way (d-disclosure privacy)"
    meaning: ClassVar[str] = (
        "The frequency of every sensitive value among records that look alike is compared with that in the whole "
        "table. d is the largest logarithm of their ratio to base 2: at 1 a value is twice, or half, as frequent."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        *(
            Sentence(
                f"among {who} that look alike every value of {{attribute}} is at most 2 to the power of {{d}} (d) "
                "times as frequent as in the whole table, and at least that part of it",
                (condition,),
            )
            for who, condition in UNITS_IN_WORDS
        ),
    )
    attribute: str = field(kw_only=True)
    d: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "d": self.d}

    def numbers(self) -> Mapping[str, str]:
        return {"attribute": self.attribute, "d": shown("d", self.d)}


@dataclass(frozen=True)
class BLikeness(Guarantee):
    """In no class has a sensitive value gained more on its frequency in the whole table than b times."""

    notion: ClassVar[str] = "b-likeness"
    title: ClassVar[str] = "How much more frequent a value becomes (b-likeness)"
    meaning: ClassVar[str] = (
        "b is the largest gain of a sensitive value among records that look alike, relative to its frequency in "
        "the whole table: at 1 some value is twice as frequent there. Values that become rarer do not count."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        *(
            Sentence(
                f"among {who} that look alike no value of {{attribute}} is more frequent than in the whole table "
                "by more than {b} times (b) its frequency there",
                ("basic", condition),
            )
            for who, condition in UNITS_IN_WORDS
        ),
        *(
            Sentence(
                f"among {who} that look alike no value of {{attribute}} is more frequent than in the whole table "
                "by more than {b} times (b) its frequency there, nor by more than the negative logarithm of that "
                "frequency times it",
                ("enhanced", condition),
            )
            for who, condition in UNITS_IN_WORDS
        ),
    )
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    b: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "kind": self.kind, "b": self.b}

    def numbers(self) -> Mapping[str, str]:
        return {"attribute": self.attribute, "b": shown("b", self.b)}


@dataclass(frozen=True)
class Swapping(Guarantee):
    """Values were exchanged between records of this table: how many took part. It bounds nothing."""

    notion: ClassVar[str] = "swapping"
    title: ClassVar[str] = "How many records exchanged their values (swapping)"
    meaning: ClassVar[str] = (
        "The share of records whose values of some columns are those of another record. It describes what was "
        "done, and no bound on what can be learnt: the values that occur are published as they are."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "a share of at least {rate} of the records exchanged their values of {attribute} with another record, "
            "and each of these columns has every value as often as the source",
            (),
            BOUNDS_NOTHING,
        ),
    )
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    rate: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "kind": self.kind, "rate": self.rate}

    def numbers(self) -> Mapping[str, str]:
        return {"attribute": self.attribute, "rate": shown("rate", self.rate)}


@dataclass(frozen=True)
class AddedNoise(Guarantee):
    """Random numbers were added to columns of this table: how much. It bounds nothing."""

    notion: ClassVar[str] = "added-noise"
    title: ClassVar[str] = "How much noise was added to numbers (added noise)"
    meaning: ClassVar[str] = (
        "The standard deviation of the random numbers that were added to a column, in units or in the column's "
        "own standard deviation. It describes what was done, and no bound on what can be learnt: a number far "
        "from all others stays far from them."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "normal random numbers with {amount} times the standard deviation of {attribute} were added to its "
            "values",
            ("deviations",),
            BOUNDS_NOTHING,
        ),
        Sentence(
            "normal random numbers with a standard deviation of {amount} were added to the values of {attribute}",
            ("units",),
            BOUNDS_NOTHING,
        ),
        Sentence(
            "normal random numbers with {amount} times the standard deviations of {attribute}, and their "
            "correlations, were added to the values, which were then drawn to their means so that means and "
            "covariances stay in expectation",
            ("correlated",),
            BOUNDS_NOTHING,
        ),
    )
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    amount: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "kind": self.kind, "amount": self.amount}

    def numbers(self) -> Mapping[str, str]:
        return {"attribute": self.attribute, "amount": shown("amount", self.amount)}


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
    payoff: float = field(kw_only=True)
    benefit: float = field(kw_only=True)
    loss: float = field(kw_only=True)
    gain: float = field(kw_only=True)
    cost: float = field(kw_only=True)
    intruder: str = field(kw_only=True)
    attacked: bool = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {
            "payoff": self.payoff,
            "benefit": self.benefit,
            "loss": self.loss,
            "gain": self.gain,
            "cost": self.cost,
            "intruder": self.intruder,
            "attacked": self.attacked,
        }

    def numbers(self) -> Mapping[str, str]:
        return {
            "payoff": shown("payoff", self.payoff),
            "benefit": repr(self.benefit),
            "loss": repr(self.loss),
            "gain": repr(self.gain),
            "cost": repr(self.cost),
            "intruder": self.intruder,
        }
