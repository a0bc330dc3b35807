"""A table on Spark: the same coins on the same rows as everywhere, on as many machines as there are.

Row numbers come first: rows are numbered in source order, so that a task that is run again, or elsewhere, throws
the same coins. Executors get subkeys inside the pickled function and nowhere else; the key stays with the driver.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import EngineError, SourceError
from pramana.generalize import Classes
from pramana.mechanisms import Mechanism, streams_of
from pramana.randomness import Key, code_dtype, tag_stream
from pramana.rows.digest import Column, commitment_secret
from pramana.rows.protocol import Lines
from pramana.rows.spark.blocks import DerivedColumn, Digests, refuse, unpacked
from pramana.rows.spark.groups import GroupRun, RepeatRun
from pramana.rows.spark.jobs import FrameCopy, Job, RunWork, copied
from pramana.rows.spark.session import check_frame, session
from pramana.rows.spark.steps import (
    REPORT,
    Buckets,
    CountRun,
    DrawRun,
    Group,
    OrderBucket,
    RunReport,
    Seal,
    Step,
    SurveyReport,
    SurveyRun,
)
from pramana.schema import Attribute
from pramana.sources import Piece, Source, pieces_of

_BUCKET = 1 << 25  # bytes that one task puts in order at a time
_ENTRY = 8  # bytes that tell a row's place and the top of its tag
_MOST_BITS = 14
_MOST_ROWS = 2**32 - 1  # of a table whose combinations are counted


@dataclass(frozen=True)
class SparkEngine:
    """Where to work: in the active session, or in a new one at `master`, a Spark URL such as local[2].

    `pieces` is about how many tasks a table is cut into (twice as many as there are cores, unless it is given);
    `options` are settings of a new session.

    >>> pramana.release("recipe.toml", "published", engine=pramana.SparkEngine("local[2]"))  # doctest: +SKIP
    """

    master: str | None = None
    pieces: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    watch: Callable[[int], None] | None = field(default=None, repr=False)  # called by tasks as they read

    @property
    def workers(self) -> int:
        """Of the driver, which only collects."""
        return 1

    @contextlib.contextmanager
    def open(self, source: Source, columns: Sequence[str]) -> Iterator[SparkTable]:
        """A table that lies where the executors can read it, or a Spark DataFrame."""
        if source.kind == "database":
            raise SourceError(
                "A table for the Spark engine must be a path or a Spark DataFrame",
                "a database",
                "Let Spark read it (spark.read.jdbc), and write it to files first.",
            )
        if source.path is None:
            check_frame(source.frame, columns)
            if settled := [name for name in columns if name in source.forms and source.forms[name].to_json()]:
                raise SourceError(
                    "Missing codes and date formats on Spark must be of files",
                    f"a Spark DataFrame, and some for {settled[0]!r}",
                    "Turn them into nulls and dates in the frame.",
                )
        elif not source.path.is_dir():
            pieces_of(source, columns)  # faults show before Spark starts
        names = tuple(columns)
        with session(self.master, dict(self.options), source.frame) as spark:
            if source.path is None:
                with copied(spark, source.frame, names) as copy:
                    yield SparkTable(spark, names, None, source.frame, self.watch, copy)
                return
            wanted = self.pieces or 2 * spark.sparkContext.defaultParallelism
            pieces = pieces_of(source, columns, wanted)
            yield SparkTable(spark, names, pieces, None, self.watch)


@dataclass(frozen=True)
class Summary:
    """What a survey found: values where they were asked for, the columns with missing ones, and their kinds."""

    values: Mapping[str, pa.ChunkedArray]
    missing: frozenset[str]
    kinds: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class Reading:
    """One reading of a whole table as coded by some attributes: digests, faults, and the columns with missing."""

    attributes: tuple[Attribute, ...]
    key: str  # its commitment
    root: str
    missing: frozenset[str]


@dataclass
class SparkTable:
    """A table in runs of rows, and what can be asked of it. `attributes` say how it is coded."""

    spark: Any = field(repr=False)
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...] | None
    frame: Any = field(repr=False)
    watch: Callable[[int], None] | None = field(default=None, repr=False)
    copy: FrameCopy | None = field(default=None, repr=False)
    attributes: tuple[Attribute, ...] = ()
    firsts: tuple[int, ...] = ()
    total: int | None = None
    raw_bytes: int = 0
    last: Reading | None = None
    derived: dict[str, DerivedColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pieces is not None and all(piece.rows is not None for piece in self.pieces):
            self._number([piece.rows or 0 for piece in self.pieces])
        if self.copy is not None:
            self._number(self.copy.rows)

    @property
    def records(self) -> int:
        if self.total is None:
            self.survey(columns=self.columns[:1])
        assert self.total is not None
        return self.total

    def _number(self, rows: Sequence[int]) -> None:
        """The runs begin where those before them end. Empty ones at the end may or may not be told of."""
        last = max((run for run, number in enumerate(rows) if number), default=-1)
        ends = list(itertools.accumulate(rows[: last + 1]))
        total = ends[-1] if ends else 0
        if self.total is not None and (total != self.total or (0, *ends[:-1]) != self.firsts):
            raise _changed()
        if total < 1:
            raise SourceError("A table must have at least one record", "none")
        self.firsts, self.total = (0, *ends[:-1]), total

    def job(self, step: Step) -> Job:
        pieces = None if self.pieces is None else tuple(map(pickle.dumps, self.pieces))
        work = RunWork(step, pieces, self.firsts, self.watch)
        if self.copy is not None and self.copy.columns.covers(step.columns):
            return Job(self.spark, replace(work, copy=self.copy.columns), self.copy.frame)
        return Job(self.spark, work, self.frame)

    def seal(self) -> Seal:
        return Seal(os.urandom(32))

    # ------------------------------------------------------------ questions

    def survey(self, listed: Iterable[str] = (), columns: Sequence[str] | None = None) -> Summary:
        """Count the rows, list the values of some columns, and see which columns have missing ones."""
        step = SurveyRun(self.columns if columns is None else tuple(columns), self.seal(), frozenset(listed))
        reports: dict[int, SurveyReport] = self.job(step).reports()
        self._number(_rows(reports))
        parts = [reports[run] for run in sorted(reports) if reports[run].rows]
        kinds = dict(parts[0].kinds)
        if any(part.kinds != kinds for part in parts):
            raise SourceError("Every column must have values of one kind in all files", "several kinds")
        values = {name: pa.chunked_array([part.values[name] for part in parts], kinds[name]) for name in listed}
        return Summary(values, frozenset().union(*(part.missing for part in parts)), kinds)

    def read(self, attributes: Sequence[Attribute], key: Key, show: bool = False) -> Reading:
        """Read everything once: refuse what does not fit its domain, and digest the source."""
        reports = self._count(tuple(attributes), commitment_secret(key), (), show)
        self.raw_bytes = sum(seen.raw_bytes for seen in reports.values())
        root = _root(reports, commitment_secret(key), self.records)
        missing = frozenset().union(*(seen.missing for seen in reports.values()))
        self.last = Reading(tuple(attributes), key.commitment(), root, missing)
        return self.last

    def _count(
        self,
        attributes: tuple[Attribute, ...],
        secret: bytes | None,
        groups: tuple[Group, ...],
        show: bool = False,
        derived: tuple[DerivedColumn, ...] = (),
    ) -> dict[int, RunReport]:
        if self.total is None and not (self.pieces is not None and len(self.pieces) == 1):
            self.survey(columns=self.columns[:1])
        step = CountRun(attributes, self.seal(), secret, groups, show, derived)
        reports: dict[int, RunReport] = self.job(step).reports()
        refuse((report.faults for report in reports.values()), attributes, show)
        self._number(_rows(reports) + [0] * (len(self.firsts) - len(_rows(reports))))
        return reports

    def _needed(self, names: Iterable[str]) -> tuple[tuple[Attribute, ...], tuple[DerivedColumn, ...]]:
        """What some columns are made from: the attributes to read, and the derived ones in the order of making."""
        derived: dict[str, DerivedColumn] = {}
        read: set[str] = set()

        def need(name: str) -> None:
            column = self.derived.get(name)
            if column is None:
                read.add(name)
            elif name not in derived:
                for one in column.of:
                    need(one)
                derived[name] = column

        for name in names:
            need(name)
        return tuple(a for a in self.attributes if a.name in read), tuple(derived.values())

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""
        attributes, derived = self._needed(names)
        group: Group = tuple(zip(names, shape, strict=True))
        reports = self._count(attributes, None, (group,), derived=derived)
        return np.asarray(sum(report.counts[0] for report in reports.values()), np.int64)

    def lines(self, sizes: Mapping[str, int]) -> Lines:
        """The combinations that occur, in an order that tells nothing of the rows' order."""
        attributes, derived = self._needed(sizes)
        step = GroupRun(attributes, tuple(sizes.items()), self.seal(), derived)
        words = step.schema.names[:-1]
        table = self.job(step).grouped(step.schema, words)
        keys = np.stack([table.column(word).to_numpy().view(np.uint64) for word in words], axis=1)
        order = np.lexsort(keys.T)
        counts = table.column("number").to_numpy()[order]
        if int(counts.sum()) > _MOST_ROWS:
            raise SourceError(f"A table to be generalised must have at most {_MOST_ROWS} rows", str(counts.sum()))
        classes = Classes(step.layout, step.layout.bottom, keys[order], np.zeros((len(keys), 1), np.uint32))
        columns = tuple(classes.codes(i).astype(code_dtype(size)) for i, size in enumerate(sizes.values()))
        return Lines(columns, counts.astype(np.uint32))

    def repeats(self, column: str) -> bool:
        """Whether a value of a column occurs twice; the driver learns no more than that."""
        step = RepeatRun(column, self.seal())
        return self.job(step).any_twice(step.schema, step.schema.names[:-1])

    def commitment(self, key: Key) -> str:
        last = self.last
        if last is None or last.key != key.commitment() or not _codes_alike(last.attributes, self.attributes):
            last = self.read(self.attributes, key)
        return last.root

    # ------------------------------------------------------------ publishing

    def publish(
        self, mechanism: Mechanism, key: Key, context: str, shuffled: bool, names: Sequence[str]
    ) -> Iterator[dict[str, Column]]:
        """Some columns in published order, as a mechanism makes them, in blocks of any sizes.

        Nothing comes out before the source is known to be the same as when it was read before.
        """
        streams = {(purpose, name): key.stream(purpose, context, name) for purpose, name in streams_of(mechanism)}
        secret, expected = commitment_secret(key), self.commitment(key)
        buckets, seal = self._buckets(key, context, shuffled), self.seal()
        _, derived = self._needed([*names, *mechanism.sizes])
        draw = DrawRun(self.attributes, tuple(names), mechanism, streams, buckets, seal, secret, derived)
        job = self.job(draw)
        reports: dict[int, RunReport] = {}
        last = (0, -1)
        for slot, number, content in job.ordered(OrderBucket(buckets, seal), buckets.count):
            if slot == REPORT:
                reports[number] = job.report(number, content)
                continue
            if last == (0, -1) and _root(reports, secret, self.records) != expected:
                raise _changed()
            if (slot, number) <= last:
                raise EngineError("Buckets must arrive in their order", "another one")
            last = (slot, number)
            yield unpacked(content).columns
        if last == (0, -1):
            raise _changed()

    def _buckets(self, key: Key, context: str, shuffled: bool) -> Buckets:
        width = sum(np.dtype(code_dtype(a.coded.size)).itemsize for a in self.attributes if not a.raw) + _ENTRY
        wanted = -(-(self.records * width + self.raw_bytes) // _BUCKET)
        bits = min((wanted - 1).bit_length(), _MOST_BITS)
        return Buckets(bits, tag_stream(key, context) if shuffled else None, -(-self.records // (1 << bits)))


def _rows(reports: Mapping[int, Any]) -> list[int]:
    return [reports[run].rows if run in reports else 0 for run in range(max(reports, default=-1) + 1)]


def _codes_alike(read: Sequence[Attribute], settled: Sequence[Attribute]) -> bool:
    """Whether codes read under one set of domains are those of another: nothing but a missing category differs.

    That category has the last code; where no row had it, only the type of the codes can change.
    """
    for one, other in zip(read, settled, strict=True):
        if one.name != other.name or one.raw != other.raw:
            return False
        if not one.raw and (
            one.coded.labels != other.coded.labels or code_dtype(one.coded.size) != code_dtype(other.coded.size)
        ):
            return False
    return True


def _changed() -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        "other rows at another reading",
        "A data frame must give its rows in the same order each time; write it to a table first.",
    )


def _root(reports: Mapping[int, RunReport], secret: bytes, records: int) -> str:
    if sum(seen.rows for seen in reports.values()) != records or any(seen.faults for seen in reports.values()):
        raise _changed()
    digests = Digests()
    for seen in reports.values():
        digests.leaves |= seen.digests.leaves
    digests.close(secret, (edge for seen in reports.values() for edge in seen.edges))
    return digests.root(secret, records)
