"""Runs of a fixed number of rows in published order, each worked on by one task: what a set of files is made by.

Rows go by the uppermost bits of their tags into buckets, whose sizes are counted first: from the numbers of rows
alone, or from the rows where some are left out. A part then is some buckets side by side, the first and last of
which may straddle its borders: their rows are sent to both parts, and each takes its own once they are in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import EngineError
from pramana.randomness.key import Stream
from pramana.randomness.shuffle import MOST_BUCKET_BITS, bucket_counts
from pramana.rows.protocol import Columns, Kept
from pramana.rows.spark.blocks import Digests, Encoding, RowBlock, joined, packed, unpacked
from pramana.rows.spark.steps import Buckets, DrawRun, RunReport, Seal, Sent, Tables, cut_out, taken, unquoted

_BUCKETS = 16  # of a part: those at its ends are sent twice
_PIECE = 1 << 18  # rows that are decoded and written at a time
_RESULT = 2**63 - 1  # in the place of a row's number: no row's content can pass for a result
_LOWER = np.uint64(2**32 - 1)
PartWork = Callable[[int, Iterator[Columns]], Any]


def bits_for(records: int, rows: int) -> int:
    """So many buckets that a part has some; fewer where there are very many parts."""
    return min(MOST_BUCKET_BITS, max(1, (-(-records * _BUCKETS // rows) - 1).bit_length()))


def buckets_of_parts(records: int, tags: Stream | None, rows: int) -> Buckets:
    """The buckets that parts are made of; in source order they are the parts."""
    if tags is None:
        return Buckets((-(-records // rows) - 1).bit_length(), None, rows)
    return Buckets(bits_for(records, rows), tags)


@dataclass(frozen=True)
class CountRange:
    """How many rows of a range of row numbers are in each bucket: no row is read for it."""

    tags: Stream = field(repr=False)
    bits: int

    def counts(self, first: int, stop: int) -> NDArray[np.int64]:
        return bucket_counts(self.tags, first, stop - first, self.bits)


@dataclass(frozen=True, eq=False)
class PartBorders:
    """Which buckets each part has rows of, from `first` to `last`, and how many of the first it skips."""

    rows: int
    records: int
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    skipped: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64], rows: int) -> PartBorders:
        """`sizes` are those of all buckets."""
        ends = np.cumsum(sizes)
        records = int(ends[-1])
        starts = np.arange(0, records, rows)
        stops = np.minimum(starts + rows, records)
        first, last = (np.searchsorted(ends, at, side="right") for at in (starts, stops - 1))
        return cls(rows, records, first, last, starts - (ends - sizes)[first])

    @property
    def count(self) -> int:
        return len(self.first)

    def length(self, part: int) -> int:
        return min(self.rows, self.records - part * self.rows)


def kept_entries(
    buckets: Buckets, block: RowBlock, kept: Kept | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """As `Buckets.entries` has them, of the rows that are published."""
    entries, starts = buckets.entries(block.first, block.rows)
    if kept is None:
        return entries, starts
    shown = kept(block.columns)[(entries & _LOWER).astype(np.int64)]
    before = np.concatenate([[0], np.cumsum(shown)]).astype(np.uint64)
    return entries[shown], before[starts.astype(np.int64)]


@dataclass(frozen=True)
class CountKept(DrawRun):
    """How many of a run's rows are published, bucket by bucket, where some are left out: that takes a reading."""

    kept: Kept = field(kw_only=True)

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding = Encoding(self.attributes, derived=self.derived, beside=self.beside)
        counts, count = np.zeros(self.buckets.count, np.int64), 0
        for first, table in rows:
            block = encoding.block(first, table)
            if encoding.faults:  # the source changed, as the drawing of its rows will tell
                break
            _, starts = kept_entries(self.buckets, self._published(block), self.kept)
            counts += starts[1:].astype(np.int64) - starts[:-1].astype(np.int64)
            count += block.rows
        yield RunReport(count, encoding.faults, frozenset(), Digests(), (), 0, (counts,))


