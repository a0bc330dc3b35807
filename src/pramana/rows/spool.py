"""A table's rows in scratch room, block by block, to be gone over again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.files.scratch import Scratch
from pramana.randomness._order import gather
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes
from pramana.randomness.shuffle import bucket_order, bucketed
from pramana.rows.digest import Column, commitment_to_pieces
from pramana.rows.engines import ahead
from pramana.rows.protocol import ROW_NUMBER, Columns, Work


@dataclass(frozen=True)
class SpoolBlock:
    """Consecutive rows in scratch room: for each column its place, its length there and the type of its codes.

    `kept` marks those of the stored rows that count, where some do not.
    """

    first: int
    rows: int
    positions: Mapping[str, tuple[int, int, Any]]
    kept: NDArray[np.bool_] | None = None


@dataclass
class Spool:
    """A table's codes and unchanged columns in scratch room, in source order.

    `lookups` turn what was stored into codes, for columns whose domain was known only after the last row.
    `attached` are columns in memory.
    """

    scratch: Scratch
    blocks: list[SpoolBlock] = field(default_factory=list)
    records: int = 0
    lookups: dict[str, NDArray[np.unsignedinteger]] = field(default_factory=dict)
    derived: dict[str, tuple[tuple[str, ...], Work]] = field(default_factory=dict)
    attached: dict[str, Codes] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were stored."""
        return tuple(self.blocks[0].positions)

    @property
    def width(self) -> int:
        """Bytes of a row, as stored."""
        block = self.blocks[0]
        return -(-sum(length for _, length, _ in block.positions.values()) // block.rows)

    def append(self, columns: Mapping[str, Column]) -> None:
        rows = len(next(iter(columns.values())))
        positions = {name: self._store(column) for name, column in columns.items()}
        self.blocks.append(SpoolBlock(self.records, rows, positions))
        self.records += rows

    def _store(self, column: Column) -> tuple[int, int, Any]:
        if isinstance(column, np.ndarray):
            return self.scratch.append(column), column.nbytes, column.dtype
        packed = pack(pa.record_batch({"": column}))
        return self.scratch.append(packed), len(packed), None

    def read(self, block: SpoolBlock, names: Iterable[str] | None = None) -> Columns:
        columns: Columns = {}
        for name in block.positions if names is None else names:
            if name in self.attached:
                columns[name] = self.attached[name][block.first : block.first + block.rows]
            elif name == ROW_NUMBER:
                columns[name] = np.arange(block.first, block.first + block.rows, dtype=np.uint64)
            elif name in self.derived:
                own, work = self.derived[name]
                columns[name] = work(self.read(block, own))
            else:
                columns[name] = self._stored(block, name)
        return columns

    def _stored(self, block: SpoolBlock, name: str) -> Column:
        start, length, kind = block.positions[name]
        stored = self.scratch.read(start, length)
        if kind is None:
            column = unpack(stored)[""]
            return column if block.kept is None else column.filter(pa.array(block.kept))
        lookup, codes = self.lookups.get(name), stored.view(kind)
        if block.kept is not None:
            codes = codes[block.kept]
        return codes if lookup is None else lookup[codes]

    def only(self, kept: NDArray[np.bool_]) -> Spool:
        """The rows that are marked, in the same scratch room; nothing is beside them yet."""
        fewer = Spool(self.scratch, lookups=self.lookups, derived=dict(self.derived))
        for block in self.blocks:
            marked = kept[block.first : block.first + block.rows]
            rows = int(marked.sum())
            stored = block.kept
            if rows < block.rows:
                stored = marked if stored is None else stored.copy()
                if block.kept is not None:
                    stored[block.kept] = marked
            if rows:
                fewer.blocks.append(SpoolBlock(fewer.records, rows, block.positions, stored))
                fewer.records += rows
        return fewer

    def commitment(self, key: Key, names: Iterable[str], workers: int) -> str:
        """The keyed digest of some columns, in this order."""
        wanted = tuple(names)
        pieces = ahead(lambda block: self.read(block, wanted), self.blocks, workers)
        return commitment_to_pieces(pieces, self.records, key, partial(ahead, workers=workers))


def pack(rows: pa.RecordBatch | pa.Table) -> memoryview:
    """Columns that pass unchanged as bytes, types included."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return memoryview(sink.getvalue())


def unpack(data: Any) -> dict[str, pa.Array]:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        batch = reader.read_next_batch()
    return dict(zip(batch.schema.names, batch.columns, strict=True))


# The shuffle of a table larger than memory: rows go by the uppermost bits of their tags into buckets on disk.
#
# A bucket fits in memory and is put in order there; the buckets one after the other are the published order.


@dataclass(frozen=True)
class Scattered:
    """A block's published rows in scratch room, bucket by bucket; `ends` are the ends of the buckets' parts."""

    first: int
    rows: int
    start: int
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass
class Scattering:
    scratch: Scratch
    tags: Stream
    bits: int
    blocks: list[Scattered] = field(default_factory=list)
    kinds: dict[str, Any] = field(default_factory=dict)

    def scatter(self, block: SpoolBlock, columns: dict[str, Column]) -> Scattered:
        entries, starts = bucketed(self.tags, block.first, block.rows, self.bits)
        order = entries.astype(np.uint32)  # the lower half: the row's place in the block
        coded, raw = split(columns)
        if not self.kinds:
            self.kinds = {name: column.dtype for name, column in coded.items()}
        moved = [entries.view(np.uint8).reshape(-1, 8)]
        for column in coded.values():
            placed = np.empty_like(column)
            gather(column, order, placed)
            moved.append(placed.view(np.uint8).reshape(-1, column.itemsize))
        unchanged = {name: column.take(pa.array(order)) for name, column in raw.items()}
        bounds = starts.astype(np.int64)
        parts: list[Any] = []
        ends = np.empty(1 << self.bits, np.int64)
        end = 0
        for bucket in range(1 << self.bits):
            first, stop = bounds[bucket], bounds[bucket + 1]
            part = [piece[first:stop].reshape(-1) for piece in moved]
            if unchanged and stop > first:
                packed = pack(pa.record_batch({name: column[first:stop] for name, column in unchanged.items()}))
                part.append(np.frombuffer(packed, np.uint8))
            parts += part
            end += sum(map(len, part))
            ends[bucket] = end
        start = self.scratch.append(np.concatenate(parts))
        return Scattered(block.first, block.rows, start, ends, np.diff(bounds))

    def bucket(self, number: int) -> dict[str, Column]:
        """The rows of a bucket in published order."""
        parts = [part for block in self.blocks if (part := self._part(block, number)) is not None]
        if not parts:
            return {}
        entries = np.concatenate([part.entries for part in parts])
        order = bucket_order(self.tags, entries, np.concatenate([part.rows for part in parts]))
        columns: dict[str, Column] = {}
        for name, kind in self.kinds.items():
            columns[name] = np.empty(len(order), kind)
            gather(np.concatenate([part.coded[name] for part in parts]), order, columns[name])
        positions = pa.array(order) if parts[0].raw else None
        for name in parts[0].raw:
            columns[name] = pa.concat_arrays([part.raw[name] for part in parts]).take(positions)
        return columns

    def _part(self, block: Scattered, number: int) -> BucketPart | None:
        count = int(block.counts[number])
        if not count:
            return None
        first = int(block.ends[number - 1]) if number else 0
        data = self.scratch.read(block.start + first, int(block.ends[number]) - first)
        entries, at = data[: 8 * count].view(np.uint64), 8 * count
        coded = {}
        for name, kind in self.kinds.items():
            coded[name] = data[at : at + count * kind.itemsize].view(kind)
            at += count * kind.itemsize
        return BucketPart(entries, block.first, coded, unpack(data[at:]) if at < len(data) else {})


@dataclass(frozen=True)
class BucketPart:
    """What a block has of a bucket."""

    entries: NDArray[np.uint64]
    first: int
    coded: dict[str, Any]
    raw: dict[str, pa.Array]

    @property
    def rows(self) -> NDArray[np.uint64]:
        return (self.entries & np.uint64(2**32 - 1)) + np.uint64(self.first)


def split(columns: Mapping[str, Column]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Codes, and columns that pass unchanged."""
    coded = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
    return coded, {name: column for name, column in columns.items() if name not in coded}
