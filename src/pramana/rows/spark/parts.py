"""Rows on their way into published order: drawn run by run, handed out to buckets or parts, put in order there.

Rows go by the uppermost bits of their tags into buckets. The driver takes bucket after bucket; or executors write
parts, runs of a fixed number of rows, whose buckets are counted first: from the numbers of rows alone, or from the
rows where some are left out. A part then is some buckets side by side, the first and last of which may straddle
its borders: their rows are sent to both parts, and each takes its own once they are in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import EngineError
from pramana.mechanisms.table import Mechanism
from pramana.randomness.key import Stream
from pramana.randomness.shuffle import MOST_BUCKET_BITS, bucket_order, bucketed
from pramana.rows.protocol import Columns, Kept, chunks_of
from pramana.rows.spark.blocks import RowBlock, joined, packed, unpacked
from pramana.rows.spark.steps import CodedRun, RunReport, Seal, Sent, SumReport, Tables, unquoted

CHUNK = 1 << 16  # rows whose coins, codes and results stay in cache together
LARGEST = 1 << 22  # rows of one content on its way back
BACK = 1 << 62  # added to the number of what comes back: no row's content can pass for it
_BUCKETS = 16  # of a part: those at its ends are sent twice
_PIECE = 1 << 18  # rows that are decoded and written at a time
_LOWER = np.uint64(2**32 - 1)
PartWork = Callable[[int, Iterator[Columns]], Any]


@dataclass(frozen=True)
class Buckets:
    """Where a row goes: 2^bits buckets by the top of its tag, or runs of `span` rows in source order."""

    bits: int
    tags: Stream | None
    span: int = 1 << 40

    @classmethod
    def of_parts(cls, records: int, tags: Stream | None, rows: int) -> Buckets:
        """So many that a part has some, fewer where there are very many parts; in source order, the parts."""
        if tags is None:
            return cls((-(-records // rows) - 1).bit_length(), None, rows)
        return cls(min(MOST_BUCKET_BITS, max(1, (-(-records * _BUCKETS // rows) - 1).bit_length())), tags)

    @property
    def count(self) -> int:
        return 1 << self.bits

    def entries(self, first: int, rows: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Rows bucket by bucket, each as its position after `first` in the lower half, and where buckets start."""
        if self.tags is not None:
            return bucketed(self.tags, first, rows, self.bits)
        bounds = np.arange(self.count + 1, dtype=np.int64) * self.span
        return np.arange(rows, dtype=np.uint64), np.clip(bounds - first, 0, rows).astype(np.uint64)

    def order(self, entries: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The positions of these rows of one bucket, as they are published."""
        if self.tags is not None:
            return bucket_order(self.tags, entries, rows)
        return np.argsort(rows).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class PartBorders:
    """Which buckets each part has rows of, from `first` to `last`, how many of the first it skips, and its rows.

    Where each bucket is a part of its own, the last two are not needed.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    skipped: NDArray[np.int64] | None = None
    lengths: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, sizes: NDArray[np.int64], rows: int) -> PartBorders:
        """Of parts of so many rows; `sizes` are those of all buckets."""
        ends = np.cumsum(sizes)
        starts = np.arange(0, int(ends[-1]), rows)
        stops = np.minimum(starts + rows, ends[-1])
        first, last = (np.searchsorted(ends, at, side="right") for at in (starts, stops - 1))
        return cls(first, last, starts - (ends - sizes)[first], stops - starts)

    @classmethod
    def of_buckets(cls, buckets: Buckets) -> PartBorders:
        return cls(np.arange(buckets.count), np.arange(buckets.count))

    @property
    def count(self) -> int:
        return len(self.first)


# ---------------------------------------------------------------- handing rows out


@dataclass(frozen=True, kw_only=True)
class DrawRun(CodedRun):
    """Encode, publish and hand out a run's rows to the parts; its report digests the source once more."""

    shown: tuple[str, ...]  # the columns that are published
    mechanism: Mechanism
    streams: Mapping[tuple[str, str], Stream] = field(repr=False)
    buckets: Buckets
    secret: bytes = field(repr=False)
    drawn: Mapping[str, str] = field(default_factory=dict)  # those drawn already, and where that is attached
    kept: Kept | None = None  # tells which rows are published, where some are not
    borders: PartBorders

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding, report = self.encoding(), RunReport()
        for first, table in rows:
            block = encoding.block(first, table)
            report.add(block, self.secret, self.attributes)
            if encoding.faults:  # the source changed, as the report will tell
                break
            yield from self._handed_out(self._published(block))
        report.faults = encoding.faults
        yield report

    def _published(self, block: RowBlock) -> RowBlock:
        known = {**block.columns, **block.derived}
        out = {name: np.empty_like(known[name]) for name in self.mechanism.sizes}
        for start in range(0, block.rows, CHUNK):
            part = slice(start, start + CHUNK)
            self.mechanism.publish(
                lambda purpose, column: self.streams[purpose, column],
                block.first + start,
                {name: known[name][part] for name in out},
                {name: values[part] for name, values in out.items()},
            )
        known |= out | {name: known[attached] for name, attached in self.drawn.items()}
        shown = {name: known[name] for name in self.shown}
        columns = {n: c if isinstance(c, np.ndarray) else chunks_of(c) for n, c in shown.items()}
        return RowBlock(block.first, block.rows, columns)

    def _entries(self, block: RowBlock) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """As `Buckets.entries` has them, of the rows that are published."""
        entries, starts = self.buckets.entries(block.first, block.rows)
        if self.kept is None:
            return entries, starts
        shown = self.kept(block.columns)[(entries & _LOWER).astype(np.int64)]
        before = np.concatenate([[0], np.cumsum(shown)]).astype(np.uint64)
        return entries[shown], before[starts.astype(np.int64)]

    def _handed_out(self, block: RowBlock) -> Iterator[Sent]:
        """Rows are in the order of their buckets; how many of each bucket there are goes before them."""
        entries, starts = self._entries(block)
        ordered = block.take(entries.astype(np.uint32))
        firsts, lasts = self.borders.first, self.borders.last
        for part in np.flatnonzero(starts[lasts + 1] > starts[firsts]).tolist():
            bounds = starts[firsts[part] : lasts[part] + 2].astype(np.int64)
            start, stop = int(bounds[0]), int(bounds[-1])
            head = np.diff(bounds).astype("<u4").tobytes() + entries[start:stop].tobytes()
            content = head + packed(ordered.cut(start, stop))
            yield part + 1, block.first, self.seal.closed(part + 1, block.first, content)


