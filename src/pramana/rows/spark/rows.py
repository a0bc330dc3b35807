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
from pramana.randomness import Codes, Key, Stream, available_cores
from pramana.rows.batch import BatchEngine
from pramana.rows.keyed import draw_once
from pramana.rows.protocol import (
    NO_UNITS,
    ColumnReading,
    Columns,
    Kept,
    Lines,
    Progress,
    R,
    S,
    SpreadPieces,
    WholeRows,
    Work,
    no_progress,
)
from pramana.rows.spark.blocks import ATTACHED, DerivedColumn
from pramana.rows.spark.engine import SparkEngine
from pramana.rows.spark.owners import brought_together
from pramana.rows.spark.table import SparkTable
from pramana.rows.spooled import SpooledRows
from pramana.rows.units import Owners
from pramana.schema import Attribute, Domain, Role, Storey, UnitSection
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
        owners: Owners | None = None,
    ) -> None:
        self._table, self._key, self._known, self._missing = table, key, dict(known), missing
        self._progress, self._show, self._owners = progress, show, owners
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
        unit: UnitSection | None = None,
    ) -> Iterator[SparkRows]:
        """Read the source where it lies: once, and before that once more where domains come from the data.

        With a `unit` its rows are brought together first: what is left out is not looked at.
        """
        names = [*(reading.name for reading in readings), *(() if unit is None else unit.columns)]
        stated = {reading.name: _stated(reading) for reading in readings}
        with contextlib.ExitStack() as closing:
            table = closing.enter_context(engine.open(source, list(dict.fromkeys(names)), stated))
            owners: Owners | None = None
            if unit is not None:
                progress("bringing rows together", 0, 1)
                table, owners = brought_together(table, unit, key)
                closing.callback(table.close)
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
            rows = cls(table, key, known, seen.missing, progress, show, owners)
            closing.callback(rows._close_others)
            yield rows

    def _close_others(self) -> None:
        for other in self._others:
            other.close()

    @property
    def records(self) -> int:
        return self._table.records

    @property
    def owners(self) -> Owners | None:
        return self._owners

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

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        return self._table.summed(names, work)

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
        shared = draw_once(mechanism, self._key, context, once, self._owners, self.codes, available_cores())
        drawn = {name: f"{ATTACHED}drawn {name}" for name in once}
        if drawn:
            of_rows = shared.of_rows(0, self.records)
            self._table.attach({drawn[name]: codes for name, codes in of_rows.items()})
        law = shared.each
        return SparkPieces(self._table, self._key, law, context, shuffled, names, stage, self._progress, drawn)

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        return self._key.stream(purpose, context, column, draw)

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._table.publish(Product({}), self._key, "", False, names, {})

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
        """Codes of people's rows come to the driver; methods that need all of any table are refused before."""
        if self._owners is None:
            raise RecipeError("A method that needs all rows at once must have them in memory", "the Spark engine")
        return self

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        parts = list(self.in_order(list(sizes)))
        return {name: np.concatenate([part[name] for part in parts]) for name in sizes}

    def attach(self, name: str, of: Sequence[str], codes: Codes) -> None:
        del of
        self._table.attach({name: codes})


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
        drawn: Mapping[str, str],
    ) -> None:
        self._table, self._key, self._mechanism, self._context = table, key, mechanism, context
        self._shuffled, self._names, self._stage, self._progress = shuffled, names, stage, progress
        self._drawn = drawn
        self._coming = self._pieces()

    def __next__(self) -> Columns:
        return next(self._coming)

    def _pieces(self) -> Iterator[Columns]:
        table, done = self._table, 0
        self._progress(self._stage, 0, table.records)
        law = self._mechanism, self._key, self._context, self._shuffled, self._names
        for columns in table.publish(*law, self._drawn):
            done += len(next(iter(columns.values())))
            self._progress("writing in keyed order" if self._shuffled else "writing", done, table.records)
            yield columns

    def each_part(
        self, rows: int, work: Callable[[int, Iterator[Columns]], R], kept: Kept | None = None
    ) -> list[R]:
        table = self._table
        self._progress(self._stage, 0, table.records)
        law = self._mechanism, self._key, self._context, self._shuffled, self._names
        return table.publish_parts(*law, rows, work, kept, self._drawn)


def _stated(reading: ColumnReading) -> tuple[str, ...]:
    """The texts that have a code, where they are known beforehand; bins take any number."""
    domain = reading.domain
    if domain is None or reading.discovered or domain.edges:
        return ()
    missing = ("",) if domain.missing or reading.open_ended else ()
    return tuple(dict.fromkeys([*domain.labels, *domain.members, *missing]))


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
