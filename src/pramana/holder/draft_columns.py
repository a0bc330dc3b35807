"""The sections of a first recipe's columns: what domain each has, and what a person must confirm of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pramana.holder import draft_bins as bins
from pramana.holder import vocabulary
from pramana.holder.draft_hierarchies import Built, hierarchy_for
from pramana.holder.draft_text import Value
from pramana.holder.guesses import Look
from pramana.schema.domain import Role

FEW_NUMBERS = 20  # whole numbers up to which every one is a category
_ABOUT = 8  # bins of a measured quantity


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
    return ColumnDraft(
        look.name,
        Role.IDENTIFYING,
        words=f"left out: {why}",
        asks=(f"Left out, because {because}: {{}}.",),
    )


def unchanged(look: Look, role: Role, why: str) -> ColumnDraft:
    """A column that is published as it is."""
    return ColumnDraft(
        look.name,
        role,
        words=f"{why}; published unchanged, outside every promise",
        asks=("Published unchanged, outside every promise: {}. Nobody must be found by these.",),
    )


def coded(look: Look, role: Role, why: str, most: int, others: Sequence[Look] = ()) -> ColumnDraft | None:
    """A column with a domain of at most about so many values; None where it has no such domain."""
    draft = ColumnDraft(look.name, role, words=why)
    for code in (_ages, _years, _numbers, _levels, _values):
        if (found := code(look, draft, most, others)) is not None:
            return _with_missing(look, found)
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
    return not marked or (vocabulary.knows_decimals() and not look.form.thousands)


# ---------------------------------------------------------------- domains


def _ages(look: Look, draft: ColumnDraft, most: int, others: Sequence[Look]) -> ColumnDraft | None:
    del others
    if not (look.is_age and "age" in look.hints) or look.column.distinct <= 3 or not reads_plainly(look):
        return None
    width = 5 if most >= 20 else 10
    edges = bins.ages(width)
    return _by_bins(look, draft, edges, f"ages by {width} years, open above", width=width)


def _years(look: Look, draft: ColumnDraft, most: int, others: Sequence[Look]) -> ColumnDraft | None:
    del most, others
    if not (look.is_year and "birth" in look.hints) or look.column.distinct <= 3 or not reads_plainly(look):
        return None
    return _by_bins(look, draft, bins.years(look.valid), "years of birth by decade")


def _numbers(look: Look, draft: ColumnDraft, most: int, others: Sequence[Look]) -> ColumnDraft | None:
    del others
    if look.form.kind != "number" or look.form.numbers is None or not len(look.valid) or look.is_postcode:
        return None
    if look.column.distinct <= min(FEW_NUMBERS, most) or not reads_plainly(look):
        return None
    counts = look.column.counts[~look.suspected]
    edges = bins.round_bins(look.valid, counts, min(_ABOUT, most))
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


def _values(look: Look, draft: ColumnDraft, most: int, others: Sequence[Look]) -> ColumnDraft | None:
    del others
    if look.column.distinct > most or look.form.timed:
        return None
    words = f"{draft.words}; its values are read from the data, which is flagged: better list them"
    ask = "Values read from the data, which tells which of them occur: {}. List them if you can."
    return replace(draft, keys={"domain": "from-data"}, words=words, asks=(ask,), size=look.column.size)


def _by_bins(
    look: Look, draft: ColumnDraft, edges: list[float], words: str, width: int | None = None
) -> ColumnDraft:
    known = np.asarray(look.form.numbers)
    outside = known[~look.form.words]
    codes_go = vocabulary.knows_missing_lists()
    least = float((look.valid if codes_go else outside).min())
    if least < edges[0]:
        edges = [-math.inf, *edges] if edges[0] > -math.inf else edges
    value: Value = edges
    if width is not None and edges[0] == 0.0 and vocabulary.knows_widths():
        most = float((look.valid if codes_go else outside).max())
        if most < 100:
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
    texts = np.array(look.column.texts(), object) if look.suspected.any() else np.array([], object)
    codes = [str(text) for text in texts[look.suspected]] if len(texts) else []
    measured = look.form.kind in ("number", "date")
    if codes and measured and vocabulary.knows_missing_lists():
        keys["missing"] = codes
        asks.append("Codes that look like missing values, and are taken for such: in {}.")
        size += 1
    elif codes:
        asks.append("Codes that look like missing values, and are kept as values: in {}.")
    elif look.column.missing and "domain" not in keys:
        keys["missing"] = "category"
        size += 1
    return replace(draft, keys=keys, asks=tuple(asks), size=size)
