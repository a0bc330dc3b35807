"""The sentences a guarantee may be stated in, and the conditions under which each may be printed: as data.

A sentence says no more than number, unit, scope and assumptions. Every notion lists its own sentences; they are
complete, so whatever prints one prints the columns it does not cover with it. `guarantee.problems_of` holds any
stated guarantee against them, wherever it was printed.
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


CONDITIONS: Mapping[str, SentenceCondition] = {
    "covered": SentenceCondition("no column is released unchanged", lambda g: not g["uncovered"]),
    "uncovered": SentenceCondition("columns are released unchanged, and named", lambda g: bool(g["uncovered"])),
    "secret": SentenceCondition("the key is a secret", lambda g: not _seeded(g)),
    "seeded": SentenceCondition("the key was made from a seed", _seeded),
    "of_records": SentenceCondition("each record counts as one person", lambda g: g["unit"] == "record"),
    "of_people": SentenceCondition("people are counted", lambda g: g["unit"] == "person"),
    "of_households": SentenceCondition("households are counted", lambda g: g["unit"] == "household"),
    "keyed": SentenceCondition("a holder has the key", lambda g: not _on_devices(g)),
    "keyless": SentenceCondition("people threw the coins on their own devices", _on_devices),
    "some": SentenceCondition("k is above 1", lambda g: g["value"] > 1),
    "none": SentenceCondition("k is 1", lambda g: g["value"] <= 1),
    "finite": SentenceCondition("epsilon is finite", lambda g: g["value"] is not None),
    "infinite": SentenceCondition("epsilon is infinite", lambda g: g["value"] is None),
    "whole": SentenceCondition("every outcome is spoken of", lambda g: g["left_out"] == 0),
    "left_out": SentenceCondition("outcomes of a small chance are left out", lambda g: g["left_out"] > 0),
    "distinct": SentenceCondition("l counts different values", lambda g: g["value"]["kind"] == "distinct"),
    "entropy": SentenceCondition("l is measured by entropy", lambda g: g["value"]["kind"] == "entropy"),
    "recursive": SentenceCondition("l is recursive, with its c", lambda g: g["value"]["kind"] == "recursive"),
    "basic": SentenceCondition("likeness is basic", lambda g: g["value"]["kind"] == "basic"),
    "enhanced": SentenceCondition("likeness is enhanced", lambda g: g["value"]["kind"] == "enhanced"),
    "deviations": SentenceCondition(
        "noise is measured in a column's standard deviation", lambda g: g["value"]["kind"] == "deviations"
    ),
    "units": SentenceCondition("noise is measured in units", lambda g: g["value"]["kind"] == "units"),
    "correlated": SentenceCondition(
        "noise has the covariances of the columns", lambda g: g["value"]["kind"] == "correlated"
    ),
    "withstood": SentenceCondition(
        "undoing the cells was shown to tell no more", lambda g: _reversal(g) == "withstood"
    ),
    "broken": SentenceCondition("undoing the cells tells more", lambda g: _reversal(g) == "broken"),
    "unproven": SentenceCondition(
        "it is open what undoing the cells tells", lambda g: _reversal(g) not in ("withstood", "broken")
    ),
}


def _reversal(stated: Stated) -> str:
    return str(stated["value"]["reversal"])


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


def complete_sentences(*said: Sentence, uncovered: str = "") -> tuple[Sentence, ...]:
    """Scope and unit before each, columns that are not covered after it, and what a seed takes away.

    `uncovered` is what the notion takes for granted of the columns released unchanged.
    """
    complete = []
    outside = "; the columns released unchanged ({uncovered}) are not covered" + uncovered
    for one in said:
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
