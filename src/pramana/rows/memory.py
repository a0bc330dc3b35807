"""Rows in memory."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.io.codes import encode, has_missing
from pramana.io.columns import numbers
from pramana.io.parquet import ROW_GROUP
from pramana.io.source import Source, Table
from pramana.io.writing import raw_column
from pramana.mechanisms.table import Mechanism, Product
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column, commitment_to, parts_of
from pramana.rows.engines import LocalEngine, ahead
from pramana.rows.owners import HOUSEHOLD, PERSON, Owners, SharedDraws, bring_together
from pramana.rows.protocol import (
    NO_UNITS,
    ROW_NUMBER,
    ColumnReading,
    Columns,
    Progress,
    Rows,
    S,
    Work,
    no_progress,
)
from pramana.rows.repeats import repeats
from pramana.schema.domain import Attribute
from pramana.schema.unit import Storey, UnitSection

if TYPE_CHECKING:
    from pramana.counting.classes import CountedCombinations


# What the homes on one machine have in common: a key, encoded attributes, a commitment that is made once.


class KeyedRows(ABC):
    """Rows under a key."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._attributes: tuple[Attribute, ...] = ()
        self._commitments: dict[Key, str] = {}
        self._owners: Owners | None = None

    @property
    def owners(self) -> Owners | None:
        return self._owners

    def _set_attributes(self, attributes: Sequence[Attribute]) -> None:
        """Other columns are published from now on; what was digested of the old ones is forgotten."""
        self._attributes = tuple(attributes)
        self._commitments.clear()

    def commitment(self, key: Key | None = None) -> str:
        under = self._key if key is None else key
        if under not in self._commitments:
            names = [a.name for a in sorted(self._attributes, key=lambda a: a.raw)]
            self._commitments[under] = self._digest_under(under, names)
        return self._commitments[under]

    @abstractmethod
    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        """The keyed digest of some columns."""

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        return self._key.stream(purpose, context, column, draw)

    @abstractmethod
    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        """The codes of some columns, which are given with their numbers of codes."""

    def _shared_draws(
        self, mechanism: Mechanism, context: str, once: Mapping[str, Storey], threads: int
    ) -> SharedDraws:
        """The values that a person or a household has in common, drawn, and the law of all others."""
        return draw_once(mechanism, self._key, context, once, self._owners, self.codes, threads)


def draw_once(
    mechanism: Mechanism,
    key: Key,
    context: str,
    once: Mapping[str, Storey],
    owners: Owners | None,
    codes: Callable[[Mapping[str, int]], Mapping[str, Codes]],
    threads: int,
) -> SharedDraws:
    """The values that a person or a household has in common, drawn, and the law of all others.

    The coin of such a value is that of the unit's number: no column is drawn both ways in one release. `codes` are
    those of all rows, of columns that are given with their numbers of codes.
    """
    if not once:
        return SharedDraws(mechanism)
    assert isinstance(mechanism, Product), "columns are drawn once where each has a coin of its own"
    assert owners is not None, "rows are brought together where columns are drawn once"
    each = Product({name: c for name, c in mechanism.channels.items() if name not in once})
    drawn: dict[str, Codes] = {}
    for name, of in once.items():
        own = Product({name: mechanism.channels[name]})
        common = {name: codes(own.sizes)[name][owners.first_rows(of)]}
        drawn |= LocalEngine(threads).publish(own, key, context, common)
    return SharedDraws(each, drawn, {name: owners.numbers_of(of) for name, of in once.items()})


_PIECE = 8 * ROW_GROUP  # rows that are digested, decoded and written while the next ones are


