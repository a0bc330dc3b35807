"""What the driver knows of rows by their numbers, as tasks get it: whose they are, which stay, codes beside them.

It travels run by run, each run's in a sealed broadcast of its own: a task opens no other than its run's. The key
of the seal travels inside the function, as ever.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.writing import raw_column
from pramana.randomness.samplers import Codes
from pramana.rows.digest import ContentDigest
from pramana.rows.spark.steps import Seal


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
                raise changed_people()
            return
        opened = [pickle.loads(self.seal.opened(layer, run, content)) for layer, content in enumerate(layers)]
        owners: RunOwners = opened[0]
        columns: dict[str, Codes] = {name: codes for layer in opened[1:] for name, codes in layer.items()}
        digests = {name: ContentDigest() for name in self.columns}
        seen = place = 0
        for table in tables:
            if not table.num_rows:
                continue
            for name, digest in digests.items():
                digest.update({name: raw_column(table.column(name), None)})
            kept = owners.kept[seen : seen + table.num_rows]
            seen += table.num_rows
            if seen > owners.rows:
                raise changed_people()
            own = table if bool(kept.all()) else table.filter(pa.array(kept))
            for name, codes in columns.items():
                own = own.append_column(name, pa.array(codes[place : place + own.num_rows]))
            place += own.num_rows
            yield own
        if seen != owners.rows or {name: d.hexdigest() for name, d in digests.items()} != owners.digests:
            raise changed_people()


def changed_people() -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        "other people at another reading",
        "A data frame must give its rows in the same order each time; write it to a table first.",
    )


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


# Numbers that Spark's hash partitioning sends where they are meant to go.


_SEED = 42  # of Spark's hash partitioning
_MASK = (1 << 32) - 1


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
