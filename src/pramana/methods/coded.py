"""Releases whose published values are codes of public domains: how they are drawn, told apart and examined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pramana.bundle import Bundle, Check
from pramana.calibration import Usefulness
from pramana.errors import BundleError, PramanaError
from pramana.mechanisms import Mechanism
from pramana.methods.contradiction import contradicts
from pramana.methods.protocol import Counts, Examination, Plan, Publication
from pramana.randomness import counted
from pramana.rows import Columns, ContentDigest, Rows
from pramana.schema import Attribute
from pramana.sources import decode


class CodedTable:
    """Published codes as the labels of their domains, beside the columns that pass unchanged."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        self._attributes = attributes
        self._coded = [a for a in attributes if not a.raw]
        self._order = [a.name for a in sorted(attributes, key=lambda a: a.raw)]
        self._digest = ContentDigest()
        self._counts = {a.name: np.zeros(a.coded.size, np.int64) for a in self._coded}

    def table(self, columns: Columns) -> pa.Table:
        """A column whose public domain has no missing value is written as one that has none, which is quicker."""
        self._digest.update({name: columns[name] for name in self._order})
        for a in self._coded:
            self._counts[a.name] += counted(columns[a.name], a.coded.size)
        shown = [columns[a.name] if a.raw else decode(columns[a.name], a.coded) for a in self._attributes]
        fields = [
            pa.field(a.name, column.type, nullable=a.raw or a.coded.missing_code is not None)
            for a, column in zip(self._attributes, shown, strict=True)
        ]
        return pa.table(shown, schema=pa.schema(fields))

    def content(self) -> str:
        return self._digest.hexdigest()

    def counts(self) -> Mapping[str, Counts]:
        return self._counts


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedPlan(Plan):
    """A plan that draws codes from a mechanism."""

    @abstractmethod
    def usefulness(self) -> Usefulness:
        """What tables are worth, from what the certificate states."""

    def publish_drawn(
        self, rows: Rows, mechanism: Mechanism, context: str, checks: tuple[Check, ...] = ()
    ) -> Publication:
        """Rows through the mechanism, under coins bound to `context`."""
        names = [a.name for a in sorted(self.attributes, key=lambda a: a.raw)]
        pieces = rows.publish(mechanism, context, self.shuffled, names)
        table = CodedTable(self.attributes)
        return Publication(self, pieces, table, rows.commitment(), checks=checks, usefulness=self.usefulness())

    def examine(self, bundle: Bundle) -> Examination:
        """The published values are in their domains, as many as certified, and have the certified content."""
        content, records = ContentDigest(), 0
        coded = [a for a in self.attributes if not a.raw]
        counts = {a.name: np.zeros(a.coded.size, np.int64) for a in coded}
        try:
            bundle.check_columns({a.name: None if a.raw else pa.string() for a in self.attributes})
            check_dictionaries(bundle, coded)
            for columns in bundle.pieces():
                content.update(columns)
                records += len(next(iter(columns.values())))
                for a in coded:
                    counts[a.name] += counted(columns[a.name], a.coded.size)
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        if records != self.records:
            return Examination((Check("data", False, f"{self.records} records certified, {records} found"),))
        same = content.hexdigest() == bundle.certificate.content
        told = f"{self.records} records, all in their domains" if same else "other content"
        return Examination((Check("data", same, told), *self._borne_out(counts)), counts, self.usefulness())

    def _borne_out(self, counts: Mapping[str, Counts]) -> tuple[Check, ...]:
        """Whether the published counts can have come from the stated law."""
        if self.law is None:
            return ()
        strange = [name for name in counts if contradicts(self.law, name, counts[name])]
        told = "the published counts can have come from it"
        return (
            Check("law and data", not strange, f"never so by chance: {', '.join(strange)}" if strange else told),
        )


def check_dictionaries(bundle: Bundle, coded: Sequence[Attribute]) -> None:
    """The dictionary of a published column is its public domain, in public order, whatever rows use of it."""
    if bundle.certificate.output != "parquet" or not coded:
        return
    for batch in bundle.batches([a.name for a in coded]):
        for a in coded:
            column = batch.column(a.name)
            if not pa.types.is_dictionary(column.type) or column.dictionary.to_pylist() != list(a.coded.labels):
                raise BundleError(f"The column {a.name!r} must have its public domain as dictionary", "another")
