"""The local engine: channels applied to codes in memory, in small chunks on every core.

A chunk's keystream, codes and results stay in cache together. The chunk size and the number of threads decide
nothing but the time it takes: each cell is a function of key, column, row number and value.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.files.scratch import Scratch
from pramana.io.parquet import ROW_GROUP
from pramana.mechanisms.table import Mechanism, streams_of
from pramana.randomness._order import gather_rows, pack_rows
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, available_cores
from pramana.randomness.shuffle import MOST_BUCKET_BITS, PACKED_BYTES, shuffled_order
from pramana.rows.protocol import Progress, no_progress

T = TypeVar("T")
CHUNK = 1 << 17  # in shorter ones threads wait for the interpreter's lock (benchmarks/results/threads.md)
_RUN = 2  # chunks a thread takes at a time: handing out work costs more than a chunk's share of it
_GATHERED = 1 << 20


@cache
def keep_freed_memory() -> None:
    """Let freed arrays be used again, not go back to the system, whose fresh pages cost more than the work.

    The C library keeps what is smaller than the largest block it has seen freed, up to 32 MiB. One such block is
    asked for, never touched, and given back; where memory is managed otherwise this does nothing.
    """
    np.empty((32 << 20) - (1 << 13), np.uint8)


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: each keeps its room for words, which a new one would ask the system for.

    What runs on them hands out no work itself, so none waits for another.
    """
    return ThreadPoolExecutor(workers)


os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of its parent's


@dataclass(frozen=True)
class LocalEngine:
    """How many threads, and how many rows at a time."""

    threads: int = 0  # as many as the machine has
    chunk: int = CHUNK

    def __post_init__(self) -> None:
        if self.threads < 0 or self.chunk < 1:
            raise ValueError("threads must not be negative and chunk must be at least 1")
        keep_freed_memory()

    @property
    def workers(self) -> int:
        return self.threads or available_cores()

    def _each(self, work: Callable[[T], None], items: Iterable[T]) -> Iterable[None]:
        if self.workers == 1:
            yield from map(work, items)
            return
        yield from _threads(self.workers).map(work, items)

    def publish(
        self,
        mechanism: Mechanism,
        key: Key,
        context: str,
        codes: Mapping[str, Codes],
        first: int = 0,
        progress: Progress = no_progress,
    ) -> dict[str, Codes]:
        """Publish rows first, first+1, ... of a table; `context` binds the coins to dataset, law and source."""
        streams = {(purpose, name): key.stream(purpose, context, name) for purpose, name in streams_of(mechanism)}
        out = {name: np.empty_like(codes[name]) for name in mechanism.sizes}
        rows = len(next(iter(out.values()))) if out else 0

        def work(start: int) -> None:
            for begin in range(start, min(start + run, rows), self.chunk):
                part = slice(begin, min(begin + self.chunk, rows))
                mechanism.publish(
                    lambda purpose, column: streams[purpose, column],
                    first + begin,
                    {name: codes[name][part] for name in out},
                    {name: values[part] for name, values in out.items()},
                )

        run = self.chunk * _RUN
        for done, _ in enumerate(self._each(work, range(0, rows, run))):
            progress("randomising", min(rows, (done + 1) * run), rows)
        return out

    def order(
        self, key: Key, context: str, rows: int, room: NDArray[np.uint64] | None = None
    ) -> NDArray[np.uint32]:
        return shuffled_order(key, context, rows, self.workers, room)

    def reorder(
        self,
        columns: Mapping[str, Codes],
        order: NDArray[np.uint32],
        own: Collection[str] = (),
        room: NDArray[np.uint64] | None = None,
    ) -> dict[str, Codes]:
        """Every column in the given order, some together: all codes of a row are fetched from afar at once.

        Columns of `own` are put in order where they are, and `room`, a word a row, is written over: memory that is
        asked for anew costs as much as the work on it.
        """
        room = np.empty(len(order), np.uint64) if room is None else room
        ordered = {n: c if n in own else np.empty(len(order), c.dtype) for n, c in columns.items()}

        def pack(names: Sequence[str], part: slice) -> None:
            pack_rows([columns[name][part] for name in names], room[part])

        def fetch(names: Sequence[str], part: slice) -> None:
            gather_rows(room, order[part], [ordered[name][part] for name in names])

        parts = [slice(start, start + _GATHERED) for start in range(0, len(order), _GATHERED)]
        for names in _side_by_side(columns):
            list(self._each(partial(pack, names), parts))
            list(self._each(partial(fetch, names), parts))
        return ordered


