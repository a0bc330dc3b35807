"""A table on Spark: the same coins on the same rows as everywhere, on as many machines as there are.

Row numbers come first: rows are numbered in source order, so that a task that is run again, or elsewhere, throws
the same coins. Executors get subkeys inside the pickled function and nowhere else; the key stays with the driver.
"""

from __future__ import annotations

import itertools
import operator
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.counting.classes import Classes, CountedCombinations
from pramana.errors import EngineError, SourceError
from pramana.io.pieces import Piece
from pramana.mechanisms.table import Mechanism, streams_of
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype
from pramana.randomness.shuffle import tag_stream
from pramana.rows.digest import Column, commitment_secret
from pramana.rows.protocol import ROW_NUMBER, Kept, S
from pramana.rows.spark.attached import AttachedRows
from pramana.rows.spark.blocks import DerivedColumn, Digests, refuse
from pramana.rows.spark.frames import FrameCopy
from pramana.rows.spark.groups import GroupRun, RepeatRun, SumReport, SumRun
from pramana.rows.spark.jobs import Job, RunWork, bucket_sizes
from pramana.rows.spark.parts import (
    CountKept,
    CountRange,
    DrawParts,
    PartBorders,
    PartWork,
    WorkOnPart,
    buckets_of_parts,
)
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
from pramana.schema.domain import Attribute, Role

# What one reading of a table on Spark has told, and whether it still holds under other domains.


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


def codes_alike(read: Sequence[Attribute], settled: Sequence[Attribute]) -> bool:
    """Whether codes read under one set of domains are those of another: nothing but a missing category differs.

    That category has the last code; where no row had it, only the type of the codes can change.
    """
    if len(read) != len(settled):
        return False
    for one, other in zip(read, settled, strict=True):
        if one.name != other.name or one.raw != other.raw:
            return False
        if not one.raw and (
            one.coded.labels != other.coded.labels or code_dtype(one.coded.size) != code_dtype(other.coded.size)
        ):
            return False
    return True


def rows_of(reports: Mapping[int, Any]) -> list[int]:
    """By run, how many rows it has."""
    return [reports[run].rows if run in reports else 0 for run in range(max(reports, default=-1) + 1)]


def changed_rows() -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        "other rows at another reading",
        "A data frame must give its rows in the same order each time; write it to a table first.",
    )


def root_of_runs(reports: Mapping[int, RunReport], secret: bytes, records: int) -> str:
    """The digest of a table from what its runs tell."""
    if sum(seen.rows for seen in reports.values()) != records or any(seen.faults for seen in reports.values()):
        raise changed_rows()
    digests = Digests()
    for seen in reports.values():
        digests.leaves |= seen.digests.leaves
    digests.close(secret, (edge for seen in reports.values() for edge in seen.edges))
    return digests.root(secret, records)


_BUCKET = 1 << 25  # bytes that one task puts in order at a time
_ENTRY = 8  # bytes that tell a row's place and the top of its tag
_MOST_BITS = 14
_MOST_ROWS = 2**32 - 1  # of a table whose combinations are counted


