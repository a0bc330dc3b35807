"""Notions that single methods state: swapping, added noise, identification bounds, delta-presence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    AT_THE_NINTH_PLACE,
    INFERENCE,
    LINKABILITY,
    SINGLING_OUT,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    Stated,
    complete_sentences,
    condition,
    condition_on_kind,
)

# ---------------------------------------------------------------- swapping and noise: what was done, and no bound

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


# ---------------------------------------------------------------- invariant matrices: the chance of a right match


_TAKEN_NOT_TO_KNOW = ": whoever looks for a person is taken not to know anyone's values there"
_BEST_GUESS = (
    "anyone who knows only a person's true category, sees every published count and guesses as well as can be "
    "finds that person's record with a chance of at most {xi}"
)
_OWN_CATEGORY = "the chance of a right match for someone who knows a person's true category"
_RISKS = {SINGLING_OUT: _OWN_CATEGORY, LINKABILITY: _OWN_CATEGORY}

condition("whole", "every outcome is spoken of", lambda g: bool(g["left_out"] == 0))
condition("left_out", "outcomes of a small chance are left out", lambda g: bool(g["left_out"] > 0))


@dataclass(frozen=True, kw_only=True)
class IdentificationBound(Guarantee):
    """No target is matched with a chance above xi by an intruder who knows its category and sees its count."""

    notion = "identification-bound"
    title = "The chance of a correct match (identification bound)"
    meaning = (
        "Rare values were exchanged with frequent ones. Someone who knows a person's true value picks one of the "
        "records that show it; xi is the largest chance that it is that person's."
    )
    sentences = complete_sentences(
        Sentence(
            "anyone who knows only a person's true category and picks one of the records published in it finds "
            "that person's record with a chance of at most {xi}, however many records the category shows"
        ),
        uncovered=_TAKEN_NOT_TO_KNOW,
    )
    promises: ClassVar[Promises] = {"xi": lambda g, xi: g.xi <= math.nextafter(xi, math.inf)}
    together = "xi: nothing. Two releases give an intruder two chances to match."
    risks = _RISKS
    is_empty: ClassVar[Callable[[Any], bool]] = lambda xi: xi >= 1
    technique = ("values exchanged by chance (invariant post-randomisation)", "randomization techniques")
    xi: float


@dataclass(frozen=True, kw_only=True)
class EveryCountBound(Guarantee):
    """The same against an intruder who sees every published count and may guess any record."""

    notion = "identification-bound-every-count"
    title = "The chance of a correct match for anyone who sees every count (identification bound)"
    meaning = "The same for someone who also uses how often every other value is shown, and may pick any record."
    sentences = complete_sentences(
        Sentence(_BEST_GUESS, ("whole",)),
        Sentence(_BEST_GUESS + ", but for outcomes of a total probability of at most {left_out}", ("left_out",)),
        uncovered=_TAKEN_NOT_TO_KNOW,
    )
    risks = _RISKS
    is_empty: ClassVar[Callable[[Any], bool]] = lambda xi: xi >= 1
    xi: float
    left_out: float = 0.0

    @property
    def value(self) -> float:
        return self.xi

    def stated(self) -> dict[str, Any]:
        return {**super().stated(), "left_out": self.left_out}


# ---------------------------------------------------------------- presence of people of a public list


_PROBABLY = (
    "anyone of the public table is in the private one with a probability from {lowest} to {highest} (wanted: "
    "{dmin} to {dmax})"
)
_PRESENT = f"to someone who knows only the public table and this release, {_PROBABLY}"
_AT_THEIR_WORD = (
    f"to someone who knows only the public table and takes this release's distributions at their word, {_PROBABLY}"
)

_OPEN = "it is open what undoing the cells tells"
condition("withstood", "undoing the cells was shown to tell no more", lambda g: _reversal(g) == "withstood")
condition("broken", "undoing the cells tells more", lambda g: _reversal(g) == "broken")
condition("unproven", _OPEN, lambda g: _reversal(g) not in ("withstood", "broken"))


def _reversal(stated: Stated) -> str:
    return str(stated["value"]["reversal"])


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Guarantee):
    """For this pair of tables, how likely anyone of the public one is in the private one; `mode` says for whom."""

    notion = "delta-presence"
    title = "Who of the public table is in this one (delta-presence)"
    meaning = (
        "Someone who holds the public list of people asks of each whether they are in the table. The two numbers "
        "are how sure they are at least and at most: at 1 someone is certain to be in it, at 0 certain not to be."
    )
    sentences = complete_sentences(
        Sentence(_PRESENT, ("withstood",), "Undoing the distributions tells no more than that."),
        Sentence(_AT_THEIR_WORD, ("broken",), "Whoever undoes the distributions learns more than that."),
        Sentence(
            _AT_THEIR_WORD,
            ("unproven",),
            "It was not shown that undoing the distributions tells no more than that.",
        ),
        uncovered=": whoever asks is taken not to know anyone's values there",
    )
    down = ("lowest", "dmin")
    promises: ClassVar[Promises] = {
        "delta": lambda g, ends: g.is_within(ends) if isinstance(ends, list | tuple) else None
    }
    together = "delta-presence: nothing. Its bounds hold for one release about these people."
    risks: ClassVar[Risks] = {
        LINKABILITY: "how sure the holder of the public table can be that a person is in this one",
        INFERENCE: "whether someone is in the table at all",
    }
    lowest: float
    highest: float
    reached_lowest: float
    reached_highest: float
    mode: str
    reversal: str
    epsilon: float | None = None

    @property
    def value(self) -> dict[str, Any]:
        return {
            "dmin": self.lowest,
            "dmax": self.highest,
            "lowest": self.reached_lowest,
            "highest": self.reached_highest,
            "mode": self.mode,
            "reversal": self.reversal,
            **({} if self.epsilon is None else {"noise_epsilon": self.epsilon}),
        }

    def numbers(self) -> Mapping[str, str]:
        return {name: self.shown(name, self.value[name]) for name in ("lowest", "highest", "dmin", "dmax")}

    def is_within(self, wanted: Sequence[float]) -> bool:
        low, high = wanted
        return self.reached_lowest >= low and self.reached_highest <= high
