"""The shuffle of a table larger than memory: rows go by the uppermost bits of their tags into buckets on disk.

A bucket fits in memory and is put in order there; the buckets one after the other are the published order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.randomness import Stream, bucket_order, bucketed, gather
from pramana.rows.digest import Column
from pramana.rows.scratch import Scratch
from pramana.rows.spool import SpoolBlock, pack, unpack


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
                packed = pack({name: column[first:stop] for name, column in unchanged.items()})
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
        places = pa.array(order) if parts[0].raw else None
        for name in parts[0].raw:
            columns[name] = pa.concat_arrays([part.raw[name] for part in parts]).take(places)
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
