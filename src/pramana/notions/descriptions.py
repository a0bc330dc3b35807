"""Notions that describe what was done to records and bound nothing: swapping and added noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pramana.notions.guarantee import AT_THE_NINTH_PLACE, SINGLING_OUT, Guarantee, Promises
from pramana.notions.sentences import Sentence, complete_sentences, condition_on_kind

BOUNDS_NOTHING = "This bounds nothing that anyone learns."

condition_on_kind("deviations", "noise is measured in a column's standard deviation")
condition_on_kind("units", "noise is measured in units")
condition_on_kind("correlated", "noise has the covariances of the columns")


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
    down: ClassVar[tuple[str, ...]] = ("rate",)
    texts: ClassVar[tuple[str, ...]] = ("attribute", "kind")
    promises: ClassVar[Promises] = {"rate": lambda g, rate: g.rate >= rate - AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "swapping: nothing. It bounds nothing in one release either."
    risks: ClassVar[Mapping[str, str]] = {SINGLING_OUT: "what was done to the records; it bounds nothing"}
    kind_of_number: ClassVar[str] = "a description, no bound"
    technique: ClassVar[tuple[str, str] | None] = ("values exchanged between records", "permutation")
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    rate: float = field(kw_only=True)


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
    down: ClassVar[tuple[str, ...]] = ("amount",)
    texts: ClassVar[tuple[str, ...]] = ("attribute", "kind")
    promises: ClassVar[Promises] = {  # of columns whose noise is measured in their standard deviation
        "amount": lambda g, amount: None if g.kind == "units" else g.amount >= amount
    }
    together: ClassVar[str] = (
        "noise: nothing. It bounds nothing in one release either, and averages out over several."
    )
    risks: ClassVar[Mapping[str, str]] = {SINGLING_OUT: "what was done to the numbers; it bounds nothing"}
    kind_of_number: ClassVar[str] = "a description, no bound"
    technique: ClassVar[tuple[str, str] | None] = ("random numbers added to numbers", "noise addition")
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    amount: float = field(kw_only=True)

    @property
    def promised_of(self) -> int:
        """Each one that is stated must keep the promise."""
        return id(self)
