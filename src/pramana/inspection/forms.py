"""How the values of a column are written: as numbers, dates, codes, names or free text. By local rules alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.inspection.missing import is_missing_word, missing_numbers
from pramana.inspection.values import ColumnValues
from pramana.sources import flags_of, numbers

_LOOKED_AT = 2_000  # distinct values that decide which forms are tried on all of them
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$"
_COMMA = r"^[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]+)?$"
_GROUPED = r"^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$|^[+-]?[0-9]{1,3}(\.[0-9]+)?$"
_LEADING_ZERO = r"^[+-]?0[0-9]"
_DIGITS = r"^[0-9]+$"
_TIME = r"[T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
_DATES = (
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}", ("%Y-%m-%d",)),
    (r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}", ("%d.%m.%Y",)),
    (r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", ("%d/%m/%Y", "%m/%d/%Y")),
    (r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}", ("%Y/%m/%d",)),
    (r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}", ("%d-%m-%Y", "%m-%d-%Y")),
)
_FREE_LENGTH, _FREE_WORDS = 40, 4  # characters, and words, of half the rows from which texts are free
_FEW_TEXTS, _LONGEST_WORD = 20_000, 20


@dataclass(frozen=True, eq=False)
class WrittenForm:
    """`words` marks values that say "missing"; `numbers` has the number of each value where it is one."""

    kind: str  # number | date | code | nominal | text
    words: NDArray[np.bool_]
    numbers: NDArray[np.float64] | None = None
    decimal: str = "."
    thousands: str = ""
    date_formats: tuple[str, ...] = ()  # every one that fits
    timed: bool = False
    typed: bool = False  # the file says so, not the look of texts

    @cached_property
    def whole(self) -> bool:
        if self.numbers is None:
            return False
        known = self.numbers[~self.words]
        return bool((known == np.floor(known)).all())


def form_of(column: ColumnValues) -> WrittenForm:
    """The form that all values have which do not say "missing"; names where there is none."""
    kind, values = column.values.type, column.values
    none = np.zeros(column.distinct, np.bool_)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return WrittenForm("number", none, np.asarray(values.cast(pa.float64(), safe=False)), typed=True)
    if pa.types.is_date(kind):
        return WrittenForm("date", none, date_formats=("%Y-%m-%d",), typed=True)
    if pa.types.is_timestamp(kind):
        return WrittenForm("date", none, timed=True, typed=True)
    if not column.is_text or not column.distinct:
        return WrittenForm("nominal", none, typed=True)
    return _form_of_texts(column)


def _form_of_texts(column: ColumnValues) -> WrittenForm:
    trimmed = pc.utf8_trim(column.values, " \t")
    words = _missing_words(trimmed, column.counts)
    said = trimmed if not words.any() else trimmed.filter(pa.array(~words))
    if not len(said):
        return WrittenForm("nominal", words)
    for reading in (_as_number, _as_date, _as_comma_number):
        if (form := reading(said, words)) is not None:
            return form
    return WrittenForm("text" if _is_free(column, trimmed) else "nominal", words)


def _missing_words(texts: pa.Array, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Values that say so in words; among very many values such a word would stand in several rows."""
    words = np.zeros(len(texts), np.bool_)
    looked_at = np.arange(len(texts))
    if len(texts) > _FEW_TEXTS:
        looked_at = np.flatnonzero(counts > 1)
        texts = texts.take(numbers(looked_at))
        short = flags_of(pc.less_equal(pc.utf8_length(texts), _LONGEST_WORD))
        kept = short & ~flags_of(pc.match_substring_regex(texts, r"^[+-]?[0-9]"))
        looked_at, texts = looked_at[kept], texts.filter(pa.array(kept))
    words[looked_at] = [is_missing_word(text) for text in texts.to_pylist()]
    return words


def _all_match(texts: pa.Array, pattern: str) -> bool:
    for part in (texts.slice(0, _LOOKED_AT), texts.slice(_LOOKED_AT)):
        if len(part) and not pc.all(pc.match_substring_regex(part, pattern)).as_py():
            return False
    return True


def _any_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _has_leading_zero(texts: pa.Array) -> bool:
    """Looked for closely only where some text begins with a zero or a sign, which is quick to tell."""
    likely = any(pc.any(pc.starts_with(texts, sign)).as_py() for sign in ("0", "-", "+"))
    return likely and _any_match(texts, _LEADING_ZERO)


def _spread(known: NDArray[np.float64], words: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A number for every value, none where it says "missing"."""
    every = np.full(len(words), np.nan)
    every[~words] = known
    return every


def _floats(texts: pa.Array) -> NDArray[np.float64]:
    try:
        return np.asarray(texts.cast(pa.float64()), np.float64)
    except pa.ArrowException:  # it does not read every form, such as +5
        return np.array([float(text) for text in texts.to_pylist()])


def _as_number(said: pa.Array, words: NDArray[np.bool_]) -> WrittenForm | None:
    if not _all_match(said, _NUMBER):
        return None
    if _has_leading_zero(said):
        return WrittenForm("code", words) if _all_match(said, _DIGITS) else None
    known = _floats(said)
    return WrittenForm("number", words, _spread(known, words)) if np.isfinite(known).all() else None


def _as_comma_number(said: pa.Array, words: NDArray[np.bool_]) -> WrittenForm | None:
    """1.234,5 as much of Europe writes it, or 1,234.5 with marks at every third digit."""
    grouped = _all_match(said, _GROUPED)
    if not grouped and not _all_match(said, _COMMA):
        return None
    decimal, thousands = (".", ",") if grouped else (",", ".")
    plain = pc.replace_substring(said, thousands, "")
    if not grouped:
        plain = pc.replace_substring(plain, ",", ".")
        if not _any_match(said, r"\."):
            thousands = ""
    if _has_leading_zero(said):
        return None
    return WrittenForm("number", words, _spread(_floats(plain), words), decimal, thousands)


def _as_date(said: pa.Array, words: NDArray[np.bool_]) -> WrittenForm | None:
    for pattern, formats in _DATES:
        timed = _all_match(said, pattern + _TIME)
        if not timed and not _all_match(said, pattern + "$"):
            continue
        days = pc.replace_substring_regex(said, _TIME, "") if timed else said
        fitting = tuple(f for f in formats if _parses(days, f))
        if fitting:
            return WrittenForm("date", words, date_formats=fitting, timed=timed)
    return None


def _parses(days: pa.Array, form: str) -> bool:
    return int(pc.strptime(days, form, "s", error_is_null=True).null_count) == 0


def _is_free(column: ColumnValues, trimmed: pa.Array) -> bool:
    """Whether half the rows have long texts, or texts of several words, most of them unlike any other."""
    if column.distinct < 0.3 * column.present:
        return False
    long = flags_of(pc.greater_equal(pc.utf8_length(trimmed), _FREE_LENGTH))
    wordy = flags_of(pc.greater_equal(pc.count_substring(trimmed, " "), _FREE_WORDS - 1))
    return bool(2 * column.counts[long | wordy].sum() > column.present)


def suspected_codes(column: ColumnValues, form: WrittenForm) -> NDArray[np.bool_]:
    """The distinct values that look as if they stood for a missing one."""
    suspected = form.words.copy()
    if form.numbers is not None and form.whole:
        known = np.flatnonzero(~form.words)
        suspected[known] |= missing_numbers(form.numbers[known], column.counts[known])
    return suspected
