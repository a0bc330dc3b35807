"""What is done to a run of rows far from the driver: pure functions of rows, row numbers and subkeys.

Nothing here knows Spark. A step yields (slot, number, content): slot 0 is its report, which comes before all
else where it arrives; slot b + 1 has the rows of bucket b. Contents are sealed on their way, because what engines
write to temporary files must not tell which row of the source a published record came from.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from pramana.errors import PramanaError
from pramana.io.codes import has_missing
from pramana.mechanisms.table import Mechanism
from pramana.randomness.key import Stream
from pramana.randomness.shuffle import bucket_order, bucketed, gathered
from pramana.rows.spark.blocks import (
    DerivedColumn,
    Digests,
    Edge,
    Encoding,
    Faults,
    RowBlock,
    blocks_from,
    joined,
    packed,
    unpacked,
)
from pramana.schema.domain import Attribute

CHUNK = 1 << 16  # rows whose coins, codes and results stay in cache together
_LOWER = np.uint64(2**32 - 1)
LARGEST = 1 << 22  # rows of one content on its way back
REPORT = 0
BACK = 1 << 62  # added to the number of what comes back: no row's content can pass for it
NONCE = 12  # bytes
Sent = tuple[int, int, bytes]  # slot, number, content
Tables = Iterable[tuple[int, pa.Table]]  # with the number of their first row
Group = tuple[tuple[str, int], ...]  # columns and their numbers of codes


class EvaluatedAnewError(RuntimeError):
    """Spark lost rows that were copied from a data frame, and evaluated again it gave others; quotes no value."""


@dataclass(frozen=True)
class Seal:
    """AES-256-GCM under a key that is made for one job and forgotten with it.

    A task that is run again gives the same bytes: Spark compares what the attempts of a task have sent, and ends
    the job where that differs. So the nonce is a keyed digest of place and content. It is not one of the place
    alone, because a source that changes may have two rows of one number.
    """

    key: bytes = field(repr=False)

    def closed(self, slot: int, number: int, content: bytes) -> bytes:
        name = _name(slot, number)
        digest = hashlib.blake2b(name, digest_size=NONCE, key=hmac.digest(self.key, b"nonce", "sha256"))
        digest.update(content)
        nonce = digest.digest()
        return nonce + AESGCM(self.key).encrypt(nonce, content, name)

    def opened(self, slot: int, number: int, content: bytes) -> bytes:
        return AESGCM(self.key).decrypt(content[:NONCE], content[NONCE:], _name(slot, number))


def _name(slot: int, number: int) -> bytes:
    """A content is bound to where it belongs."""
    return number.to_bytes(8, "big") + slot.to_bytes(4, "big")


class Step(Protocol):
    """Work on one run: `rows` are its blocks with the number of their first row."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def seal(self) -> Seal: ...

    def work(self, rows: Tables) -> Iterator[Any]:
        """Sealed contents, as tuples, and last the report, any object."""


def performed(step: Step, run: int, first: int, tables: Iterable[pa.Table]) -> Iterator[Sent]:
    """Do a step on one run. Faults of the source become its report: what fails as a task is written to logs."""
    try:
        with unquoted():
            for result in step.work(blocks_from(tables, first)):
                yield result if isinstance(result, tuple) else _report(step, run, result)
    except PramanaError as error:
        yield _report(step, run, error)


@contextlib.contextmanager
def unquoted() -> Iterator[None]:
    """The message of a reader or a kernel may quote values: neither logs nor the driver get to see it."""
    try:
        yield
    except (PramanaError, EvaluatedAnewError):
        raise
    except Exception as error:
        trace, places = error.__traceback__, []
        while trace is not None:
            places.append(f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}")
            trace = trace.tb_next
        raise RuntimeError(f"{type(error).__name__} at {' > '.join(places[-3:])}") from None


def _report(step: Step, run: int, report: Any) -> Sent:
    return REPORT, run, step.seal.closed(REPORT, run, pickle.dumps(report))


# ---------------------------------------------------------------- what a table holds


