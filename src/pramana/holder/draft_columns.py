"""The columns of a first recipe: the domain that suits each, and what a person must confirm of it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pramana.errors import PramanaError
from pramana.holder.guesses import Look
from pramana.holder.values import weighted_quantile
from pramana.schema.domain import Role
from pramana.schema.hierarchy import (
    TOP,
    Hierarchy,
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)
from pramana.schema.kind import Kind

Floats = NDArray[np.float64]
Value = str | int | float | bool | datetime.date | Sequence["Value"] | Mapping[str, "Value"]  # of a recipe
FEW_NUMBERS = 20  # whole numbers up to which every one is a category
_ABOUT = 8  # bins of a measured quantity
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SKEWED = 8.0  # how far the upper end may lie above the middle before bins grow
OTHER = "other"
_MOST_LEAVES = 40_000
_SEPARATORS = ("/", ">", "|", ".", ":")
_MOST_APART = 20  # values that may stand outside an otherwise complete hierarchy


@dataclass(frozen=True)
class Built:
    """A hierarchy, whether its leaves were read from the data, and what it is in words."""

    hierarchy: Hierarchy
    from_data: bool
    words: str

    def level_of(self, most: int) -> int:
        """The finest level with at most so many labels."""
        few = (n for n, labels in enumerate(self.hierarchy.levels) if len(set(labels)) <= most)
        return next(few, self.hierarchy.height - 1)


@dataclass(frozen=True)
class ColumnDraft:
    """One column: the keys of its section, the words above it, and the hierarchy it refers to."""

    name: str
    role: Role
    keys: Mapping[str, Value] = field(default_factory=dict)
    words: str = ""
    asks: tuple[str, ...] = ()  # sentences with {} for the names of all columns of which the same is asked
    built: Built | None = None
    level: int = 0
    size: int = 0  # of its domain, the missing category included; 0 without one

    def of_persons(self) -> ColumnDraft:
        """One value for each person, which is drawn once and repeated."""
        if "constant" in self.keys:
            return self
        ask = "The same on all rows of a person in this table: {}. Confirm that it always is."
        words = f"{self.words}; the same on all rows of a person"
        return replace(self, keys={**self.keys, "constant": True}, words=words, asks=(*self.asks, ask))

    def of_rows(self) -> ColumnDraft:
        return replace(self, keys={key: value for key, value in self.keys.items() if key != "constant"})

    def with_role(self, role: Role, **keys: Value) -> ColumnDraft:
        return replace(self, role=role, keys={**self.keys, **keys})


def left_out(look: Look, why: str, because: str) -> ColumnDraft:
    ask = f"Left out, because {because}: {{}}."
    return ColumnDraft(look.name, Role.IDENTIFYING, words=f"left out: {why}", asks=(ask,))


def unchanged(look: Look, role: Role, why: str) -> ColumnDraft:
    """A column that is published as it is."""
    ask = "Published unchanged, outside every promise: {}. Nobody must be found by these."
    return ColumnDraft(look.name, role, words=f"{why}; published unchanged, outside every promise", asks=(ask,))


def coded(look: Look, role: Role, why: str, most: int, others: Sequence[Look] = ()) -> ColumnDraft | None:
    """A column with a domain of at most about so many values; None where it has no such domain."""
    draft = ColumnDraft(look.name, role, words=why)
    for code in (_ages, _years, _numbers, _levels, _values):
        if (column := code(look, draft, most, others)) is not None:
            return _with_missing(look, column)
    return None


def with_hierarchy(look: Look, role: Role, why: str, others: Sequence[Look]) -> ColumnDraft | None:
    """A column with a whole hierarchy, for a search over its levels."""
    if not reads_plainly(look):
        return None
    built = hierarchy_for(look, others)
    if built is None:
        return None
    draft = _by_hierarchy(ColumnDraft(look.name, role, words=why), built, 0)
    return _with_missing(look, draft)


def reads_plainly(look: Look) -> bool:
    """Whether a release reads the column's numbers as this look does."""
    marked = look.form.decimal != "." or look.form.thousands
    return not marked or not look.form.thousands


# ---------------------------------------------------------------- domains


