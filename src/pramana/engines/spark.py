"""The Spark engine: the same coins on the same rows as the local engine, on as many machines as there are.

Row numbers come first: rows are numbered in source order, so that a task that is run again, or elsewhere, throws
the same coins. Executors get subkeys inside the pickled function and nowhere else; the key stays with the driver.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.engines.blocks import Block, Digests, refuse, unpacked
from pramana.engines.digest import commitment_secret
from pramana.engines.spark_jobs import Job, Work
from pramana.engines.spark_session import session
from pramana.engines.steps import REPORT, Buckets, Count, Draw, Order, Seal, Seen, Step, Survey, Surveyed
from pramana.errors import SourceError
from pramana.mechanisms import Mechanism
from pramana.randomness import Key, code_dtype, tag_stream
from pramana.schema import Attribute
from pramana.sources import Piece, Source, pieces_of

_BUCKET = 1 << 25  # bytes that one task puts in order at a time
_PLACE = 4  # bytes that tell a row's place within its block
_MOST_BITS = 14


@dataclass(frozen=True)
class SparkEngine:
    """Where to work: in the active session, or in a new one at `master`, a Spark URL such as local[2]."""

    master: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], None] | None = field(default=None, repr=False)  # what a task does first; for tests

    @contextlib.contextmanager
    def open(self, source: Source, columns: Sequence[str]) -> Iterator[SparkTable]:
        """A table that lies where the executors can read it, or a Spark DataFrame."""
        with session(self.master, dict(self.options)) as spark:
            pieces = None
            if source.path is not None:
                pieces = pieces_of(source, columns, 2 * spark.sparkContext.defaultParallelism)
            yield SparkTable(spark, tuple(columns), pieces, source.frame, self.before)


@dataclass(frozen=True)
class Summary:
    """What a survey found: values where they were asked for, the columns with missing ones, and their kinds."""

    values: Mapping[str, pa.ChunkedArray]
    missing: frozenset[str]
    kinds: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class Bound:
    """The digests of a source: the one that coins are bound to, the one the certificate states; and counts."""

    bound: str
    commitment: str
    counts: tuple[NDArray[np.int64], ...] = ()


@dataclass
class SparkTable:
    """A table in runs of rows, and what can be asked of it."""

    spark: Any
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...] | None
    frame: Any
    before: Callable[[], None] | None = None
    firsts: tuple[int, ...] = ()
    total: int | None = None
    raw_bytes: int = 0

    def __post_init__(self) -> None:
        if self.pieces is not None and all(piece.rows is not None for piece in self.pieces):
            self._number([piece.rows or 0 for piece in self.pieces])

    def _number(self, rows: Sequence[int]) -> None:
        ends = list(itertools.accumulate(rows))
        self.firsts, self.total = (0, *ends[:-1]), ends[-1] if ends else 0
        if self.total < 1:
            raise SourceError("A table must have at least one record", "none")

    def seal(self) -> Seal:
        return _seal()

    def job(self, step: Step) -> Job:
        return Job(self.spark, Work(step, self.pieces, self.firsts, self.before), self.frame)

    @property
    def records(self) -> int:
        if self.total is None:
            self.survey(columns=self.columns[:1])
        assert self.total is not None
        return self.total

    def survey(self, listed: Iterable[str] = (), columns: Sequence[str] | None = None) -> Summary:
        """Count the rows, list the values of some columns, and see which columns have missing ones."""
        step = Survey(self.columns if columns is None else tuple(columns), _seal(), frozenset(listed))
        found: dict[int, Surveyed] = self.job(step).reports()
        rows = [found[run].rows if run in found else 0 for run in range(max(found, default=-1) + 1)]
        if self.total is None:
            self._number(rows)
        elif sum(rows) != self.total:
            raise _changed()
        parts = [found[run] for run in sorted(found) if found[run].rows]
        kinds = dict(parts[0].kinds)
        if any(part.kinds != kinds for part in parts):
            raise SourceError("Every column must have values of one kind in all files", "several kinds")
        values = {name: pa.chunked_array([part.values[name] for part in parts], kinds[name]) for name in listed}
        return Summary(values, frozenset().union(*(part.missing for part in parts)), kinds)

    def digest(
        self,
        attributes: Sequence[Attribute],
        key: Key,
        groups: Sequence[tuple[str, ...]] = (),
        show: bool = False,
    ) -> Bound:
        """Read everything once: refuse what does not fit its domain, digest the source, count combinations."""
        records, secret = self.records, commitment_secret(key)
        step = Count(tuple(attributes), _seal(), secret, tuple(groups), show)
        found: dict[int, Seen] = self.job(step).reports()
        refuse((seen.faults for seen in found.values()), attributes, show)
        self.raw_bytes = sum(seen.raw_bytes for seen in found.values())
        roots = _roots(found, secret, records, attributes)
        counts = [sum(seen.counts[g] for seen in found.values()) for g in range(len(groups))]
        return Bound(*roots, tuple(np.asarray(count, np.int64) for count in counts))

    def publish(
        self,
        attributes: Sequence[Attribute],
        mechanism: Mechanism,
        key: Key,
        context: str,
        bound: Bound,
        shuffled: bool = True,
    ) -> Iterator[Block]:
        """The published rows in published order, one block after the other, of any sizes."""
        records, secret = self.records, commitment_secret(key)
        buckets = self._buckets(attributes, key, context, shuffled)
        streams = {("value", name): key.stream("value", context, name) for name in mechanism.sizes}
        streams["coin", ""] = key.stream("coin", context)
        seal = _seal()
        draw = Draw(tuple(attributes), mechanism, streams, buckets, seal, secret)
        job = self.job(draw)
        reports: dict[int, Seen] = {}
        checked, last = False, (0, -1)
        for place, number, content in job.ordered(Order(tuple(attributes), buckets, seal), buckets.count):
            if place == REPORT:
                reports[number] = job.report(number, content)
                continue
            if not checked:  # all reports come first; nothing leaves before the source is known to be the same
                if _roots(reports, secret, records, attributes) != (bound.bound, bound.commitment):
                    raise _changed()
                checked = True
            if (place, number) <= last:
                raise AssertionError("buckets must arrive in their order")
            last = (place, number)
            yield unpacked(content, attributes)

    def _buckets(self, attributes: Sequence[Attribute], key: Key, context: str, shuffled: bool) -> Buckets:
        width = sum(np.dtype(code_dtype(a.coded.size)).itemsize for a in attributes if not a.raw) + _PLACE
        wanted = -(-(self.records * width + self.raw_bytes) // _BUCKET)
        bits = min((wanted - 1).bit_length(), _MOST_BITS)
        return Buckets(bits, tag_stream(key, context) if shuffled else None, -(-self.records >> bits))


def _seal() -> Seal:
    return Seal(os.urandom(32))


def _changed() -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        "other rows at the second reading",
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
