"""The local engine: channels applied to codes in memory, in small chunks on every core.

A chunk's keystream, codes and results stay in cache together. The chunk size and the number of threads decide
nothing but the time it takes: each cell is a function of key, column, row number and value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms import Mechanism, streams_of
from pramana.randomness import PACKED_BYTES, Codes, Key, available_cores, gather_rows, pack_rows, shuffled_order
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
