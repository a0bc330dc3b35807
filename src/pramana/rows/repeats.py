"""Which values of a column are the same, within a bound on memory: they are sorted into buckets, one at a time.

Buckets are told by a mixing of the values' bytes. It need not be a good one: what decides in a bucket is whether
its values, as they are, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.io.columns import compute as pc
from pramana.rows.digest import as_bytes
from pramana.rows.protocol import chunks_of

Numbers = NDArray[np.uint32]
_BYTES = 64  # that a value takes in a bucket, about
_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplication by it loses nothing


def repeats(column: pa.ChunkedArray) -> bool:
    """Whether a value other than a missing one occurs twice."""
    plain = _plain(column)
    if not len(plain):  # no values at all may have no type that can be counted
        return False
    return bool(pc.count_distinct(plain).as_py() < len(plain))


def repeats_in_blocks(blocks: Callable[[], Iterable[pa.ChunkedArray]], records: int, room: int) -> bool:
    """The same of a column in blocks, which are gone over once for each bucket."""
    bits = _bucket_bits(records, room)
    for bucket in range(1 << bits):
        kept: list[pa.Array] = []
        for block in blocks():
            plain = _plain(block)
            if bits:
                plain = plain.filter(pa.array(_mixed(plain) >> np.uint64(64 - bits) == bucket))
            if repeats(plain):
                return True
            kept += plain.chunks
        if kept and repeats(pa.chunked_array(kept)):
            return True
    return False


def numbered_in_blocks(blocks: Callable[[], Iterable[pa.ChunkedArray]], records: int, room: int) -> Numbers:
    """Numbers for the values of a column in blocks, as they first appear; none is missing."""
    first = np.empty(records, np.uint32)  # by row, the first one with the same value
    bits = _bucket_bits(records, room)
    for bucket in range(1 << bits):
        values: list[pa.Array] = []
        rows: list[Numbers] = []
        start = 0
        for block in blocks():
            plain = _plain(block)
            own = np.arange(start, start + len(plain), dtype=np.uint32)
            start += len(plain)
            if bits:
                chosen = _mixed(plain) >> np.uint64(64 - bits) == bucket
                plain, own = plain.filter(pa.array(chosen)), own[chosen]
            values += plain.chunks
            rows.append(own)
        members = np.concatenate(rows)
        if len(members):
            codes = np.asarray(pa.concat_arrays(values).dictionary_encode().indices)
            first[members] = members[np.unique(codes, return_index=True)[1]][codes]
    return numbered_by_first(first)


def numbered_by_first(first: Numbers) -> Numbers:
    """Numbers in the order of appearance, from the first row of the same value, by row."""
    ranks = np.cumsum(first == np.arange(len(first), dtype=np.uint32), dtype=np.uint32) - np.uint32(1)
    return np.asarray(ranks[first], np.uint32)


def _bucket_bits(records: int, room: int) -> int:
    return (max(1, records * _BYTES // max(room, 1))).bit_length() - 1


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    """Values without a dictionary, and without the missing ones."""
    chunked = chunks_of(column)
    if pa.types.is_dictionary(chunked.type):
        chunked = chunked.cast(chunked.type.value_type)
    plain = chunked.drop_null()
    if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
        plain = plain.filter(pc.not_equal(plain, ""))
    return plain


def _mixed(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A number for each value, the same for the same ones."""
    lengths, characters = as_bytes(column)
    sizes = lengths.view("<i8").astype(np.int64)
    text = np.frombuffer(characters, np.uint8).astype(np.uint64)
    starts = np.cumsum(sizes) - sizes
    within = np.arange(len(text)) - np.repeat(starts, sizes)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(sizes.max(initial=0)) + 1, _STEP, np.uint64))
        sums = np.concatenate([[np.uint64(0)], np.cumsum((text + np.uint64(1)) * powers[within])])
        return np.asarray((sums[starts + sizes] - sums[starts]) * _STEP, np.uint64)
