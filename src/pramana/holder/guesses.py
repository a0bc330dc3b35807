"""What a column is for: a guess at its role, and the reason in words. Values decide; names only help.

The guesses are for a person to look at. They err towards "an intruder may know it".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow.compute as pc

from pramana.holder.values import WORDS, ColumnValues, WrittenForm, form_of, suspected_codes
from pramana.schema.domain import Role

NEARLY_UNIQUE = 0.95  # distinct values to rows with a value
FEW = 5  # rows with a value below which nothing is said to be unique
_OLDEST = 125
_YEARS = (1880, 2100)
_MOST_CATEGORIES, _MOST_TRAITS = 200, 2000
_CONTACT = r"^[^@\s]+@[^@\s]+\.[^@\s]+$|^\+?[0-9][0-9 ()/.-]{7,18}[0-9]$|^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$"
_POSTCODE = "|".join(
    (
        r"^[0-9]{4,6}$",
        r"^[0-9]{5}-[0-9]{3,4}$",
        r"^[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}$",
        r"^[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]$",
    )
)

_LONG = 4  # letters from which the beginning of a compound counts
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@cache
def hints_of(name: str) -> frozenset[str]:
    """The meanings that a column's name hints at."""
    words = _words(name)
    return frozenset(
        meaning
        for meaning, known in WORDS["names"].items()
        if any(_fits(word, hint) for word in words for hint in known)
    )


def _words(name: str) -> tuple[str, ...]:
    """The parts of a name, and all of them together."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    parts = [part.lower() for part in _PARTS.findall(plain)]
    letters = [part for part in parts if not part.isdigit()]
    return tuple(dict.fromkeys([*letters, "".join(letters)]))


def _fits(word: str, hint: str) -> bool:
    return word == hint or (len(hint) > _LONG and word.startswith(hint))


@dataclass(frozen=True, eq=False)
class Look:
    """A column with all that is computed of it once."""

    column: ColumnValues

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def form(self) -> WrittenForm:
        return form_of(self.column)

    @cached_property
    def hints(self) -> frozenset[str]:
        return hints_of(self.column.name)

    @cached_property
    def suspected(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return suspected_codes(self.column, self.form)

    @cached_property
    def valid(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The numbers that are no suspected codes; empty where the column has none."""
        if self.form.numbers is None:
            return np.empty(0)
        return np.asarray(self.form.numbers[~self.suspected])

    @property
    def is_constant(self) -> bool:
        return self.column.distinct <= 1

    @property
    def is_near_unique(self) -> bool:
        present = self.column.present
        return present >= FEW and self.column.distinct >= NEARLY_UNIQUE * present

    @cached_property
    def is_age(self) -> bool:
        return bool(len(self.valid)) and self.form.whole and self.valid.min() >= 0 and self.valid.max() <= _OLDEST

    @cached_property
    def is_year(self) -> bool:
        low, high = _YEARS
        return bool(len(self.valid)) and self.form.whole and self.valid.min() >= low and self.valid.max() <= high

    @cached_property
    def is_postcode(self) -> bool:
        """Codes of the form that postcodes have; of digits alone only where the name says so or a zero leads."""
        if not self.column.is_text or self.column.distinct < 2:
            return False
        if self.form.kind not in ("code", "number", "nominal"):
            return False
        if self.form.kind == "number" and ("postcode" not in self.hints or not self.form.whole):
            return False
        if self.form.kind == "nominal" and "postcode" not in self.hints:
            return False
        said = self.column.values.filter(~self.form.words) if self.form.words.any() else self.column.values
        return bool(pc.all(pc.match_substring_regex(pc.utf8_trim(said, " \t"), _POSTCODE)).as_py())

    @cached_property
    def is_contact(self) -> bool:
        """Addresses of mail, numbers of telephones and accounts, by their form."""
        if self.form.kind not in ("nominal", "text") or not self.column.distinct:
            return False
        head = pc.match_substring_regex(self.column.values.slice(0, 1000), _CONTACT)
        return bool(pc.mean(head).as_py() > 0.9)

    @cached_property
    def is_numbered(self) -> bool:
        """Values as a register gives them out: whole numbers in sequence or of one length, or short codes."""
        if self.form.kind in ("date", "text"):
            return False
        if self.form.kind == "number":
            if not self.form.whole or not len(self.valid) or self.valid.min() < 0:
                return False
            span = float(self.valid.max() - self.valid.min()) + 1
            lengths = {len(str(int(v))) for v in (self.valid.min(), self.valid.max())}
            return span <= 3 * len(self.valid) or (len(lengths) == 1 and max(lengths) >= 5)
        if not self.column.is_text or not self.column.distinct:
            return False
        head = pc.match_substring_regex(self.column.values.slice(0, 1000), r"[0-9]")
        spaced = pc.match_substring_regex(self.column.values.slice(0, 1000), r"\s")
        return bool(pc.mean(head).as_py() > 0.9 and pc.mean(spaced).as_py() < 0.1)

    @cached_property
    def runs(self) -> int:
        """How many stretches of equal values there are: as many as distinct values where these lie together."""
        codes = self.column.codes
        return int((codes[1:] != codes[:-1]).sum()) + 1

    @cached_property
    def is_repeated_identifier(self) -> bool:
        """A number or code of someone, on several rows: many values, each on few rows, given out by a register.

        The name or the order of rows (those of one person lie together) must say so as well.
        """
        column = self.column
        if self.is_near_unique or not self.is_numbered or self.is_postcode:
            return False
        if column.distinct < 5 or column.distinct < column.present / 100 or column.missing > column.records / 2:
            return False
        named = bool(self.hints & {"identifier", "household"}) and "postcode" not in self.hints
        together = self.runs <= 1.02 * column.distinct + 1 and column.distinct >= column.present / 20
        measured = self.is_age and bool(self.hints & {"age", "demographic", "sensitive", "birth"})
        return (named or together) and not measured and not (self.is_year and "birth" in self.hints)


