"""A run of consecutive rows, worked on block by block: read, encoded, digested.

Blocks begin at multiples of BLOCK rows of the whole table, so that whole leaves of the source's digest lie within
a block. What is left of a leaf at either end of a run (an edge) is put together with its other rows by whoever
collects the runs.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.randomness import Codes, code_dtype
from pramana.rows.digest import LEAF, Column, leaf_of, root_of
from pramana.schema import Attribute, Domain
from pramana.sources import Encoder, encode, raw_column

BLOCK = 1 << 18  # rows; a multiple of LEAF
assert BLOCK % LEAF == 0


@dataclass(frozen=True)
class Block:
    """Rows `first`, first+1, ... of a table: codes of the randomised columns, the others as they are."""

    first: int
    rows: int
    codes: Mapping[str, Codes]
    raw: Mapping[str, pa.ChunkedArray]
    strata: Mapping[str, Codes] = field(default_factory=dict)  # codes that are neither digested nor published

    @property
    def columns(self) -> dict[str, Column]:
        return {**self.codes, **self.raw}


def blocks_from(tables: Iterable[pa.Table], first: int) -> Iterator[tuple[int, pa.Table]]:
    """The same rows, cut at multiples of BLOCK rows of the whole table: number of the first row, and the rows."""
    held: list[pa.Table] = []
    waiting = 0
    for table in tables:
        while table.num_rows:
            room = BLOCK - (first + waiting) % BLOCK
            held.append(table.slice(0, room))
            waiting += held[-1].num_rows
            table = table.slice(held[-1].num_rows)
            if (first + waiting) % BLOCK == 0:
                yield first, _stacked(held)
                first, held, waiting = first + waiting, [], 0
    if held:
        yield first, _stacked(held)


def _stacked(tables: list[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(tables)
    except pa.ArrowException:
        raise SourceError("Every column must have values of one kind in all its parts", "several kinds") from None


@dataclass(frozen=True)
class Faults:
    """What an encoder found in the rows of one run."""

    outside: int = 0
    unexpected: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Strata:
    """Codes made from other columns: the combinations of their values that occur, numbered in order.

    `names` are what the column is called: the same codes, once for each.
    """

    names: tuple[str, ...]
    domains: Mapping[str, Domain]
    found: NDArray[np.int64]  # ascending

    def codes(self, table: pa.Table) -> dict[str, Codes]:
        joint = np.zeros(table.num_rows, np.int64)
        for name, domain in self.domains.items():
            joint = joint * domain.size + encode(table.column(name), domain, name)
        places = np.minimum(np.searchsorted(self.found, joint), len(self.found) - 1)
        return dict.fromkeys(self.names, places.astype(code_dtype(len(self.found))))


class Encoding:
    """Encodes block after block; faults are counted and told by `faults`."""

    def __init__(self, attributes: Sequence[Attribute], show: bool = False, strata: Strata | None = None) -> None:
        self.strata = strata
        self.coded = {a.name: Encoder(a.coded, a.name, show) for a in attributes if not a.raw}
        self.raw = [a.name for a in attributes if a.raw]

    def block(self, first: int, table: pa.Table) -> Block:
        codes = {name: _encoded(encoder, table.column(name)) for name, encoder in self.coded.items()}
        raw = {name: raw_column(table.column(name), None) for name in self.raw}
        strata = {} if self.strata is None else self.strata.codes(table)
        return Block(first, table.num_rows, codes, raw, strata)

    @property
    def faults(self) -> dict[str, Faults]:
        found = {n: Faults(e.outside, e.unexpected, tuple(sorted(e.seen))) for n, e in self.coded.items()}
        return {name: faults for name, faults in found.items() if faults != Faults()}


def _encoded(encoder: Encoder, column: pa.ChunkedArray) -> Codes:
    out = np.empty(len(column), code_dtype(encoder.domain.size))
    start = 0
    for chunk in column.chunks:
        encoder.encode(chunk, out[start : start + len(chunk)])
        start += len(chunk)
    return out


def refuse(faults: Iterable[Mapping[str, Faults]], attributes: Sequence[Attribute], show: bool) -> None:
    """Tell of the faults of all runs as if they had been found in one; columns in their order."""
    all_faults = list(faults)
    for a in attributes:
        found = [f[a.name] for f in all_faults if a.name in f]
        if found:
            encoder = Encoder(a.coded, a.name, show)
            encoder.outside = sum(f.outside for f in found)
            encoder.unexpected = sum(f.unexpected for f in found)
            encoder.seen = {label for f in found for label in f.seen}
            encoder.finish()


# ---------------------------------------------------------------- digests


@dataclass(frozen=True)
class Edge:
    """Rows of a leaf that another run has other rows of."""

    first: int
    rows: int
    content: bytes = field(repr=False)  # as `packed`


@dataclass
class Digests:
    """Leaves of a table by number: of the codes alone, and of everything where some columns pass unchanged."""

    codes: dict[int, bytes] = field(default_factory=dict)
    everything: dict[int, bytes] = field(default_factory=dict)

    def add(self, secret: bytes, block: Block) -> list[Edge]:
        """Digest the whole leaves of a block, and return the others."""
        edges = []
        start = 0
        while start < block.rows:
            stop = min(block.rows, start + LEAF - (block.first + start) % LEAF)
            if stop - start == LEAF:
                self._leaf(secret, (block.first + start) // LEAF, _cut(block, start, stop))
            else:
                edges.append(Edge(block.first + start, stop - start, packed(_cut(block, start, stop))))
            start = stop
        return edges

    def _leaf(self, secret: bytes, number: int, block: Block) -> None:
        self.codes[number] = leaf_of(secret, block.codes)
        if block.raw:
            self.everything[number] = leaf_of(secret, block.columns)

    def close(self, secret: bytes, edges: Iterable[Edge], attributes: Sequence[Attribute]) -> None:
        """Put the edges together."""
        by_leaf: dict[int, list[Edge]] = {}
        for edge in sorted(edges, key=lambda e: e.first):
            by_leaf.setdefault(edge.first // LEAF, []).append(edge)
        for number, parts in by_leaf.items():
            blocks = [unpacked(edge.content, attributes, edge.first) for edge in parts]
            self._leaf(secret, number, joined(blocks))

    def roots(self, secret: bytes, records: int) -> tuple[str, str]:
        """The digest the coins are bound to, and the one the certificate states."""
        if sorted(self.codes) != list(range(-(-records // LEAF))):
            raise SourceError("Every row of a source must be read once", "others", "Did it change meanwhile?")
        bound = root_of(secret, records, (self.codes[i] for i in sorted(self.codes)))
        if not self.everything:
            return bound, bound
        return bound, root_of(secret, records, (self.everything[i] for i in sorted(self.everything)))


def _cut(block: Block, start: int, stop: int) -> Block:
    return Block(
        block.first + start,
        stop - start,
        {name: codes[start:stop] for name, codes in block.codes.items()},
        {name: column.slice(start, stop - start) for name, column in block.raw.items()},
    )


def joined(blocks: Sequence[Block]) -> Block:
    """Blocks one after the other."""
    first = blocks[0]
    return Block(
        first.first,
        sum(block.rows for block in blocks),
        {name: np.concatenate([block.codes[name] for block in blocks]) for name in first.codes},
        {
            name: pa.chunked_array([c for block in blocks for c in block.raw[name].chunks], column.type)
            for name, column in first.raw.items()
        },
    )


# ---------------------------------------------------------------- on the way from one machine to another


def packed(block: Block) -> bytes:
    """A block as bytes: the number of rows, the codes column by column, the other columns as an Arrow stream."""
    parts = [block.rows.to_bytes(8, "little"), *(np.ascontiguousarray(c).tobytes() for c in block.codes.values())]
    if block.raw:
        parts.append(_stream(pa.table(dict(block.raw))))
    return b"".join(parts)


def unpacked(content: bytes, attributes: Sequence[Attribute], first: int = 0) -> Block:
    """What `packed` was given; `attributes` are those of the block."""
    rows = int.from_bytes(content[:8], "little")
    place = 8
    codes = {}
    for a in attributes:
        if not a.raw:
            kind = np.dtype(code_dtype(a.coded.size))
            column = np.frombuffer(content, kind, rows, place)
            codes[a.name] = column if column.flags.aligned else column.copy()
            place += rows * kind.itemsize
    raw = {}
    if any(a.raw for a in attributes):
        table = pa.ipc.open_stream(pa.py_buffer(content)[place:]).read_all()
        raw = {name: table.column(name) for name in table.column_names}
    return Block(first, rows, codes, raw)


def _stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