class MemoryRows(KeyedRows):
    """A table in memory, under a key."""

    def __init__(
        self,
        table: Table,
        key: Key,
        engine: LocalEngine | None = None,
        progress: Progress = no_progress,
        show: bool = False,
    ) -> None:
        super().__init__(key)
        self._table, self._progress, self._show = table, progress, show
        self._engine = LocalEngine() if engine is None else engine
        self._columns: Columns = {}  # codes, and columns that pass unchanged
        self._derived: dict[str, tuple[tuple[str, ...], Work]] = {}
        self._attached: dict[str, Codes] = {}

    @property
    def records(self) -> int:
        return self._table.records

    def repeats(self, name: str) -> bool:
        return repeats(self._table.column(name))

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        return {name: self._table.column(name) for name in names}

    def has_missing(self, name: str) -> bool:
        return has_missing(self._table.column(name))

    def encode(self, attributes: Sequence[Attribute]) -> None:
        if tuple(attributes) == self._attributes:
            return

        def coded(a: Attribute) -> Column:
            column = self._table.column(a.name)
            return raw_column(column, None) if a.raw else encode(column, a.coded, a.name, self._show)

        with ThreadPoolExecutor(self._engine.workers) as pool:
            self._columns = dict(zip((a.name for a in attributes), pool.map(coded, attributes), strict=True))
        self._set_attributes(attributes)

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        self._derived[name] = (tuple(of), work)
        self._attached.pop(name, None)

    def _column(self, name: str) -> Column:
        if name in self._attached:
            return self._attached[name]
        if name in self._derived:
            names, work = self._derived.pop(name)
            self._attached[name] = work({n: self._column(n) for n in names})
            return self._attached[name]
        if name in self._columns:
            return self._columns[name]
        if name == ROW_NUMBER:
            return np.arange(self.records, dtype=np.uint64)
        if name in (PERSON, HOUSEHOLD) and self._owners is not None:
            return self._owners.columns()[name]
        return raw_column(self._table.column(name), None)  # read for the method alone, and not published

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        joint = np.ravel_multi_index([self._column(name) for name in names], tuple(shape))
        return np.bincount(joint, minlength=int(np.prod(shape))).astype(np.int64).reshape(shape)

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        from pramana.counting.classes import CombinationCounter  # a plain release counts none

        counted = []
        for group in groups:
            counter = CombinationCounter(list(group.values()))
            counter.update([self._column(name) for name in group])
            counted.append(counter.counted())
        return counted

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        columns = {name: self._column(name) for name in names}
        return reduce(operator.add, ahead(work, parts_of(columns, self.records, _PIECE), self._engine.workers))

    def check_room(self, needed: int) -> None:
        """What is in memory already is not bounded."""

    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        columns = {name: self._columns[name] for name in names}
        if self._owners is not None:
            columns |= self._owners.columns()
        with ThreadPoolExecutor(self._engine.workers) as pool:
            return commitment_to(columns, key, pool.map)

    def publish(
        self,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str = "randomising",
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> Iterator[Columns]:
        del stage
        true = {name: self._column(name) for name in dict.fromkeys([*mechanism.sizes, *names])}
        shared = self._shared_draws(mechanism, context, once, self._engine.threads)
        drawn = self._engine.publish(shared.each, self._key, context, true, progress=self._progress)
        drawn |= shared.of_rows(0, self.records)
        columns = {name: drawn.get(name, true[name]) for name in names}
        if shuffled:
            columns = self._shuffled(columns, context, drawn)
        self._progress("writing", 0, 1)
        for first in range(0, self.records, _PIECE):
            yield {name: column[first : first + _PIECE] for name, column in columns.items()}

    def _shuffled(self, columns: Columns, context: str, drawn: Collection[str]) -> Columns:
        """In keyed order; what was drawn is nobody else's, and stays where it is."""
        coded = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
        room = np.empty(self.records, np.uint64)
        order = self._engine.order(self._key, context, self.records, room)
        ordered: Columns = dict(self._engine.reorder(coded, order, drawn, room))
        places = numbers(order) if len(coded) < len(columns) else None
        return {
            name: ordered[name] if name in ordered else column.take(places) for name, column in columns.items()
        }

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        yield {name: self._column(name) for name in names}

    def marked(self, name: str) -> Rows:
        return self.only(self._column(name) == 1)

    def beside(self, source: Source, readings: Sequence[ColumnReading]) -> MemoryRows:
        table = source.read([reading.name for reading in readings])
        return MemoryRows(table, Key.create(), self._engine, show=self._show)  # no coin is drawn from its key

    def whole(self) -> MemoryRows:
        return self

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        return {name: self._column(name) for name in sizes}

    def attach(self, name: str, of: Sequence[str], codes: Codes) -> None:
        del of
        self._attached[name] = codes

    def in_units(self, unit: UnitSection) -> MemoryRows:
        table, owners = bring_together(self._table, unit, self._key)
        rows = MemoryRows(table, self._key, self._engine, self._progress, self._show)
        rows._owners = owners
        return rows

    def only(self, kept: NDArray[np.bool_]) -> Rows:
        places = numbers(np.flatnonzero(kept))
        columns = {name: column.take(places) for name, column in self._table.columns.items()}
        table = Table(columns, int(kept.sum()))
        rows = MemoryRows(table, self._key, self._engine, self._progress, self._show)
        rows.encode(self._attributes)
        return rows
