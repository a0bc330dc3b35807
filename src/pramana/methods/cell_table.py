"""Published tables of classes: made from numbers of classes and cells, and read back by who checks them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import BundleError, RefusedError, SourceError
from pramana.io.codes import domain_from_data, encode
from pramana.io.columns import numbers
from pramana.io.writing import raw_column
from pramana.methods.cells import (
    CLASS,
    Cells,
    cell_admitted,
    cell_codes,
    cells_named,
    list_column,
)
from pramana.methods.columns import Quasi, ShownNumbers, joint_appearance
from pramana.methods.protocol import TableMaker
from pramana.methods.usefulness import CellLook
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column, ContentDigest
from pramana.rows.protocol import Columns, Rows, chunks_of
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind

_PAIR = pa.struct([("value", pa.string()), ("weight", pa.int64())])
CELL_TYPES: dict[str, pa.DataType] = {  # of a cell in Parquet, by kind
    "hierarchy": pa.string(),
    "interval": pa.struct([("low", pa.string()), ("high", pa.string())]),
    "set": pa.list_(pa.string()),
    "pdf": pa.list_(_PAIR),
}
CLASS_NUMBER = "\0class"  # the column of rows' classes, under a name that no column of a source has


class CellContent:
    """A column's cells as the content digest sees them, row by row in pieces: no row's cell is looked at.

    Cells are numbered as they first appear, and told in that order at the end.
    """

    def __init__(self, name: str, cells: Column) -> None:
        self.name, self.cells = name, cells
        self.alike, _ = cell_codes(cells)
        self.number = np.zeros(int(self.alike.max()) + 1, np.uint32)  # from 1 on; 0 where a cell has not appeared
        self.shown: list[int] = []  # a class of each cell that has

    def codes(self, class_of: NDArray[np.integer]) -> NDArray[np.uint32]:
        look = self.alike[class_of]
        new = np.flatnonzero(self.number[look] == 0)
        for row in np.sort(np.unique(look[new], return_index=True)[1]).tolist():
            self.shown.append(int(class_of[new[row]]))
            self.number[look[new[row]]] = len(self.shown)
        return np.asarray(self.number[look] - np.uint32(1))

    def cells_shown(self) -> Columns:
        cells = self.cells.take(numbers(np.array(self.shown, np.int64)))
        text = json.dumps(cells.to_pylist(), ensure_ascii=True)
        return {f"{self.name} cells": np.frombuffer(text.encode(), np.uint8)}


@dataclass(eq=False)
class CellTable(TableMaker):
    """Cells by class, beside the columns that pass unchanged; rows in no class are suppressed."""

    attributes: Sequence[Attribute]
    cells: Mapping[str, Column]
    classes: int
    by_class: bool = field(kw_only=True)
    output: str = field(kw_only=True)

    def __post_init__(self) -> None:
        cells, output = self.cells, self.output
        self._raw = [a.name for a in self.attributes if a.raw and a.name not in cells]
        self._names = [CLASS, *self._raw] if self.by_class else [a.name for a in self.attributes]
        # as their file tells them: in a CSV a number is the text that is written of it
        read = {name: column.cast(pa.string()) if output == "csv" else column for name, column in cells.items()}
        self._contents = {name: CellContent(name, column) for name, column in read.items()}
        self._digest = ContentDigest()

    def table(self, columns: Columns) -> pa.Table:
        number = columns[CLASS_NUMBER]
        rows = np.flatnonzero(self.kept(columns))
        class_of = number[rows]
        raw = {name: columns[name].take(numbers(rows)) for name in self._raw}
        self._digest.update({name: content.codes(class_of) for name, content in self._contents.items()})
        if self.output == "parquet":  # in a CSV they have no types of their own; the file's digest covers them
            self._digest.update(raw)
        at = numbers(class_of)
        return pa.table({n: self.cells[n].take(at) if n in self.cells else raw[n] for n in self._names})

    def content(self) -> str:
        for content in self._contents.values():
            self._digest.update(content.cells_shown())
        return self._digest.hexdigest(sorted(self._digest.parts))

    def kept(self, columns: Columns) -> NDArray[np.bool_]:
        return np.asarray(columns[CLASS_NUMBER] < self.classes)


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """What the cells of a published column may say: their kind, the leaves in order, and the labels of levels."""

    name: str
    kind: str
    leaves: tuple[str, ...]
    labels: frozenset[str]
    groups: NDArray[np.int64] | None = None  # by leaf, at the only level that shows
    widths: Mapping[str, int] = field(default_factory=dict)  # of a label: its leaves, most where levels share it

    @classmethod
    def of(
        cls, quasi: Quasi, kind: str, level: int | None = None, narrower: bool = False, topped: bool = False
    ) -> ShownColumn:
        """`level`: the only one whose labels may show, or with `narrower` the highest; `topped`: and the top."""
        levels = quasi.labels if level is None else quasi.labels[0 if narrower else level : level + 1]
        shown = (*levels, *(quasi.labels[-1:] * topped))
        labels = frozenset(label for named in shown for label in named)
        groups = None if level is None else quasi.ladder.maps[level]
        widths: dict[str, int] = {}
        for number, named in enumerate(quasi.labels):
            if any(named is one for one in shown):
                for label, leaves in zip(named, np.bincount(quasi.ladder.maps[number]).tolist(), strict=True):
                    widths[label] = max(leaves, widths.get(label, 0))
        return cls(quasi.name, kind, quasi.leaf_labels, labels, groups, widths)

    @cached_property
    def code(self) -> dict[str, int]:
        return {leaf: i for i, leaf in enumerate(self.leaves)}

    def check(self, cell: object) -> None:
        if not cell_admitted(cell, self.kind, self.code, self.labels) or not self._in_one_group(cell):
            raise BundleError(
                f"Every cell of {self.name!r} must be of its domain and of its kind",
                f"a cell that is no {self.kind} of it",
            )

    def _in_one_group(self, cell: object) -> bool:
        """What a set or distribution is of was one value at the level that is shown."""
        if self.groups is None or not isinstance(cell, list):
            return True
        leaves = [entry["value"] if isinstance(entry, dict) else entry for entry in cell]
        return len({int(self.groups[self.code[leaf]]) for leaf in leaves}) == 1

    def check_cells(self, cells: Cells) -> None:
        """The same of cells that a companion tells."""
        for cell in list_column(cells, self.leaves, weights=self.kind == "pdf").to_pylist():
            self.check(cell)


class ShownCells:
    """The classes that a reader of the published file sees, and its content as the digest sees it.

    Cells are compared by what they say, whatever file they are in. Other columns of a CSV have no types of their
    own: they are covered by the digest of the file.
    """

    def __init__(self, columns: Sequence[ShownColumn | ShownNumbers], output: str) -> None:
        self.columns = {column.name: column for column in columns}
        self.output = output
        self.digest = ContentDigest()
        self.cells: dict[str, dict[str, int]] = {}  # by column: what a cell says, numbered as it appears
        self.numbers: dict[tuple[int, ...], int] = {}  # classes
        self.sizes = np.zeros(0, np.int64)
        self.dictionaries: dict[str, list[str]] = {}

    def take(self, piece: pa.RecordBatch) -> NDArray[np.int64]:
        """The numbers of the rows' classes."""
        names = [name for name in self.columns if name in piece.schema.names] or [CLASS]
        shown = np.stack([self._codes(name, piece.column(name)) for name in names])
        if self.output == "parquet":
            rest = [name for name in piece.schema.names if name not in names]
            self.digest.update({n: raw_column(pa.chunked_array([piece.column(n)]), None) for n in rest})
        key_of, rows = joint_appearance(list(shown), piece.num_rows)
        number_of = [self.numbers.setdefault(tuple(line), len(self.numbers)) for line in shown[:, rows].T.tolist()]
        class_of = np.array(number_of, np.int64)[key_of]
        sizes = np.bincount(class_of, minlength=len(self.numbers))
        sizes[: len(self.sizes)] += self.sizes
        self.sizes = sizes
        return class_of

    def _codes(self, name: str, column: Column) -> NDArray[np.uint32]:
        if self.output == "parquet" and pa.types.is_dictionary(column.type):
            dictionary = column.dictionary.to_pylist()
            if self.dictionaries.setdefault(name, dictionary) != dictionary:
                raise BundleError(f"The column {name!r} must have one dictionary", "two that differ")
        codes, rows = cell_codes(column)
        known = self.cells.setdefault(name, {})
        cells = []
        for cell in column.take(numbers(rows)).to_pylist():
            text = json.dumps(cell, ensure_ascii=True)
            if text not in known and name in self.columns:
                self.columns[name].check(cell)
            cells.append(known.setdefault(text, len(known)))
        numbered = np.array(cells, np.uint32)[codes]
        self.digest.update({name: numbered})
        return numbered

    @property
    def records(self) -> int:
        return int(self.sizes.sum())

    def looks(self, quasi: Sequence[Quasi]) -> dict[str, CellLook]:
        """What every class shows of each column, once all pieces were taken."""
        codes = np.array(list(self.numbers), np.int64).reshape(len(self.numbers), -1)
        looks = {}
        for axis, q in enumerate(quasi):
            said, column = [json.loads(text) for text in self.cells[q.name]], self.columns[q.name]
            if isinstance(column, ShownColumn) and column.kind == "hierarchy":
                width = np.array([column.widths[label] for label in said], np.int64)
            else:
                width = cells_named(said, q.leaf_labels, {}).sizes.astype(np.int64)
            looks[q.name] = CellLook(q.ladder.leaves, codes[:, axis], width[codes[:, axis]])
        return looks

    def content(self) -> str:
        """As `CellTable` has it, once all pieces were taken."""
        for name, dictionary in self.dictionaries.items():  # what no row shows, and an order, could tell of others
            if dictionary != sorted(json.loads(cell) for cell in self.cells[name]):
                raise BundleError(
                    f"The dictionary of {name!r} must be the labels that occur, in order",
                    f"{len(dictionary)} labels that are not these",
                )
        for name, known in self.cells.items():
            text = f"[{', '.join(known)}]"
            self.digest.update({f"{name} cells": np.frombuffer(text.encode(), np.uint8)})
        return self.digest.hexdigest(sorted(self.digest.parts))