def _ages(look: Look, draft: ColumnDraft, most: int, _: Sequence[Look]) -> ColumnDraft | None:
    if not (look.is_age and "age" in look.hints) or look.column.distinct <= 3 or not reads_plainly(look):
        return None
    width = 5 if most >= 20 else 10
    edges = ages(width)
    return _by_bins(look, draft, edges, f"ages by {width} years, open above", width=width)


def _years(look: Look, draft: ColumnDraft, *_: object) -> ColumnDraft | None:
    if not (look.is_year and "birth" in look.hints) or look.column.distinct <= 3 or not reads_plainly(look):
        return None
    return _by_bins(look, draft, years(look.valid), "years of birth by decade")


def _numbers(look: Look, draft: ColumnDraft, most: int, _: Sequence[Look]) -> ColumnDraft | None:
    if look.form.kind != "number" or look.form.numbers is None or not len(look.valid) or look.is_postcode:
        return None
    if look.column.distinct <= min(FEW_NUMBERS, most) or not reads_plainly(look):
        return None
    counts = look.column.counts[~look.suspected]
    edges = round_bins(look.valid, counts, min(_ABOUT, most))
    return None if len(edges) < 3 else _by_bins(look, draft, edges, "round bins, open at the ends")


def _levels(look: Look, draft: ColumnDraft, most: int, others: Sequence[Look]) -> ColumnDraft | None:
    """Dates, codes and trees at the finest level that has few enough labels."""
    dated = look.form.kind == "date" and not look.form.timed
    if not dated and look.column.distinct <= most:
        return None
    built = hierarchy_for(look, others)
    if built is None or not reads_plainly(look):
        return None
    level = built.level_of(most)
    if len(set(built.hierarchy.levels[level])) < 2:
        return None
    return _by_hierarchy(draft, built, level)


def _values(look: Look, draft: ColumnDraft, most: int, _: Sequence[Look]) -> ColumnDraft | None:
    if look.column.distinct > most or look.form.timed:
        return None
    words = f"{draft.words}; its values are read from the data, which is flagged: better list them"
    ask = "Values read from the data, which tells which of them occur: {}. List them if you can."
    return replace(draft, keys={"domain": "from-data"}, words=words, asks=(ask,), size=look.column.size)


def _by_bins(
    look: Look, draft: ColumnDraft, edges: list[float], words: str, width: int | None = None
) -> ColumnDraft:
    if float(look.valid.min()) < edges[0]:
        edges = [-math.inf, *edges]
    value: Value = edges
    if width is not None and edges[0] == 0.0 and float(look.valid.max()) < 100:
        value = {"width": width, "from": 0, "to": 100}
        edges = [float(edge) for edge in range(0, 101, width)]
    ask = "Bins chosen by looking at the data: {}. Confirm them, or write your own."
    return replace(draft, keys={"bins": value}, words=f"{draft.words}; {words}", asks=(ask,), size=len(edges) - 1)


def _by_hierarchy(draft: ColumnDraft, built: Built, level: int) -> ColumnDraft:
    ask = "Hierarchies made for you: {}. Look at their files."
    if built.from_data:
        ask = (
            "Hierarchies whose leaves are the values in your table, which tells which of them occur: {}. Complete "
            "their files, or confirm that this may be known."
        )
    return replace(
        draft,
        words=f"{draft.words}; {built.words}",
        asks=(ask,),
        built=built,
        level=level,
        size=len(set(built.hierarchy.levels[level])),
    )


def _with_missing(look: Look, draft: ColumnDraft) -> ColumnDraft:
    """A missing category where rows have no value, and codes for it where recipes can name them."""
    keys, asks, size = dict(draft.keys), list(draft.asks), draft.size
    codes = list(compress(look.column.texts(), look.suspected)) if look.suspected.any() else []
    measured = look.form.kind in ("number", "date")
    if codes and measured:
        keys["missing"] = codes
        asks.append("Codes that look like missing values, and are taken for such: in {}.")
        size += 1
    elif codes:
        asks.append("Codes that look like missing values, and are kept as values: in {}.")
    elif look.column.missing and "domain" not in keys:
        keys["missing"] = "category"
        size += 1
    return replace(draft, keys=keys, asks=tuple(asks), size=size)


