"""A column as it is: every value once, how often it occurs, and which of them each row has."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.columns import flags_of, numbers, values_of
from pramana.randomness.samplers import Codes, code_dtype
from pramana.randomness.shuffle import counted
from pramana.schema.kind import label_of

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """`values` are distinct and present; a row without one has the code that comes after the last of them."""

    name: str
    values: pa.Array
    counts: Counts
    codes: Codes
    missing: int

    @property
    def records(self) -> int:
        return len(self.codes)

    @property
    def distinct(self) -> int:
        return len(self.values)

    @property
    def present(self) -> int:
        return self.records - self.missing

    @property
    def is_text(self) -> bool:
        kind = self.values.type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    @property
    def size(self) -> int:
        """The number of codes, the missing one included where a row has it."""
        return self.distinct + (self.missing > 0)

    def texts(self) -> list[str]:
        """The values as a recipe and a published table write them."""
        return [label_of(value) for value in self.values.to_pylist()]

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> ColumnValues:
        try:
            return cls._of(name, column)
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            raise SourceError(
                f"The column {name!r} must hold texts, numbers, dates or truth values", str(column.type)
            ) from None

    @classmethod
    def _of(cls, name: str, column: pa.ChunkedArray) -> ColumnValues:
        entries, places = _coded(column)
        counts = counted(places, len(entries) + 1)
        used = (counts[:-1] > 0) & ~_absent(entries)
        if bool(used.all()):
            return cls(name, entries, counts[:-1].astype(np.int64), places, int(counts[-1]))
        size = int(used.sum())
        renumbered = np.full(len(used) + 1, size, code_dtype(size + 1))
        renumbered[:-1][used] = np.arange(size)
        codes = renumbered[places]
        values = entries.take(numbers(np.flatnonzero(used)))
        return cls(
            name, values, counts[:-1][used].astype(np.int64), codes, len(codes) - int(counts[:-1][used].sum())
        )


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """The entries of one dictionary for all chunks, each once, and each row's place; past the end is null."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    coded = coded.unify_dictionaries() if coded.num_chunks > 1 else coded
    entries = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], coded.type.value_type)
    kind = code_dtype(len(entries) + 1)
    places = np.empty(len(coded), kind)
    start = 0
    for chunk in coded.chunks:
        end = start + len(chunk)
        indices = chunk.indices
        places[start:end] = values_of(indices)
        if indices.null_count:
            places[start:end][flags_of(indices.is_null())] = len(entries)
        start = end
    if len(coded.chunks) != 1 or coded is not column:  # else a frame's own, which may have an entry twice
        return entries, places
    once = entries.dictionary_encode()
    if len(once.dictionary) == len(entries):
        return entries, places
    first = np.append(values_of(once.indices.fill_null(0)), len(once.dictionary))
    return once.dictionary, first.astype(kind)[places]


def _absent(entries: pa.Array) -> NDArray[np.bool_]:
    """Which entries are no values: null, not a number, an empty text."""
    kind = entries.type
    absent = entries.is_null(nan_is_null=True) if pa.types.is_floating(kind) else entries.is_null()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        absent = pc.or_kleene(absent, pc.equal(pc.fill_null(entries, ""), ""))
    return flags_of(absent)


# Values that look as if they stood for a missing one: 99, -1, 9999, "refused", "k.A.".


WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))  # of names and of missing values
_MISSING = frozenset(WORDS["missing"]["words"])
_NINES = tuple(map(float, (9, 99, 999, 9999, 99999, 999999, 98, 998, 9998, 97, 997, 9997, 88, 888, 8888)))
_NEGATIVE = tuple(-float(n) for n in (*range(1, 10), 77, 88, 98, 99, 888, 997, 998, 999, 8888, 9998, 9999))
_APART = 1.5  # how far above everything else a code of nines must stand, relative to the spread of the rest
_COMMON = 3.0  # or how much commoner than its neighbours


def missing_numbers(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the distinct numbers look like codes: negative ones among positive, nines far above the rest."""
    suspected = np.zeros(len(values), np.bool_)
    negative = np.isin(values, _NEGATIVE)
    below = values < 0
    others = values[~below]
    if negative.any() and (negative == below).all() and len(others) and counts[~below].sum() > counts[below].sum():
        suspected |= negative
    for code in sorted(values[np.isin(values, _NINES)].tolist(), reverse=True):
        rest = ~suspected & (values != code) & (values >= 0)
        if rest.sum() >= 3 and _stands_apart(code, values[rest], int(counts[values == code][0]), counts[rest]):
            suspected |= values == code
    return suspected


def weighted_quantile(values: NDArray[np.float64], counts: Counts, share: float) -> float:
    """The least of some values at or below which this share of all rows is."""
    order = np.argsort(values)
    total = np.cumsum(counts[order])
    return float(values[order][int(np.searchsorted(total, share * total[-1]))])


def _stands_apart(code: float, rest: NDArray[np.float64], count: int, counts: NDArray[np.int64]) -> bool:
    """Above all others by more than they spread, or above nearly all and far commoner than its neighbours."""
    low, high = float(rest.min()), weighted_quantile(rest, counts, 0.99)
    if code > float(rest.max()) and code - high > _APART * max(high - low, 1.0):
        return True
    near = counts[np.abs(rest - code) <= max(0.1 * code, 2.0)]
    return code >= high and count > _COMMON * max(int(near.max(initial=1)), 1)


# How the values of a column are written: as numbers, dates, codes, names or free text. By local rules alone.


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
        used = short & ~flags_of(pc.match_substring_regex(texts, r"^[+-]?[0-9]"))
        looked_at, texts = looked_at[used], texts.filter(pa.array(used))
    words[looked_at] = ["_".join(text.lower().split()) in _MISSING for text in texts.to_pylist()]
    return words


def _all_match(texts: pa.Array, pattern: str) -> bool:
    for part in (texts.slice(0, _LOOKED_AT), texts.slice(_LOOKED_AT)):
        if len(part) and not pc.all(pc.match_substring_regex(part, pattern)).as_py():
            return False
    return True


def _has_leading_zero(texts: pa.Array) -> bool:
    """Looked for closely only where some text begins with a zero or a sign, which is quick to tell."""
    likely = any(pc.any(pc.starts_with(texts, sign)).as_py() for sign in ("0", "-", "+"))
    return likely and bool(pc.any(pc.match_substring_regex(texts, _LEADING_ZERO)).as_py())


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
        if not pc.any(pc.match_substring(said, ".")).as_py():
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
        fitting = tuple(f for f in formats if not pc.strptime(days, f, "s", error_is_null=True).null_count)
        if fitting:
            return WrittenForm("date", words, date_formats=fitting, timed=timed)
    return None


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
