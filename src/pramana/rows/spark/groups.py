"""Distinct combinations of codes and how often each occurs, grouped by Spark: what generalisation rolls up from.

Every run is grouped where it is read; Spark adds the counts of equal combinations; the driver gets one line for
each combination, however many rows there are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np
import pyarrow as pa

from pramana.counting.classes import Classes, Ladder, Layout, grouped
from pramana.errors import SourceError
from pramana.rows.protocol import Columns, S
from pramana.rows.spark.blocks import DerivedColumn, Encoding
from pramana.rows.spark.steps import Group, Seal, Tables
from pramana.schema.domain import Attribute
from pramana.schema.kind import label_of


@dataclass(frozen=True)
class GroupRun:
    """Group a run's rows by some columns, coded or derived."""

    attributes: tuple[Attribute, ...]
    group: Group
    seal: Seal
    derived: tuple[DerivedColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def layout(self) -> Layout:
        return Layout(tuple(Ladder(name, (np.arange(size),)) for name, size in self.group))

    @property
    def schema(self) -> pa.Schema:
        words = [(f"word{i}", pa.int64()) for i in range(self.layout.words)]
        return pa.schema([*words, ("number", pa.int64())])

    def work(self, rows: Tables) -> Iterator[pa.RecordBatch]:
        encoding, layout = Encoding(self.attributes, derived=self.derived), self.layout
        combinations: Classes | None = None
        for first, table in rows:
            block = encoding.block(first, table)
            if encoding.faults:  # refused before, when the source was digested
                raise SourceError("A source must stay as it is while it is read", "values outside its domains")
            codes = {**block.codes, **block.derived}
            part, _ = grouped(layout, [codes[name] for name, _ in self.group])
            combinations = part if combinations is None else _merged(combinations, part)
        if combinations is not None:
            words = np.ascontiguousarray(combinations.keys.T).view(np.int64)
            counts = pa.array(combinations.sizes.astype(np.int64))
            yield pa.record_batch([*map(pa.array, words), counts], self.schema)


def _merged(one: Classes, other: Classes) -> Classes:
    keys, counts = np.concatenate([one.keys, other.keys]), np.concatenate([one.counts, other.counts])
    return Classes(one.layout, one.levels, keys, counts).rolled(one.levels)


@dataclass(frozen=True)
class RepeatRun:
    """Keyed digests of a run's values of one column, so that Spark can see whether one occurs twice."""

    column: str
    seal: Seal
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("word0", pa.int64()), ("word1", pa.int64()), ("number", pa.int64())])

    def work(self, rows: Tables) -> Iterator[pa.RecordBatch]:
        for _, table in rows:
            labels = [label_of(value) for value in table.column(self.column).to_pylist()]
            digests = b"".join(self._digest(label) for label in labels if label)
            words = np.frombuffer(digests, "<i8").reshape(-1, 2)
            ones = np.ones(len(words), np.int64)
            yield pa.record_batch([pa.array(words[:, 0]), pa.array(words[:, 1]), pa.array(ones)], self.schema)

    def _digest(self, label: str) -> bytes:
        return hashlib.blake2b(label.encode(), digest_size=16, key=self.secret).digest()


# Sums over all rows of what a method makes of some columns: executors add up their runs, the driver the rest.


@dataclass(frozen=True)
class SumReport(Generic[S]):
    """A run: its rows, and the sum of them, of one piece or none where there are no rows."""

    rows: int
    total: tuple[S, ...]


@dataclass(frozen=True)
class SumRun(Generic[S]):
    """Have some columns of a run, coded or derived or as they are, worked on block by block, and add up."""

    attributes: tuple[Attribute, ...]
    shown: tuple[str, ...]
    summand: Callable[[Columns], S]
    seal: Seal
    derived: tuple[DerivedColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding = Encoding(self.attributes, derived=self.derived)
        count, total = 0, list[S]()
        for first, table in rows:
            block = encoding.block(first, table)
            if encoding.faults:  # refused before, when the source was digested
                raise SourceError("A source must stay as it is while it is read", "values outside its domains")
            columns = {**block.columns, **block.derived}
            own = self.summand({name: columns[name] for name in self.shown})
            total = [total[0] + own] if total else [own]
            count += block.rows
        yield SumReport(count, tuple(total))