def looks_by_class(
    columns: Sequence[ShownColumn], cells: Sequence[Cells], published: Mapping[str, Column]
) -> dict[str, CellLook]:
    """What every class shows of each column; classes whose cells say the same share a number.

    Levels may share a label: all that a reader knows of it is its name.
    """
    looks = {}
    for column, own in zip(columns, cells, strict=True):
        looks[column.name] = look_of(own)
        if column.kind == "hierarchy":
            labels = published[column.name].to_pylist()
            number = cell_codes(published[column.name])[0].astype(np.int64)
            width = np.array([column.widths[label] for label in labels], np.int64)
            looks[column.name] = CellLook(len(column.leaves), number, width)
    return looks


def look_of(cells: Cells) -> CellLook:
    """The cells of a column by class."""
    known: dict[bytes, int] = {}
    number = np.empty(len(cells), np.int64)
    for c, (first, last) in enumerate(pairwise(cells.first.tolist())):
        said = cells.values[first:last].tobytes() + cells.weights[first:last].tobytes()
        number[c] = known.setdefault(said, len(known))
    return CellLook(cells.leaves, number, cells.sizes.astype(np.int64))


def published_types(attributes: Sequence[Attribute], kind: str, by_class: bool) -> dict[str, pa.DataType | None]:
    """The columns of a published table of cells; of those released unchanged the types are the source's."""
    if by_class:
        return {CLASS: None, **{a.name: None for a in attributes if a.raw}}
    return {a.name: None if a.raw else CELL_TYPES[kind] for a in attributes}


