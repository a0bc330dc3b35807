"""Cells as columns of a file, and back.

Parquet: a label is text, an interval a struct of two texts, a set a list of texts, a distribution a list of
structs of value and integer weight. CSV: labels and intervals as text; sets and distributions by the number of
their class, with a companion table of class, attribute, value and weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.errors import BundleError
from pramana.generalize.cells import Cells
from pramana.generalize.classes import Ladder
from pramana.sources import numbers, texts, values_of

COMPANION = "cells.csv"
CLASS = "class"
BETWEEN = ".."


def labels_of(ladder: Ladder, names: Sequence[Sequence[str]], pdf: Cells, levels: Any) -> list[str]:
    """Each class's label; `names[level][code]` are the labels of a level, `levels` one level or one per class."""
    level = np.broadcast_to(np.asarray(levels, np.int64), len(pdf))
    anyone = pdf.values[pdf.first[:-1]]
    return [names[i][int(ladder.maps[i][leaf])] for i, leaf in zip(level, anyone, strict=True)]


def label_column(labels: Sequence[str]) -> pa.Array:
    """One label for each class; the dictionary is in the labels' order, which tells nothing of the rows."""
    known = {label: code for code, label in enumerate(sorted(set(labels)))}
    codes = np.array([known[label] for label in labels], np.int32)
    return pa.DictionaryArray.from_arrays(numbers(codes), texts(list(known)))


def interval_column(cells: Cells, leaves: Sequence[str], text: bool) -> pa.Array:
    """One interval for each class, as a struct or as text."""
    low = [leaves[v] for v in cells.values[cells.first[:-1]]]
    high = [leaves[v] for v in cells.values[cells.first[1:] - 1]]
    if text:
        joined = [a if a == b else f"{a}{BETWEEN}{b}" for a, b in zip(low, high, strict=True)]
        return label_column(joined)
    return pa.StructArray.from_arrays([texts(low), texts(high)], ["low", "high"])


def list_column(cells: Cells, leaves: Sequence[str], weights: bool) -> pa.Array:
    """One set, or with `weights` one distribution, for each class."""
    values = texts(leaves).take(numbers(cells.values))
    if weights:
        entries = pa.StructArray.from_arrays([values, numbers(cells.weights)], ["value", "weight"])
    else:
        entries = values
    return pa.ListArray.from_arrays(numbers(cells.first.astype(np.int32)), entries)


def companion(cells: Mapping[str, Cells], leaves: Mapping[str, Sequence[str]]) -> pa.Table:
    """Class, attribute, value, weight: one line for each entry of each cell."""
    parts = []
    for name, column in cells.items():
        values = texts(leaves[name]).take(numbers(column.values))
        parts.append(
            pa.table(
                {
                    CLASS: numbers(column.class_of),
                    "attribute": texts([name]).take(numbers(np.zeros(len(column.values), np.int64))),
                    "value": values,
                    "weight": numbers(column.weights),
                }
            )
        )
    return pa.concat_tables(parts)


# ------------------------------------------------------------------ back


def cells_from_column(
    column: Any, leaves: Sequence[str], members: Mapping[str, Sequence[str]]
) -> tuple[Cells, Any]:
    """The distinct cells of a published column, and for every row which one it has.

    `members`: for a label the leaves it stands for (hierarchy cells only).
    """
    plain = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.chunk(0) if plain.num_chunks else pa.array([], plain.type)
    codes, first_rows = cell_codes(plain)
    return cells_named(plain.take(numbers(first_rows)).to_pylist(), leaves, members), codes


def cells_named(cells: Sequence[Any], leaves: Sequence[str], members: Mapping[str, Sequence[str]]) -> Cells:
    """Cells as a file tells them; `members` as above."""
    code = {leaf: i for i, leaf in enumerate(leaves)}
    first, values, weights = [0], [], []
    try:
        for cell in cells:
            for value, weight in _entries(cell, leaves, members):
                values.append(code[value])
                weights.append(weight)
            first.append(len(values))
    except (KeyError, TypeError, ValueError):
        raise BundleError("The cells of a bundle must name leaves of their attribute", "other values") from None
    order = np.array(first, np.int64)
    return Cells(len(leaves), order, np.array(values, np.int64), np.array(weights, np.int64))


