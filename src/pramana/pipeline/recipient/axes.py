"""The columns of a bundle as a recipient asks for them: axes, codes, and the values that codes stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.bundle import Bundle
from pramana.estimate import Axis
from pramana.randomness import Codes, code_dtype
from pramana.schema import Attribute, Kind, label_of
from pramana.sources import decode, in_order_of_values, numbers


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
