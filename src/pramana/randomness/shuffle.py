"""The keyed shuffle: rows in ascending order of a 128-bit tag, the cipher block at the row's own number.

Blocks of distinct counters are distinct, so there are no ties and, the cipher taken as a random permutation,
every order is equally likely. A row's tag depends on no other row: any engine that can sort gives this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pramana.randomness import _order
from pramana.randomness._order import gather
from pramana.randomness.key import Key, Stream

MOST_ROWS = 2**32 - 1
MOST_BUCKET_BITS = 20
PACKED_BYTES = 8  # of a row's codes that `pack_rows` puts side by side
_ROW = np.uint64(2**32 - 1)  # the part of an entry that holds a row's number
_CHUNK = 1 << 14  # rows whose tags are made at a time: they stay in the near cache
R = TypeVar("R")


def tag_stream(key: Key, context: str) -> Stream:
    return key.stream("shuffle", context)


def shuffled_order(
    key: Key, context: str, rows: int, threads: int = 1, room: NDArray[np.uint64] | None = None
) -> NDArray[np.uint32]:
    """order[i] = the source row that is published at place i. `room`: a word a row, which is written over.

    The tags are made twice, once to count and once to place them: the cipher is quicker than memory. Each
    thread takes a range of rows, then a range of buckets; how many there are does not change the order.
    """
    if rows > MOST_ROWS:
        raise ValueError(f"rows must be at most {MOST_ROWS}, got {rows}")
    stream = tag_stream(key, context)
    fine = rows.bit_length()  # bits that tell most rows from the others
    coarse = max(min(fine, 11), fine - 13)
    parts = [(rows * t // threads, rows * (t + 1) // threads) for t in range(threads)]
    counts = np.zeros((threads, 1 << coarse), np.uint64)
    entries = np.empty(rows, np.uint64) if room is None else room
    order = np.empty(rows, np.uint32)

    def count(t: int) -> None:
        for _, tags in _tags(stream, *parts[t]):
            _order.count_tags(tags, counts[t])

    def place(t: int) -> None:
        for first, tags in _tags(stream, *parts[t]):
            _order.place_tags(tags, first, places[t], entries)

    def sort(t: int) -> list[int]:
        first, stop = (t << coarse) // threads, ((t + 1) << coarse) // threads
        return _order.sort_buckets(entries, starts, first, stop, fine - coarse, order)

    _on_threads(count, threads)
    starts = np.zeros((1 << coarse) + 1, np.uint64)
    starts[1:] = np.cumsum(counts.sum(axis=0, dtype=np.uint64))
    places = starts[:-1] + np.cumsum(counts, axis=0, dtype=np.uint64) - counts
    _on_threads(place, threads)
    for ties in _on_threads(sort, threads):
        _order_ties(order, ties, stream)
    return order


def bucketed(stream: Stream, first: int, rows: int, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Rows first .. first+rows-1 by the uppermost `bits` of their tags: entries, and where each bucket starts.

    An entry holds the 32 bits of the tag that follow and, in its lower half, the row's number less `first`.
    """
    tags = stream.words(2 * first, 2 * rows)
    counts = np.zeros(1 << bits, np.uint64)
    _order.count_tags(tags, counts)
    starts = np.zeros((1 << bits) + 1, np.uint64)
    np.cumsum(counts, out=starts[1:])
    entries = np.empty(rows, np.uint64)
    _order.place_tags(tags, 0, starts[:-1].copy(), entries)
    return entries, starts


def bucket_counts(stream: Stream, first: int, rows: int, bits: int) -> NDArray[np.int64]:
    """How many of the rows first .. first+rows-1 `bucketed` puts into each bucket."""
    counts = np.zeros(1 << bits, np.uint64)
    for _, tags in _tags(stream, first, first + rows):
        _order.count_tags(tags, counts)
    return counts.astype(np.int64)


def bucket_order(stream: Stream, entries: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The published order of one bucket from its entries, in any order; `rows` are their rows' numbers."""
    count = len(entries)
    places = (entries & ~_ROW) | np.arange(count, dtype=np.uint64)
    order = np.empty(count, np.uint32)
    rest = min(MOST_BUCKET_BITS, count.bit_length())
    ties = _order.sort_buckets(places, np.array([0, count], np.uint64), 0, 1, rest, order)
    _order_ties(order, ties, stream, rows)
    return order


def _on_threads(work: Callable[[int], R], threads: int) -> list[R]:
    if threads == 1:
        return [work(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


def _tags(stream: Stream, first: int, stop: int) -> Iterable[tuple[int, NDArray[np.uint64]]]:
    memory = np.empty(2 * _CHUNK, np.uint64)
    for start in range(first, stop, _CHUNK):
        yield start, stream.fill(2 * start, memory[: 2 * (min(start + _CHUNK, stop) - start)])


def _order_ties(
    order: NDArray[np.uint32], ties: list[int], stream: Stream, rows: NDArray[np.uint64] | None = None
) -> None:
    """Order the rows whose tags are alike in their upper bits by the whole tag; `ties` equal the place before.

    `rows` are the rows' numbers where `order` holds places among them.
    """
    at = 0
    while at < len(ties):
        first, last = ties[at] - 1, ties[at]
        at += 1
        while at < len(ties) and ties[at] == last + 1:
            last, at = ties[at], at + 1
        places = order[first : last + 1].tolist()
        tags = {p: tuple(stream.blocks(p if rows is None else int(rows[p]), 1)[0].tolist()) for p in places}
        order[first : last + 1] = sorted(places, key=lambda place: tags[place])


def gathered(values: NDArray[np.unsignedinteger], order: NDArray[np.uint32]) -> NDArray[np.unsignedinteger]:
    out = np.empty(len(order), values.dtype)
    gather(values, order, out)
    return out


def counted(codes: NDArray[np.unsignedinteger], size: int) -> NDArray[np.int64]:
    """How often each code 0 .. size-1 occurs."""
    counts = np.zeros(size, np.int64)
    _order.tally(np.ascontiguousarray(codes), counts)
    return counts