# Before any row is written: every published cell contains the values of the records it stands for.


def check_cells(
    quasi: Sequence[Quasi], true: Sequence[Cells], published: Sequence[Cells], *, intervals: bool
) -> None:
    """`true` are the values of the records by class. Intervals are also held against the line of their kind."""
    for q, values, cells in zip(quasi, true, published, strict=True):
        outside = ~np.isin(cells.keyed(values.class_of, values.values), cells.keys)
        if intervals and q.attribute.kind in (Kind.NUMBER, Kind.DATE):
            # an interval is printed by its two ends: all values must lie between them by value, not by code
            lower, upper = _ends(q)
            first, last = cells.values[cells.first[:-1]], cells.values[cells.first[1:] - 1]
            low, high = lower[first][values.class_of], upper[last][values.class_of]
            outside |= (lower[values.values] < low) | (upper[values.values] > high)
        if outside.any():
            raise RefusedError(
                f"Every published cell of {q.name!r} must contain the values it stands for",
                f"{int(outside.sum())} values of classes outside theirs",
                "State a domain of numbers or dates in the order of its values.",
            )


def _ends(q: Quasi) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where each leaf begins and ends; a missing value, which has the last code, lies beyond all numbers."""
    ends = [q.attribute.kind.ends_of(label) for label in q.attribute.coded.labels]
    beyond = [np.inf] * q.attribute.coded.missing
    lower = [np.inf if pair is None else float(pair[0]) for pair in ends]
    upper = [np.inf if pair is None else float(pair[1]) for pair in ends]
    return np.array([*lower, *beyond]), np.array([*upper, *beyond])


# Columns of marks: which rows of a table are meant.


MARK = "\0present"  # the column of marks, under a name that no column of a source has
_MARKS = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}


def derive_marks(rows: Rows, flag: str) -> None:
    """The marks of a column of 1 and 0 (or true and false) as a column of codes, 1 where a row is meant."""

    def marks(columns: Columns) -> Codes:
        chunks = chunks_of(columns[flag])
        domain = domain_from_data(chunks)
        if domain.missing or not all(label.strip().lower() in _MARKS for label in domain.labels):
            raise SourceError(
                f"The column {flag!r} must mark who is present by 1 and 0", f"{domain.size} different values"
            )
        meaning = np.array([_MARKS[label.strip().lower()] for label in domain.labels], np.uint8)
        return np.asarray(meaning[encode(chunks, domain, flag)])

    rows.derive(MARK, (flag,), marks)
