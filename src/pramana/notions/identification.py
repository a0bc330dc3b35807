"""Notions of invariant post-randomisation: the chance that an intruder matches a person with the right record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    LINKABILITY,
    SINGLING_OUT,
    Guarantee,
    Promises,
    Sentence,
    complete_sentences,
    condition,
)

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
