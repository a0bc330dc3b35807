"""How values stand in a source, and what they are: blanks, missing codes, dates and numbers in a notation.

Days as people write them become ISO's 2024-03-31, by a stated format or where only one day is meant; numbers as
offices write them, 1.234,5 or 1'234.5, become plain ones: 1234.5.

Values are settled chunk by chunk, each by itself: rows in memory, rows that stream through and rows on Spark get
the same. A text that a declared domain states just as it stands in the file is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.errors import RecipeError, SourceError
from pramana.io.columns import compute as pc
from pramana.io.columns import is_text, plain_type
from pramana.io.columns import texts as text_array
from pramana.schema.kind import Kind, label_of

DECIMALS = (".", ",")
_BLANKS = " \u00a0\u202f"  # plain, fixed and narrow: a printed thousand is parted by any of them
THOUSANDS = (".", ",", "'", "\u2019", *_BLANKS)


@dataclass(frozen=True)
class NumberMarks:
    """The decimal mark, and the one between thousands, if there is one."""

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise RecipeError('source.decimal must be "." or ","', repr(self.decimal))
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise RecipeError(
                "source.thousands must be a point, a comma, an apostrophe or a blank", repr(self.thousands)
            )
        if self.thousands == self.decimal:
            raise RecipeError("source.thousands must be another mark than source.decimal", repr(self.thousands))

    @property
    def are_plain(self) -> bool:
        return self.decimal == "." and self.thousands is None

    def plain(self, texts: pa.Array, name: str, number: bool) -> pa.Array:
        """Every text that is a number in this notation, as a plain one; the others as they are.

        In a column of numbers (`number`) one in another notation is refused: 1.234 is a thousand to one reader and
        little more than one to another.
        """
        fits = pc.match_substring_regex(texts, self._pattern())
        if number and pc.any(pc.and_not(pc.match_substring_regex(texts, _OTHER), fits)).as_py():
            raise SourceError(
                f"Every number of the column {name!r} must be written with the decimal mark {self.decimal!r}"
                + ("" if self.thousands is None else f" and {self.thousands!r} between thousands"),
                "numbers in another notation",
                "Check decimal and thousands in [source].",
            )
        changed = texts
        for mark in self._between():
            changed = pc.replace_substring(changed, mark, "")
        if self.decimal == ",":
            changed = pc.replace_substring(changed, ",", ".")
        return pc.if_else(fits, changed, texts)

    def _between(self) -> str:
        if self.thousands is None:
            return ""
        return _BLANKS if self.thousands in _BLANKS else self.thousands

    def _pattern(self) -> str:
        whole, decimal = "[0-9]+", re.escape(self.decimal)
        if self.thousands is not None:
            whole = f"(?:[0-9]+|[0-9]{{1,3}}(?:[{re.escape(self._between())}][0-9]{{3}})+)"
        return rf"^[+-]?{whole}(?:{decimal}[0-9]+)?(?:[eE][+-]?[0-9]{{1,4}})?$"


_OTHER = r"^[+-]?[0-9][0-9.,'\x{2019} \x{a0}\x{202f}]*$"  # digits and marks, in whatever order


@dataclass(frozen=True)
class ValueForm:
    """How the values of one column are written, as far as a recipe says so."""

    missing: tuple[str, ...] = ()  # codes that stand for a missing value
    dates: str | None = None  # the format of its dates
    kind: Kind | None = None  # what its values are, where that is stated
    stated: frozenset[str] = frozenset()  # the values of a declared domain
    codes: bool = False  # of a file with value labels: publish the codes
    as_written: bool = False  # names that may look like numbers in a notation, and stay

    def __post_init__(self) -> None:
        if self.dates is not None:
            date_pattern(self.dates)

    @property
    def is_date(self) -> bool:
        return self.dates is not None or self.kind is Kind.DATE

    @property
    def is_number(self) -> bool:
        return self.kind is Kind.NUMBER

    def to_json(self) -> dict[str, Any]:
        """What a certificate must say for the source to be read again, beside the kinds and domains it states."""
        statement: dict[str, Any] = {}
        if self.missing:
            statement["missing"] = list(self.missing)
        if self.dates is not None:
            statement["dates"] = self.dates
        if self.codes:
            statement["codes"] = True
        if self.as_written:
            statement["as_written"] = True
        return statement


_PLAIN = ValueForm()


@dataclass
class ReadingNotes:
    """What is told to the holder of a source, and to nobody else: how it was understood, and what was changed."""

    encodings: set[str] = field(default_factory=set)
    trimmed: dict[str, int] = field(default_factory=dict)
    sheets: set[str] = field(default_factory=set)

    @property
    def encoding(self) -> str:
        """The one that was recognised, where there is one."""
        return min(self.encodings) if len(self.encodings) == 1 else "utf-8"

    def sentences(self) -> tuple[str, ...]:
        lines = [
            f"The encoding was recognised as {name}; state encoding in [source] if it is another."
            for name in sorted(self.encodings - {"utf-8"})
        ]
        lines += [
            f"The workbook has several sheets, and {name!r} was read; state sheet in [source] for another."
            for name in sorted(self.sheets)
        ]
        if self.trimmed:
            counts = ", ".join(f"{name} ({count:,})" for name, count in self.trimmed.items())
            lines.append(f"Blanks around values were trimmed, so many in each column: {counts}.")
        return tuple(lines)


@dataclass(frozen=True)
class Settling:
    """Turns what was read into values."""

    forms: Mapping[str, ValueForm]
    marks: NumberMarks = field(default_factory=NumberMarks)
    trim: bool = False
    missing: tuple[str, ...] = ()  # texts that stand for a missing value in every column
    notes: ReadingNotes = field(default_factory=ReadingNotes, compare=False)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = batch.schema.names
        columns = [self.chunk(name, column) for name, column in zip(names, batch.columns, strict=True)]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def table(self, table: pa.Table) -> pa.Table:
        columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            chunks = [self.chunk(name, chunk) for chunk in column.chunks]
            same = all(new is old for new, old in zip(chunks, column.chunks, strict=True))
            columns[name] = column if same else pa.chunked_array(chunks)
        return pa.table(columns)

    def chunk(self, name: str, chunk: pa.Array) -> pa.Array:
        form = self.forms.get(name, _PLAIN)
        kind = plain_type(chunk.type)
        if is_text(kind):
            if not self.missing and not form.missing and not form.is_date:  # nothing written by hand
                return chunk
            coded = pa.types.is_dictionary(chunk.type)
            return self._texts(name, chunk if coded else chunk.dictionary_encode(), form)
        if form.is_date and pa.types.is_timestamp(kind):
            chunk = _day_of(chunk)
        return _without(chunk, form.missing) if form.missing else chunk

    def _texts(self, name: str, chunk: pa.DictionaryArray, form: ValueForm) -> pa.Array:
        """Only the dictionary is worked on: what stands in a million rows may be two values."""
        entries = chunk.dictionary
        settled = pc.utf8_trim_whitespace(entries) if self.trim else entries
        if self.trim and not settled.equals(entries):
            settled = self._as_stated(form, entries, settled)
            self._count(name, chunk, pc.not_equal(settled, entries))
        if gone := {*form.missing, *self.missing}:
            settled = _nulled(settled, pc.is_in(settled, value_set=_set_of(settled, gone)))
        if form.dates is not None:
            settled = stated_days(settled, form.dates, name)
        elif form.is_date:
            settled = plain_days(settled, name)
        elif not self.marks.are_plain and not form.as_written:
            settled = self._as_stated(form, settled, self.marks.plain(settled, name, form.is_number))
        if settled.equals(entries):
            return chunk
        coded = settled.dictionary_encode()
        numbers = coded.indices.take(chunk.indices).cast(chunk.indices.type)  # chunks of a column are of one type
        return pa.DictionaryArray.from_arrays(numbers, coded.dictionary)

    @staticmethod
    def _as_stated(form: ValueForm, before: pa.Array, after: pa.Array) -> pa.Array:
        if not form.stated:
            return after
        return pc.if_else(pc.is_in(before, value_set=_set_of(before, form.stated)), before, after)

    def _count(self, name: str, chunk: pa.DictionaryArray, changed: pa.Array) -> None:
        rows = pc.sum(changed.take(chunk.indices)).as_py() or 0
        if rows:
            self.notes.trimmed[name] = self.notes.trimmed.get(name, 0) + rows


def _set_of(like: pa.Array, values: Iterable[str]) -> pa.Array:
    return text_array(sorted(values)).cast(like.type)


def _nulled(values: pa.Array, gone: pa.Array) -> pa.Array:
    return pc.if_else(gone, pa.nulls(len(values), values.type), values) if pc.any(gone).as_py() else values


def _without(chunk: pa.Array, codes: tuple[str, ...]) -> pa.Array:
    """Values that are written as one of the codes become null; the others keep their type."""
    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    gone = np.array([label_of(value) in codes for value in coded.dictionary.to_pylist()], np.bool_)
    if not gone.any():
        return chunk
    return _nulled(chunk, pc.fill_null(pa.array(gone).take(coded.indices), False))


def _day_of(chunk: pa.Array) -> pa.Array:
    """The day of a time, where the clock is that hangs there."""
    plain = chunk.cast(chunk.type.value_type) if pa.types.is_dictionary(chunk.type) else chunk
    local = plain if plain.type.tz is None else pc.local_timestamp(plain)
    return pc.floor_temporal(local, unit="day").cast(pa.date32())


# ---------------------------------------------------------------- dates

_PARTS = {
    "d": "(?P<d>[0-9]{1,2})",
    "m": "(?P<m>[0-9]{1,2})",
    "Y": "(?P<y>[0-9]{4})",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "M": "[0-5]?[0-9]",
    "S": "[0-5]?[0-9]",
    "f": "[0-9]{1,9}",
    "%": "%",
}
_CLOCK = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
_TIME = rf"(?:[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_PLAIN_DAYS = (  # each can be read one way only
    r"^(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})" + _TIME + "$",
    r"^(?P<y>[0-9]{4})/(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})" + _TIME + "$",
    r"^(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})" + _TIME + "$",
)
_EITHER = r"^[0-9]{1,2}([/-])[0-9]{1,2}[/-][0-9]{2,4}" + _TIME + "$"  # day or month first: nobody can tell


def date_pattern(form: str, where: str = "dates") -> str:
    """The regular expression of a format such as %d.%m.%Y; refused where it does not name one day."""
    must = f"{where} must name a day, a month and a year by %d, %m and %Y, and times by %H, %M, %S and %f"
    parts, directives = [], []
    for literal, directive in re.findall(r"([^%]+)|%(.?)", form):
        if literal:
            parts.append(re.escape(literal))
        elif directive not in _PARTS:
            hint = "Years must have four digits: of two nobody can tell the century." if directive == "y" else None
            raise RecipeError(must, repr(form), hint)
        else:
            parts.append(_PARTS[directive])
            directives.append(directive)
    if any(directives.count(needed) != 1 for needed in "dmY"):
        raise RecipeError(must, repr(form))
    return f"^{''.join(parts)}$"


def stated_days(texts: pa.Array, form: str, name: str) -> pa.Array:
    """Texts in a stated format as ISO's; null stays null, and anything else is refused."""
    days = _days(texts, date_pattern(form))
    if days.null_count > texts.null_count:
        raise SourceError(
            f"Every value of the column {name!r} must be a date written as {form}",
            f"{days.null_count - texts.null_count} different values that are none",
            "State what stands for a missing one: missing = [...].",
        )
    return days


