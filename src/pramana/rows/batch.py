"""The batch engine: tables larger than memory, with the local engine's bytes.

The source is read once, into encrypted scratch room on disk. Every row is then published by itself, as always,
and put by the uppermost bits of its shuffle tag into one of many buckets; a bucket fits in memory, is put in
order there, and the buckets one after the other are the published order. Two threads, two hundred buckets or one
of each: the bytes are the same.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.mechanisms import Mechanism
from pramana.randomness import MOST_BUCKET_BITS, Key, Stream, bucket_order, bucketed, gather, tag_stream
from pramana.rows.digest import Column, Commitment
from pramana.rows.local import LocalEngine, Progress, keep_freed_memory, no_progress
from pramana.rows.scratch import Scratch
from pramana.sources import ROW_GROUP

A = TypeVar("A")
B = TypeVar("B")
LEAST_MEMORY = 512 << 20
_PROGRAM = 288 << 20  # what the interpreter and its libraries take before a row is read
_HELD = 32 << 20  # bytes of scratch room that stay in memory, where there is room for them
_ROWS = 1 << 18  # rows that are read and published at a time, where memory allows


@dataclass(frozen=True)
class BatchEngine:
    """How many threads, how much memory, and the folder whose disk takes what does not fit."""

    memory: int = 2 << 30
    threads: int = 0
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise RecipeError(f"memory must be at least {LEAST_MEMORY:,} bytes", f"{self.memory:,}")
        keep_freed_memory()

    @property
    def workers(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def room(self) -> int:
        """Bytes for what is worked on, once the program itself is loaded."""
        return self.memory - _PROGRAM

    def scratch(self) -> Scratch:
        return Scratch(self.folder, min(_HELD, self.room // 16))

    def batch_rows(self, columns: int) -> int:
        """Rows of a batch: a dozen of them, some 32 bytes a cell, are in the making at one time."""
        return max(1 << 12, min(_ROWS, self.room // (12 * 32 * max(1, columns))))

    def bucket_bits(self, records: int, width: int) -> int:
        """So many buckets that those in the making at one time take half of the memory that is ours."""
        room = self.room // (2 * (self.workers + 2))
        each = 48 + 4 * width  # bytes a row takes while its bucket is put in order, decoded and written
        few = min(4, (records // ROW_GROUP).bit_length())  # threads share the work, and write while they do
        return min(MOST_BUCKET_BITS, max(few, (records * each // room).bit_length()))

    def publish(
        self,
        rows: Spool,
        mechanism: Mechanism,
        key: Key,
        context: str,
        shuffled: bool = True,
        progress: Progress = no_progress,
        names: Sequence[str] | None = None,
    ) -> Iterator[dict[str, Column]]:
        """The published table piece by piece, in published order: codes, and the columns that pass unchanged.

        `names` are the columns to publish, stored or derived; without them those that were stored.
        """
        local = LocalEngine(1)
        shown = rows.names if names is None else names

        def drawn(block: Block) -> tuple[Block, dict[str, Column]]:
            columns = rows.read(block, dict.fromkeys([*shown, *mechanism.sizes]))
            made = local.publish(mechanism, key, context, columns, block.first)
            return block, {name: made.get(name, columns[name]) for name in shown}

        if not shuffled:
            for block, columns in ahead(drawn, rows.blocks, self.workers):
                progress("randomising", block.first + block.rows, rows.records)
                yield columns
            return
        with self.scratch() as scratch:
            tags = tag_stream(key, context)
            bits = self.bucket_bits(rows.records, rows.width)
            scattering = _Scattering(scratch, tags, bits)
            for part in ahead(lambda b: scattering.scatter(*drawn(b)), rows.blocks, self.workers):
                scattering.blocks.append(part)
                progress("randomising", part.first + part.rows, rows.records)
            done = 0
            early = 1 + (ROW_GROUP << bits) // rows.records  # small ones wait until there are enough to be written
            for columns in ahead(scattering.bucket, range(1 << bits), self.workers, early):
                if columns:
                    done += len(next(iter(columns.values())))
                    progress("writing in keyed order", done, rows.records)
                    yield columns


def ahead(work: Callable[[A], B], items: Iterable[A], workers: int, waiting: int = 1) -> Iterator[B]:
    """Results in order, with only so many items under way as there are workers, and some that wait."""
    with ThreadPoolExecutor(workers) as pool:
        under_way: deque[Future[B]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(work, item))
                if len(under_way) >= workers + waiting:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


# ---------------------------------------------------------------- the source's rows


@dataclass(frozen=True)
class Block:
    """Consecutive rows in scratch room: for each column its place, its length there and the type of its codes."""

    first: int
    rows: int
    places: Mapping[str, tuple[int, int, Any]]


Derived = tuple[tuple[str, ...], Callable[[dict[str, Column]], Column]]


@dataclass
class Spool:
    """A table's codes and unchanged columns in scratch room, in source order, to be gone over again and again.

    `lookups` turn what was stored into codes, for columns whose domain was known only after the last row.
    """

    scratch: Scratch
    blocks: list[Block] = field(default_factory=list)
    records: int = 0
    lookups: dict[str, NDArray[np.unsignedinteger]] = field(default_factory=dict)
    derived: dict[str, Derived] = field(default_factory=dict)  # codes worked out from other columns

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were stored."""
        return tuple(self.blocks[0].places)

    def append(self, columns: Mapping[str, Column]) -> None:
        rows = len(next(iter(columns.values())))
        places = {name: self._store(column) for name, column in columns.items()}
        self.blocks.append(Block(self.records, rows, places))
        self.records += rows

    def _store(self, column: Column) -> tuple[int, int, Any]:
        if isinstance(column, np.ndarray):
            return self.scratch.append(column), column.nbytes, column.dtype
        packed = pack({"": column})
        return self.scratch.append(packed), len(packed), None

    def read(self, block: Block, names: Iterable[str] | None = None) -> dict[str, Column]:
        found: dict[str, Column] = {}
        for name in block.places if names is None else names:
            if name in self.derived:
                columns, work = self.derived[name]
                found[name] = work(self.read(block, columns))
                continue
            place, length, kind = block.places[name]
            stored = self.scratch.read(place, length)
            if kind is None:
                found[name] = unpack(stored)[""]
            else:
                lookup = self.lookups.get(name)
                codes = stored.view(kind)
                found[name] = codes if lookup is None else lookup[codes]
        return found

    def mapped(
        self, work: Callable[[dict[str, Column]], B], names: Iterable[str], workers: int = 1
    ) -> Iterator[B]:
        """What `work` makes of some columns, block after block."""
        wanted = tuple(names)
        return ahead(lambda block: work(self.read(block, wanted)), self.blocks, workers)

    @property
    def width(self) -> int:
        """Bytes of a row, as stored."""
        block = self.blocks[0]
        return -(-sum(length for _, length, _ in block.places.values()) // block.rows)

    def counts(self, columns: tuple[str, ...], shape: tuple[int, ...], workers: int = 1) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""
        total = np.zeros(int(np.prod(shape)), np.int64)

        def count(block: Block) -> NDArray[np.int64]:
            codes = self.read(block, columns)
            joint = np.ravel_multi_index([codes[name] for name in columns], shape)
            return np.bincount(joint, minlength=len(total))

        for found in ahead(count, self.blocks, workers):
            total += found
        return total.reshape(shape)

    def commitments(self, key: Key, bound: Iterable[str], workers: int = 1) -> tuple[str, str]:
        """Of the columns the coins are bound to, and of all of them."""
        names = tuple(bound)
        first, every = Commitment(key), Commitment(key)
        rest = [name for name in self.names if name not in names]
        alone = not rest
        with ThreadPoolExecutor(workers) as pool:
            for columns in ahead(self.read, self.blocks, workers):
                coded = {name: columns[name] for name in names}
                first.update(coded, pool.map)
                if not alone:
                    every.update({**coded, **{name: columns[name] for name in rest}}, pool.map)
        digest = first.hexdigest()
        return digest, digest if alone else every.hexdigest()


# ---------------------------------------------------------------- the shuffle


@dataclass(frozen=True)
class _Scattered:
    """A block's published rows in scratch room, bucket by bucket; `ends` are the ends of the buckets' parts."""

    first: int
    rows: int
    place: int
    ends: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass
class _Scattering:
    scratch: Scratch
    tags: Stream
    bits: int
    blocks: list[_Scattered] = field(default_factory=list)
    kinds: dict[str, Any] = field(default_factory=dict)

    def scatter(self, block: Block, columns: dict[str, Column]) -> _Scattered:
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
                packed = pack({name: column[first:stop] for name, column in unchanged.items()})
                part.append(np.frombuffer(packed, np.uint8))
            parts += part
            end += sum(map(len, part))
            ends[bucket] = end
        place = self.scratch.append(np.concatenate(parts))
        return _Scattered(block.first, block.rows, place, ends, np.diff(bounds))

    def bucket(self, number: int) -> dict[str, Column]:
        """The rows of a bucket in published order."""
        found = [part for block in self.blocks if (part := self._part(block, number)) is not None]
        if not found:
            return {}
        entries = np.concatenate([part.entries for part in found])
        order = bucket_order(self.tags, entries, np.concatenate([part.rows for part in found]))
        columns: dict[str, Column] = {}
        for name, kind in self.kinds.items():
            columns[name] = np.empty(len(order), kind)
            gather(np.concatenate([part.coded[name] for part in found]), order, columns[name])
        places = pa.array(order) if found[0].raw else None
        for name in found[0].raw:
            columns[name] = pa.concat_arrays([part.raw[name] for part in found]).take(places)
        return columns

    def _part(self, block: _Scattered, number: int) -> _Part | None:
        count = int(block.counts[number])
        if not count:
            return None
        first = int(block.ends[number - 1]) if number else 0
        data = self.scratch.read(block.place + first, int(block.ends[number]) - first)
        entries, at = data[: 8 * count].view(np.uint64), 8 * count
        coded = {}
        for name, kind in self.kinds.items():
            coded[name] = data[at : at + count * kind.itemsize].view(kind)
            at += count * kind.itemsize
        return _Part(entries, block.first, coded, unpack(data[at:]) if at < len(data) else {})


@dataclass(frozen=True)
class _Part:
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


def pack(columns: Mapping[str, pa.Array]) -> memoryview:
    """Columns that pass unchanged as bytes, types included."""
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def unpack(data: Any) -> dict[str, pa.Array]:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        batch = reader.read_next_batch()
    return dict(zip(batch.schema.names, batch.columns, strict=True))
