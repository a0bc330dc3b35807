"""How values stand in a source, and what they are: blanks, missing codes, dates and numbers in a notation.

Values are settled chunk by chunk, each by itself: rows in memory, rows that stream through and rows on Spark get
the same. A text that a declared domain states just as it stands in the file is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.schema import Kind, label_of
from pramana.sources.arrays import texts as text_array
from pramana.sources.columns import is_text, plain_type
from pramana.sources.formats.dates import date_pattern, plain_days, stated_days
from pramana.sources.formats.marks import NumberMarks


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
            told = ", ".join(f"{name} ({count:,})" for name, count in self.trimmed.items())
            lines.append(f"Blanks around values were trimmed, so many in each column: {told}.")
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
        import pyarrow.compute as pc

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
        import pyarrow.compute as pc

        if not form.stated:
            return after
        return pc.if_else(pc.is_in(before, value_set=_set_of(before, form.stated)), before, after)

    def _count(self, name: str, chunk: pa.DictionaryArray, changed: pa.Array) -> None:
        import pyarrow.compute as pc

        rows = pc.sum(changed.take(chunk.indices)).as_py() or 0
        if rows:
            self.notes.trimmed[name] = self.notes.trimmed.get(name, 0) + rows


def _set_of(like: pa.Array, values: Iterable[str]) -> pa.Array:
    return text_array(sorted(values)).cast(like.type)


def _nulled(values: pa.Array, gone: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(gone, pa.nulls(len(values), values.type), values) if pc.any(gone).as_py() else values


def _without(chunk: pa.Array, codes: tuple[str, ...]) -> pa.Array:
    """Values that are written as one of the codes become null; the others keep their type."""
    import pyarrow.compute as pc

    coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    gone = np.array([label_of(value) in codes for value in coded.dictionary.to_pylist()], np.bool_)
    if not gone.any():
        return chunk
    return _nulled(chunk, pc.fill_null(pa.array(gone).take(coded.indices), False))


def _day_of(chunk: pa.Array) -> pa.Array:
    """The day of a time, where the clock is that hangs there."""
    import pyarrow.compute as pc

    plain = chunk.cast(chunk.type.value_type) if pa.types.is_dictionary(chunk.type) else chunk
    local = plain if plain.type.tz is None else pc.local_timestamp(plain)
    return pc.floor_temporal(local, unit="day").cast(pa.date32())
