"""The Spark engine: the same coins on the same rows as the local engine, on as many machines as there are.

Row numbers come first: rows are numbered in source order, so that a task that is run again, or elsewhere, throws
the same coins. Executors get subkeys inside the pickled function and nowhere else; the key stays with the driver.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import EngineError, SourceError
from pramana.mechanisms import Mechanism
from pramana.randomness import Key, code_dtype, tag_stream
from pramana.rows.blocks import Block, Digests, Strata, refuse, unpacked
from pramana.rows.digest import Column, commitment_secret
from pramana.rows.local import Progress, no_progress
from pramana.rows.spark_jobs import Job, Work
from pramana.rows.spark_session import check_frame, session
from pramana.rows.steps import (
    REPORT,
    Buckets,
    Count,
    Draw,
    Maker,
    Order,
    Randomise,
    Seal,
    Seen,
    Step,
    Survey,
    Surveyed,
    sizes_of,
)
from pramana.schema import Attribute
from pramana.sources import Piece, Source, pieces_of

_BUCKET = 1 << 25  # bytes that one task puts in order at a time
_ENTRY = 8  # bytes that tell a row's place and the top of its tag
_MOST_BITS = 14


@dataclass(frozen=True)
class SparkEngine:
    """Where to work: in the active session, or in a new one at `master`, a Spark URL such as local[2].

    `pieces` is about how many tasks a table is cut into (twice as many as there are cores, unless it is given);
    `options` are settings of a new session.
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
        elif not source.path.is_dir():
            pieces_of(source, columns)  # faults show before Spark starts
        pieces = None
        with session(self.master, dict(self.options), source.frame) as spark:
            if source.path is not None:
                wanted = self.pieces or 2 * spark.sparkContext.defaultParallelism
                pieces = pieces_of(source, columns, wanted)
            yield SparkTable(spark, tuple(columns), pieces, source.frame, self.watch)

    def publish(
        self,
        rows: SparkTable,
        mechanism: Mechanism,
        key: Key,
        context: str,
        shuffled: bool = True,
        progress: Progress = no_progress,
    ) -> Iterator[dict[str, Column]]:
        """The published table piece by piece, in published order: codes, and the columns that pass unchanged."""
        done = 0
        progress("randomising", 0, rows.records)
        for columns in rows.publish(mechanism, key, context, shuffled):
            done += len(next(iter(columns.values())))
            progress("writing in keyed order" if shuffled else "writing", done, rows.records)
            yield columns


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
    roots: tuple[str, str]
    missing: frozenset[str]