def _entries(cell: Any, leaves: Sequence[str], members: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    place = {leaf: i for i, leaf in enumerate(leaves)}
    if isinstance(cell, list):
        pairs = [(e["value"], int(e["weight"])) if isinstance(e, dict) else (e, 1) for e in cell]
    elif isinstance(cell, dict):
        pairs = [(leaf, 1) for leaf in leaves[leaves.index(cell["low"]) : leaves.index(cell["high"]) + 1]]
    elif cell in members:
        pairs = [(leaf, 1) for leaf in members[cell]]
    else:
        ends = _ends(cell, place)
        if ends is None:
            raise ValueError("neither leaves nor a label")
        pairs = [(leaf, 1) for leaf in leaves[place[ends[0]] : place[ends[1]] + 1]]
    return sorted(pairs, key=lambda pair: place[pair[0]])


def cell_admitted(cell: object, kind: str, place: Mapping[str, int], labels: frozenset[str]) -> bool:
    """Whether a cell of this kind can have been published: of labels or leaves, in order, each once.

    `place`: where each leaf stands; `labels`: those of the levels.
    """
    if kind == "hierarchy":
        return isinstance(cell, str) and cell in labels
    if kind == "interval":
        ends = _ends(cell, place)
        return ends is not None and place[ends[0]] <= place[ends[1]]
    if not isinstance(cell, list) or not cell:
        return False
    if kind == "pdf":
        if not all(isinstance(entry, dict) and type(entry.get("weight")) is int for entry in cell):
            return False
        if any(entry["weight"] < 1 for entry in cell):
            return False
        cell = [entry["value"] for entry in cell]
    places = [place.get(value, -1) for value in cell]
    return places[0] >= 0 and all(a < b for a, b in pairwise(places))


def _ends(cell: object, place: Mapping[str, int]) -> tuple[str, str] | None:
    """The leaves an interval goes from and to; in a CSV it is one text."""
    if isinstance(cell, dict):
        low, high = str(cell.get("low")), str(cell.get("high"))
        return (low, high) if low in place and high in place else None
    if not isinstance(cell, str):
        return None
    if cell in place:
        return cell, cell
    parts = cell.split(BETWEEN)
    cuts = ((BETWEEN.join(parts[:i]), BETWEEN.join(parts[i:])) for i in range(1, len(parts)))
    return next((cut for cut in cuts if cut[0] in place and cut[1] in place), None)


def cell_codes(column: Any) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """A code for every row, equal where the cells are and only there, by first appearance; and a row of each."""
    return by_appearance(_keys(column))


def by_appearance(keys: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Keys numbered in the order they first appear, and where that is."""
    _, rows, codes = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    number = np.empty(len(order), np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    return number[codes], rows[order].astype(np.int64)


def _keys(column: Any) -> NDArray[np.uint64]:
    """A 64-bit key of each cell: equal cells agree, and two different lists do with a chance of 2^-64."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_struct(column.type):
        keys = np.zeros(len(column), np.uint64)
        for i in range(column.type.num_fields):
            keys = _mix(keys) + _keys(column.field(i))
        return keys
    if pa.types.is_list(column.type):
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(lengths)])
        place = (np.arange(int(first[-1])) - np.repeat(first[:-1], lengths)).astype(np.uint64)
        mixed = _mix(_keys(column.flatten()) + np.uint64(0x9E3779B97F4A7C15) * (place + np.uint64(1)))
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(running[first[1:]] - running[first[:-1]])
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.uint64))
    return np.asarray(values_of(pc.dictionary_encode(column).indices), np.uint64)


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))
