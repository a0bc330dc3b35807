"""Releases whose published values are codes of public domains: how they are drawn, told apart and examined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle import WITHIN_BIN, Bundle, Check, numbers_of
from pramana.calibration import Usefulness
from pramana.errors import BundleError, PramanaError
from pramana.mechanisms import Mechanism
from pramana.methods.contradiction import contradicts, uneven
from pramana.methods.protocol import Counts, Examination, Plan, Publication, part_check
from pramana.randomness import Codes, Stream, counted
from pramana.rows import NO_UNITS, Columns, ContentDigest, Rows
from pramana.schema import Attribute, Storey
from pramana.sources import decode

_PARTS = 16  # of a bin, whose draws are held against the law


@dataclass(frozen=True, eq=False)
class CountedContent:
    """A data file, or a part: how often each code is in it, and where in their bins drawn numbers lie."""

    records: int
    counts: Mapping[str, Counts]
    places: Mapping[str, Counts]
    content: str  # the digest of one file; parts have those of their bytes


class CodedTable:
    """Published codes as the labels of their domains, or as numbers, beside the columns that pass unchanged.

    `coins` are those of the columns whose numbers are drawn: a published row has the word of its place.
    """

    def __init__(self, attributes: tuple[Attribute, ...], coins: Mapping[str, Stream], row: int = 0) -> None:
        self._attributes, self._coins = attributes, coins
        self._coded = [a for a in attributes if not a.raw]
        self._numbers = numbers_of(attributes)
        self._order = [a.name for a in sorted(attributes, key=lambda a: a.raw)]
        self._digest = ContentDigest()
        self._counts = {a.name: np.zeros(a.coded.size, np.int64) for a in self._coded}
        self._rows = row

    def table(self, columns: Columns) -> pa.Table:
        """A column whose public domain has no missing value is written as one that has none, which is quicker."""
        positions = {name: self._positions(name, columns) for name in self._numbers}
        self._digest.update({name: positions.get(name, columns[name]) for name in self._order})
        for a in self._coded:
            self._counts[a.name] += counted(columns[a.name], a.coded.size)
        self._rows += len(next(iter(columns.values())))
        shown = [self._shown(a, columns, positions) for a in self._attributes]
        fields = [
            pa.field(a.name, column.type, nullable=a.raw or a.coded.missing_code is not None)
            for a, column in zip(self._attributes, shown, strict=True)
        ]
        return pa.table(shown, schema=pa.schema(fields))

    def _positions(self, name: str, columns: Columns) -> Codes:
        codes, coins = columns[name], self._coins.get(name)
        return self._numbers[name].positions(codes, None if coins is None else coins.words(self._rows, len(codes)))

    def _shown(self, a: Attribute, columns: Columns, positions: Mapping[str, Codes]) -> pa.Array:
        if a.name in positions:
            return self._numbers[a.name].column(positions[a.name])
        return columns[a.name] if a.raw else decode(columns[a.name], a.coded)

    def content(self) -> str:
        return self._digest.hexdigest()

    def counts(self) -> Mapping[str, Counts]:
        return self._counts

    def kept(self, columns: Columns) -> NDArray[np.bool_]:
        return np.ones(len(next(iter(columns.values()))), np.bool_)

    def at(self, row: int) -> CodedTable:
        return CodedTable(self._attributes, self._coins, row)


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedPlan(Plan):
    """A plan that draws codes from a mechanism."""

    @abstractmethod
    def usefulness(self) -> Usefulness:
        """What tables are worth, from what the certificate states."""

    def publish_drawn(
        self,
        rows: Rows,
        mechanism: Mechanism,
        context: str,
        checks: tuple[Check, ...] = (),
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> Publication:
        """Rows through the mechanism, under coins bound to `context`; `once` as `Rows.publish` has it."""
        names = [a.name for a in sorted(self.attributes, key=lambda a: a.raw)]
        pieces = rows.publish(mechanism, context, self.shuffled, names, once=once)
        drawn = [name for name, numbers in numbers_of(self.attributes).items() if numbers.drawn]
        coins = {name: rows.stream(WITHIN_BIN, context, name, 0) for name in drawn}
        table = CodedTable(self.attributes, coins)
        return Publication(self, pieces, table, rows.commitment(), checks=checks, usefulness=self.usefulness())

    def examine(self, bundle: Bundle) -> Examination:
        """The published values are in their domains, as many as certified, and have the certified content."""
        try:
            read = bundle.each_part(self._counted)
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        records = sum(part.records for part in read)
        if records != self.records:
            return Examination((Check("data", False, f"{self.records} records certified, {records} found"),))
        same = bundle.has_content(read[0].content)
        told = f"{self.records} records, all in their domains" if same else "other content"
        counts = _summed([part.counts for part in read])
        numbers, places = numbers_of(self.attributes), _summed([part.places for part in read])
        drawn = _drawn_evenly({name: (table, numbers[name].chances(_PARTS)) for name, table in places.items()})
        return Examination(
            (Check("data", same, told), *self._borne_out(counts), *drawn), counts, self.usefulness()
        )

    def _counted(self, bundle: Bundle) -> CountedContent:
        """What a data file holds, or one part of a set."""
        content, records = ContentDigest(), 0
        coded = [a for a in self.attributes if not a.raw]
        counts = {a.name: np.zeros(a.coded.size, np.int64) for a in coded}
        numbers = numbers_of(self.attributes)
        places = {
            name: np.zeros((len(n.domain.labels), _PARTS), np.int64) for name, n in numbers.items() if n.drawn
        }
        self._check_columns(bundle)
        for columns in bundle.content():
            if bundle.certificate.parts is None:
                content.update(columns)
            records += len(next(iter(columns.values())))
            for a in coded:
                own = numbers[a.name].codes(columns[a.name]) if a.name in numbers else columns[a.name]
                counts[a.name] += counted(own, a.coded.size)
            for name, table in places.items():
                np.add.at(table, numbers[name].parts(columns[name], _PARTS), 1)
        return CountedContent(records, counts, places, content.hexdigest())

    def examine_part(self, bundle: Bundle) -> Check:
        """Its values are in their domains, too."""

        def count() -> int:
            self._check_columns(bundle)
            return sum(len(next(iter(columns.values()))) for columns in bundle.content())

        return part_check(bundle, count)

    def _check_columns(self, bundle: Bundle) -> None:
        numbers = numbers_of(self.attributes)
        types = {a.name: None if a.raw else pa.string() for a in self.attributes}
        bundle.check_columns(types | {name: n.type for name, n in numbers.items()})
        check_dictionaries(bundle, [a for a in self.attributes if not a.raw and a.name not in numbers])

    def _contradicted(self, name: str, counts: Counts) -> bool:
        return self.law is not None and contradicts(self.law, name, counts, self.repeated.get(name, 1))

    def _borne_out(self, counts: Mapping[str, Counts]) -> tuple[Check, ...]:
        """Whether the published counts can have come from the stated law."""
        if self.law is None:
            return ()
        strange = [name for name in counts if self._contradicted(name, counts[name])]
        told = "the published counts can have come from it"
        return (
            Check("law and data", not strange, f"never so by chance: {', '.join(strange)}" if strange else told),
        )


def _summed(parts: Sequence[Mapping[str, Counts]]) -> dict[str, Counts]:
    return {name: np.asarray(sum(part[name] for part in parts), np.int64) for name in parts[0]}


def _drawn_evenly(drawn: Mapping[str, tuple[Counts, NDArray[np.float64]]]) -> tuple[Check, ...]:
    """Whether numbers within bins can have been drawn by their law; byte for byte only the source and key tell."""
    if not drawn:
        return ()
    strange = [name for name, (counts, chances) in drawn.items() if uneven(counts, chances)]
    told = f"never so by chance: {', '.join(strange)}" if strange else "uniform, as far as the data tell"
    return (Check("draws within bins", not strange, told),)


def check_dictionaries(bundle: Bundle, coded: Sequence[Attribute]) -> None:
    """The dictionary of a published column is its public domain, in public order, whatever rows use of it."""
    if bundle.certificate.output != "parquet" or not coded:
        return
    for batch in bundle.batches([a.name for a in coded]):
        for a in coded:
            column = batch.column(a.name)
            if not pa.types.is_dictionary(column.type) or column.dictionary.to_pylist() != list(a.coded.labels):
                raise BundleError(f"The column {a.name!r} must have its public domain as dictionary", "another")