@dataclass(frozen=True)
class DrawParts(DrawRun):
    """Encode, publish and hand out a run's rows to the parts."""

    borders: PartBorders = field(kw_only=True)
    kept: Kept | None = field(default=None, kw_only=True)

    def _handed_out(self, block: RowBlock) -> Iterator[Sent]:
        """Rows are in the order of their buckets; how many of each bucket there are goes before them."""
        entries, starts = kept_entries(self.buckets, block, self.kept)
        ordered = taken(block, entries.astype(np.uint32))
        firsts, lasts = self.borders.first, self.borders.last
        for part in np.flatnonzero(starts[lasts + 1] > starts[firsts]).tolist():
            bounds = starts[firsts[part] : lasts[part] + 2].astype(np.int64)
            start, stop = int(bounds[0]), int(bounds[-1])
            head = np.diff(bounds).astype("<u4").tobytes() + entries[start:stop].tobytes()
            content = head + packed(cut_out(ordered, start, stop))
            yield part + 1, block.first, self.seal.closed(part + 1, block.first, content)


@dataclass(frozen=True)
class WorkOnPart:
    """Put the rows of one part into published order, and have them worked on."""

    buckets: Buckets
    borders: PartBorders
    seal: Seal
    work: PartWork

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]:
        """Whatever the work returns, sealed: it is for the driver, as all that comes back."""
        with unquoted():
            result = self.work(slot - 1, self._pieces(slot, contents))
        yield slot, _RESULT, self.seal.closed(slot, _RESULT, pickle.dumps(result))

    def results(self, sent: Iterable[Sent]) -> list[Any]:
        """What the work returned, part by part."""
        by_part = {slot - 1: pickle.loads(self.seal.opened(slot, _RESULT, content)) for slot, _, content in sent}
        if sorted(by_part) != list(range(self.borders.count)):
            raise EngineError("Every part must be worked on", "others")
        return [by_part[part] for part in range(self.borders.count)]

    def _pieces(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Columns]:
        part = slot - 1
        buckets = int(self.borders.last[part] - self.borders.first[part]) + 1
        entries, rows, sizes, blocks = [], [], [], []
        for first, content in contents:
            plain = self.seal.opened(slot, first, content)
            sizes.append(np.frombuffer(plain, "<u4", buckets).astype(np.int64))
            count, start = int(sizes[-1].sum()), 4 * buckets
            entries.append(np.frombuffer(plain, np.uint8, 8 * count, start).copy().view(np.uint64))
            rows.append((entries[-1] & _LOWER) + np.uint64(first))
            blocks.append(unpacked(plain[start + 8 * count :]))
        order = self._order(np.concatenate(entries), np.concatenate(rows), np.stack(sizes))
        skipped, length = int(self.borders.skipped[part]), self.borders.length(part)
        own = order[skipped : skipped + length]
        if len(own) != length:
            raise EngineError("A part must get all its rows", "another number of them")
        whole = joined(blocks)
        for start in range(0, length, _PIECE):
            yield taken(whole, own[start : start + _PIECE]).columns

    def _order(
        self, entries: NDArray[np.uint64], rows: NDArray[np.uint64], sizes: NDArray[np.int64]
    ) -> NDArray[np.uint32]:
        """Where the rows of the buckets stand in what arrived, bucket after bucket; `sizes` by content."""
        stops = np.cumsum(sizes.reshape(-1)).reshape(sizes.shape)
        order = []
        for bucket in range(sizes.shape[1]):
            runs = zip(stops[:, bucket] - sizes[:, bucket], stops[:, bucket], strict=True)
            places = np.concatenate([np.arange(start, stop, dtype=np.uint32) for start, stop in runs])
            if len(places):
                order.append(places[self.buckets.order(entries[places], rows[places])])
        return np.concatenate(order)
