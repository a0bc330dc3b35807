"""Whose the rows are, told on Spark: keyed digests of people's values meet in buckets, which tell first rows.

No value leaves the task that reads it: what is shuffled are digests under a key that is made for the job, and they
are sealed. The driver gets, for every row, the first one of the same person: it numbers people, and chooses which
rows stay, as on one machine. What it then knows of rows by their numbers (whose they are, which stay, codes beside
them) travels run by run, each run's in a sealed broadcast of its own: a task opens no other than its run's.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.writing import raw_column
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.rows.digest import ContentDigest
from pramana.rows.owners import Owners, check_owned, owners_by
from pramana.rows.repeats import numbered_by_first
from pramana.rows.spark.parts import LARGEST
from pramana.rows.spark.steps import DIGEST, REPORT, ColumnRun, Seal, Sent, Tables, changed_source, new_seal
from pramana.schema.kind import label_of
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.rows.spark.frames import SparkTable

_BUCKET = 1 << 20  # rows that one task brings together, about
_MOST_BUCKETS = 1 << 10
_MOST_ROWS = 2**32 - 1  # that have a number
Numbers = NDArray[np.uint32]


@dataclass(frozen=True)
class UnitColumnReport:
    """A run: its rows, and the digest of the column that tells whose they are."""

    rows: int
    digest: str


@dataclass(frozen=True)
class DigestRun(ColumnRun):
    """Hand out keyed digests of a run's values of one column, each with its row, by their first bytes."""

    buckets: int = field(kw_only=True)

    def work(self, rows: Tables) -> Iterator[Any]:
        content, count = ContentDigest(), 0
        for first, table in rows:
            column = raw_column(table.column(self.column), None)
            check_owned(column, self.column)
            content.update({self.column: column})
            count += table.num_rows
            digests = self._digests_of(column)
            bucket = digests[:, :4].copy().view("<u4")[:, 0] % np.uint32(self.buckets)
            order = np.argsort(bucket, kind="stable").astype("<u4")
            starts = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
            for number, (start, stop) in enumerate(pairwise(starts.tolist())):
                if stop > start:
                    own = order[start:stop]
                    sent = self.seal.closed(number + 1, first, own.tobytes() + digests[own].tobytes())
                    yield number + 1, first, sent
        yield UnitColumnReport(count, content.hexdigest())

    def _digests_of(self, column: pa.ChunkedArray) -> NDArray[np.uint8]:
        encoded = pa.concat_arrays(column.chunks).dictionary_encode()
        digests = np.frombuffer(self.digests(map(_text, encoded.dictionary.to_pylist())), np.uint8)
        return np.asarray(digests.reshape(-1, DIGEST)[np.asarray(encoded.indices)])


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
            count = len(plain) // (4 + DIGEST)
            rows.append(np.frombuffer(plain, "<u4", count).astype(np.uint64) + np.uint64(first))
            digests.append(np.frombuffer(plain, f"V{DIGEST}", count, 4 * count))
        own = np.concatenate(rows).astype(np.uint32)
        _, index, same = np.unique(np.concatenate(digests), return_index=True, return_inverse=True)
        firsts = own[index][same.reshape(-1)]
        for part, start in enumerate(range(0, len(own), LARGEST)):
            pairs = own[start : start + LARGEST].tobytes() + firsts[start : start + LARGEST].tobytes()
            yield slot, part, self.seal.closed(slot, part, pairs)


def brought_together(table: SparkTable, unit: UnitSection, key: Key) -> tuple[AttachedRows, Owners]:
    """Which rows of a table stay, as tasks get it, and whose the rows are; the driver holds that, and no row."""
    records = table.records
    if records > _MOST_ROWS:
        raise SourceError(f"A table of people with several rows must have at most {_MOST_ROWS} rows", str(records))
    reports: dict[str, dict[int, UnitColumnReport]] = {}

    def numbered(name: str) -> Numbers:
        numbers, reports[name] = _numbered(table, name)
        return numbers

    owners, kept = owners_by(numbered, records, unit, key)
    ends = [*table.firsts[1:], records]
    runs = [
        RunOwners(stop - start, _digests_of(reports, run, stop - start), kept[start:stop])
        for run, (start, stop) in enumerate(zip(table.firsts, ends, strict=True))
    ]
    attached = AttachedRows.of(table.spark, SealedRuns(new_seal(), unit.columns), runs)
    try:
        attached.attach(owners.columns())
        return attached, owners
    except BaseException:  # nobody else knows of what was sent
        attached.close()
        raise


def _digests_of(reports: Mapping[str, Mapping[int, UnitColumnReport]], run: int, rows: int) -> dict[str, str]:
    """Of the columns of [unit]; a run without rows may not have told of itself."""
    nothing = UnitColumnReport(0, ContentDigest().hexdigest())
    own = {name: runs.get(run, nothing) for name, runs in reports.items()}
    if any(one.rows != rows for one in own.values()):
        raise changed_source("other people at another reading")
    return {name: one.digest for name, one in own.items()}


