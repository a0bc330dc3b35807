"""Notions of the values that one sensitive column has in the classes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pramana.notions.guarantee import AT_THE_NINTH_PLACE, INFERENCE, Guarantee, Promises
from pramana.notions.sentences import UNITS_IN_WORDS, Sentence, complete_sentences, condition_on_kind

condition_on_kind("distinct", "l counts different values")
condition_on_kind("entropy", "l is measured by entropy")
condition_on_kind("recursive", "l is recursive, with its c")
condition_on_kind("basic", "likeness is basic")
condition_on_kind("enhanced", "likeness is enhanced")


@dataclass(frozen=True)
class ValueGuarantee(Guarantee):
    """Of one sensitive column."""

    attribute: str = field(kw_only=True)

    @property
    def promised_of(self) -> int:
        """Each one that is stated, of every sensitive column and unit, must keep the promise."""
        return id(self)


@dataclass(frozen=True)
class LDiversity(ValueGuarantee):
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
    down: ClassVar[tuple[str, ...]] = ("l",)
    texts: ClassVar[tuple[str, ...]] = ("attribute", "kind")
    promises: ClassVar[Promises] = {
        "l": lambda g, least: g.l >= least * (1 - 1e-9),
        "c": lambda g, c: None if g.c is None else g.c <= c,
    }
    together: ClassVar[str] = "l-diversity: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Mapping[str, str]] = {
        INFERENCE: "how varied a sensitive column is among records that look alike"
    }
    kind: str = field(kw_only=True)
    l: float = field(kw_only=True)  # noqa: E741 - the notion's own name
    c: float | None = field(default=None, kw_only=True)

    @property
    def value(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"attribute": self.attribute, "kind": self.kind, "l": self.l}
        return stated if self.c is None else {**stated, "c": self.c}

    def numbers(self) -> Mapping[str, str]:
        c = "any number of" if self.c is None else self.shown("c", self.c)
        return {"attribute": self.attribute, "l": self.shown("l", self.l), "c": c}


@dataclass(frozen=True)
class TCloseness(ValueGuarantee):
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
    texts: ClassVar[tuple[str, ...]] = ("attribute", "distance")
    promises: ClassVar[Promises] = {"t": lambda g, t: g.t <= t + AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "t-closeness: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Mapping[str, str]] = {INFERENCE: "how far records that look alike are from the whole table"}
    distance: str = field(kw_only=True)
    t: float = field(kw_only=True)


@dataclass(frozen=True)
class DDisclosure(ValueGuarantee):
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
    texts: ClassVar[tuple[str, ...]] = ("attribute",)
    promises: ClassVar[Promises] = {"d_disclosure": lambda g, d: g.d <= d + AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "d-disclosure: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Mapping[str, str]] = {
        INFERENCE: "how far the frequency of a value moves among records that look alike"
    }
    d: float = field(kw_only=True)


@dataclass(frozen=True)
class BLikeness(ValueGuarantee):
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
    texts: ClassVar[tuple[str, ...]] = ("attribute", "kind")
    promises: ClassVar[Promises] = {"b_likeness": lambda g, b: g.b <= b + AT_THE_NINTH_PLACE}
    together: ClassVar[str] = "b-likeness: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Mapping[str, str]] = {
        INFERENCE: "how much more frequent a value becomes among records that look alike"
    }
    kind: str = field(kw_only=True)
    b: float = field(kw_only=True)
