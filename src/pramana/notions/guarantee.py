"""What has been proved of a release: the class that every privacy notion derives from.

A notion is one class. It has its value, the sentences it may be stated in, the recipe keys that promise it, what
several releases that state it come to, and the risks it is about. The classes keep the notions apart: a k of one
table can never be printed as if it were a k of every table, nor either as if it were differential privacy.
`registry` collects the subclasses of all modules of this room.

A sentence says no more than number, unit, scope and assumptions. Every notion lists its own sentences; they are
complete, so whatever prints one prints the columns it does not cover with it. Conditions that only one notion has
are registered beside the notion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Literal

from pramana.theory import rounding

Stated = Mapping[str, Any]  # a guarantee as a certificate has it

ANY_TABLE = "any table"
THIS_TABLE = "this table"
SCOPES = {ANY_TABLE: "In any table", THIS_TABLE: "In this table"}
OF_THIS_SIZE = {ANY_TABLE: "In any table of this size", THIS_TABLE: "In this table"}  # where R is in the number
UNITS = {
    "record": "counting each record as one person",
    "person": "counting all records of a person together",
    "household": "counting all records of a household together",
}
IN_EARNEST = "NONE OF THIS HOLDS IN EARNEST"  # how the assumptions of a release under a seed begin
OWN_COINS = "every respondent's device ran the page whose digest the certificate states"  # where nobody has a key

BOUND = "a bound"
SINGLING_OUT, LINKABILITY, INFERENCE = "singling-out", "linkability", "inference"  # the risks of a notion
AT_THE_NINTH_PLACE = 1.5e-9  # numbers counted in classes are rounded against ourselves there, and compared so
Promises = Mapping[str, Callable[[Any, Any], bool | None]]
Risks = Mapping[str, str]
_PICTURED = 2000  # e^epsilon is written out below this epsilon


# ---------------------------------------------------------------- sentences and their conditions


@dataclass(frozen=True)
class SentenceCondition:
    """Something a certificate shows to hold of a guarantee, or not."""

    words: str
    holds: Callable[[Stated], bool]


CONDITIONS: dict[str, SentenceCondition] = {}


def condition(name: str, words: str, holds: Callable[[Stated], bool]) -> None:
    """Register a condition, which sentences name in `when`."""
    if name in CONDITIONS:
        raise ValueError(f"The condition {name!r} must be registered once, and it is registered already")
    CONDITIONS[name] = SentenceCondition(words, holds)


def condition_on_kind(kind: str, words: str) -> None:
    """Register the condition that a guarantee's value names this kind."""
    condition(kind, words, lambda g: bool(g["value"]["kind"] == kind))


def _assumes(stated: Stated, start: str) -> bool:
    return any(str(assumption).startswith(start) for assumption in stated["assumptions"])


condition("covered", "no column is released unchanged", lambda g: not g["uncovered"])
condition("uncovered", "columns are released unchanged, and named", lambda g: bool(g["uncovered"]))
condition("secret", "the key is a secret", lambda g: not _assumes(g, IN_EARNEST))
condition("seeded", "the key was made from a seed", lambda g: _assumes(g, IN_EARNEST))
condition("of_records", "each record counts as one person", lambda g: bool(g["unit"] == "record"))
condition("of_people", "people are counted", lambda g: bool(g["unit"] == "person"))
condition("of_households", "households are counted", lambda g: bool(g["unit"] == "household"))
condition("keyed", "a holder has the key", lambda g: not _assumes(g, OWN_COINS))
condition("keyless", "people threw the coins on their own devices", lambda g: _assumes(g, OWN_COINS))
condition("some", "k is above 1", lambda g: bool(g["value"] > 1))
condition("none", "k is 1", lambda g: bool(g["value"] <= 1))


@dataclass(frozen=True)
class Sentence:
    """Words with {fields} to fill in, and the names of the conditions under which they may be printed."""

    words: str
    when: tuple[str, ...] = ()
    then: str = ""  # what is said after it; part of the words once the sentence is complete

    def may_be_said_of(self, stated: Stated) -> bool:
        return all(CONDITIONS[name].holds(stated) for name in self.when)


def for_each_unit(words: str, *when: str) -> tuple[Sentence, ...]:
    """The sentence about records, people and households, who stand in it as WHO."""
    return tuple(
        Sentence(words.replace("WHO", who), (*when, f"of_{who}")) for who in ("records", "people", "households")
    )


def complete_sentences(*sentences: Sentence, uncovered: str = "", then: str = "") -> tuple[Sentence, ...]:
    """Scope and unit before each, columns that are not covered after it, and what a seed takes away.

    `uncovered` is what the notion takes for granted of the columns released unchanged; `then` is said after every
    sentence that says nothing else there.
    """
    complete = []
    outside = "; the columns released unchanged ({uncovered}) are not covered" + uncovered
    opening = "{scope}, {unit}, "
    if_secret = "If the key were a secret, and not made from a seed: "
    for one in sentences:
        after = f" {one.then or then}" if one.then or then else ""
        for covered, clause in (("covered", ""), ("uncovered", outside)):
            for secret, before in (("secret", opening), ("seeded", if_secret + opening)):
                if secret == "seeded" and "keyless" in one.when:  # there is no key that could be
                    continue
                complete.append(Sentence(f"{before}{one.words}{clause}.{after}", (*one.when, covered, secret)))
    return tuple(complete)


