"""Releases of classes: the smallest that anyone can see, and how often a person's row is picked from theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.audit.verdict import Attack, at_most

_PEOPLE = 2000
Numbers = NDArray[np.int64]


def looks_of(table: pa.Table, columns: Sequence[str]) -> Numbers:
    """The number of every row's look in some columns, by what is written there and by nothing else."""
    joint = np.zeros(table.num_rows, np.int64)
    for name in columns:
        cells = table.column(name).combine_chunks()
        if pa.types.is_nested(cells.type):
            cells = pa.array([repr(cell) for cell in cells.to_pylist()])
        encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode(null_encoding="encode")
        codes = np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), np.int64)
        joint = joint * (len(encoded.dictionary) + 1) + codes
        joint = np.unique(joint, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return joint


def smallest_class(look: Numbers, k: float) -> Attack:
    """The k that anyone can count in the published file."""
    sizes = np.bincount(look)
    smallest = int(sizes[sizes > 0].min())
    below = int((sizes[sizes > 0] < k).sum())
    what = (
        f"the smallest class that can be seen has {smallest:,}, claimed are {k:g}; {below:,} classes are smaller"
    )
    return Attack("linkage, smallest class", k, float(smallest), smallest >= k, what)


def left_in(look: Numbers, due: Numbers) -> Attack:
    """Rows that source and key do not make: of people who were to be suppressed, or of nobody."""
    most = int(max(look.max(initial=0), due.max(initial=0))) + 1
    surplus = np.maximum(np.bincount(look, minlength=most) - np.bincount(due, minlength=most), 0)
    rows = int(surplus.sum())
    what = f"{rows:,} rows are in the file that the release has not, in {int((surplus > 0).sum()):,} classes"
    return Attack("suppressed rows, left in", 0.0, float(rows), rows == 0, what)


def class_linkage(look: Numbers, order: Numbers, k: float) -> Attack:
    """Who knows a person's class picks one of its rows, the nearest in place to the person's own in the source."""
    people = np.random.default_rng(20).permutation(len(order))[:_PEOPLE]
    by_look = np.argsort(look, kind="stable")
    first = np.searchsorted(look[by_look], np.arange(int(look.max()) + 2))
    rank = np.argsort(np.argsort(order))  # a person's place among the people who were published
    right = 0
    for place in people.tolist():
        rows = by_look[first[look[place]] : first[look[place] + 1]]
        right += int(rows[np.abs(rows - rank[place]).argmin()] == place)
    what = f"{len(people):,} people whose class is known, one of its rows each"
    return at_most("linkage, within classes", 1 / k, right, len(people), what, {"k": k})


def crossed_classes(looks: Sequence[Numbers], k: float, name: str) -> Attack:
    """Releases about the same people: who is in a class of the first, one of the second, and so on.

    `looks`: by source row, that of everyone's row in each release, -1 where they have
    none: who is left out of one is told by their class, as well. No certificate promises
    k of several releases, each of which takes itself for the only one: this says whether it would still hold.
    """
    there = np.logical_or.reduce([look >= 0 for look in looks])
    crossed = np.unique(np.column_stack([look[there] for look in looks]), axis=0, return_counts=True)[1]
    smallest = int(crossed.min()) if len(crossed) else 0
    what = f"the smallest class that all releases leave has {smallest:,} people, the smallest claim is {k:g}"
    return Attack(name, k, float(smallest), smallest >= k, what)


def by_source_row(values: Numbers, order: Numbers, records: int) -> Numbers:
    placed = np.full(records, -1, np.int64)
    placed[order] = values
    return placed
