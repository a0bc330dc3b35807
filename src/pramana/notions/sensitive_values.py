"""Notions of the values that one sensitive column has in the classes of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pramana.notions.guarantee import (
    AT_THE_NINTH_PLACE,
    INFERENCE,
    Guarantee,
    Promises,
    Risks,
    Sentence,
    complete_sentences,
    condition_on_kind,
    for_each_unit,
)

condition_on_kind("distinct", "l counts different values")
condition_on_kind("entropy", "l is measured by entropy")
condition_on_kind("recursive", "l is recursive, with its c")
condition_on_kind("basic", "likeness is basic")
condition_on_kind("enhanced", "likeness is enhanced")
_NO_MORE_FREQUENT = (
    "among WHO that look alike no value of {attribute} is more frequent than in the whole table by more than {b} "
    "times (b) its frequency there"
)


@dataclass(frozen=True, kw_only=True)
class ValueGuarantee(Guarantee):
    """Of one sensitive column; a promise must be kept for every sensitive column and unit."""

    kept_by = "all"
    attribute: str


@dataclass(frozen=True, kw_only=True)
class LDiversity(ValueGuarantee):
    """Every class of this table has enough different sensitive values; `kind` says how that is counted."""

    notion = "l-diversity"
    title = "Sensitive values among records that look alike (l-diversity)"
    meaning = (
        "l measures how varied a sensitive column is in the least varied group of records that look alike: at 1 "
        "everyone of a group may have one value. It says nothing of how alike the values are in meaning."
    )
    sentences = complete_sentences(
        Sentence(
            "records that look alike have at least {l} different values of {attribute} (l)",
            ("distinct", "of_records"),
        ),
        *for_each_unit(
            "among WHO that look alike, those that lack any one value of {attribute} have at least l - 1 others, "
            "with l = {l}",
            "distinct",
        )[1:],
        *for_each_unit(
            "WHO that look alike are at least as varied in {attribute} as {l} equally frequent values would be "
            "(l, by entropy)",
            "entropy",
        ),
        *for_each_unit(
            "among WHO that look alike the most frequent value of {attribute} is at most {c} times (c) as "
            "frequent as those of rank {l} (l) and beyond together",
            "recursive",
        ),
    )
    down = ("l",)
    texts = ("attribute", "kind")
    promises: ClassVar[Promises] = {
        "l": lambda g, least: g.l >= least * (1 - 1e-9),
        "c": lambda g, c: None if g.c is None else g.c <= c,
    }
    together = "l-diversity: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Risks] = {INFERENCE: "how varied a sensitive column is among records that look alike"}
    kind: str
    l: float  # noqa: E741 - the notion's own name
    c: float | None = None

    @property
    def value(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"attribute": self.attribute, "kind": self.kind, "l": self.l}
        return stated if self.c is None else {**stated, "c": self.c}

    def numbers(self) -> Mapping[str, str]:
        c = "any number of" if self.c is None else self.shown("c", self.c)
        return {"attribute": self.attribute, "l": self.shown("l", self.l), "c": c}


@dataclass(frozen=True, kw_only=True)
class TCloseness(ValueGuarantee):
    """In every class of this table a sensitive attribute is distributed nearly as in the whole table."""

    notion = "t-closeness"
    title = "How far records that look alike are from the whole table (t-closeness)"
    meaning = (
        "t is the largest distance between how a sensitive column is distributed in a group of records that look "
        "alike and in the whole table: at 0 they are the same, at 1 they have nothing in common."
    )
    sentences = complete_sentences(
        *for_each_unit(
            "among WHO that look alike {attribute} is distributed as in the whole table up to a distance "
            "({distance}) of at most {t} (t)"
        )
    )
    texts = ("attribute", "distance")
    promises: ClassVar[Promises] = {"t": lambda g, t: g.t <= t + AT_THE_NINTH_PLACE}
    together = "t-closeness: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Risks] = {INFERENCE: "how far records that look alike are from the whole table"}
    distance: str
    t: float


@dataclass(frozen=True, kw_only=True)
class DDisclosure(ValueGuarantee):
    """In no class is a sensitive value more, or less, frequent than in the whole table by more than a factor."""

    notion = "d-disclosure"
    title = "How far the frequency of a value moves, either way (d-disclosure privacy)"
    meaning = (
        "The frequency of every sensitive value among records that look alike is compared with that in the whole "
        "table. d is the largest logarithm of their ratio to base 2: at 1 a value is twice, or half, as frequent."
    )
    sentences = complete_sentences(
        *for_each_unit(
            "among WHO that look alike every value of {attribute} is at most 2 to the power of {d} (d) times as "
            "frequent as in the whole table, and at least that part of it"
        )
    )
    texts = ("attribute",)
    promises: ClassVar[Promises] = {"d_disclosure": lambda g, d: g.d <= d + AT_THE_NINTH_PLACE}
    together = "d-disclosure: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Risks] = {INFERENCE: "how far the frequency of a value moves among records that look alike"}
    d: float


@dataclass(frozen=True, kw_only=True)
class BLikeness(ValueGuarantee):
    """In no class has a sensitive value gained more on its frequency in the whole table than b times."""

    notion = "b-likeness"
    title = "How much more frequent a value becomes (b-likeness)"
    meaning = (
        "b is the largest gain of a sensitive value among records that look alike, relative to its frequency in "
        "the whole table: at 1 some value is twice as frequent there. Values that become rarer do not count."
    )
    sentences = complete_sentences(
        *for_each_unit(_NO_MORE_FREQUENT, "basic"),
        *for_each_unit(
            f"{_NO_MORE_FREQUENT}, nor by more than the negative logarithm of that frequency times it", "enhanced"
        ),
    )
    texts = ("attribute", "kind")
    promises: ClassVar[Promises] = {"b_likeness": lambda g, b: g.b <= b + AT_THE_NINTH_PLACE}
    together = "b-likeness: nothing. Classes of two releases can meet in one value."
    risks: ClassVar[Risks] = {INFERENCE: "how much more frequent a value becomes among records that look alike"}
    kind: str
    b: float
