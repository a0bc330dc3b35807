"""A generalised bundle as its recipient uses it: cells read back, atomic tables drawn, counts expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.bundle import Bundle
from pramana.errors import BundleError, SchemaError, SourceError
from pramana.generalize import (
    CLASS,
    COMPANION,
    Cells,
    by_appearance,
    cells_from_column,
    expected_counts,
    reconstructed,
)
from pramana.methods.companion import read_companion
from pramana.methods.quasi import Quasi, QuasiForm, restored_quasi
from pramana.randomness import Codes, Key
from pramana.schema import near, read_section


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """Cells by class for every quasi-identifier, the class of every record, and the other columns.

    >>> pramana.PublishedCells.open("published").expected(["sex"])  # doctest: +SKIP
    array([10771., 21790.])
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
            raise BundleError("The certificate must state its generalisation", "something else") from None
        names = [q.name for q in quasi]
        table = pa.Table.from_batches(opened.batches())
        read = _by_class if CLASS in table.column_names else _by_row
        try:
            cells, class_of = read(opened, table, quasi)
        except (KeyError, ValueError, IndexError, pa.ArrowException):
            raise BundleError("The cells of a bundle must fit its certificate", "others") from None
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


def _by_row(opened: Bundle, table: pa.Table, quasi: Sequence[Quasi]) -> tuple[list[Cells], NDArray[np.int64]]:
    """Rows whose cells all agree are one class."""
    del opened
    cells, codes, keys = [], [], np.zeros(table.num_rows, np.int64)
    for q in quasi:
        column_cells, code = cells_from_column(_plain(table.column(q.name)), q.leaf_labels, q.members())
        cells.append(column_cells)
        codes.append(code)
        keys = by_appearance(keys * len(column_cells) + code)[0].astype(np.int64)
    class_of, rows = by_appearance(keys)
    return [c.select(code[rows].astype(np.int64)) for c, code in zip(cells, codes, strict=True)], class_of.astype(
        np.int64
    )


def _by_class(opened: Bundle, table: pa.Table, quasi: Sequence[Quasi]) -> tuple[list[Cells], NDArray[np.int64]]:
    cells = read_companion(opened.path / COMPANION, quasi, opened.certificate.escaped)
    class_of = pc.cast(_plain(table.column(CLASS)), pa.int64()).to_numpy()
    if class_of.min(initial=0) < 0 or class_of.max(initial=0) >= len(cells[0]):
        raise BundleError("The classes of a bundle must be those of its companion", "others")
    return cells, class_of


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
