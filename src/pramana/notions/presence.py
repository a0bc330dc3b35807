"""delta-presence: how sure the holder of a public list can be of who is in a private table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    INFERENCE,
    LINKABILITY,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    Stated,
    complete_sentences,
    condition,
)

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