@dataclass(frozen=True)
class SurveyReport:
    """A run: its rows, the values that occur where they were asked for, and which columns have missing ones."""

    rows: int
    values: Mapping[str, pa.Array]
    missing: frozenset[str]
    kinds: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class SurveyRun:
    """Count rows, and look where the recipe says so: at the values that occur, or for missing ones."""

    columns: tuple[str, ...]
    seal: Seal
    listed: frozenset[str] = frozenset()

    def work(self, rows: Tables) -> Iterator[Any]:
        count, missing = 0, set[str]()
        values: dict[str, list[pa.Array]] = {name: [] for name in self.columns}
        kinds: dict[str, pa.DataType] = {}
        for _, table in rows:
            count += table.num_rows
            for name in self.columns:
                column = table.column(name)
                kinds[name] = _plain_type(column.type)
                if name not in missing and has_missing(column):
                    missing.add(name)
                if name in self.listed:
                    values[name] = [_distinct([*values[name], *_plain(column).chunks], kinds[name])]
        yield SurveyReport(count, {n: v[0] for n, v in values.items() if v}, frozenset(missing), kinds)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return column
    distinct = [chunk.dictionary.take(pc.unique(chunk.indices)) for chunk in column.chunks]
    return pa.chunked_array(distinct, column.type.value_type)


