"""Rows in memory."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column, commitment_to, parts_of
from pramana.rows.engines import LocalEngine, ahead
from pramana.rows.owners import HOUSEHOLD, PERSON, numbered_as_they_appear, owners_by
from pramana.rows.protocol import (
    ROW_NUMBER,
    ColumnReading,
    Columns,
    Draw,
    Progress,
    R,
    Rows,
    S,
    Work,
    no_progress,
)
from pramana.rows.repeats import repeats
from pramana.schema.domain import Attribute
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.counting.classes import CountedCombinations


_COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it


class LocalRows(Rows):
    """Rows on one machine, in memory or in scratch room: what can be asked of them piece after piece."""

    @abstractmethod
    def _mapped(self, work: Callable[[Columns], R], names: Iterable[str]) -> Iterator[R]:
        """What `work` makes of some columns, piece after piece."""

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        return reduce(operator.add, self._mapped(work, names))

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        from pramana.counting.classes import Classes, CombinationCounter  # a plain release counts none

        counters = [CombinationCounter(list(group.values())) for group in groups]

        def count(columns: Columns) -> list[Classes]:
            return [c.of([columns[n] for n in group]) for c, group in zip(counters, groups, strict=True)]

        names = dict.fromkeys(name for group in groups for name in group)
        for parts in self._mapped(count, names) if groups else ():
            for counter, part in zip(counters, parts, strict=True):
                counter.join(part)
            self.check_room(_COPIES * sum(sum(part.nbytes for part in c.parts) for c in counters))
        return [counter.counted() for counter in counters]


_PIECE = 8 * ROW_GROUP  # rows that are digested, decoded and written while the next ones are


class MemoryRows(LocalRows):
    """A table in memory, under a key."""

    def __init__(
        self,
        table: Table,
        key: Key,
        engine: LocalEngine | None = None,
        progress: Progress = no_progress,
        show: bool = False,
    ) -> None:
        super().__init__(key, progress, show)
        self._table = table
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

    def _encode(self, attributes: Sequence[Attribute]) -> None:
        def coded(a: Attribute) -> Column:
            column = self._table.column(a.name)
            return raw_column(column, None) if a.raw else encode(column, a.coded, a.name, self._show)

        with ThreadPoolExecutor(self._engine.workers) as pool:
            self._columns = dict(zip((a.name for a in attributes), pool.map(coded, attributes), strict=True))

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

    def _mapped(self, work: Callable[[Columns], R], names: Iterable[str]) -> Iterator[R]:
        columns = {name: self._column(name) for name in names}
        return ahead(work, parts_of(columns, self.records, _PIECE), self._engine.workers)

    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        columns = {name: self._columns[name] for name in names}
        if self._owners is not None:
            columns |= self._owners.columns()
        with ThreadPoolExecutor(self._engine.workers) as pool:
            return commitment_to(columns, key, pool.map)

    def publish(self, draw: Draw) -> Iterator[Columns]:
        true = {name: self._column(name) for name in dict.fromkeys([*draw.mechanism.sizes, *draw.names])}
        shared = self._draw_once(draw, self._engine.threads)
        drawn = self._engine.publish(shared.each, self._key, draw.context, true, progress=self._progress)
        drawn |= shared.of_rows(0, self.records)
        columns = {name: drawn.get(name, true[name]) for name in draw.names}
        if draw.shuffled:
            columns = self._shuffled(columns, draw.context, drawn)
        self._progress("writing", 0, 1)
        yield from parts_of(columns, self.records, _PIECE)

    def _shuffled(self, columns: Columns, context: str, drawn: Collection[str]) -> Columns:
        """In keyed order; what was drawn is nobody else's, and stays where it is."""
        coded = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
        room = np.empty(self.records, np.uint64)
        order = self._engine.order(self._key, context, self.records, room)
        ordered: Columns = dict(self._engine.reorder(coded, order, drawn, room))
        indices = numbers(order) if len(coded) < len(columns) else None
        return {
            name: ordered[name] if name in ordered else column.take(indices) for name, column in columns.items()
        }

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        yield {name: self._column(name) for name in names}

    def marked(self, name: str) -> Rows:
        return self.only(self._column(name) == 1)

    def open_reference_table(self, source: Source, readings: Sequence[ColumnReading]) -> MemoryRows:
        table = source.read([reading.name for reading in readings])
        return MemoryRows(table, Key.create(), self._engine, show=self._show)  # no coin is drawn from its key

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        return {name: self._column(name) for name in sizes}

    def attach(self, name: str, codes: Codes) -> None:
        self._attached[name] = codes

    def in_units(self, unit: UnitSection) -> MemoryRows:
        def numbered(name: str) -> NDArray[np.uint32]:
            return numbered_as_they_appear(self._table.column(name), name)

        owners, kept = owners_by(numbered, self.records, unit, self._key)
        rows = self._with(kept)
        rows._owners = owners
        return rows

    def only(self, kept: NDArray[np.bool_]) -> Rows:
        rows = self._with(kept)
        rows.encode(self._attributes)
        return rows

    def _with(self, kept: NDArray[np.bool_]) -> MemoryRows:
        table = self._table
        if not bool(kept.all()):
            indices = numbers(np.flatnonzero(kept))
            table = Table({n: c.take(indices) for n, c in table.columns.items()}, int(kept.sum()))
        return MemoryRows(table, self._key, self._engine, self._progress, self._show)