# ---------------------------------------------------------------- bins


def round_bins(values: Floats, counts: NDArray[np.int64], about: int) -> list[float]:
    """About so many bins between the hundredths at both ends, open at the ends."""
    low, middle, high = (weighted_quantile(values, counts, share) for share in (0.01, 0.5, 0.99))
    least, most = float(values.min()), float(values.max())
    if low > 0 and middle > 0 and high > _SKEWED * middle:
        inner = _growing(middle / 4, high)
    else:
        inner = _even(low, high, about)
    if len(inner) > 2 * about:
        inner = inner[:: math.ceil(len(inner) / about)]
    first = 0.0 if least >= 0 else -math.inf
    edges = [first, *(edge for edge in inner if edge > first), math.inf]
    return edges if len(edges) > 2 or most == least else [first, math.ceil(middle) or 1.0, math.inf]


def ages(width: int) -> list[float]:
    """Ages to 90 and above; with bins this wide nobody very old stands out."""
    return [*(float(age) for age in range(0, 91 - 90 % width, width)), math.inf]


def years(values: Floats) -> list[float]:
    """Decades."""
    first, last = math.floor(values.min() / 10) * 10, math.floor(values.max() / 10) * 10 + 10
    return [-math.inf, *(float(year) for year in range(first + 10, last, 10)), math.inf]