@dataclass(frozen=True)
class Guess:
    """A role with its reason, and what else is to be said of the column."""

    kind: str
    role: Role
    reason: str
    notes: tuple[str, ...] = ()
    firm: bool = True  # values and name agree; else a default


def guess_of(look: Look) -> Guess:
    role, reason, firm = _identifies(look) or _is_known(look) or _is_wanted(look) or _default(look)
    return Guess(look.form.kind, role, reason, _notes(look), firm)


def _identifies(look: Look) -> tuple[Role, str, bool] | None:
    role = Role.IDENTIFYING
    if look.is_constant:
        return Role.INSENSITIVE, "the same value, or none, in every row", True
    if look.is_contact:
        return role, "looks like addresses, or numbers of telephones or accounts", True
    if look.form.kind == "text":
        return role, "free text, in which people may be named", True
    if look.is_repeated_identifier:
        return role, "looks like an identifier that repeats: several rows belong to one unit", True
    postcode = look.is_postcode and "postcode" in look.hints
    if look.is_near_unique and look.form.kind != "date" and not postcode:
        quantity = look.form.kind == "number" and not (look.form.whole and look.is_numbered)
        wanted = bool(look.hints & {"sensitive", "weight"})
        if not quantity and not (wanted and look.form.kind == "number"):
            return role, "nearly unique, looks like an identifier", True
    if "name" in look.hints and look.form.kind == "nominal" and look.column.distinct > look.column.present / 4:
        return role, "many different texts under a name for people or places to reach them", True
    return None


def _is_known(look: Look) -> tuple[Role, str, bool] | None:
    role = Role.QUASI_IDENTIFYING
    if "weight" in look.hints and _is_quantity(look) and look.valid.min() >= 0:
        return Role.INSENSITIVE, "looks like a sampling weight", True
    if "age" in look.hints and look.is_age:
        return role, "ages, which others know", True
    if look.form.kind == "date":
        born = "dates of birth" if "birth" in look.hints else "dates"
        return role, f"{born}, which others may know", True
    if look.is_year and "birth" in look.hints:
        return role, "years of birth, which others know", True
    if look.is_postcode:
        return role, "looks like postcodes, which others know", True
    trait = look.form.kind in ("nominal", "code") or (look.form.kind == "number" and look.form.whole)
    named = "demographic" in look.hints and "sensitive" not in look.hints
    if named and trait and look.column.distinct <= _MOST_TRAITS:
        return role, "a trait that others know, by its name and its few values", True
    return None


def _is_quantity(look: Look) -> bool:
    """Numbers with a fraction, or very many of them."""
    number = look.form.kind == "number" and bool(len(look.valid))
    return number and (not look.form.whole or look.column.distinct > _MOST_CATEGORIES)


def _is_wanted(look: Look) -> tuple[Role, str, bool] | None:
    if "sensitive" in look.hints and look.form.kind in ("nominal", "number", "code"):
        return Role.SENSITIVE, "what an intruder would want to learn, by its name", True
    if _is_quantity(look):
        return Role.SENSITIVE, "a measured quantity with many values", False
    return None


def _default(look: Look) -> tuple[Role, str, bool]:
    if look.column.distinct <= _MOST_CATEGORIES:
        return Role.QUASI_IDENTIFYING, "few values, which others may know", False
    return Role.QUASI_IDENTIFYING, "many values, each of several people, which others may know", False


def _notes(look: Look) -> tuple[str, ...]:
    values, form = look.column.values, look.form
    padded = False
    if look.column.is_text and look.column.distinct:
        padded = bool(pc.any(pc.not_equal(pc.utf8_trim_whitespace(values), values)).as_py())
    notes = {
        "constant": look.is_constant,
        "near-unique": look.is_near_unique and not look.is_constant,
        "free-text": form.kind == "text",
        "repeated-identifier": look.is_repeated_identifier,
        "missing-codes": look.suspected.any(),
        "decimal-comma": form.decimal == ",",
        "thousands-marks": form.thousands,
        "day-or-month-first": len(form.date_formats) > 1,
        "blanks-around-values": padded,
    }
    return tuple(note for note, applies in notes.items() if applies)