def _distinct(parts: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    return pc.unique(pa.chunked_array(parts, kind))


# ---------------------------------------------------------------- digests and counts


@dataclass(frozen=True)
class RunReport:
    """A run, encoded: its rows, faults, missing values and leaves, counts, and bytes of unchanged columns."""

    rows: int
    faults: Mapping[str, Faults]
    missing: frozenset[str]
    digests: Digests
    edges: tuple[Edge, ...]
    raw_bytes: int
    counts: tuple[NDArray[np.int64], ...] = ()


@dataclass(frozen=True)
class CountRun:
    """Digest the source, and count the combinations of some groups of columns."""

    attributes: tuple[Attribute, ...]
    seal: Seal
    secret: bytes | None = field(repr=False)  # none: no digests are wanted
    groups: tuple[Group, ...] = ()
    show: bool = False
    derived: tuple[DerivedColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding = Encoding(self.attributes, self.show, self.derived)
        seen = _Seeing(self.secret, self.attributes)
        shapes = [tuple(size for _, size in group) for group in self.groups]
        counts = [np.zeros(int(np.prod(shape)), np.int64) for shape in shapes]
        for first, table in rows:
            block = encoding.block(first, table)
            seen.add(block)
            if not encoding.faults:  # codes of faulty rows mean nothing
                codes = {**block.codes, **block.derived}
                for group, shape, count in zip(self.groups, shapes, counts, strict=True):
                    joint = np.ravel_multi_index([codes[name] for name, _ in group], shape)
                    count += np.bincount(joint, minlength=len(count))
        shaped = [count.reshape(shape) for count, shape in zip(counts, shapes, strict=True)]
        yield replace(seen.seen(encoding), counts=tuple(shaped))


class _Seeing:
    def __init__(self, secret: bytes | None, attributes: Sequence[Attribute]) -> None:
        self.secret, self.digests, self.edges, self.rows, self.raw = secret, Digests(), list[Edge](), 0, 0
        codes = {a.name: a.coded.missing_code for a in attributes if not a.raw}
        self.missing_codes = {name: code for name, code in codes.items() if code is not None}
        self.missing = set[str]()

    def add(self, block: RowBlock) -> None:
        for name, code in self.missing_codes.items():
            if name not in self.missing and bool((block.codes[name] == code).any()):
                self.missing.add(name)
        if self.secret is not None:
            self.edges += self.digests.add(self.secret, block)
        self.rows += block.rows
        self.raw += sum(column.nbytes for column in block.raw.values())

    def seen(self, encoding: Encoding) -> RunReport:
        seen = encoding.faults, frozenset(self.missing), self.digests, tuple(self.edges)
        return RunReport(self.rows, *seen, self.raw)


# ---------------------------------------------------------------- publishing


@dataclass(frozen=True)
class Buckets:
    """Where a row goes: 2^bits buckets by the top of its tag, or runs of `span` rows in source order."""

    bits: int
    tags: Stream | None
    span: int = 1 << 40

    @property
    def count(self) -> int:
        return 1 << self.bits

    def entries(self, first: int, rows: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Rows bucket by bucket, each as its place after `first` in the lower half, and where buckets start."""
        if self.tags is not None:
            return bucketed(self.tags, first, rows, self.bits)
        bounds = np.arange(self.count + 1, dtype=np.int64) * self.span
        return np.arange(rows, dtype=np.uint64), np.clip(bounds - first, 0, rows).astype(np.uint64)

    def order(self, entries: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The places of these rows of one bucket, as they are published."""
        if self.tags is not None:
            return bucket_order(self.tags, entries, rows)
        return np.argsort(rows).astype(np.uint32)


@dataclass(frozen=True)
class DrawRun:
    """Encode, publish and hand out a run's rows to the buckets; its report digests the source once more."""

    attributes: tuple[Attribute, ...]
    shown: tuple[str, ...]  # the columns that are published
    mechanism: Mechanism
    streams: Mapping[tuple[str, str], Stream] = field(repr=False)
    buckets: Buckets
    seal: Seal
    secret: bytes = field(repr=False)
    derived: tuple[DerivedColumn, ...] = ()
    beside: tuple[str, ...] = ()  # columns that others are derived from, and no more
    drawn: Mapping[str, str] = field(default_factory=dict)  # those drawn already, and where that is attached

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(a.name for a in self.attributes), *self.beside)

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding = Encoding(self.attributes, derived=self.derived, beside=self.beside)
        seen = _Seeing(self.secret, self.attributes)
        for first, table in rows:
            block = encoding.block(first, table)
            seen.add(block)
            if encoding.faults:  # the source changed, as the report will tell
                break
            yield from self._handed_out(self._published(block))
        yield seen.seen(encoding)

    def _published(self, block: RowBlock) -> RowBlock:
        codes, raw = dict(block.codes), dict(block.raw)
        for name, column in block.derived.items():
            if isinstance(column, np.ndarray):
                codes[name] = column
            else:
                raw[name] = _chunked(column)
        out = {name: np.empty_like(codes[name]) for name in self.mechanism.sizes}
        for start in range(0, block.rows, CHUNK):
            part = slice(start, start + CHUNK)
            self.mechanism.publish(
                lambda purpose, column: self.streams[purpose, column],
                block.first + start,
                {name: codes[name][part] for name in out},
                {name: values[part] for name, values in out.items()},
            )
        out |= {name: codes[attached] for name, attached in self.drawn.items()}
        coded = {name: out.get(name, codes[name]) for name in self.shown if name in codes}
        return RowBlock(block.first, block.rows, coded, {n: raw[n] for n in self.shown if n not in codes})

    def _handed_out(self, block: RowBlock) -> Iterator[Sent]:
        entries, starts = self.buckets.entries(block.first, block.rows)
        ordered = taken(block, entries.astype(np.uint32))
        for bucket, (start, stop) in enumerate(pairwise(starts.tolist())):
            if stop > start:
                own = entries[start:stop].tobytes()
                content = len(own).to_bytes(8, "little") + own + packed(cut_out(ordered, start, stop))
                yield bucket + 1, block.first, self.seal.closed(bucket + 1, block.first, content)


def taken(block: RowBlock, order: NDArray[np.uint32]) -> RowBlock:
    raw = {}
    if block.raw:
        places = pa.Array.from_buffers(pa.uint32(), len(order), [None, pa.py_buffer(order)])
        raw = {name: _chunked(column.take(places)) for name, column in block.raw.items()}
    return RowBlock(block.first, len(order), {n: gathered(codes, order) for n, codes in block.codes.items()}, raw)


def _chunked(column: Any) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def cut_out(block: RowBlock, start: int, stop: int) -> RowBlock:
    """Rows of a block, by their places in it."""
    return RowBlock(
        block.first,
        stop - start,
        {name: codes[start:stop] for name, codes in block.codes.items()},
        {name: column.slice(start, stop - start) for name, column in block.raw.items()},
    )


class SlotWork(Protocol):
    """Work on what arrived in one slot: numbers and contents, as runs sent them."""

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]: ...


@dataclass(frozen=True)
class OrderBucket:
    """Put the rows of one bucket into published order.

    What comes out is sealed as well: where nothing is drawn, as for questions about all rows, it is the source.
    """

    buckets: Buckets
    seal: Seal

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]:
        entries, rows, blocks = [], [], []
        for first, content in contents:
            plain = self.seal.opened(slot, first, content)
            size = int.from_bytes(plain[:8], "little")
            entries.append(np.frombuffer(plain, np.uint64, size // 8, 8))
            rows.append((entries[-1] & _LOWER) + np.uint64(first))
            blocks.append(unpacked(plain[8 + size :]))
        if not blocks:
            return
        whole = taken(joined(blocks), self.buckets.order(np.concatenate(entries), np.concatenate(rows)))
        for part, start in enumerate(range(0, whole.rows, LARGEST)):
            content = packed(cut_out(whole, start, min(start + LARGEST, whole.rows)))
            yield slot, part, self.seal.closed(slot, BACK + part, content)

    def opened(self, slot: int, part: int, content: bytes) -> RowBlock:
        """What came back."""
        return unpacked(self.seal.opened(slot, BACK + part, content))