@dataclass(frozen=True, kw_only=True)
class CountKept(DrawRun):
    """How many of a run's rows are published, bucket by bucket, where some are left out: that takes a reading."""

    def work(self, rows: Tables) -> Iterator[Any]:
        counts, count = np.zeros(self.buckets.count, np.int64), 0
        for block in self.blocks(rows):
            _, starts = self._entries(self._published(block))
            bounds = starts.astype(np.int64)
            counts += bounds[1:] - bounds[:-1]
            count += block.rows
        yield SumReport(count, (counts,))


# ---------------------------------------------------------------- where they arrive


class SlotWork(Protocol):
    """Work on what arrived in one slot: numbers and contents, as runs sent them."""

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]: ...


@dataclass(frozen=True)
class OrderPart:
    """Put the rows of one part into published order, for the driver.

    What comes out is sealed as well: where nothing is drawn, as for questions about all rows, it is the source.
    """

    buckets: Buckets
    borders: PartBorders
    seal: Seal

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]:
        for number, block in enumerate(self._pieces(slot, contents, LARGEST)):
            yield slot, number, self.seal.closed(slot, BACK + number, packed(block))

    def opened(self, slot: int, number: int, content: bytes) -> RowBlock:
        """What came back."""
        return unpacked(self.seal.opened(slot, BACK + number, content))

    def _pieces(self, slot: int, contents: Iterable[tuple[int, bytes]], most: int) -> Iterator[RowBlock]:
        """The part's rows in published order, at most so many at a time."""
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
        if not blocks:
            return
        own = self._order(np.concatenate(entries), np.concatenate(rows), np.stack(sizes))
        if self.borders.skipped is not None and self.borders.lengths is not None:
            skipped, length = int(self.borders.skipped[part]), int(self.borders.lengths[part])
            own = own[skipped : skipped + length]
            if len(own) != length:
                raise EngineError("A part must get all its rows", f"{len(own):,} of {length:,}")
        whole = joined(blocks)
        for start in range(0, len(own), most):
            yield whole.take(own[start : start + most])

    def _order(
        self, entries: NDArray[np.uint64], rows: NDArray[np.uint64], sizes: NDArray[np.int64]
    ) -> NDArray[np.uint32]:
        """Where the rows of the buckets are in what arrived, bucket after bucket; `sizes` by content."""
        stops = np.cumsum(sizes.reshape(-1)).reshape(sizes.shape)
        order = []
        for bucket in range(sizes.shape[1]):
            runs = zip(stops[:, bucket] - sizes[:, bucket], stops[:, bucket], strict=True)
            positions = np.concatenate([np.arange(start, stop, dtype=np.uint32) for start, stop in runs])
            if len(positions):
                order.append(positions[self.buckets.order(entries[positions], rows[positions])])
        return np.concatenate(order)


@dataclass(frozen=True)
class WorkOnPart(OrderPart):
    """Put the rows of one part into published order, and have them worked on."""

    part_work: PartWork

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]:
        """Whatever the work returns, sealed: it is for the driver, as all that comes back."""
        with unquoted():
            pieces = (block.columns for block in self._pieces(slot, contents, _PIECE))
            result = self.part_work(slot - 1, pieces)
        yield slot, 0, self.seal.closed(slot, BACK, pickle.dumps(result))

    def results(self, sent: Iterable[Sent]) -> list[Any]:
        """What the work returned, part by part."""
        by_part = {slot - 1: pickle.loads(self.seal.opened(slot, BACK, content)) for slot, _, content in sent}
        if sorted(by_part) != list(range(self.borders.count)):
            raise EngineError("Every part must be worked on", f"{len(by_part)} of {self.borders.count} parts")
        return [by_part[part] for part in range(self.borders.count)]
