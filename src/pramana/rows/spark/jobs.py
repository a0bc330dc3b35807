"""Steps as Spark jobs: what travels to the executors, and what comes back.

A step travels inside the pickled function. Spark writes functions of a megabyte and more to a file, so a large
step (a law with large tables) is sealed and broadcast, and its seal's key travels inside the function.
"""

from __future__ import annotations

import gc
import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import EngineError, PramanaError
from pramana.io.pieces import Piece
from pramana.io.writing import raw_column
from pramana.rows.engines import ahead
from pramana.rows.spark.blocks import DerivedColumn, blocks_from
from pramana.rows.spark.parts import SlotWork, WorkOnPart
from pramana.rows.spark.session import quiet
from pramana.rows.spark.steps import REPORT, Seal, Sent, Step, new_seal, performed, unquoted

if TYPE_CHECKING:
    from pramana.rows.spark.frames import SealedCopy
    from pramana.rows.spark.owners import SealedRuns

SCHEMA = "slot int, number long, content binary"
_FIELDS = pa.schema([("slot", pa.int32()), ("number", pa.int64()), ("content", pa.binary())])
_INLINE = 1 << 18
_AT_ONCE = 6  # buckets that are put in order: so many keep a driver busy, and it has room for them
# what a failed task may say: its own words, which quote nothing, and that something is not installed where it ran
_REASON = r"^(?:RuntimeError|pramana\.[\w.]+|ModuleNotFoundError): (.*)$"
Batches = Iterable[pa.RecordBatch]
Layers = tuple[tuple[Any, ...], ...]
Form = Callable[[Any, Any], Iterator[Any]]
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class RunWork:
    """A step, and the runs it is done on: pieces of files, or the partitions of a data frame's copy."""

    step: Step
    pieces: tuple[bytes, ...] | None  # pickled one by one: a task needs one of them
    firsts: tuple[int, ...]
    watch: Callable[[int], None] | None
    marks: DerivedColumn | None = None  # rows that do not have 1 in it are as if they were not there
    copy: SealedCopy | None = None  # instead of pieces, of a data frame
    attached: SealedRuns | None = None  # columns beside the rows, and which rows stay
    layers: Layers = ()  # of what is attached, by run, as broadcasts; known in a task alone

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read: the step's columns, and what tells which rows it is done on."""
        marks = () if self.marks is None else self.marks.of
        owners = () if self.attached is None else self.attached.columns
        return tuple(dict.fromkeys([*self.step.columns, *marks, *owners]))

    def runs(self, batches: Batches) -> Iterator[tuple[int, int, Iterable[pa.Table]]]:
        """The runs of this task: their numbers, the numbers of their first rows, and their rows."""
        if self.copy is not None:
            run = partition()
            yield run, self.first(run), self._select_rows(run, self.copy.tables(run, batches, self.columns))
            return
        assert self.pieces is not None, "rows are in files, or in a copy"
        for batch in batches:
            for run in batch.column(0).to_pylist():
                piece: Piece = pickle.loads(self.pieces[run])
                yield run, self.first(run), self._select_rows(run, piece.read(self.columns))

    def _select_rows(self, run: int, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        if self.attached is not None:
            layers = [layer[run].value for layer in self.layers if run < len(layer)]
            tables = self.attached.extended(run, layers, tables)
        for number, table in enumerate(tables, 1):
            if self.marks is None:
                yield table
            else:
                own = {name: raw_column(table.column(name), None) for name in self.marks.of}
                yield table.filter(pa.array(self.marks.work(own) == 1))
            if self.watch is not None:
                self.watch(number)

    def first(self, run: int) -> int:
        return self.firsts[run] if run < len(self.firsts) else 0  # unknown to the first survey, which counts


def partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


@dataclass(frozen=True)
class Job:
    """A step on all runs of a table."""

    spark: Any
    work: RunWork
    frame: Any  # the sealed copy of a data frame, where there is one
    layers: Layers = ()  # of what is attached to the rows

    def reports(self) -> dict[int, Any]:
        """The step's report on each run that has rows; the first fault of the source, in its order, is raised."""
        pieces = self.work.pieces
        with failing():
            if pieces is None:
                sent = _tuples(self._mapped(None).collect())
            else:
                sent = _of_each_number(self.spark, _Working(self.work, None), len(pieces), self.layers)
        return {number: self.report(number, content) for number, content in sorted(one[1:] for one in sent)}

    def report(self, run: int, content: bytes) -> Any:
        report = pickle.loads(self.work.step.seal.opened(REPORT, run, content))
        if isinstance(report, PramanaError):
            raise report
        return report

    def ordered(self, order: SlotWork, buckets: int) -> Iterator[Sent]:
        """Reports, then the contents of the buckets in their order."""
        from pyspark import inheritable_thread_target

        context, labels = self.spark.sparkContext, labels_for(buckets + 1)
        with failing():
            # A job for each bucket, of rows and not of a DataFrame: Spark holds the results of jobs that belong to
            # a query for as long as the session lasts: all that is published, in the driver.
            drawn = self._mapped(labels).repartition(buckets + 1, "slot").rdd
            task = task_of(self.spark, _Ordering(order, labels), form=_of_rows)
            bucket = inheritable_thread_target(self.spark)(lambda number: context.runJob(drawn, task, [number]))
            at_once = min(_AT_ONCE, 2 * context.defaultParallelism)  # the next is there when a core has done one
            for sent in ahead(bucket, range(buckets + 1), at_once):
                yield from sent

    def parted(self, work: WorkOnPart) -> tuple[dict[int, Any], list[Any]]:
        """Reports by run, and what the work made of every part: all parts at a time, as executors are free."""
        slots = work.borders.count + 1
        labels = labels_for(slots)
        with failing():
            drawn = self._mapped(labels).repartition(slots, "slot")
            rows = drawn.mapInArrow(task_of(self.spark, _Ordering(work, labels)), SCHEMA).collect()
        sent = _tuples(rows)
        reports = {number: self.report(number, content) for slot, number, content in sent if slot == REPORT}
        return reports, work.results(one for one in sent if one[0] != REPORT)

    def grouped(self, words: int) -> Any:
        """Combinations of so many words, as a frame in which Spark adds up equal ones."""
        names = [f"word{i}" for i in range(words)]
        kinds = ", ".join(f"{name} long" for name in (*names, "number"))
        mapped = self._frame().mapInArrow(task_of(self.spark, _Grouping(self.work), self.layers), kinds)
        return mapped.groupBy(*names).agg({"number": "sum"}).withColumnRenamed("sum(number)", "number")

    def _mapped(self, labels: tuple[int, ...] | None) -> Any:
        function = task_of(self.spark, _Working(self.work, labels), self.layers)
        with quiet():
            return self._frame().mapInArrow(function, SCHEMA)

    def _frame(self) -> Any:
        if self.work.pieces is not None:
            runs = len(self.work.pieces)
            return self.spark.range(0, runs, 1, runs)
        return self.frame


def done_for_each(spark: Any, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What `work` makes of each item, in tasks, in their order; the first fault, in that order, is raised."""
    if not items:
        return []
    seal = new_seal()
    with failing():
        doing = _Doing(pickle.dumps(work), tuple(map(pickle.dumps, items)), seal)
        sent = _of_each_number(spark, doing, len(items))
    content = {number: seal.opened(REPORT, number, sealed) for _, number, sealed in sent}
    results = [pickle.loads(content[number]) for number in range(len(items))]
    for result in results:
        if isinstance(result, PramanaError):
            raise result
    return results


def _of_each_number(
    spark: Any, work: Callable[[Batches], Iterator[Sent]], count: int, layers: Layers = ()
) -> list[Sent]:
    """What `work` sends of each number below `count`, a task for each.

    Through rows and not a DataFrame, which Spark would plan and compile code for while its cores wait.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # PySpark leaves the socket open that it sent them by
        numbers = spark.sparkContext.range(count, numSlices=count)
    sent: list[Sent] = numbers.mapPartitions(task_of(spark, work, layers, _of_numbers)).collect()
    return sent


def _tuples(rows: Iterable[Any]) -> list[Sent]:
    return [(row.slot, row.number, bytes(row.content)) for row in rows]


class failing:  # noqa: N801 - read like a statement
    """Whatever Spark raises becomes one line."""

    def __enter__(self) -> None:
        self.quiet = quiet()
        self.quiet.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.quiet.__exit__(None, None, None)
        if error is None or isinstance(error, PramanaError) or not type(error).__module__.startswith("py"):
            return
        reasons = re.findall(_REASON, str(error), re.MULTILINE)
        reason = reasons[-1].strip() if reasons else type(error).__name__
        raise EngineError("A Spark job must finish", f"a task that failed ({reason})") from None


# ---------------------------------------------------------------- in a task


@dataclass(frozen=True)
class _Doing:
    work: bytes
    items: tuple[bytes, ...]  # pickled one by one: a task needs one of them
    seal: Seal

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    with unquoted():
                        result: object = pickle.loads(self.work)(pickle.loads(self.items[number]))
                except PramanaError as error:
                    result = error
                yield REPORT, number, self.seal.closed(REPORT, number, pickle.dumps(result))


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
    order: SlotWork
    labels: tuple[int, ...]

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        columns = ([batch.column(name).to_pylist() for name in _FIELDS.names] for batch in batches)
        return self.of(row for own in columns for row in zip(*own, strict=True))

    def of(self, rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Sent]:
        """`rows` are what was sent to this task, each under the label of its slot."""
        slot_of = {label: slot for slot, label in enumerate(self.labels)}
        arrived: dict[int, list[tuple[int, bytes]]] = {}
        for label, number, content in rows:
            arrived.setdefault(slot_of[label], []).append((number, content))
        for slot, contents in sorted(arrived.items()):
            if slot == REPORT:
                yield from ((REPORT, number, content) for number, content in sorted(contents))
            else:
                yield from self.order.ordered(slot, sorted(contents))


def task_of(
    spark: Any, work: Any, layers: Layers = (), form: Form | None = None
) -> Callable[[Any], Iterator[Any]]:
    """The function that Spark is given. It names nothing but itself in plans and logs.

    `layers` are broadcasts, which Spark must find in the function itself to send them along. `form` has the work
    done on what Spark hands in; without one that is batches, and so is what comes out.
    """
    from pyspark import cloudpickle

    plain = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]  # its stubs leave it out
    form = form or _of_batches
    if len(plain) > _INLINE:
        return _sealed(spark, plain, layers, form)

    def task(given: Any) -> Iterator[Any]:
        return form(_with_layers(_loaded(plain), layers), given)

    return task


def _loaded(plain: bytes) -> Any:
    """Spark's worker looks for garbage among all its objects after every task: with those of all our modules that
    takes as long as a small task. Those that are here when its first task begins are here to stay.
    """
    work = pickle.loads(plain)
    if not gc.get_freeze_count():
        gc.freeze()
    return work


def _sealed(spark: Any, plain: bytes, layers: Layers, form: Form) -> Callable[[Any], Iterator[Any]]:
    seal = new_seal()
    sealed = spark.sparkContext.broadcast(seal.closed(0, 0, plain))

    def task(given: Any) -> Iterator[Any]:
        return form(_with_layers(_loaded(seal.opened(0, 0, sealed.value)), layers), given)

    return task


def _with_layers(work: Any, layers: Layers) -> Any:
    """The work on runs with what is attached to them."""
    return replace(work, work=replace(work.work, layers=layers)) if layers else work


def _of_batches(work: Callable[[Batches], Iterator[Any]], batches: Batches) -> Iterator[pa.RecordBatch]:
    for item in work(batches):
        if isinstance(item, pa.RecordBatch):
            yield item
            continue
        slot, number, content = item
        yield pa.RecordBatch.from_pydict({"slot": [slot], "number": [number], "content": [content]}, _FIELDS)


def _of_numbers(work: Callable[[Batches], Iterator[Sent]], numbers: Iterable[int]) -> Iterator[Sent]:
    return work([pa.record_batch({"number": pa.array(numbers, pa.int64())})])


def _of_rows(ordering: _Ordering, rows: Iterable[Any]) -> Iterator[Sent]:
    return ordering.of(_tuples(rows))


# ---------------------------------------------------------------- where Spark sends what is sent

_HASH_SEED = 42  # of Spark's hash partitioning


def labels_for(partitions: int) -> tuple[int, ...]:
    """For each partition a number that Spark's hash partitioning sends there."""
    most = 16 * partitions
    while True:
        reached, labels = np.unique(hashed(np.arange(most)) % partitions, return_index=True)
        if len(reached) == partitions:
            return tuple(labels.tolist())
        most *= 2


def hashed(values: NDArray[np.integer]) -> NDArray[np.int32]:
    """Spark's hash of 32-bit integers: Murmur3 (x86, 32 bits), as signed numbers."""
    with np.errstate(over="ignore"):
        mixed = _rotated(values.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashes = _rotated(np.uint32(_HASH_SEED) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        hashes ^= np.uint32(4)  # bytes of a value
        hashes = (hashes ^ hashes >> np.uint32(16)) * np.uint32(0x85EBCA6B)
        hashes = (hashes ^ hashes >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return (hashes ^ hashes >> np.uint32(16)).view(np.int32)


def _rotated(values: NDArray[np.uint32], by: int) -> NDArray[np.uint32]:
    return values << np.uint32(by) | values >> np.uint32(32 - by)