def _even(low: float, high: float, about: int) -> list[float]:
    rough = max(high - low, abs(high) * 1e-6, 1e-9) / max(about - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first = math.floor(low / step) + 1
    return [_tidy(i * step) for i in range(first, math.floor(high / step) + 1)]


def _growing(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten."""
    edges = []
    for power in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1):
        edges += [_tidy(m * 10.0**power) for m in (1, 2, 5)]
    return [edge for edge in edges if low <= edge <= high]


def _tidy(number: float) -> float:
    return float(f"{number:.10g}")


# ---------------------------------------------------------------- hierarchies


def hierarchy_for(look: Look, others: Sequence[Look] = ()) -> Built | None:
    """The best hierarchy that covers every value of a column; None where none suits."""
    if look.column.distinct < 2 or look.column.distinct > _MOST_LEAVES:
        return None
    for build in (_of_ages, _of_dates, _of_postcodes, _of_numbers, _of_separated):
        try:
            if (built := build(look)) is not None:
                return built
        except PramanaError:
            continue
    return _of_parent(look, others) or _flat(look)


def _covering(hierarchy: Hierarchy, look: Look) -> Hierarchy | None:
    """The hierarchy with the few values that it lacks, such as codes for missing ones, under their own label."""
    lost = hierarchy.missing(look.column.texts())
    if not lost:
        return hierarchy
    if len(lost) > _MOST_APART or OTHER in {label for level in hierarchy.levels for label in level}:
        return None
    apart = [[leaf, *[OTHER] * (hierarchy.height - 2), TOP] for leaf in lost]
    rows = [list(row) for row in zip(*hierarchy.levels, strict=True)]
    return Hierarchy.from_rows([*rows, *apart])


def _of_ages(look: Look) -> Built | None:
    if not (look.is_age and "age" in look.hints):
        return None
    whole = _covering(hierarchy_of_intervals(range(126), [5, 10, 20, 40]), look)
    return None if whole is None else Built(whole, False, "ages in intervals of 5, 10, 20 and 40 years")


def _of_dates(look: Look) -> Built | None:
    if look.form.kind != "date" or look.form.timed or not look.form.date_formats:
        return None
    form = look.form.date_formats[0]
    texts = [text for text, word in zip(look.column.texts(), look.form.words, strict=True) if not word]
    days = [datetime.datetime.strptime(text.strip(), form).date() for text in texts]
    first, last = min(days).year // 10 * 10, max(days).year // 10 * 10 + 9
    if last - first < 110:
        start, end = datetime.date(first, 1, 1), datetime.date(last, 12, 31)
        every = [start + datetime.timedelta(i) for i in range((end - start).days + 1)]
        built = _covering(_dated(every, [day.strftime(form) for day in every]), look)
        if built is not None:
            return Built(built, False, f"every day from {first} to {last}, by month, quarter, year and decade")
    built = _covering(_dated(days, texts), look)
    return None if built is None else Built(built, True, "days by month, quarter, year and decade")


def _dated(days: Sequence[datetime.date], texts: Sequence[str]) -> Hierarchy:
    """The hierarchy of dates with its leaves as the table writes them."""
    by_day = hierarchy_of_dates(sorted({day.isoformat() for day in days}))
    rows = {row[0]: row[1:] for row in zip(*by_day.levels, strict=True)}
    order = sorted(range(len(days)), key=lambda i: (days[i], texts[i]))
    return Hierarchy.from_rows([[texts[i], *rows[days[i].isoformat()]] for i in order])


def _of_postcodes(look: Look) -> Built | None:
    if not look.is_postcode and look.form.kind != "code":
        return None
    texts = sorted(look.column.texts())
    if any(TOP in text for text in texts) or max(map(len, texts)) > 12:
        return None
    return Built(hierarchy_by_masking(texts), True, "codes, one more character hidden at each level")


def _of_numbers(look: Look) -> Built | None:
    """Whole numbers in round intervals, where the table writes them without decoration."""
    if look.form.kind != "number" or not look.form.whole or look.form.words.any() or look.column.distinct <= 6:
        return None
    texts = look.column.texts()
    values = np.asarray(look.form.numbers)
    if np.abs(values).max() > 1e12 or any(text != str(int(v)) for text, v in zip(texts, values, strict=True)):
        return None
    span = max(float(look.valid.max() - look.valid.min()), 1.0)
    width = 10 ** max(math.floor(math.log10(span / 10)), 0) if span > 10 else 1
    widths = [w * width for w in (1, 5, 10, 50) if w * width > 1 and w * width <= 4 * span]
    built = hierarchy_of_intervals(texts, widths or [2])
    return Built(built, True, "numbers in round intervals")


def _of_separated(look: Look) -> Built | None:
    """Categories that name their parents: Europe/France, 12.4.1."""
    texts = look.column.texts()
    for separator in _SEPARATORS:
        paths = [text.split(separator) for text in texts]
        if sum(len(path) > 1 for path in paths) < 0.9 * len(paths) or max(map(len, paths)) > 6:
            continue
        if len({path[0] for path in paths}) > len(paths) / 2:
            continue
        levels = range(max(map(len, paths)) - 1, 0, -1)
        rows = []
        for text, path in sorted(zip(texts, paths, strict=True)):
            parents = [separator.join(path[:level]) if level < len(path) else text for level in levels]
            rows.append([text, *parents, TOP])
        return Built(Hierarchy.from_rows(rows), True, f"categories by what stands before {separator!r}")
    return None


def _of_parent(look: Look, others: Sequence[Look]) -> Built | None:
    """Another column that each value decides, such as the region of a town."""
    if look.form.kind in ("date", "number") or look.column.missing:
        return None

    def decided(other: Look) -> bool:
        if other.column.missing or not 2 <= other.column.distinct <= look.column.distinct / 2:
            return False
        pairs = np.unique(look.column.codes.astype(np.int64) * other.column.size + other.column.codes)
        return len(pairs) == look.column.distinct

    best = max(filter(decided, others), key=lambda other: other.column.distinct, default=None)
    if best is None:
        return None
    codes = np.zeros(look.column.distinct, np.int64)
    codes[look.column.codes] = best.column.codes
    texts, parents = look.column.texts(), best.column.texts()
    if set(texts) & set(parents) or TOP in {*texts, *parents}:
        return None
    rows = [[text, parents[code], TOP] for text, code in zip(texts, codes, strict=True)]
    rows.sort(key=lambda row: row[::-1])  # by parent
    return Built(Hierarchy.from_rows(rows), True, f"categories by {best.name}")


def _flat(look: Look) -> Built | None:
    texts = Kind.of_labels(look.column.texts()).in_order(look.column.texts())
    if TOP in texts:
        return None
    return Built(hierarchy_of_tree(texts), True, "its values, and all of them together")
