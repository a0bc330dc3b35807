"""What has been proved of a release. One class per privacy notion, each of which renders itself.

The classes keep the notions apart: a k of one table can never be printed as if it were a k of every table,
nor either as if it were differential privacy. The notions themselves are in `randomised_notions` (what chance
does to records) and `table_notions` (what is counted in one table); their sentences follow `wording`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from pramana.theory.notions.wording import (
    CONDITIONS,
    SCOPES,
    UNITS,
    Sentence,
    Stated,
    listed,
    overclaims_in,
    unit_words,
)
from pramana.theory.rounding import OUTWARD, exp_down, exp_up, shown

_PICTURED = 2000
NOTIONS: dict[str, type[Guarantee]] = {}


@dataclass(frozen=True)
class NotionExplanation:
    """What a report says of a notion: a title, and what its number measures."""

    title: str
    meaning: str


@dataclass(frozen=True)
class Guarantee:
    """Notion, value, scope, unit, the statement it rests on, the assumptions it needs, what it does not cover."""

    notion: ClassVar[str]
    title: ClassVar[str]  # neutral: it stands above any number
    meaning: ClassVar[str]
    sentences: ClassVar[tuple[Sentence, ...]]
    scopes: ClassVar[Mapping[str, str]] = SCOPES

    scope: str
    statement: str
    assumptions: tuple[str, ...] = field(default=(), kw_only=True)
    unit: str = field(default="record", kw_only=True)  # whose data may differ: one row of the table
    uncovered: tuple[str, ...] = field(default=(), kw_only=True)  # the columns released unchanged
    most: Mapping[str, int] | None = field(default=None, kw_only=True)  # of a unit: its rows, its persons

    def __init_subclass__(cls) -> None:
        NOTIONS[cls.notion] = cls

    def __post_init__(self) -> None:
        if self.scope not in SCOPES or self.unit not in UNITS:
            raise ValueError(f"scope must be of {list(SCOPES)} and unit of {list(UNITS)}")

    @property
    def value(self) -> Any:
        raise NotImplementedError

    def numbers(self) -> Mapping[str, str]:
        """The fields of its sentences, as they are printed."""
        raise NotImplementedError

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


def times(epsilon: float) -> str:
    """e^epsilon, which is what people can picture; past a thousand digits nobody can."""
    return shown("times", exp_up(epsilon), 4) if epsilon < _PICTURED else f"e^{shown('epsilon', epsilon)}"


def explanation_of(notion: str) -> NotionExplanation:
    """Title and meaning of a notion by its name; a name of a later version stands for itself."""
    known = NOTIONS.get(notion)
    return NotionExplanation(notion, "") if known is None else NotionExplanation(known.title, known.meaning)


def sentence_table() -> list[dict[str, Any]]:
    """Every sentence of every notion, and in words the conditions under which it may be printed."""
    return [
        {
            "notion": name,
            "sentence": sentence.words,
            "conditions": {condition: CONDITIONS[condition].words for condition in sentence.when},
        }
        for name, notion in NOTIONS.items()
        for sentence in notion.sentences
    ]


def problems_of(stated: Stated) -> list[str]:
    """What is wrong with the words of a guarantee as a certificate or a report has it; empty where they hold.

    They must be one of the notion's sentences whose conditions hold, with its numbers on the safe side, its unit,
    its scope and every column it does not cover.
    """
    notion = NOTIONS.get(str(stated["notion"]))
    if notion is None:
        return [f"there are no sentences for the notion {stated['notion']!r}"]
    words = str(stated["words"])
    matching = [(s, found) for s in notion.sentences if (found := s.pattern.fullmatch(words)) is not None]
    if not matching:
        return ["the words are none of the notion's sentences"]
    allowed = [found for sentence, found in matching if sentence.may_be_said_of(stated)]
    if not allowed:
        return ["the words are a sentence whose conditions do not hold: " + ", ".join(matching[0][0].when)]
    fields = allowed[0].groupdict()
    problems = []
    if fields["scope"].lower() != notion.scopes[stated["scope"]].lower():
        problems.append("the words have another scope")
    if fields["unit"] != unit_words(stated["unit"], stated.get("most")):
        problems.append("the words have another unit")
    if fields.get("uncovered", "") != listed(tuple(stated["uncovered"])):
        problems.append("the words do not name the columns that are not covered")
    problems += [f"{name} is on the wrong side" for name, text in fields.items() if _short(name, text, stated)]
    return problems + [f"the words say {phrase!r}" for phrase in overclaims_in(_without(words, fields))]


def _short(name: str, text: str, stated: Stated) -> bool:
    """Whether a printed number says more than the stated one."""
    if name == "pairs":
        printed = re.findall(r"of at most (\S+) becomes at most ([^\s,]+)", text)
        alike = len(printed) == len(stated["value"])
        return not alike or any(
            Fraction(a) > Fraction(repr(pair["rho1"])) or Fraction(b) < Fraction(repr(pair["rho2"]))
            for (a, b), pair in zip(printed, stated["value"], strict=True)
        )
    if name not in OUTWARD:
        return False
    if text.startswith("e^"):
        name, text = "epsilon", text.removeprefix("e^")
    read, true = Fraction(text), _true(name, stated)
    return read > true if OUTWARD[name] == OUTWARD["k"] else read < true


def _true(name: str, stated: Stated) -> Fraction:
    """The number that a field of a sentence stands for."""
    value = stated["value"]
    if name == "left_out":
        return Fraction(repr(stated[name]))
    if name == "times":
        return exp_down(value["epsilon"] if isinstance(value, Mapping) else value)
    number = Fraction(repr(value[name] if isinstance(value, Mapping) else value))
    return number - 1 if name == "others" else 1 / number if name == "chance" else number


def _without(words: str, fields: Mapping[str, str]) -> str:
    """The sentence without the names of columns, which may be called anything."""
    for name in ("uncovered", "attribute"):
        if fields.get(name):
            words = words.replace(fields[name], "")
    return words