@dataclass
class SparkTable:
    """A table in runs of rows, and what can be asked of it. `attributes` say how it is coded."""

    spark: Any = field(repr=False)
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...] | None
    copy: FrameCopy | None = field(default=None, repr=False)  # of a data frame, instead of pieces
    watch: Callable[[int], None] | None = field(default=None, repr=False)
    attributes: tuple[Attribute, ...] = ()
    firsts: tuple[int, ...] = ()
    total: int | None = None
    raw_bytes: int = 0
    last: Reading | None = None
    derived: dict[str, DerivedColumn] = field(default_factory=dict)
    marks: DerivedColumn | None = None  # of which rows the table is, where it is not of all
    attached: AttachedRows | None = field(default=None, repr=False)  # whose rows they are, and what is beside them

    def __post_init__(self) -> None:
        if self.attached is not None:
            self._number(self.attached.stays)
            return
        if self.pieces is not None and all(piece.rows is not None for piece in self.pieces):
            self._number([piece.rows or 0 for piece in self.pieces])
        if self.copy is not None and self.marks is None:
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
            raise changed_rows()
        if total < 1:
            raise SourceError("A table must have at least one record", "none")
        self.firsts, self.total = (0, *ends[:-1]), total

    def job(self, step: Step) -> Job:
        pieces = None if self.pieces is None else tuple(map(pickle.dumps, self.pieces))
        work = RunWork(step, pieces, self.firsts, self.watch, self.marks)
        layers: tuple[tuple[Any, ...], ...] = ()
        if self.attached is not None:
            work, layers = replace(work, attached=self.attached.sealed), tuple(self.attached.layers)
        if self.copy is None:
            return Job(self.spark, work, None, layers)
        return Job(self.spark, replace(work, copy=self.copy.sealed), self.copy.frame, layers)

    def of_people(self, attached: AttachedRows) -> SparkTable:
        """The same table without the rows that do not stay, which are numbered anew."""
        return SparkTable(self.spark, self.columns, self.pieces, self.copy, self.watch, attached=attached)

    def close(self) -> None:
        """What is attached to the rows is forgotten."""
        if self.attached is not None:
            self.attached.close()

    def attach(self, columns: Mapping[str, Codes]) -> None:
        """Codes of all rows beside them, under names that no column of a source has."""
        assert self.attached is not None, "columns are attached to the rows of people"
        for name in columns:
            self.derived.pop(name, None)
        self.attached.attach(columns)

    def marked(self, name: str) -> SparkTable:
        """The same table without the rows that do not have 1 in a derived column; they are numbered anew."""
        pieces = None if self.pieces is None else tuple(replace(piece, rows=None) for piece in self.pieces)
        same = self.spark, self.columns, pieces, self.copy, self.watch, self.attributes
        return SparkTable(*same, derived=dict(self.derived), marks=self.derived[name])

    def seal(self) -> Seal:
        return Seal(os.urandom(32))

    # ------------------------------------------------------------ questions

    def survey(self, listed: Iterable[str] = (), columns: Sequence[str] | None = None) -> Summary:
        """Count the rows, list the values of some columns, and see which columns have missing ones."""
        step = SurveyRun(self.columns if columns is None else tuple(columns), self.seal(), frozenset(listed))
        reports: dict[int, SurveyReport] = self.job(step).reports()
        self._number(rows_of(reports))
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
        root = root_of_runs(reports, commitment_secret(key), self.records)
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
        self._number(rows_of(reports) + [0] * (len(self.firsts) - len(rows_of(reports))))
        return reports

    def _needed(self, names: Iterable[str]) -> tuple[tuple[Attribute, ...], tuple[DerivedColumn, ...]]:
        """What some columns are made from: the attributes to read, and the derived ones in the order of making."""
        derived: dict[str, DerivedColumn] = {}
        read: set[str] = set()

        def need(name: str) -> None:
            column = self.derived.get(name)
            if column is None and self.attached is not None and self.attached.has(name):
                return
            if column is None:
                read.add(name)
            elif name not in derived:
                for one in column.of:
                    need(one)
                derived[name] = column

        for name in names:
            need(name)
        read.discard(ROW_NUMBER)
        published = tuple(a for a in self.attributes if a.name in read)
        beside = sorted(read - {a.name for a in published})
        return (*published, *(Attribute(n, Role.INSENSITIVE, None) for n in beside)), tuple(derived.values())

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""
        attributes, derived = self._needed(names)
        group: Group = tuple(zip(names, shape, strict=True))
        reports = self._count(attributes, None, (group,), derived=derived)
        return np.asarray(sum(report.counts[0] for report in reports.values()), np.int64)

    def combinations(self, sizes: Mapping[str, int]) -> CountedCombinations:
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
        return CountedCombinations(columns, counts.astype(np.uint32))

    def summed(self, names: Sequence[str], work: Callable[[dict[str, Column]], S]) -> S:
        """The sum of what `work` makes of some columns, block by block; the executors do it."""
        if self.total is None:
            self.survey(columns=self.columns[:1])
        attributes, derived = self._needed(names)
        step = SumRun(attributes, tuple(names), work, self.seal(), derived)
        reports: dict[int, SumReport[S]] = self.job(step).reports()
        self._number(rows_of(reports) + [0] * (len(self.firsts) - len(rows_of(reports))))
        return reduce(operator.add, (part for report in reports.values() for part in report.total))

    def repeats(self, column: str) -> bool:
        """Whether a value of a column occurs twice; the driver learns no more than that."""
        step = RepeatRun(column, self.seal())
        return self.job(step).any_twice(step.schema, step.schema.names[:-1])

    def commitment(self, key: Key) -> str:
        last = self.last
        if last is None or last.key != key.commitment() or not codes_alike(last.attributes, self.attributes):
            last = self.read(self.attributes, key)
        return last.root

    # ------------------------------------------------------------ publishing

    def publish(
        self,
        mechanism: Mechanism,
        key: Key,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        drawn: Mapping[str, str],
    ) -> Iterator[dict[str, Column]]:
        """Some columns in published order, as a mechanism makes them, in blocks of any sizes.

        `drawn` are columns that were drawn beforehand, and where they are attached. Nothing comes out before the
        source is known to be the same as when it was read before.
        """
        secret, expected = commitment_secret(key), self.commitment(key)
        buckets, seal = self._buckets(key, context, shuffled), self.seal()
        law = self._drawn(mechanism, key, context, names, drawn)
        job, order = self.job(DrawRun(**law, buckets=buckets, seal=seal)), OrderBucket(buckets, seal)
        reports: dict[int, RunReport] = {}
        last = (0, -1)
        for slot, number, content in job.ordered(order, buckets.count):
            if slot == REPORT:
                reports[number] = job.report(number, content)
                continue
            if last == (0, -1) and root_of_runs(reports, secret, self.records) != expected:
                raise changed_rows()
            if (slot, number) <= last:
                raise EngineError("Buckets must arrive in their order", "another one")
            last = (slot, number)
            yield order.opened(slot, number, content).columns
        if last == (0, -1):
            raise changed_rows()

    def publish_parts(
        self,
        mechanism: Mechanism,
        key: Key,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        rows: int,
        work: PartWork,
        kept: Kept | None,
        drawn: Mapping[str, str],
    ) -> list[Any]:
        """What `work`, done by the executors, makes of each run of so many rows in published order."""
        secret, expected, seal = commitment_secret(key), self.commitment(key), self.seal()
        buckets = buckets_of_parts(self.records, tag_stream(key, context) if shuffled else None, rows)
        law = {**self._drawn(mechanism, key, context, names, drawn), "buckets": buckets, "seal": seal}
        if kept is None:
            sizes = self._sizes(buckets)
        else:
            counted: dict[int, RunReport] = self.job(CountKept(**law, kept=kept)).reports()
            sizes = np.asarray(sum(report.counts[0] for report in counted.values()), np.int64)
        borders = PartBorders.of(sizes, rows)
        job = self.job(DrawParts(**law, borders=borders, kept=kept))
        reports, results = job.parted(WorkOnPart(buckets, borders, seal, work))
        if root_of_runs(reports, secret, self.records) != expected:
            raise changed_rows()
        return results

    def _drawn(
        self, mechanism: Mechanism, key: Key, context: str, names: Sequence[str], drawn: Mapping[str, str]
    ) -> dict[str, Any]:
        """What every step that draws is told."""
        streams = {(purpose, name): key.stream(purpose, context, name) for purpose, name in streams_of(mechanism)}
        needed, derived = self._needed([*names, *mechanism.sizes])
        beside = tuple(a.name for a in needed if a not in self.attributes)
        law = {"attributes": self.attributes, "shown": tuple(names), "mechanism": mechanism, "streams": streams}
        return {**law, "secret": commitment_secret(key), "derived": derived, "beside": beside, "drawn": drawn}

    def _sizes(self, buckets: Buckets) -> NDArray[np.int64]:
        """How many rows each has."""
        if buckets.tags is None:
            starts = np.minimum(np.arange(buckets.count + 1, dtype=np.int64) * buckets.span, self.records)
            return starts[1:] - starts[:-1]
        count = CountRange(buckets.tags, buckets.bits)
        return bucket_sizes(self.spark, count, self.records, self.seal())

    def _buckets(self, key: Key, context: str, shuffled: bool) -> Buckets:
        width = sum(np.dtype(code_dtype(a.coded.size)).itemsize for a in self.attributes if not a.raw) + _ENTRY
        wanted = -(-(self.records * width + self.raw_bytes) // _BUCKET)
        bits = min((wanted - 1).bit_length(), _MOST_BITS)
        return Buckets(bits, tag_stream(key, context) if shuffled else None, -(-self.records // (1 << bits)))
