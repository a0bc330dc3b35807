"""Whether the words of a guarantee say what its numbers say: compared with the sentences of its notion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pramana.notions.guarantee import CONDITIONS, Guarantee, Stated, listed, unit_words
from pramana.notions.registry import NOTIONS
from pramana.theory import rounding

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
    return [match.group(0) for phrase in OVERCLAIMS if (match := re.search(phrase, text, re.IGNORECASE))]


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


def pattern_of(words: str) -> re.Pattern[str]:
    """What the filled-in sentence looks like; a field that occurs twice must be filled in alike."""
    known: set[str] = set()
    parts = []
    for literal, field in re.findall(r"([^{]*)(?:\{(\w+)\})?", words):
        parts.append(re.escape(literal))
        if field:
            parts.append(f"(?P={field})" if field in known else f"(?P<{field}>.+?)")
            known.add(field)
    return re.compile("".join(parts), re.DOTALL)


def problems_of(stated: Stated) -> list[str]:
    """What is wrong with the words of a guarantee as a certificate or a report has it; empty where they hold.

    They must be one of the notion's sentences whose conditions hold, with its numbers on the safe side, its unit,
    its scope and every column it does not cover.
    """
    notion = NOTIONS.get(str(stated["notion"]))
    if notion is None:
        return [f"there are no sentences for the notion {stated['notion']!r}"]
    words = str(stated["words"])
    matches = [(s, match) for s in notion.sentences if (match := pattern_of(s.words).fullmatch(words)) is not None]
    if not matches:
        return ["the words are none of the notion's sentences"]
    allowed = [match for sentence, match in matches if sentence.may_be_said_of(stated)]
    if not allowed:
        return ["the words are a sentence whose conditions do not hold: " + ", ".join(matches[0][0].when)]
    fields = allowed[0].groupdict()
    problems = []
    if fields["scope"].lower() != notion.scopes[stated["scope"]].lower():
        problems.append("the words have another scope")
    if fields["unit"] != unit_words(stated["unit"], stated.get("most")):
        problems.append("the words have another unit")
    if fields.get("uncovered", "") != listed(tuple(stated["uncovered"])):
        problems.append("the words do not name the columns that are not covered")
    wrong = [name for name, text in fields.items() if _overstates(notion, name, text, stated)]
    problems += [f"{name} is on the wrong side" for name in wrong]
    return problems + [f"the words say {phrase!r}" for phrase in overclaims_in(_without_columns(words, fields))]


def _overstates(notion: type[Guarantee], name: str, text: str, stated: Stated) -> bool:
    """Whether a printed number says more than the stated one."""
    if name in (*notion.texts, "scope", "unit", "uncovered"):
        return False
    if name == "pairs":
        printed = re.findall(r"of at most (\S+) becomes at most ([^\s,]+)", text)
        return len(printed) != len(stated["value"]) or any(
            Fraction(a) > Fraction(repr(pair["rho1"])) or Fraction(b) < Fraction(repr(pair["rho2"]))
            for (a, b), pair in zip(printed, stated["value"], strict=True)
        )
    if text.startswith("e^"):
        name, text = "epsilon", text.removeprefix("e^")
    true = _true_number(name, stated)
    return Fraction(text) > true if name in notion.down else Fraction(text) < true


def _true_number(name: str, stated: Stated) -> Fraction:
    """The number that a field of a sentence stands for."""
    value = stated["value"]
    if name == "times":
        return rounding.exp_down(value["epsilon"] if isinstance(value, Mapping) else value)
    if name == "left_out":
        return Fraction(repr(stated["left_out"]))
    number = Fraction(repr(value[name] if isinstance(value, Mapping) else value))
    return number - 1 if name == "others" else 1 / number if name == "chance" else number


def _without_columns(words: str, fields: Mapping[str, str]) -> str:
    """The sentence without the names of columns, which may be called anything."""
    for name in ("uncovered", "attribute"):
        if fields.get(name):
            words = words.replace(fields[name], "")
    return words
