"""Steps as Spark jobs: what travels to the executors, and what comes back.

A step travels inside the pickled function. Spark writes functions of a megabyte and more to a file, so a large
step (a law with large tables) is sealed and broadcast, and its seal's key travels inside the function.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pramana.errors import EngineError, PramanaError
from pramana.rows.spark.blocks import blocks_from
from pramana.rows.spark.copies import CopiedColumns
from pramana.rows.spark.session import quiet
from pramana.rows.spark.steps import REPORT, OrderBucket, Seal, Sent, Step, performed, unquoted
from pramana.sources import Piece

_SCHEMA = "slot int, number long, content binary"
_FIELDS = pa.schema([("slot", pa.int32()), ("number", pa.int64()), ("content", pa.binary())])
_INLINE = 1 << 18
# what a failed task may say: its own words, which quote nothing, and that something is not installed where it ran
_TOLD = r"^(?:RuntimeError|pramana\.errors\.\w+|ModuleNotFoundError): (.*)$"
_SEED = 42  # of Spark's hash partitioning
_MASK = (1 << 32) - 1
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class RunWork:
    """A step, and the runs it is done on: pieces of files, or what a frame's partitions hold."""

    step: Step
    pieces: tuple[bytes, ...] | None  # pickled one by one: a task needs one of them
    firsts: tuple[int, ...]
    watch: Callable[[int], None] | None
    copy: CopiedColumns | None = None

    def runs(self, batches: Batches) -> Iterator[tuple[int, int, Iterable[pa.Table]]]:
        """The runs of this task: their numbers, the numbers of their first rows, and their rows."""
        if self.pieces is None:
            run = _partition()
            made = (pa.Table.from_batches([batch]) for batch in batches)
            tables = made if self.copy is None else self.copy.tables(run, batches)
            yield run, self.first(run), self._watched(tables)
            return
        for batch in batches:
            for run in batch.column(0).to_pylist():
                piece: Piece = pickle.loads(self.pieces[run])
                yield run, self.first(run), self._watched(piece.read(self.step.columns))

    def _watched(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for number, table in enumerate(tables, 1):
            yield table
            if self.watch is not None:
                self.watch(number)

    def first(self, run: int) -> int:
        return self.firsts[run] if run < len(self.firsts) else 0  # unknown to the first survey, which counts


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def selected(frame: Any, columns: Iterable[str]) -> Any:
    return frame.select(*("`" + name.replace("`", "``") + "`" for name in columns))


@dataclass(frozen=True)
class FrameCopy:
    """A copy of a data frame's columns in Spark's storage, and how many rows each run has."""

    columns: CopiedColumns
    frame: Any
    rows: tuple[int, ...]


@contextlib.contextmanager
def copied(spark: Any, frame: Any, columns: tuple[str, ...]) -> Iterator[FrameCopy]:
    """The copy lasts as long as the block."""
    kept = CopiedColumns(columns, Seal(os.urandom(32)))
    with quiet():
        contents = selected(frame, columns).mapInArrow(_sent(spark, _Copying(kept)), _SCHEMA).persist()
    try:
        with _failing():
            numbers = contents.select("slot", "number").toArrow()
        rows = [0] * (max(numbers.column("slot").to_pylist(), default=-1) + 1)
        for run, number in zip(*(numbers.column(name).to_pylist() for name in ("slot", "number")), strict=True):
            rows[run] += number
        yield FrameCopy(kept, contents, tuple(rows))
    finally:
        with contextlib.suppress(Exception):  # a session that has ended keeps nothing, and must not hide why
            contents.unpersist()


@dataclass(frozen=True)
class Job:
    """A step on all runs of a table."""

    spark: Any
    work: RunWork
    frame: Any

    def reports(self) -> dict[int, Any]:
        """The step's report on each run that has rows; the first fault of the source, in its order, is raised."""
        with _failing():
            rows = self._mapped(None).collect()
        return {row.number: self.report(row.number, row.content) for row in sorted(rows, key=lambda r: r.number)}

    def report(self, run: int, content: bytes) -> Any:
        report = pickle.loads(self.work.step.seal.opened(REPORT, run, bytes(content)))
        if isinstance(report, PramanaError):
            raise report
        return report

    def ordered(self, order: OrderBucket, buckets: int) -> Iterator[Sent]:
        """Reports, then the contents of the buckets in their order."""
        labels = labels_for(buckets + 1)
        with _failing():
            drawn = self._mapped(labels).repartition(buckets + 1, "slot")
            ordered = drawn.mapInArrow(_sent(self.spark, _Ordering(order, labels)), _SCHEMA)
            for row in ordered.toLocalIterator(prefetchPartitions=True):
                yield row.slot, row.number, bytes(row.content)

    def grouped(self, schema: pa.Schema, words: list[str]) -> pa.Table:
        """Batches of combinations and their numbers, equal ones added up by Spark."""
        kinds = ", ".join(f"{name} long" for name in schema.names)
        with _failing():
            mapped = self._frame().mapInArrow(_sent(self.spark, _Grouping(self.work)), kinds)
            return (
                mapped.groupBy(*words).agg({"number": "sum"}).withColumnRenamed("sum(number)", "number").toArrow()
            )

    def any_twice(self, schema: pa.Schema, words: list[str]) -> bool:
        """Whether some combination occurs more than once; Spark stops at the first."""
        kinds = ", ".join(f"{name} long" for name in schema.names)
        with _failing():
            mapped = self._frame().mapInArrow(_sent(self.spark, _Grouping(self.work)), kinds)
            return bool(mapped.groupBy(*words).count().filter("count > 1").limit(1).collect())

    def _mapped(self, labels: tuple[int, ...] | None) -> Any:
        function = _sent(self.spark, _Working(self.work, labels))
        with quiet():
            return self._frame().mapInArrow(function, _SCHEMA)

    def _frame(self) -> Any:
        if self.work.pieces is not None:
            runs = len(self.work.pieces)
            return self.spark.range(0, runs, 1, runs)
        return self.frame if self.work.copy is not None else selected(self.frame, self.work.step.columns)


class _failing:  # noqa: N801 - read like a statement
    """Whatever Spark raises becomes one line."""

    def __enter__(self) -> None:
        self.quiet = quiet()
        self.quiet.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.quiet.__exit__(None, None, None)
        if error is None or isinstance(error, PramanaError) or not type(error).__module__.startswith("py"):
            return
        told = re.findall(_TOLD, str(error), re.MULTILINE)
        reason = told[-1].strip() if told else type(error).__name__
        raise EngineError("A Spark job must finish", f"a task that failed ({reason})") from None


# ---------------------------------------------------------------- in a task


@dataclass(frozen=True)
class _Copying:
    kept: CopiedColumns

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        with unquoted():
            yield from self.kept.contents(_partition(), batches)


@dataclass(frozen=True)
class _Working:
    work: RunWork
    labels: tuple[int, ...] | None

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        for run, first, tables in self.work.runs(batches):
            for slot, number, content in performed(self.work.step, run, first, tables):
                yield (slot if self.labels is None else self.labels[slot]), number, content


@dataclass(frozen=True)
class _Grouping:
    work: RunWork

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for _, first, tables in self.work.runs(batches):
            with unquoted():
                yield from self.work.step.work(blocks_from(tables, first))


@dataclass(frozen=True)
class _Ordering:
    order: OrderBucket
    labels: tuple[int, ...]

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        slot_of = {label: slot for slot, label in enumerate(self.labels)}
        arrived: dict[int, list[tuple[int, bytes]]] = {}
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in _FIELDS.names]
            for label, number, content in zip(*columns, strict=True):
                arrived.setdefault(slot_of[label], []).append((number, content))
        for slot, contents in sorted(arrived.items()):
            if slot == REPORT:
                yield from ((REPORT, number, content) for number, content in sorted(contents))
            else:
                yield from self.order.ordered(slot, sorted(contents))


