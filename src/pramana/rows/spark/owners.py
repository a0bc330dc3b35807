"""Whose the rows are, told on Spark: keyed digests of people's values meet in buckets, which tell first rows.

No value leaves the task that reads it: what is shuffled are digests under a key that is made for the job, and they
are sealed. The driver gets, for every row, the first one of the same person: it numbers people, and chooses which
rows stay, as on one machine.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.writing import raw_column
from pramana.randomness.key import Key
from pramana.rows.digest import ContentDigest
from pramana.rows.owners import Owners, check_told, owners_by
from pramana.rows.repeats import numbered_by_first
from pramana.rows.spark.attached import AttachedRows, RunOwners, SealedRuns, changed_people
from pramana.rows.spark.steps import LARGEST, REPORT, Seal, Sent, Tables
from pramana.rows.spark.table import SparkTable
from pramana.schema.kind import label_of
from pramana.schema.unit import UnitSection

_DIGEST = 16  # bytes
_BUCKET = 1 << 20  # rows that one task brings together, about
_MOST_BUCKETS = 1 << 10
_MOST_ROWS = 2**32 - 1  # that have a number
Numbers = NDArray[np.uint32]


@dataclass(frozen=True)
class ToldRun:
    """A run: its rows, and the digest of the column that tells whose they are."""

    rows: int
    digest: str


@dataclass(frozen=True)
class DigestRun:
    """Hand out keyed digests of a run's values of one column, each with its row, by their first bytes."""

    column: str
    buckets: int
    seal: Seal
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def work(self, rows: Tables) -> Iterator[Any]:
        content, count = ContentDigest(), 0
        for first, table in rows:
            column = raw_column(table.column(self.column), None)
            check_told(column, self.column)
            content.update({self.column: column})
            count += table.num_rows
            digests = self._digests(column)
            bucket = digests[:, :4].copy().view("<u4")[:, 0] % np.uint32(self.buckets)
            order = np.argsort(bucket, kind="stable").astype("<u4")
            starts = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
            for number, (start, stop) in enumerate(pairwise(starts.tolist())):
                if stop > start:
                    own = order[start:stop]
                    sent = self.seal.closed(number + 1, first, own.tobytes() + digests[own].tobytes())
                    yield number + 1, first, sent
        yield ToldRun(count, content.hexdigest())

    def _digests(self, column: pa.ChunkedArray) -> NDArray[np.uint8]:
        encoded = pa.concat_arrays(column.chunks).dictionary_encode()
        texts = [_text(value).encode() for value in encoded.dictionary.to_pylist()]
        digests = b"".join(hashlib.blake2b(t, digest_size=_DIGEST, key=self.secret).digest() for t in texts)
        return np.asarray(np.frombuffer(digests, np.uint8).reshape(-1, _DIGEST)[np.asarray(encoded.indices)])


def _text(value: object) -> str:
    """As labels are written, and a number with all its digits."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else label_of(value)


@dataclass(frozen=True)
class FirstRows:
    """Of the rows of one bucket, the first one with the same digest; what comes back is sealed."""

    seal: Seal

    def ordered(self, slot: int, contents: Iterable[tuple[int, bytes]]) -> Iterator[Sent]:
        rows, digests = [], []
        for first, content in sorted(contents):
            plain = self.seal.opened(slot, first, content)
            count = len(plain) // (4 + _DIGEST)
            rows.append(np.frombuffer(plain, "<u4", count).astype(np.uint64) + np.uint64(first))
            digests.append(np.frombuffer(plain, f"V{_DIGEST}", count, 4 * count))
        own = np.concatenate(rows).astype(np.uint32)
        _, index, same = np.unique(np.concatenate(digests), return_index=True, return_inverse=True)
        firsts = own[index][same.reshape(-1)]
        for part, start in enumerate(range(0, len(own), LARGEST)):
            told = own[start : start + LARGEST].tobytes() + firsts[start : start + LARGEST].tobytes()
            yield slot, part, self.seal.closed(slot, part, told)


def brought_together(table: SparkTable, unit: UnitSection, key: Key) -> tuple[SparkTable, Owners]:
    """The table without surplus rows, and whose the rows are; the driver holds that, and no row."""
    records = table.records
    if records > _MOST_ROWS:
        raise SourceError(f"A table of people with several rows must have at most {_MOST_ROWS} rows", str(records))
    told: dict[str, dict[int, ToldRun]] = {}

    def numbered(name: str) -> Numbers:
        numbers, told[name] = _numbered(table, name)
        return numbers

    owners, kept = owners_by(numbered, records, unit, key)
    ends = [*table.firsts[1:], records]
    runs = [
        RunOwners(stop - start, _digests_of(told, run, stop - start), kept[start:stop])
        for run, (start, stop) in enumerate(zip(table.firsts, ends, strict=True))
    ]
    attached = AttachedRows.of(table.spark, SealedRuns(table.seal(), unit.columns), runs)
    try:
        attached.attach(owners.columns())
        return table.of_people(attached), owners
    except BaseException:  # nobody else knows of what was sent
        attached.close()
        raise


def _digests_of(told: Mapping[str, Mapping[int, ToldRun]], run: int, rows: int) -> dict[str, str]:
    """Of the columns of [unit]; a run without rows may not have told of itself."""
    nothing = ToldRun(0, ContentDigest().hexdigest())
    own = {name: runs.get(run, nothing) for name, runs in told.items()}
    if any(one.rows != rows for one in own.values()):
        raise changed_people()
    return {name: one.digest for name, one in own.items()}


def _numbered(table: SparkTable, column: str) -> tuple[Numbers, dict[int, ToldRun]]:
    """Numbers for the values of a column as they first appear, and what each run told of itself."""
    records, seal = table.records, table.seal()
    buckets = min(_MOST_BUCKETS, 1 + records // _BUCKET)
    job = table.job(DigestRun(column, buckets, seal))
    told: dict[int, ToldRun] = {}
    first, seen = np.zeros(records, np.uint32), 0
    for slot, number, content in job.ordered(FirstRows(seal), buckets):
        if slot == REPORT:
            told[number] = job.report(number, content)
            continue
        pairs = np.frombuffer(seal.opened(slot, number, content), np.uint32).reshape(2, -1)
        if len(pairs[0]) and int(pairs[0].max()) >= records:
            raise changed_people()
        first[pairs[0]] = pairs[1]
        seen += len(pairs[0])
    if seen != records:
        raise changed_people()
    return numbered_by_first(first), told
