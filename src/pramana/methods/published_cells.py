"""A generalised bundle as its recipient uses it: cells read back, atomic tables drawn, counts expected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError, SchemaError, SourceError
from pramana.files.atomic import open_regular, own_file
from pramana.io.columns import numbers
from pramana.io.writing import digest_of_written, unescaped, write_table
from pramana.methods.cell_table import ShownCells, ShownColumn, look_of
from pramana.methods.cells import (
    CLASS,
    COMPANION,
    Cells,
    cell_codes,
    cells_named,
    companion,
    expected_counts,
    reconstructed,
)
from pramana.methods.columns import Quasi, QuasiForm, joint_appearance, restored_quasi
from pramana.methods.usefulness import CellLook
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.schema.typed import near, read_section

# The companion of a CSV with cells by class, read back strictly: class, attribute, value and weight.


_TYPES = {CLASS: pa.int64(), "attribute": pa.string(), "value": pa.string(), "weight": pa.int64()}


def read_companion(path: Path, quasi: Sequence[Quasi], escaped: bool) -> list[Cells]:
    """The cells of every class, by quasi-identifier; a file that is not just as it is written is refused."""
    try:
        lines = pacsv.read_csv(own_file(path), convert_options=pacsv.ConvertOptions(column_types=_TYPES))
        if escaped:
            texts = {name: unescaped(lines[name]) for name in ("attribute", "value")}
            lines = pa.table({name: texts.get(name, lines[name]) for name in lines.column_names})
        cells = [_cells_of(lines, q) for q in quasi]
        again = companion(quasi, cells)
        with open_regular(path, follow=False) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        same = digest_of_written(lambda sink: write_table(again, sink, "csv", escaped)) == digest
    except (KeyError, ValueError, TypeError, OSError, pa.ArrowException):
        same = False
    if not same or len({len(c) for c in cells}) != 1:
        raise BundleError(
            f"{path.name} must tell the cells of every class as they are written", "lines that are not"
        )
    return cells


def check_companion(
    bundle: Bundle, quasi: Sequence[Quasi], columns: Sequence[ShownColumn], shown: ShownCells
) -> dict[str, CellLook]:
    """The classes that rows are in are those whose cells are told, and the cells are of their domains.

    Returned is what each class of `shown` looks like.
    """
    cells = read_companion(bundle.path / COMPANION, quasi, bundle.certificate.escaped)
    for column, own in zip(columns, cells, strict=True):
        column.check_cells(own)
    classes = len(cells[0])
    order = np.array([int(json.loads(number)) for number in shown.cells.get(CLASS, {})], np.int64)
    if set(order.tolist()) != set(range(classes)):
        raise BundleError(f"The rows must be in the {classes} classes of {COMPANION}", f"{len(order)} classes")
    return {q.name: look_of(own.select(order)) for q, own in zip(quasi, cells, strict=True)}


def _cells_of(lines: pa.Table, quasi: Quasi) -> Cells:
    here = lines.filter(pc.equal(lines["attribute"], quasi.name))
    code = {leaf: i for i, leaf in enumerate(quasi.leaf_labels)}
    values = np.array([code[v] for v in here["value"].to_pylist()], np.int64)
    number, weights = here[CLASS].to_numpy(), here["weight"].to_numpy()
    joint = number * len(code) + values
    if len(here) == 0 or number[0] != 0 or number[-1] >= len(number) or not (np.diff(joint) > 0).all():
        raise ValueError("lines out of order, or a class that is not there")
    sizes = np.bincount(number)
    if (weights < 1).any() or (sizes == 0).any():
        raise ValueError("a weight that is none, or a class without a value")
    return Cells(len(code), np.concatenate([[0], np.cumsum(sizes)]), values, weights)


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """What a generalised release publishes. `PublishedCells.open` reads it from a bundle.

    Args:
        names: The quasi-identifiers.
        leaves: The values of each.
        cells: The cells of each, by class.
        class_of: The class of every record.
        others: The other columns.

    Raises:
        BundleError: By `PublishedCells.open`, where the bundle has no cells.

    >>> import pramana
    >>> pramana.PublishedCells.open("generalised").names
    ('sex', 'age')
    """

    names: tuple[str, ...]
    leaves: tuple[tuple[str, ...], ...]
    cells: tuple[Cells, ...]
    class_of: NDArray[np.int64]
    others: pa.Table

    @classmethod
    def open(cls, bundle: str | Path) -> PublishedCells:
        return cls.of_bundle(Bundle.open(bundle))

    @classmethod
    def of_bundle(cls, opened: Bundle) -> PublishedCells:
        certificate = opened.certificate
        stated = certificate.mechanism.get("quasi")
        if not isinstance(stated, list):
            raise BundleError("The bundle must be one with cells", f"method {certificate.method!r}")
        try:
            forms = [read_section(QuasiForm, q, "The columns of a certificate", BundleError) for q in stated]
            quasi = restored_quasi(forms, certificate.attributes)
        except (SchemaError, ValueError, IndexError):
            raise BundleError(
                "The certificate must state its generalisation", "levels that do not fit its columns"
            ) from None
        names = [q.name for q in quasi]
        table = pa.Table.from_batches(opened.batches())
        try:
            if CLASS in table.column_names:
                cells, class_of = _by_class(opened, table, quasi)
            else:
                cells, class_of = _by_row(table, quasi)
        except (KeyError, ValueError, IndexError, pa.ArrowException):
            raise BundleError(
                "The cells of a bundle must fit its certificate", "cells that cannot be read by it"
            ) from None
        others = table.drop_columns([n for n in (CLASS, *names) if n in table.column_names])
        return cls(tuple(names), tuple(q.leaf_labels for q in quasi), tuple(cells), class_of, others)

    @property
    def records(self) -> int:
        return len(self.class_of)

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.class_of, minlength=len(self.cells[0]))

    def codes(self, key: Key, draw: int = 0) -> list[Codes]:
        """One reconstruction of the quasi-identifiers, as codes of their leaves."""
        return reconstructed(self.cells, self.names, self.class_of, key, draw)

    def reconstruct(self, key: Key, draw: int = 0) -> pa.Table:
        """One atomic table (paper 4, Definition 7): a value drawn for every cell, other columns as they are."""
        columns: dict[str, Any] = {}
        for name, leaves, codes in zip(self.names, self.leaves, self.codes(key, draw), strict=True):
            indices = pa.array(codes.astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(indices, pa.array(leaves, pa.string()))
        return pa.table({**columns, **{n: self.others.column(n) for n in self.others.column_names}})

    def expected(self, by: Sequence[str]) -> NDArray[np.float64]:
        """The expected counts of some quasi-identifiers together, without drawing anything."""
        for name in by:
            if name not in self.names:
                raise SourceError(
                    "Expected counts must be of quasi-identifiers", repr(name), near(name, self.names)
                )
        return expected_counts([self.cells[self.names.index(name)] for name in by], self.sizes)


def _by_row(table: pa.Table, quasi: Sequence[Quasi]) -> tuple[list[Cells], NDArray[np.int64]]:
    """Rows whose cells all agree are one class."""
    cells, codes = [], []
    for q in quasi:
        column = _plain(table.column(q.name)).combine_chunks()
        code, first_rows = cell_codes(column)
        cells.append(cells_named(column.take(numbers(first_rows)).to_pylist(), q.leaf_labels, q.members()))
        codes.append(code)
    class_of, rows = joint_appearance(codes, table.num_rows)
    return [c.select(code[rows].astype(np.int64)) for c, code in zip(cells, codes, strict=True)], class_of


def _by_class(opened: Bundle, table: pa.Table, quasi: Sequence[Quasi]) -> tuple[list[Cells], NDArray[np.int64]]:
    cells = read_companion(opened.path / COMPANION, quasi, opened.certificate.escaped)
    class_of = pc.cast(_plain(table.column(CLASS)), pa.int64()).to_numpy()
    if class_of.min(initial=0) < 0 or class_of.max(initial=0) >= len(cells[0]):
        raise BundleError(
            "The classes of a bundle must be those of its companion", f"class {int(class_of.max(initial=0))}"
        )
    return cells, class_of


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
