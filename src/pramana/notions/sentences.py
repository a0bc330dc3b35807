"""The sentences a guarantee may be stated in, and the conditions under which each may be printed: as data.

A sentence says no more than number, unit, scope and assumptions. Every notion lists its own sentences; they are
complete, so whatever prints one prints the columns it does not cover with it. `registry.problems_of` compares any
stated guarantee with them, wherever it was printed. Conditions that only one notion has stand beside the notion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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


# who is spoken of, and the condition of a sentence that speaks of them
UNITS_IN_WORDS = (("records", "of_records"), ("people", "of_people"), ("households", "of_households"))


def unit_words(unit: str, most: Mapping[str, int] | None) -> str:
    """The unit of a guarantee, with the bounds that its number holds for."""
    if not most:
        return UNITS[unit]
    rows = f"at most {most['rows']}" if "rows" in most else ""
    people = f"at most {most['persons']} people" if "persons" in most else ""
    each = f"with {rows} records each" if people and rows else f"{rows} records" if rows else ""
    return f"{UNITS[unit]}, {' '.join(part for part in (people, each) if part)}"


IN_EARNEST = "NONE OF THIS HOLDS IN EARNEST"  # how the assumptions of a release under a seed begin
OWN_COINS = "every respondent's device ran the page whose digest the certificate states"  # where nobody has a key


@dataclass(frozen=True)
class SentenceCondition:
    """Something a certificate shows to hold of a guarantee, or not."""

    words: str
    holds: Callable[[Stated], bool]


def _seeded(stated: Stated) -> bool:
    return any(str(assumption).startswith(IN_EARNEST) for assumption in stated["assumptions"])


def _on_devices(stated: Stated) -> bool:
    return any(str(assumption).startswith(OWN_COINS) for assumption in stated["assumptions"])


CONDITIONS: dict[str, SentenceCondition] = {}


def condition(name: str, words: str, holds: Callable[[Stated], bool]) -> str:
    """Register a condition, which sentences name in `when`; returns its name."""
    if name in CONDITIONS:
        raise ValueError(f"The condition {name!r} must be registered once, and it is registered already")
    CONDITIONS[name] = SentenceCondition(words, holds)
    return name


def condition_on_kind(kind: str, words: str) -> str:
    """The same where a guarantee's value names its kind."""
    return condition(kind, words, lambda g: bool(g["value"]["kind"] == kind))


condition("covered", "no column is released unchanged", lambda g: not g["uncovered"])
condition("uncovered", "columns are released unchanged, and named", lambda g: bool(g["uncovered"]))
condition("secret", "the key is a secret", lambda g: not _seeded(g))
condition("seeded", "the key was made from a seed", _seeded)
condition("of_records", "each record counts as one person", lambda g: bool(g["unit"] == "record"))
condition("of_people", "people are counted", lambda g: bool(g["unit"] == "person"))
condition("of_households", "households are counted", lambda g: bool(g["unit"] == "household"))
condition("keyed", "a holder has the key", lambda g: not _on_devices(g))
condition("keyless", "people threw the coins on their own devices", _on_devices)
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

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the filled-in sentence looks like; a field that occurs twice must be filled in alike."""
        known: set[str] = set()
        parts = []
        for literal, field in re.findall(r"([^{]*)(?:\{(\w+)\})?", self.words):
            parts.append(re.escape(literal))
            if field:
                parts.append(f"(?P={field})" if field in known else f"(?P<{field}>.+?)")
                known.add(field)
        return re.compile("".join(parts), re.DOTALL)


def complete_sentences(*sentences: Sentence, uncovered: str = "") -> tuple[Sentence, ...]:
    """Scope and unit before each, columns that are not covered after it, and what a seed takes away.

    `uncovered` is what the notion takes for granted of the columns released unchanged.
    """
    complete = []
    outside = "; the columns released unchanged ({uncovered}) are not covered" + uncovered
    for one in sentences:
        after = f" {one.then}" if one.then else ""
        for covered, clause in (("covered", ""), ("uncovered", outside)):
            for secret, opening in (("secret", _OPENING), ("seeded", _SEEDED)):
                if secret == "seeded" and "keyless" in one.when:  # there is no key that could be
                    continue
                complete.append(Sentence(f"{opening}{one.words}{clause}.{after}", (*one.when, covered, secret)))
    return tuple(complete)


_OPENING = "{scope}, {unit}, "
_SEEDED = "If the key were a secret, and not made from a seed: {scope}, {unit}, "


def listed(names: tuple[str, ...]) -> str:
    """As one says them: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# What no title, meaning or sentence may say: it would hold for some numbers only, or for no number at all.
OVERCLAIMS = (
    r"picked out",
    r"whatever they know",
    r"everything (else )?there is to know",
    r"stays? unlikely",
    r"grows? little",
    r"only this little",
    r"(nobody|no one|anyone) can(not)? (say|tell|find|learn)",
    r"stands? out",
    r"protects? (itself|each|every)",
    r"nearly as well",
    r"learns? nothing",
    r"tells? (one|no) (sensitive )?values?",
    r"looks? like the whole",
    r"impossible",
    r"perfect(ly)?",
    r"complete(ly)?",
    r"anonymous",
    r"\bsafe(ly)?\b",
    r"(for|against) who\b",
    r"(^|[.;:] )who (sees|knows|has|holds)",
)


def overclaims_in(text: str) -> list[str]:
    """The phrases of `text` that say more than a number can."""
    return [found.group(0) for phrase in OVERCLAIMS if (found := re.search(phrase, text, re.IGNORECASE))]
