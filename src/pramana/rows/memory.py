"""Rows in memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.mechanisms import Mechanism
from pramana.randomness import Codes, Key
from pramana.rows.ahead import ahead
from pramana.rows.digest import Column, commitment_to, parts_of
from pramana.rows.keyed import KeyedRows
from pramana.rows.local import LocalEngine
from pramana.rows.protocol import (
    NO_UNITS,
    ROW_NUMBER,
    ColumnReading,
    Columns,
    Lines,
    Progress,
    Rows,
    S,
    Work,
    no_progress,
)
from pramana.rows.units import HOUSEHOLD, PERSON, bring_together
from pramana.rows.units.repeats import repeats
from pramana.schema import Attribute, Storey, UnitSection
from pramana.sources import ROW_GROUP, Source, Table, encode, has_missing, numbers, raw_column

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

    def settle(self, attributes: Sequence[Attribute]) -> None:
        if tuple(attributes) == self._attributes:
            return

        def coded(a: Attribute) -> Column:
            column = self._table.column(a.name)
            return raw_column(column, None) if a.raw else encode(column, a.coded, a.name, self._show)

        with ThreadPoolExecutor(self._engine.workers) as pool:
            self._columns = dict(zip((a.name for a in attributes), pool.map(coded, attributes), strict=True))
        self._settled(attributes)

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

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[Lines]:
        from pramana.generalize import Combinations
        from pramana.rows.lines import lines_of

        lines = []
        for group in groups:
            counting = Combinations(list(group.values()))
            counting.join(counting.of([self._column(name) for name in group]))
            lines.append(lines_of(counting, list(group.values())))
        return lines

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
        rows.settle(self._attributes)
        return rows
