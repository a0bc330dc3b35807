"""The columns of a bundle without a law, as they are counted: cells, single values, and the doubts about them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from pramana.bundle import Bundle
from pramana.errors import BundleError
from pramana.estimate import MISSING, CellColumn, CellStudy
from pramana.methods import Plan, PublishedCells
from pramana.pipeline.recipient.axes import BundleAxes, read_unchanged
from pramana.randomness import code_dtype
from pramana.sources import values_of


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
