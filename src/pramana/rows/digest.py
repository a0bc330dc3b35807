"""Digests of tables that are fed in blocks of any size, and come out the same in every engine and file format.

What is published is digested column by column in published order. The source is digested under the key in leaves
of a fixed number of rows, so that parts of a table can be digested where they lie and put together afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.io.columns import compute as pc
from pramana.io.columns import is_bytes, texts
from pramana.randomness.key import Key

Column = Any  # codes of a randomised attribute, or the Arrow column of one that passes unchanged
Columns = Mapping[str, Column]
LEAF = 1 << 14  # rows of a leaf


def as_bytes(column: Column) -> tuple[Any, ...]:
    """Codes as they are; of other values the lengths and the characters, a missing one as the empty text.

    That is all that CSV can tell, so the digest of a column is the same in every format, and it sees nothing of
    chunks, padding or what lies under a null.
    """
    if isinstance(column, np.ndarray):
        return (np.ascontiguousarray(column, column.dtype.newbyteorder("<")).view(np.uint8),)
    kind = pa.large_binary() if is_bytes(column.type) else pa.large_string()
    cast = column.cast(kind)
    whole = pa.concat_arrays(cast.chunks) if isinstance(cast, pa.ChunkedArray) else cast
    text = pc.fill_null(whole, texts([""]).cast(kind)[0])
    _, offsets, characters = text.buffers()
    bounds = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    lengths = np.diff(bounds).astype("<i8").view(np.uint8)
    return lengths, b"" if characters is None else memoryview(characters)[bounds[0] : bounds[-1]]


class ContentDigest:
    """SHA-256 of a table's contents, whatever file format they are in."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[Any, ...]] = {}

    def update(self, columns: Columns) -> None:
        for name, column in columns.items():
            parts = as_bytes(column)
            if name not in self.parts:
                self.parts[name] = tuple(hashlib.sha256() for _ in parts)
            for digest, part in zip(self.parts[name], parts, strict=True):
                digest.update(part)

    def hexdigest(self, order: Iterable[str] | None = None) -> str:
        """`order` is that of the columns, where they do not come in it."""
        total = hashlib.sha256()
        for name in self.parts if order is None else order:
            total.update(_framed(name.encode()) + b"".join(digest.digest() for digest in self.parts[name]))
        return total.hexdigest()


# ---------------------------------------------------------------- the source


def leaf_of(secret: bytes, columns: Columns) -> bytes:
    """The keyed digest of at most LEAF consecutive rows."""
    digest = hmac.new(secret, b"rows", "sha256")
    for name, column in columns.items():
        digest.update(_framed(name.encode()))
        for part in as_bytes(column):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.digest()


def root_of(secret: bytes, records: int, leaves: Iterable[bytes]) -> str:
    """The keyed digest of a table from those of its leaves, in the order of the rows."""
    digest = hmac.new(secret, b"table" + records.to_bytes(8, "little"), "sha256")
    for leaf in leaves:
        digest.update(leaf)
    return digest.hexdigest()


def commitment_secret(key: Key) -> bytes:
    return key.derive("source commitment")


def commitment_to(columns: Columns, key: Key, each: Callable[..., Iterable[bytes]] = map) -> str:
    """A keyed digest of the source: the holder can later show what was released, no one else can test a guess.

    `each` maps over the leaves; a pool's map does so on several threads.
    """
    records = len(next(iter(columns.values()))) if columns else 0
    return commitment_to_pieces([columns] if columns else [], records, key, each)


def commitment_to_pieces(
    pieces: Iterable[Columns], records: int, key: Key, each: Callable[..., Iterable[bytes]] = map
) -> str:
    """The same of a table that comes in pieces of any sizes."""
    secret = commitment_secret(key)
    return root_of(secret, records, each(partial(leaf_of, secret), _leaves(pieces)))


def _leaves(pieces: Iterable[Columns]) -> Iterator[Columns]:
    """The same rows, LEAF at a time, and what is left at the end."""
    waiting: list[Columns] = []
    room = LEAF
    for columns in pieces:
        rows, start = len(next(iter(columns.values()))), 0
        while start < rows:
            stop = min(rows, start + room)
            waiting.append({name: column[start:stop] for name, column in columns.items()})
            room -= stop - start
            if not room:
                yield _stacked(waiting)
                waiting, room = [], LEAF
            start = stop
    if waiting:
        yield _stacked(waiting)


def _stacked(parts: list[Columns]) -> Columns:
    """Pieces of a table one after the other; a single one is not copied."""
    if len(parts) == 1:
        return parts[0]
    return {name: joined_column([part[name] for part in parts]) for name in parts[0]}


def parts_of(columns: Columns, rows: int, size: int) -> Iterator[dict[str, Column]]:
    """Consecutive slices of at most `size` of the first `rows` rows."""
    for start in range(0, rows, size):
        yield {name: column[start : min(start + size, rows)] for name, column in columns.items()}


def joined_column(parts: list[Column]) -> Column:
    """Pieces of one column, one after the other."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    chunks = [c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])]
    return pa.chunked_array(chunks, parts[0].type)


def _framed(name: bytes) -> bytes:
    return len(name).to_bytes(8, "little") + name
