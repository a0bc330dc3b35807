"""Hierarchies for the columns of a first recipe: ages, dates, postcodes, codes and trees of categories."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import PramanaError
from pramana.holder.guesses import Look
from pramana.schema.hierarchy import (
    TOP,
    Hierarchy,
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)
from pramana.schema.kind import Kind

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
        for level in range(self.hierarchy.height):
            if len(set(self.hierarchy.levels[level])) <= most:
                return level
        return self.hierarchy.height - 1


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
    days = [
        datetime.datetime.strptime(text.strip(), form).date()
        for text, word in zip(look.column.texts(), look.form.words, strict=True)
        if not word
    ]
    first, last = min(days).year // 10 * 10, max(days).year // 10 * 10 + 9
    if last - first < 110:
        start = datetime.date(first, 1, 1).toordinal()
        every = [
            datetime.date.fromordinal(start + i)
            for i in range((datetime.date(last, 12, 31).toordinal() - start) + 1)
        ]
        built = _covering(_dated(every, [day.strftime(form) for day in every]), look)
        if built is not None:
            return Built(built, False, f"every day from {first} to {last}, by month, quarter, year and decade")
    texts = [t for t, word in zip(look.column.texts(), look.form.words, strict=True) if not word]
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
        depth = max(map(len, paths))
        rows = [
            [
                text,
                *(
                    separator.join(path[:level]) if level < len(path) else text
                    for level in range(depth - 1, 0, -1)
                ),
                TOP,
            ]
            for text, path in sorted(zip(texts, paths, strict=True))
        ]
        return Built(Hierarchy.from_rows(rows), True, f"categories by what stands before {separator!r}")
    return None


def _of_parent(look: Look, others: Sequence[Look]) -> Built | None:
    """Another column that each value decides, such as the region of a town."""
    if look.form.kind in ("date", "number") or look.column.missing:
        return None
    best: Look | None = None
    for other in others:
        if (
            other.name == look.name
            or other.column.missing
            or not 2 <= other.column.distinct <= look.column.distinct / 2
        ):
            continue
        pairs = np.unique(look.column.codes.astype(np.int64) * other.column.size + other.column.codes)
        if len(pairs) == look.column.distinct and (best is None or other.column.distinct > best.column.distinct):
            best = other
    if best is None:
        return None
    codes = np.zeros(look.column.distinct, np.int64)
    codes[look.column.codes] = best.column.codes
    texts, parents = look.column.texts(), best.column.texts()
    if set(texts) & set(parents) or TOP in {*texts, *parents}:
        return None
    rows = sorted([texts[i], parents[codes[i]], TOP] for i in range(len(texts)))
    return Built(
        Hierarchy.from_rows(sorted(rows, key=lambda row: (row[1], row[0]))), True, f"categories by {best.name}"
    )


def _flat(look: Look) -> Built | None:
    texts = Kind.of_labels(look.column.texts()).in_order(look.column.texts())
    if TOP in texts:
        return None
    return Built(hierarchy_of_tree(texts), True, "its values, and all of them together")