@dataclass
class SparkTable:
    """A table in runs of rows, and what can be asked of it. `attributes` say how it is coded."""

    spark: Any = field(repr=False)
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...] | None
    frame: Any = field(repr=False)
    watch: Callable[[int], None] | None = field(default=None, repr=False)
    attributes: tuple[Attribute, ...] = ()
    firsts: tuple[int, ...] = ()
    total: int | None = None
    raw_bytes: int = 0
    last: Reading | None = None
    strata: Strata | None = None

    def __post_init__(self) -> None:
        if self.pieces is not None and all(piece.rows is not None for piece in self.pieces):
            self._number([piece.rows or 0 for piece in self.pieces])

    @property
    def records(self) -> int:
        if self.total is None:
            self.survey(columns=self.columns[:1])
        assert self.total is not None
        return self.total

    def _number(self, rows: Sequence[int]) -> None:
        """The runs begin where those before them end."""
        ends = list(itertools.accumulate(rows))
        total = ends[-1] if ends else 0
        if self.total is not None and (total != self.total or (0, *ends[:-1]) != self.firsts):
            raise _changed()
        if total < 1:
            raise SourceError("A table must have at least one record", "none")
        self.firsts, self.total = (0, *ends[:-1]), total

    def job(self, step: Step) -> Job:
        pieces = None if self.pieces is None else tuple(map(pickle.dumps, self.pieces))
        return Job(self.spark, Work(step, pieces, self.firsts, self.watch), self.frame)

    def seal(self) -> Seal:
        return Seal(os.urandom(32))

    # ------------------------------------------------------------ questions

    def survey(self, listed: Iterable[str] = (), columns: Sequence[str] | None = None) -> Summary:
        """Count the rows, list the values of some columns, and see which columns have missing ones."""
        step = Survey(self.columns if columns is None else tuple(columns), self.seal(), frozenset(listed))
        found: dict[int, Surveyed] = self.job(step).reports()
        self._number(_rows(found))
        parts = [found[run] for run in sorted(found) if found[run].rows]
        kinds = dict(parts[0].kinds)
        if any(part.kinds != kinds for part in parts):
            raise SourceError("Every column must have values of one kind in all files", "several kinds")
        values = {name: pa.chunked_array([part.values[name] for part in parts], kinds[name]) for name in listed}
        return Summary(values, frozenset().union(*(part.missing for part in parts)), kinds)

    def read(self, attributes: Sequence[Attribute], key: Key, show: bool = False) -> Reading:
        """Read everything once: refuse what does not fit its domain, and digest the source."""
        found = self._count(tuple(attributes), commitment_secret(key), (), show)
        self.raw_bytes = sum(seen.raw_bytes for seen in found.values())
        roots = _roots(found, commitment_secret(key), self.records, attributes)
        missing = frozenset().union(*(seen.missing for seen in found.values()))
        self.last = Reading(tuple(attributes), key.commitment(), roots, missing)
        return self.last

    def _count(
        self,
        attributes: tuple[Attribute, ...],
        secret: bytes | None,
        groups: tuple[tuple[str, ...], ...],
        show: bool = False,
    ) -> dict[int, Seen]:
        if self.total is None and not (self.pieces is not None and len(self.pieces) == 1):
            self.survey(columns=self.columns[:1])
        stratified = any(name in self.strata.names for group in groups for name in group) if self.strata else False
        strata = self.strata if stratified else None
        step = Count(attributes, self.seal(), secret, groups, show, strata)
        found: dict[int, Seen] = self.job(step).reports()
        refuse((seen.faults for seen in found.values()), attributes, show)
        self._number(_rows(found) + [0] * (len(self.firsts) - len(_rows(found))))
        return found

    def counts(self, columns: tuple[str, ...], shape: tuple[int, ...], workers: int = 1) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""
        del workers
        own = tuple(a for a in self.attributes if a.name in columns)
        sizes = sizes_of(own, self.strata)
        if tuple(sizes[name] for name in columns) != shape:
            raise ValueError("shape must be that of the columns' domains")
        found = self._count(own, None, (columns,))
        return np.asarray(sum(seen.counts[0] for seen in found.values()), np.int64)

    def commitments(self, key: Key, bound: Iterable[str], workers: int = 1) -> tuple[str, str]:
        """Of the columns the coins are bound to, which are the coded ones, and of all of them."""
        del workers
        if list(bound) != [a.name for a in self.attributes if not a.raw]:
            raise ValueError("coins are bound to the coded columns")
        last = self.last
        if last is None or last.key != key.commitment() or not _codes_alike(last.attributes, self.attributes):
            last = self.read(self.attributes, key)
        return last.roots

    # ------------------------------------------------------------ publishing

    def publish(
        self, mechanism: Mechanism, key: Key, context: str, shuffled: bool = True
    ) -> Iterator[dict[str, Column]]:
        """Blocks of any sizes in published order, as a mechanism makes them."""
        streams = {("value", name): key.stream("value", context, name) for name in mechanism.sizes}
        streams["coin", ""] = key.stream("coin", context)
        maker = Randomise(self.attributes, mechanism, streams)
        for block in self.made(maker, self.attributes, key, context, shuffled):
            yield block.columns

    def made(
        self, maker: Maker, shown: tuple[Attribute, ...], key: Key, context: str, shuffled: bool
    ) -> Iterator[Block]:
        """What becomes of the rows, in published order; `shown` are the columns of what comes out.

        Nothing comes out before the source is known to be the same as when it was read before.
        """
        attributes, secret = self.attributes, commitment_secret(key)
        expected = self.commitments(key, [a.name for a in attributes if not a.raw])
        buckets, seal = self._buckets(key, context, shuffled), self.seal()
        job = self.job(Draw(attributes, maker, buckets, seal, secret, self.strata))
        reports: dict[int, Seen] = {}
        last = (0, -1)
        for place, number, content in job.ordered(Order(shown, buckets, seal), buckets.count):
            if place == REPORT:
                reports[number] = job.report(number, content)
                continue
            if last == (0, -1) and _roots(reports, secret, self.records, attributes) != expected:
                raise _changed()
            if (place, number) <= last:
                raise EngineError("Buckets must arrive in their order", "another one")
            last = (place, number)
            yield unpacked(content, shown)
        if last == (0, -1):
            raise _changed()

    def _buckets(self, key: Key, context: str, shuffled: bool) -> Buckets:
        width = sum(np.dtype(code_dtype(a.coded.size)).itemsize for a in self.attributes if not a.raw) + _ENTRY
        wanted = -(-(self.records * width + self.raw_bytes) // _BUCKET)
        bits = min((wanted - 1).bit_length(), _MOST_BITS)
        return Buckets(bits, tag_stream(key, context) if shuffled else None, -(-self.records // (1 << bits)))


def _rows(found: Mapping[int, Any]) -> list[int]:
    return [found[run].rows if run in found else 0 for run in range(max(found, default=-1) + 1)]


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


def _roots(
    found: Mapping[int, Seen], secret: bytes, records: int, attributes: Sequence[Attribute]
) -> tuple[str, str]:
    if sum(seen.rows for seen in found.values()) != records or any(seen.faults for seen in found.values()):
        raise _changed()
    digests = Digests()
    for seen in found.values():
        digests.codes |= seen.digests.codes
        digests.everything |= seen.digests.everything
    digests.close(secret, (edge for seen in found.values() for edge in seen.edges), attributes)
    return digests.roots(secret, records)