def unit_words(unit: str, most: Mapping[str, int] | None) -> str:
    """The unit of a guarantee, with the bounds that its number holds for."""
    if not most:
        return UNITS[unit]
    rows = f"at most {most['rows']}" if "rows" in most else ""
    people = f"at most {most['persons']} people" if "persons" in most else ""
    each = f"with {rows} records each" if people and rows else f"{rows} records" if rows else ""
    return f"{UNITS[unit]}, {' '.join(part for part in (people, each) if part)}"


def listed(names: tuple[str, ...]) -> str:
    """As one says them: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# ---------------------------------------------------------------- guarantees


@dataclass(frozen=True)
class Guarantee:
    """Notion, value, scope, unit, the statement it follows from, its assumptions, and what it does not cover."""

    notion: ClassVar[str]
    title: ClassVar[str]  # neutral: it stands above any number
    meaning: ClassVar[str]
    sentences: ClassVar[tuple[Sentence, ...]]
    scopes: ClassVar[Mapping[str, str]] = SCOPES
    down: ClassVar[tuple[str, ...]] = ()  # numbers of its sentences that are rounded down, all others up
    texts: ClassVar[tuple[str, ...]] = ()  # its fields that are no numbers
    # By key of [release]: whether a guarantee keeps what the recipe states under that key; None where it says
    # nothing of it.
    promises: ClassVar[Promises] = {}
    # Which guarantees must keep a promise, where several of a release state the notion.
    kept_by: ClassVar[Literal["one", "each unit", "all"]] = "one"
    together: ClassVar[str] = ""  # what can be said of several releases about the same people that state it
    risks: ClassVar[Risks] = {}  # the risks it is about, and what it says of each
    kind_of_number: ClassVar[str] = BOUND  # what its number is, where it is no bound
    is_empty: ClassVar[Callable[[Any], bool]] = lambda value: value is None  # whether that value bounds nothing
    technique: ClassVar[tuple[str, str] | None] = None  # what was done, and its name in ISO/IEC 20889
    listed_model: ClassVar[tuple[str, str] | None] = None  # the same of the model it is there

    scope: str
    statement: str
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="record", kw_only=True)  # whose data may differ: one row of the table
    uncovered: tuple[str, ...] = field(default=(), kw_only=True)  # the columns released unchanged
    most: Mapping[str, int] | None = field(default=None, kw_only=True)  # of a unit: its rows, its persons

    def __post_init__(self) -> None:
        if self.scope not in SCOPES or self.unit not in UNITS:
            raise ValueError(f"scope must be of {list(SCOPES)} and unit of {list(UNITS)}")

    @property
    def promised_of(self) -> Hashable:
        """The part of a promise that it answers for, such as one column: every part must be kept."""
        return {"one": (), "each unit": self.unit, "all": id(self)}[self.kept_by]

    # ------------------------------------------------------------------ value and certificate form

    @property
    def value(self) -> Any:
        """The notion's own fields by name, or the field itself where there is one."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _SHARED}
        return own if len(own) > 1 else next(iter(own.values()))

    def stated(self) -> dict[str, Any]:
        """All but its words."""
        return {
            "notion": self.notion,
            "value": self.value,
            "scope": self.scope,
            "unit": self.unit,
            "uncovered": list(self.uncovered),
            "statement": self.statement,
            "assumptions": list(self.assumptions),
            **({"most": dict(self.most)} if self.most else {}),
        }

    def to_json(self) -> dict[str, Any]:
        return {**self.stated(), "words": self.in_words()}

    # ------------------------------------------------------------------ words

    def numbers(self) -> Mapping[str, str]:
        """The fields of its sentences, as they are printed."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if self._prints(f.name)}
        return {name: str(value) if name in self.texts else self.shown(name, value) for name, value in own.items()}

    @classmethod
    def _prints(cls, name: str) -> bool:
        return name not in _SHARED and any(f"{{{name}}}" in sentence.words for sentence in cls.sentences)

    @classmethod
    def shown(cls, name: str, value: float | Fraction) -> str:
        """A number as people read it, on the safe side of the value."""
        return (rounding.shown_down if name in cls.down else rounding.shown_up)(value, 6)

    def in_words(self) -> str:
        stated = self.stated()
        sentence = next(s for s in self.sentences if s.may_be_said_of(stated))
        where = self.scopes[self.scope]
        return sentence.words.format(
            scope=where if sentence.words.startswith("{scope}") else where.lower(),
            unit=unit_words(self.unit, self.most),
            uncovered=listed(self.uncovered),
            **self.numbers(),
        )


_SHARED = {f.name for f in fields(Guarantee)}


def e_to_the(epsilon: float) -> str:
    """e^epsilon, which is what people can picture; past a thousand digits nobody can."""
    if epsilon < _PICTURED:
        return rounding.shown_up(rounding.exp_up(epsilon), 4)
    return f"e^{rounding.shown_up(epsilon)}"
