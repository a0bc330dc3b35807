"""The columns of a bundle as a recipient asks for them: axes, codes, and the values that codes stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.io.codes import decode, in_order_of_values
from pramana.io.columns import numbers, values_of
from pramana.methods.protocol import Plan
from pramana.methods.published_cells import PublishedCells
from pramana.randomness.samplers import Codes, code_dtype
from pramana.recipient.cell_counts import CellColumn
from pramana.recipient.cell_study import CellStudy
from pramana.schema.domain import MISSING, Attribute, Axis
from pramana.schema.kind import Kind, label_of


@dataclass(frozen=True, eq=False)
class UnchangedColumn:
    """A column released unchanged: its published values in the order of their kind, and the codes of its rows."""

    axis: Axis
    codes: Codes
    values: pa.Array  # by code, null for the missing one


class BundleAxes(Mapping[str, Axis]):
    """The attributes of a bundle; a column released unchanged gets the values that are published as its axis."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.attributes = {a.name: a for a in bundle.certificate.attributes}
        self.unchanged: dict[str, UnchangedColumn] = {}

    def __getitem__(self, name: str) -> Axis:
        attribute = self.attributes[name]
        if attribute.domain is not None:
            return Axis.of_domain(name, attribute.domain)
        return self.column(name).axis

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def codes(self, names: list[str]) -> dict[str, Codes]:
        coded = self.bundle.codes([n for n in names if not self.attributes[n].raw])
        return {n: self.column(n).codes if self.attributes[n].raw else coded[n] for n in names}

    def pieces(self, names: list[str]) -> Iterator[dict[str, Codes]]:
        """The rows piece by piece; of columns released unchanged the codes are all known once their axis is."""
        first = 0
        for columns in self.bundle.pieces(names):
            rows = slice(first, first + len(next(iter(columns.values()))))
            first = rows.stop
            yield {n: self.column(n).codes[rows] if self.attributes[n].raw else columns[n] for n in names}

    def column(self, name: str) -> UnchangedColumn:
        if name not in self.unchanged:
            self.unchanged[name] = read_unchanged(self.attributes[name], self.bundle.column(name))
        return self.unchanged[name]

    def shown(self, name: str, codes: NDArray[np.unsignedinteger]) -> pa.Array:
        """What codes stand for, as the bundle publishes it."""
        attribute = self.attributes[name]
        if attribute.domain is not None:
            return decode(codes, attribute.domain)
        return self.column(name).values.take(numbers(codes.astype(np.int64)))


def read_unchanged(attribute: Attribute, column: pa.ChunkedArray) -> UnchangedColumn:
    """The published values in the order of their kind: the stated one, or the one they look like."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    published = encoded.dictionary.to_pylist()
    labels = [label_of(value) for value in published]
    by_label = {
        label: value for label, value in zip(labels, published, strict=True) if label != ""
    }  # NaN is missing
    ordered, kind = in_order_of_values(by_label, column.type)
    if attribute.kind is not Kind.NOMINAL:
        ordered, kind = attribute.kind.in_order(by_label), attribute.kind
    missing = encoded.indices.null_count > 0 or "" in labels
    rank_of = {label: i for i, label in enumerate(ordered)}
    rank = np.array([*(rank_of.get(label, len(rank_of)) for label in labels), len(rank_of)])
    rank = rank.astype(code_dtype(len(labels) + 1))
    places = pc.fill_null(encoded.indices, len(labels)).to_numpy(zero_copy_only=False)
    place_of = {label: i for i, label in enumerate(labels)}
    first = np.array([place_of[label] for label in ordered], np.int64)
    values = encoded.dictionary.take(numbers(first))
    if missing:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return UnchangedColumn(
        Axis.of_labels(attribute.name, ordered, missing, kind), np.asarray(rank[places]), values
    )


# The columns of a bundle without a law, as they are counted: cells, single values, and the doubts about them.


class CellReader:
    """Reads one column after the other, as questions ask for them."""

    def __init__(self, bundle: Bundle, plan: Plan, axes: BundleAxes) -> None:
        self.bundle, self.plan, self.axes = bundle, plan, axes

    @cached_property
    def cells(self) -> PublishedCells:
        return PublishedCells.of_bundle(self.bundle)

    def __call__(self, name: str) -> CellColumn:
        attribute, axis = self.bundle.certificate.attribute(name), self.axes[name]
        doubt = self.plan.doubt(name)
        if attribute in self.plan.celled:
            place = self.cells.names.index(name)
            return CellColumn(axis, self.cells.cells[place], self.cells.class_of.astype(np.uint32), doubt)
        if attribute.raw:
            return CellColumn.of_codes(axis, self.axes.column(name).codes, doubt)
        return CellColumn.of_codes(axis, self._labelled(name), doubt)

    def _labelled(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]:
        """The codes of a column of labels, in which a missing value may be one by its own name."""
        domain = self.bundle.certificate.attribute(name).coded
        code_of = {label: code for code, label in enumerate(domain.labels)}
        if domain.missing_code is not None:
            code_of |= {MISSING: domain.missing_code, "": domain.missing_code}
        column = self.bundle.column(name)
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        encoded = plain.combine_chunks().dictionary_encode()
        texts = [*("" if text is None else str(text) for text in encoded.dictionary.to_pylist()), ""]
        if unknown := [text for text in texts[:-1] if text not in code_of]:
            raise BundleError(f"The published values of {name!r} must be of its domain", f"{len(unknown)} others")
        codes = np.array([code_of.get(text, 0) for text in texts], code_dtype(domain.size))
        places = values_of(encoded.indices.fill_null(len(texts) - 1))
        return np.asarray(codes[places])


def cell_study_of(bundle: Bundle, plan: Plan, axes: BundleAxes, weights: str | None) -> CellStudy:
    """The study of a bundle that has no law."""
    numbers = None
    if weights is not None:
        column = read_unchanged(bundle.certificate.attribute(weights), bundle.column(weights))
        numbers = column.axis.middles[column.codes]
        if np.isnan(numbers).any() or (numbers < 0).any():
            raise BundleError(f"The weights {weights} must be numbers of at least 0", "others")
    return CellStudy(axes, CellReader(bundle, plan, axes), bundle.certificate.records, numbers)