def _sent(spark: Any, work: Callable[[Batches], Iterator[Any]]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """The function that Spark is given. It names nothing but itself in plans and logs."""
    from pyspark import cloudpickle

    plain = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]  # its stubs leave it out
    return _inline(plain) if len(plain) <= _INLINE else _sealed(spark, plain)


def _inline(plain: bytes) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        return _batches(pickle.loads(plain)(batches))

    return task


def _sealed(spark: Any, plain: bytes) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    seal = Seal(os.urandom(32))
    sealed = spark.sparkContext.broadcast(seal.closed(0, 0, plain))

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        return _batches(pickle.loads(seal.opened(0, 0, sealed.value))(batches))

    return task


def _batches(items: Iterator[Any]) -> Iterator[pa.RecordBatch]:
    for item in items:
        if isinstance(item, pa.RecordBatch):
            yield item
            continue
        slot, number, content = item
        yield pa.RecordBatch.from_pydict({"slot": [slot], "number": [number], "content": [content]}, _FIELDS)


def labels_for(partitions: int) -> tuple[int, ...]:
    """For each partition a number that Spark's hash partitioning sends there."""
    label_of: dict[int, int] = {}
    label = 0
    while len(label_of) < partitions:
        label_of.setdefault(hashed(label) % partitions, label)
        label += 1
    return tuple(label_of[p] for p in range(partitions))


def hashed(value: int) -> int:
    """Spark's hash of a 32-bit integer: Murmur3 (x86, 32 bits), as a signed number."""
    mixed = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    hash_ = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hash_ ^= 4  # bytes of the value
    hash_ = (hash_ ^ hash_ >> 16) * 0x85EBCA6B & _MASK
    hash_ = (hash_ ^ hash_ >> 13) * 0xC2B2AE35 & _MASK
    hash_ ^= hash_ >> 16
    return hash_ - (1 << 32) if hash_ >> 31 else hash_


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
