"""What `verify` counts again in the published data of a microaggregated table, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

import pyarrow as pa
from msgspec import UNSET

from pramana.bundle import Bundle, Check
from pramana.errors import BundleError, PramanaError
from pramana.methods.cell_table import CheckedColumn, ShownCells, ShownColumn
from pramana.methods.microaggregate.classes import AggregateMeasures
from pramana.methods.protocol import Examination
from pramana.methods.quasi import MISSING_LABEL
from pramana.schema import Attribute, decimal_number


@dataclass(frozen=True)
class ShownNumbers:
    """A published column of means or medians."""

    name: str

    def check(self, cell: object) -> None:
        number = decimal_number(cell) if isinstance(cell, str) else cell
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or not isfinite(number):
            raise BundleError(f"Every cell of {self.name!r} must be a number", "another")


def examine_aggregates(
    bundle: Bundle, attributes: Sequence[Attribute], quasi: Sequence[Attribute], stated: AggregateMeasures
) -> Examination:
    """k: how many records at least agree in all quasi-identifiers. The losses need the source."""
    shown = ShownCells([_shown(a) for a in quasi], bundle.certificate.output)
    try:
        bundle.check_columns({a.name: pa.string() if a.domain is not None else None for a in attributes})
        for piece in bundle.batches():
            shown.take(piece)
        content, k = shown.content(), int(shown.sizes.min())
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a microaggregated table"),))
    same = bundle.has_content(content)
    return Examination(
        (
            Check("content", same, "as certified" if same else "other content"),
            Check("records", shown.records == stated.records, f"{shown.records} found"),
            Check("classes counted again", len(shown.sizes) == stated.classes, f"{len(shown.sizes)} differ"),
            _smallest(k, stated),
            Check("information loss", True, "stated, not checked: it needs the source", derived=False),
        )
    )


def _smallest(k: int, stated: AggregateMeasures) -> Check:
    """The records of the smallest class; how many people they are of, only the source can tell."""
    if stated.fewest_records is UNSET:
        return Check("k counted again", k == stated.k, f"{k} records in the smallest class")
    right = k == stated.fewest_records and stated.k <= k
    return Check("records of the smallest class counted again", right, f"{k}; whose they are is stated only")


def _shown(attribute: Attribute) -> CheckedColumn:
    if attribute.domain is None:
        return ShownNumbers(attribute.name)
    labels = (*attribute.coded.labels, *([MISSING_LABEL] if attribute.coded.missing else []))
    return ShownColumn(attribute.name, "hierarchy", labels, frozenset(labels))