def plain_days(texts: pa.Array, name: str) -> pa.Array:
    """Texts as ISO's days where they can be read one way only, and unchanged where they are no dates."""
    if pc.any(pc.match_substring_regex(texts, _EITHER)).as_py():
        raise SourceError(
            f"Dates of the column {name!r} must say whether day or month comes first",
            "some as 3/1/2024 are",
            'Set dates = "%d/%m/%Y" or dates = "%m/%d/%Y" in its section.',
        )
    for pattern in _PLAIN_DAYS:
        texts = pc.coalesce(_days(texts, pattern), texts)
    return texts


def _days(texts: pa.Array, pattern: str) -> pa.Array:
    """ISO's days where the pattern fits and the calendar has the day; null elsewhere."""
    parts = pc.extract_regex(texts, pattern)
    year, month, day = (
        np.asarray(pc.fill_null(pc.struct_field(parts, name).cast(pa.int32()), 0), np.int64) for name in "ymd"
    )
    fits = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = (np.where(fits, (year - 1970) * 12 + month - 1, 0)).astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    fits &= day <= ((months + 1).astype("datetime64[D]") - first).astype(np.int64)
    days = (first.astype(np.int64) + np.where(fits, day, 1) - 1).astype(np.int32)
    return pa.array(days, pa.int32(), mask=~fits).view(pa.date32()).cast(pa.string())