def _numbered(table: SparkTable, column: str) -> tuple[Numbers, dict[int, UnitColumnReport]]:
    """Numbers for the values of a column as they first appear, and what each run told of itself."""
    records, seal = table.records, new_seal()
    buckets = min(_MOST_BUCKETS, 1 + records // _BUCKET)
    job = table.job(DigestRun(column, seal, buckets=buckets))
    reports: dict[int, UnitColumnReport] = {}
    first, seen = np.zeros(records, np.uint32), 0
    for slot, number, content in job.ordered(FirstRows(seal), buckets):
        if slot == REPORT:
            reports[number] = job.report(number, content)
            continue
        pairs = np.frombuffer(seal.opened(slot, number, content), np.uint32).reshape(2, -1)
        if len(pairs[0]) and int(pairs[0].max()) >= records:
            raise changed_source("other people at another reading")
        first[pairs[0]] = pairs[1]
        seen += len(pairs[0])
    if seen != records:
        raise changed_source("other people at another reading")
    return numbered_by_first(first), reports


# ---------------------------------------------------------------- what tasks get of it


@dataclass(frozen=True, eq=False)
class RunOwners:
    """Of a run before rows are left out: how many it has, what [unit]'s columns hold, and which rows stay."""

    rows: int
    digests: Mapping[str, str]  # of the columns of [unit]
    kept: NDArray[np.bool_]


@dataclass(frozen=True)
class SealedRuns:
    """How a task opens what is attached to its run; `columns` are those of [unit], which every reading checks."""

    seal: Seal
    columns: tuple[str, ...]

    def extended(self, run: int, layers: Sequence[bytes], tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """The rows that stay, with the columns that are attached to them; refused where they are other ones.

        Whose a row is must be told by the row itself, and not by another that took its place.
        """
        if not layers:  # a run that had no rows, at the end
            if any(table.num_rows for table in tables):
                raise changed_source("other people at another reading")
            return
        opened = [pickle.loads(self.seal.opened(layer, run, content)) for layer, content in enumerate(layers)]
        owners: RunOwners = opened[0]
        columns: dict[str, Codes] = {name: codes for layer in opened[1:] for name, codes in layer.items()}
        digests = {name: ContentDigest() for name in self.columns}
        seen = done = 0
        for table in tables:
            if not table.num_rows:
                continue
            for name, digest in digests.items():
                digest.update({name: raw_column(table.column(name), None)})
            kept = owners.kept[seen : seen + table.num_rows]
            seen += table.num_rows
            if seen > owners.rows:
                raise changed_source("other people at another reading")
            own = table if bool(kept.all()) else table.filter(pa.array(kept))
            for name, codes in columns.items():
                own = own.append_column(name, pa.array(codes[done : done + own.num_rows]))
            done += own.num_rows
            yield own
        if seen != owners.rows or {name: d.hexdigest() for name, d in digests.items()} != owners.digests:
            raise changed_source("other people at another reading")


@dataclass(eq=False)
class AttachedRows:
    """The same at the driver, which cuts columns of all rows into runs and sends them out."""

    spark: Any = field(repr=False)
    sealed: SealedRuns
    stays: tuple[int, ...]  # rows of each run that stay
    layers: list[tuple[Any, ...]] = field(default_factory=list, repr=False)
    names: list[frozenset[str]] = field(default_factory=list)

    @classmethod
    def of(cls, spark: Any, sealed: SealedRuns, runs: Sequence[RunOwners]) -> AttachedRows:
        attached = cls(spark, sealed, tuple(int(run.kept.sum()) for run in runs))
        attached._send(runs, frozenset())
        return attached

    def attach(self, columns: Mapping[str, Codes]) -> None:
        """Further columns of the rows that stay, or others in the place of those of the same names."""
        starts = np.concatenate([[0], np.cumsum(self.stays)])
        own = [{n: codes[a:b] for n, codes in columns.items()} for a, b in pairwise(starts)]
        self._send(own, frozenset(columns))

    def _send(self, contents: Sequence[object], names: frozenset[str]) -> None:
        layer = len(self.layers)
        closed = [
            self.sealed.seal.closed(layer, run, pickle.dumps(content)) for run, content in enumerate(contents)
        ]
        self.layers.append(tuple(map(self.spark.sparkContext.broadcast, closed)))
        self.names.append(names)

    def has(self, name: str) -> bool:
        return any(name in names for names in self.names)

    def close(self) -> None:
        """Nothing of it stays with executors or in temporary files."""
        for content in (content for layer in self.layers for content in layer):
            with contextlib.suppress(Exception):  # a session that has ended keeps nothing
                content.destroy()
