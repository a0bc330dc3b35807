"""Notions that are counted or worked out in one table: they hold for that table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pramana.theory.notions.guarantee import Guarantee
from pramana.theory.notions.wording import UNITS_IN_WORDS, Sentence, complete_sentences
from pramana.theory.rounding import shown

_TAKEN_NOT_TO_KNOW = ": whoever looks for a person is taken not to know anyone's values there"
_BEST_GUESS = (
    "anyone who knows only a person's true category, sees every published count and guesses as well as can be "
    "finds that person's record with a chance of at most {xi}"
)
NOTHING_ELSE = "This says nothing of what an intruder learns from the other columns, and nothing of other tables."
_PROBABLY = (
    "anyone of the public table is in the private one with a probability from {lowest} to {highest} (wanted: "
    "{dmin} to {dmax})"
)
_PRESENT = f"to someone who knows only the public table and this release, {_PROBABLY}"
_AT_THEIR_WORD = (
    f"to someone who knows only the public table and takes this release's distributions at their word, {_PROBABLY}"
)


@dataclass(frozen=True)
class IdentificationBound(Guarantee):
    """No target is matched with a chance above xi by an intruder who knows its category and sees its count."""

    notion: ClassVar[str] = "identification-bound"
    title: ClassVar[str] = "The chance of a correct match (identification bound)"
    meaning: ClassVar[str] = (
        "Rare values were exchanged with frequent ones. Someone who knows a person's true value picks one of the "
        "records that show it; xi is the largest chance that it is that person's."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "anyone who knows only a person's true category and picks one of the records published in it finds "
            "that person's record with a chance of at most {xi}, however many records the category shows"
        ),
        uncovered=_TAKEN_NOT_TO_KNOW,
    )
    xi: float = field(kw_only=True)

    @property
    def value(self) -> float:
        return self.xi

    def numbers(self) -> Mapping[str, str]:
        return {"xi": shown("xi", self.xi)}


@dataclass(frozen=True)
class EveryCountBound(Guarantee):
    """The same against an intruder who sees every published count and may guess any record."""

    notion: ClassVar[str] = "identification-bound-every-count"
    title: ClassVar[str] = "The chance of a correct match for anyone who sees every count (identification bound)"
    meaning: ClassVar[str] = (
        "The same for someone who also uses how often every other value is shown, and may pick any record."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(_BEST_GUESS, ("whole",)),
        Sentence(_BEST_GUESS + ", but for outcomes of a total probability of at most {left_out}", ("left_out",)),
        uncovered=_TAKEN_NOT_TO_KNOW,
    )
    xi: float = field(kw_only=True)
    left_out: float = field(default=0.0, kw_only=True)

    @property
    def value(self) -> float:
        return self.xi

    def numbers(self) -> Mapping[str, str]:
        return {"xi": shown("xi", self.xi), "left_out": shown("left_out", self.left_out)}

    def stated(self) -> dict[str, Any]:
        return {**super().stated(), "left_out": self.left_out}


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
    k: int = field(kw_only=True)

    @property
    def value(self) -> int:
        return self.k

    def numbers(self) -> Mapping[str, str]:
        return {"k": shown("k", self.k), "others": shown("others", self.k - 1)}


@dataclass(frozen=True)
class LDiversity(Guarantee):
    """Every class of this table has enough different sensitive values; `kind` says how that is counted."""

    notion: ClassVar[str] = "l-diversity"
    title: ClassVar[str] = "Sensitive values among records that look alike (l-diversity)"
    meaning: ClassVar[str] = (
        "l measures how varied a sensitive column is in the least varied group of records that look alike: at 1 "
        "everyone of a group may have one value. It says nothing of how alike the values are in meaning."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(
            "records that look alike have at least {l} different values of {attribute} (l)",
            ("distinct", "of_records"),
        ),
        *(
            Sentence(
                f"among {who} that look alike, those that lack any one value of {{attribute}} have at least l - 1 "
                "others, with l = {l}",
                ("distinct", condition),
            )
            for who, condition in UNITS_IN_WORDS[1:]
        ),
        *(
            Sentence(
                f"{who} that look alike are at least as varied in {{attribute}} as {{l}} equally frequent values "
                "would be (l, by entropy)",
                ("entropy", condition),
            )
            for who, condition in UNITS_IN_WORDS
        ),
        *(
            Sentence(
                f"among {who} that look alike the most frequent value of {{attribute}} is at most {{c}} times (c) "
                "as frequent as those of rank {l} (l) and beyond together",
                ("recursive", condition),
            )
            for who, condition in UNITS_IN_WORDS
        ),
    )
    attribute: str = field(kw_only=True)
    kind: str = field(kw_only=True)
    l: float = field(kw_only=True)  # noqa: E741 - the notion's own name
    c: float | None = field(default=None, kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"attribute": self.attribute, "kind": self.kind, "l": self.l}
        return stated if self.c is None else {**stated, "c": self.c}

    def numbers(self) -> Mapping[str, str]:
        return {
            "attribute": self.attribute,
            "l": shown("l", self.l),
            "c": "any number of" if self.c is None else shown("c", self.c),
        }


@dataclass(frozen=True)
class TCloseness(Guarantee):
    """In every class of this table a sensitive attribute is distributed nearly as in the whole table."""

    notion: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "How far records that look alike are from the whole table (t-closeness)"
    meaning: ClassVar[str] = (
        "t is the largest distance between how a sensitive column is distributed in a group of records that look "
        "alike and in the whole table: at 0 they are the same, at 1 they have nothing in common."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        *(
            Sentence(
                f"among {who} that look alike {{attribute}} is distributed as in the whole table up to a distance "
                "({distance}) of at most {t} (t)",
                (condition,),
            )
            for who, condition in UNITS_IN_WORDS
        ),
    )
    attribute: str = field(kw_only=True)
    distance: str = field(kw_only=True)
    t: float = field(kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "distance": self.distance, "t": self.t}

    def numbers(self) -> Mapping[str, str]:
        return {"attribute": self.attribute, "distance": self.distance, "t": shown("t", self.t)}


@dataclass(frozen=True)
class DeltaPresence(Guarantee):
    """For this pair of tables, how likely anyone of the public one is in the private one; `mode` says for whom."""

    notion: ClassVar[str] = "delta-presence"
    title: ClassVar[str] = "Who of the public table is in this one (delta-presence)"
    meaning: ClassVar[str] = (
        "Someone who holds the public list of people asks of each whether they are in the table. The two numbers "
        "are how sure they are at least and at most: at 1 someone is certain to be in it, at 0 certain not to be."
    )
    sentences: ClassVar[tuple[Sentence, ...]] = complete_sentences(
        Sentence(_PRESENT, ("withstood",), "Undoing the distributions tells no more than that."),
        Sentence(_AT_THEIR_WORD, ("broken",), "Whoever undoes the distributions learns more than that."),
        Sentence(
            _AT_THEIR_WORD,
            ("unproven",),
            "It was not shown that undoing the distributions tells no more than that.",
        ),
        uncovered=": whoever asks is taken not to know anyone's values there",
    )
    lowest: float = field(kw_only=True)
    highest: float = field(kw_only=True)
    reached_lowest: float = field(kw_only=True)
    reached_highest: float = field(kw_only=True)
    mode: str = field(kw_only=True)
    reversal: str = field(kw_only=True)
    epsilon: float | None = field(default=None, kw_only=True)

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
        return {
            "lowest": shown("lowest", self.reached_lowest),
            "highest": shown("highest", self.reached_highest),
            "dmin": shown("dmin", self.lowest),
            "dmax": shown("dmax", self.highest),
        }
