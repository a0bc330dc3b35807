"""Rows on Spark: surveyed, digested and drawn where they lie, collected by the driver in published order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError, SourceError
from pramana.generalize import Ladder, Layout, grouped
from pramana.mechanisms import Mechanism, Product
from pramana.randomness import Key, Stream
from pramana.rows.batch import BatchEngine
from pramana.rows.protocol import (
    NO_UNITS,
    ColumnReading,
    Columns,
    Kept,
    Lines,
    Progress,
    R,
    SpreadPieces,
    WholeRows,
    Work,
    no_progress,
)
from pramana.rows.spark.blocks import DerivedColumn
from pramana.rows.spark.table import SparkEngine, SparkTable
from pramana.rows.spooled import SpooledRows
from pramana.rows.units import Owners
from pramana.schema import Attribute, Domain, Role, Storey
from pramana.sources import Source, domain_from_data, ordered_columns


class SparkRows:
    """A table in runs of rows on executors, under a key that stays with the driver."""

    def __init__(
        self,
        table: SparkTable,
        key: Key,
        known: Mapping[str, pa.ChunkedArray],
        missing: frozenset[str],
        progress: Progress,
        show: bool,
    ) -> None:
        self._table, self._key, self._known, self._missing = table, key, dict(known), missing
        self._progress, self._show = progress, show
        self._others: list[SpooledRows] = []

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        engine: SparkEngine,
        progress: Progress,
        show: bool = False,
    ) -> Iterator[SparkRows]:
        """Read the source where it lies: once, and before that once more where domains come from the data."""
        with engine.open(source, [reading.name for reading in readings]) as table:
            listed = [reading.name for reading in readings if reading.discovered]
            if ordered := ordered_columns(source, listed):
                raise SourceError(
                    f"On Spark the domain of the ordered categories of {ordered[0]!r} must be stated",
                    '"from-data"',
                    "Write domain = [...] in their order.",
                )
            known: dict[str, pa.ChunkedArray] = {}
            if listed:
                progress("reading domains", 0, 1)
                known = dict(table.survey(listed, listed).values)
            provisional = tuple(_provisional(reading, known) for reading in readings)
            progress("reading", 0, 1)
            seen = table.read(provisional, key, show)
            table.attributes = provisional
            rows = cls(table, key, known, seen.missing, progress, show)
            try:
                yield rows
            finally:
                for other in rows._others:
                    other.close()

    @property
    def records(self) -> int:
        return self._table.records

    @property
    def owners(self) -> Owners | None:
        return None

    def repeats(self, name: str) -> bool:
        return self._table.repeats(name)

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        asked = [name for name in names if name not in self._known]
        if asked:
            self._known |= self._table.survey(asked, asked).values
        return {name: self._known[name] for name in names}

    def has_missing(self, name: str) -> bool:
        return name in self._missing

    def settle(self, attributes: Sequence[Attribute]) -> None:
        before = {a.name: a.coded for a in self._table.attributes if not a.raw}
        self._table.attributes = tuple(attributes)
        if any(self._is_unfit(a, before.get(a.name)) for a in attributes if not a.raw):
            self._table.read(attributes, self._key, self._show)  # which refuses them, and counts

    def _is_unfit(self, attribute: Attribute, read: Domain | None) -> bool:
        """Whether a column may have values that its settled domain has no room for."""
        if attribute.coded.missing_code is None and attribute.name in self._missing:
            return True
        if read is None or attribute.name not in self._known:
            return False
        return any(attribute.coded.code_of(label) is None for label in read.labels)

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        self._table.derived[name] = DerivedColumn(name, tuple(of), work)

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        return self._table.counts(names, shape)

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[Lines]:
        """One job for all groups: the driver sums the combinations of some columns from those of all."""
        if not groups:
            return []
        sizes = {name: size for group in groups for name, size in group.items()}
        lines = self._table.lines(sizes)
        return [_summed(lines, sizes, group) for group in groups]

    def check_room(self, needed: int) -> None:
        """The driver holds the combinations that occur; how much it has is Spark's setting."""

    def commitment(self, key: Key | None = None) -> str:
        return self._table.commitment(self._key if key is None else key)

    def publish(
        self,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str = "randomising",
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> SparkPieces:
        assert not once, "rows that are brought together are in memory"
        return SparkPieces(self._table, self._key, mechanism, context, shuffled, names, stage, self._progress)

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        return self._key.stream(purpose, context, column, draw)

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._table.publish(Product({}), self._key, "", False, names)

    def marked(self, name: str) -> SparkRows:
        return SparkRows(
            self._table.marked(name), self._key, self._known, self._missing, self._progress, self._show
        )

    def beside(self, source: Source, readings: Sequence[ColumnReading]) -> SpooledRows:
        """On the driver, within a bound; no coin is drawn from its key."""
        other = SpooledRows.read(source, readings, Key.create(), BatchEngine(), no_progress, self._show)
        self._others.append(other)
        return other

    def whole(self) -> WholeRows:
        """Methods that need all rows at once are refused before they come here."""
        raise RecipeError("A method that needs all rows at once must have them in memory", "the Spark engine")


class SparkPieces(SpreadPieces):
    """Published rows, which the driver takes piece by piece or has the executors work on."""

    def __init__(
        self,
        table: SparkTable,
        key: Key,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str,
        progress: Progress,
    ) -> None:
        self._table, self._key, self._mechanism, self._context = table, key, mechanism, context
        self._shuffled, self._names, self._stage, self._progress = shuffled, names, stage, progress
        self._coming = self._pieces()

    def __next__(self) -> Columns:
        return next(self._coming)

    def _pieces(self) -> Iterator[Columns]:
        table, done = self._table, 0
        self._progress(self._stage, 0, table.records)
        for columns in table.publish(self._mechanism, self._key, self._context, self._shuffled, self._names):
            done += len(next(iter(columns.values())))
            self._progress("writing in keyed order" if self._shuffled else "writing", done, table.records)
            yield columns

    def each_part(
        self, rows: int, work: Callable[[int, Iterator[Columns]], R], kept: Kept | None = None
    ) -> list[R]:
        table = self._table
        self._progress(self._stage, 0, table.records)
        return table.publish_parts(
            self._mechanism, self._key, self._context, self._shuffled, self._names, rows, work, kept
        )


def _provisional(reading: ColumnReading, known: Mapping[str, pa.ChunkedArray]) -> Attribute:
    """The attribute with room for missing values where it is open whether there are any."""
    domain = domain_from_data(known[reading.name]) if reading.discovered else reading.domain
    if domain is not None and (reading.open_ended or reading.discovered):
        domain = domain.with_missing()
    return Attribute(reading.name, Role.INSENSITIVE, domain)


def _summed(lines: Lines, sizes: Mapping[str, int], group: Mapping[str, int]) -> Lines:
    """The combinations of some of the columns."""
    if list(group) == list(sizes):
        return lines
    index_of = {name: i for i, name in enumerate(sizes)}
    layout = Layout(tuple(Ladder(name, (np.arange(size),)) for name, size in group.items()))
    base, _ = grouped(layout, [lines.columns[index_of[name]] for name in group], lines.times)
    columns = tuple(base.codes(a).astype(lines.columns[index_of[name]].dtype) for a, name in enumerate(group))
    return Lines(columns, np.ascontiguousarray(base.sizes))
