"""Notions that describe what was done to records and bound nothing: swapping and added noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pramana.notions.guarantee import (
    AT_THE_NINTH_PLACE,
    SINGLING_OUT,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    complete_sentences,
    condition_on_kind,
)

_BOUNDS_NOTHING = "This bounds nothing that anyone learns."

condition_on_kind("deviations", "noise is measured in a column's standard deviation")
condition_on_kind("units", "noise is measured in units")
condition_on_kind("correlated", "noise has the covariances of the columns")


@dataclass(frozen=True, kw_only=True)
class Swapping(Guarantee):
    """Values were exchanged between records of this table: how many took part. It bounds nothing."""

    notion = "swapping"
    title = "How many records exchanged their values (swapping)"
    meaning = (
        "The share of records whose values of some columns are those of another record. It describes what was "
        "done, and no bound on what can be learnt: the values that occur are published as they are."
    )
    sentences = complete_sentences(
        Sentence(
            "a share of at least {rate} of the records exchanged their values of {attribute} with another record, "
            "and each of these columns has every value as often as the source",
        ),
        then=_BOUNDS_NOTHING,
    )
    down = ("rate",)
    texts = ("attribute", "kind")
    promises: ClassVar[Promises] = {"rate": lambda g, rate: g.rate >= rate - AT_THE_NINTH_PLACE}
    together = "swapping: nothing. It bounds nothing in one release either."
    risks: ClassVar[Risks] = {SINGLING_OUT: "what was done to the records; it bounds nothing"}
    kind_of_number = "a description, no bound"
    technique = ("values exchanged between records", "permutation")
    attribute: str
    kind: str
    rate: float


@dataclass(frozen=True, kw_only=True)
class AddedNoise(Guarantee):
    """Random numbers were added to columns of this table: how much. It bounds nothing."""

    notion = "added-noise"
    title = "How much noise was added to numbers (added noise)"
    meaning = (
        "The standard deviation of the random numbers that were added to a column, in units or in the column's "
        "own standard deviation. It describes what was done, and no bound on what can be learnt: a number far "
        "from all others stays far from them."
    )
    sentences = complete_sentences(
        Sentence(
            "normal random numbers with {amount} times the standard deviation of {attribute} were added to its "
            "values",
            ("deviations",),
        ),
        Sentence(
            "normal random numbers with a standard deviation of {amount} were added to the values of {attribute}",
            ("units",),
        ),
        Sentence(
            "normal random numbers with {amount} times the standard deviations of {attribute}, and their "
            "correlations, were added to the values, which were then drawn to their means so that means and "
            "covariances stay in expectation",
            ("correlated",),
        ),
        then=_BOUNDS_NOTHING,
    )
    down = ("amount",)
    texts = ("attribute", "kind")
    promises: ClassVar[Promises] = {  # of columns whose noise is measured in their standard deviation
        "amount": lambda g, amount: None if g.kind == "units" else g.amount >= amount
    }
    together = "noise: nothing. It bounds nothing in one release either, and averages out over several."
    risks: ClassVar[Risks] = {SINGLING_OUT: "what was done to the numbers; it bounds nothing"}
    kind_of_number = "a description, no bound"
    technique = ("random numbers added to numbers", "noise addition")
    attribute: str
    kind: str
    amount: float