def _side_by_side(columns: Mapping[str, Codes]) -> list[list[str]]:
    """Columns whose codes fit into the bytes of one packed row."""
    groups: list[list[str]] = []
    room = 0
    for name, column in columns.items():
        if column.itemsize > room:
            groups.append([])
            room = PACKED_BYTES
        groups[-1].append(name)
        room -= column.itemsize
    return groups


# The bounds of a release of a table larger than memory: how much room, and how it is shared out.


LEAST_MEMORY = 512 << 20
_PROGRAM = 288 << 20  # what the interpreter and its libraries take before a row is read
_HELD = 32 << 20  # bytes of scratch room that stay in memory, where there is room for them
_ROWS = 1 << 18  # rows that are read and published at a time, where memory allows


@dataclass(frozen=True)
class BatchEngine:
    """How many threads, how much memory, and the folder whose disk takes what does not fit."""

    memory: int = 2 << 30
    threads: int = 0
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise RecipeError(f"memory must be at least {LEAST_MEMORY:,} bytes", f"{self.memory:,}")
        keep_freed_memory()

    @property
    def workers(self) -> int:
        return self.threads or available_cores()

    @property
    def room(self) -> int:
        """Bytes for what is worked on, once the program itself is loaded."""
        return self.memory - _PROGRAM

    def scratch(self) -> Scratch:
        return Scratch(self.folder, min(_HELD, self.room // 16))

    def batch_rows(self, columns: int) -> int:
        """Rows of a batch: a dozen of them, some 32 bytes a cell, are in the making at one time."""
        return max(1 << 12, min(_ROWS, self.room // (12 * 32 * max(1, columns))))

    def bucket_bits(self, records: int, width: int) -> int:
        """So many buckets that those in the making at one time take half of the memory that is ours."""
        room = self.room // (2 * (self.workers + 2))
        each = 48 + 4 * width  # bytes a row takes while its bucket is put in order, decoded and written
        few = min(4, (records // ROW_GROUP).bit_length())  # threads share the work, and write while they do
        return min(MOST_BUCKET_BITS, max(few, (records * each // room).bit_length()))


# A bound on memory as people state it: a number of bytes, or a text with a unit.


_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[KMGT]?)(?P<binary>i?)B?", re.IGNORECASE)
_MOST = 1 << 50  # no machine has more, and what is larger is a slip
_HINT = "Write 2147483648, 2GB or 2GiB."


def bytes_of(size: int | str | None) -> int | None:
    """The bytes; None where no bound is stated."""
    if size is None:
        return None
    if isinstance(size, Integral) and not isinstance(size, bool):
        number = float(size) if abs(size) <= _MOST else _MOST * 2.0
    elif isinstance(size, str) and (match := _SIZE.fullmatch(size.strip())) is not None:
        number = float(match["number"]) * (1024 if match["binary"] else 1000) ** " KMGT".index(
            match["unit"].upper() or " "
        )
    else:
        got = repr(size[:80]) if isinstance(size, str) else f"{type(size).__name__} {str(size)[:80]}"
        raise RecipeError("memory must be a number of bytes", got, _HINT)
    if not 0 <= number <= _MOST:
        raise RecipeError(f"memory must be a number of bytes up to {_MOST:,}", str(size)[:80], _HINT)
    return int(number)


# Work on several items at once, with results in order and only a few under way.


A = TypeVar("A")
B = TypeVar("B")


def ahead(work: Callable[[A], B], items: Iterable[A], workers: int, waiting: int = 1) -> Iterator[B]:
    """Results in order, with only so many items under way as there are workers, and some that wait."""
    with ThreadPoolExecutor(workers) as pool:
        under_way: deque[Future[B]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(work, item))
                if len(under_way) >= workers + waiting:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()
