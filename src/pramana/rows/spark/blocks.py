"""A run of consecutive rows, worked on block by block: read, encoded, digested.

Blocks begin at multiples of BLOCK rows of the whole table, so that whole leaves of the source's digest lie within
a block. What is left of a leaf at either end of a run (an edge) is put together with its other rows by whoever
collects the runs.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pramana.errors import SourceError
from pramana.io.codes import Encoder
from pramana.io.writing import raw_column
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.digest import LEAF, Column, leaf_of, root_of
from pramana.rows.owners import HOUSEHOLD, PERSON
from pramana.rows.protocol import ROW_NUMBER, Columns, Work
from pramana.schema.domain import Attribute

BLOCK = 1 << 18  # rows; a multiple of LEAF
ATTACHED = "\0"  # what the names of columns begin with that the driver attaches; no source has such a name
assert BLOCK % LEAF == 0


@dataclass(frozen=True)
class RowBlock:
    """Rows `first`, first+1, ... of a table: codes of the coded columns, the others as they are."""

    first: int
    rows: int
    codes: Mapping[str, Codes]
    raw: Mapping[str, pa.ChunkedArray]
    derived: Mapping[str, Column] = field(default_factory=dict)  # worked out from other columns, or attached
    owners: Mapping[str, Codes] = field(default_factory=dict)  # the numbers of people, where rows have them

    @property
    def columns(self) -> dict[str, Column]:
        return {**self.codes, **self.raw, **self.owners}


def blocks_from(tables: Iterable[pa.Table], first: int) -> Iterator[tuple[int, pa.Table]]:
    """The same rows, cut at multiples of BLOCK rows of the whole table: number of the first row, and the rows."""
    waiting_tables: list[pa.Table] = []
    waiting = 0
    for table in tables:
        while table.num_rows:
            room = BLOCK - (first + waiting) % BLOCK
            waiting_tables.append(table.slice(0, room))
            waiting += waiting_tables[-1].num_rows
            table = table.slice(waiting_tables[-1].num_rows)
            if (first + waiting) % BLOCK == 0:
                yield first, _stacked(waiting_tables)
                first, waiting_tables, waiting = first + waiting, [], 0
    if waiting_tables:
        yield first, _stacked(waiting_tables)


def _stacked(tables: list[pa.Table]) -> pa.Table:
    if any(not table.schema.equals(tables[0].schema) for table in tables):
        tables = [_without_dictionaries(table) for table in tables]  # which may be of several widths
    try:
        return pa.concat_tables(tables)
    except pa.ArrowException:
        raise SourceError("Every column must have values of one kind in all its parts", "several kinds") from None


def _without_dictionaries(table: pa.Table) -> pa.Table:
    kinds = [(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(kinds))


@dataclass(frozen=True)
class Faults:
    """What an encoder found in the rows of one run."""

    outside: int = 0
    padded: int = 0
    commas: int = 0
    unexpected: int = 0
    seen: tuple[str, ...] = ()

    @classmethod
    def of(cls, encoder: Encoder) -> Faults:
        return cls(
            encoder.outside, encoder.padded, encoder.commas, encoder.unexpected, tuple(sorted(encoder.seen))
        )


@dataclass(frozen=True)
class DerivedColumn:
    """A column that is worked out from others, row by row."""

    name: str
    of: tuple[str, ...]
    work: Work


class Encoding:
    """Encodes block after block; faults are counted and told by `faults`."""

    def __init__(
        self,
        attributes: Sequence[Attribute],
        show: bool = False,
        derived: Sequence[DerivedColumn] = (),
        beside: Sequence[str] = (),
    ) -> None:
        """`beside`: columns that others are derived from, and no more."""
        self.derived, self.beside = derived, beside
        self.coded = {a.name: Encoder(a.coded, a.name, show) for a in attributes if not a.raw}
        self.raw = [a.name for a in attributes if a.raw]

    def block(self, first: int, table: pa.Table) -> RowBlock:
        codes = {name: _encoded(encoder, table.column(name)) for name, encoder in self.coded.items()}
        raw = {name: raw_column(table.column(name), None) for name in self.raw}
        known: Columns = {**codes, **raw, **{n: raw_column(table.column(n), None) for n in self.beside}}
        known[ROW_NUMBER] = np.arange(first, first + table.num_rows, dtype=np.uint64)
        attached = {n: _attached(table.column(n)) for n in table.column_names if n.startswith(ATTACHED)}
        known |= attached
        if not self.faults:  # codes of faulty rows mean nothing
            for column in self.derived:
                known[column.name] = column.work({name: known[name] for name in column.of})
        derived = {column.name: known[column.name] for column in self.derived if column.name in known}
        owners = {name: attached[name] for name in (PERSON, HOUSEHOLD) if name in attached}
        return RowBlock(first, table.num_rows, codes, raw, {**attached, **derived}, owners)

    @property
    def faults(self) -> dict[str, Faults]:
        return {name: Faults.of(encoder) for name, encoder in self.coded.items() if encoder.has_faults}


def _encoded(encoder: Encoder, column: pa.ChunkedArray) -> Codes:
    out = np.empty(len(column), code_dtype(encoder.domain.size))
    start = 0
    for chunk in column.chunks:
        encoder.encode(chunk, out[start : start + len(chunk)])
        start += len(chunk)
    return out


def _attached(column: pa.ChunkedArray) -> Codes:
    return np.concatenate([chunk.to_numpy() for chunk in column.chunks])


def refuse(faults_by_run: Iterable[Mapping[str, Faults]], attributes: Sequence[Attribute], show: bool) -> None:
    """Tell of the faults of all runs as if they had been found in one; columns in their order."""
    runs = list(faults_by_run)
    for a in attributes:
        if faults := [f[a.name] for f in runs if a.name in f]:
            encoder = Encoder(a.coded, a.name, show)
            for found in faults:
                encoder.add(found)
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
    """Leaves of a table by number, over all its columns, coded ones first."""

    leaves: dict[int, bytes] = field(default_factory=dict)

    def add(self, secret: bytes, block: RowBlock) -> list[Edge]:
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

    def _leaf(self, secret: bytes, number: int, block: RowBlock) -> None:
        self.leaves[number] = leaf_of(secret, block.columns)

    def close(self, secret: bytes, edges: Iterable[Edge]) -> None:
        """Put the edges together."""
        by_leaf: dict[int, list[Edge]] = {}
        for edge in sorted(edges, key=lambda e: e.first):
            by_leaf.setdefault(edge.first // LEAF, []).append(edge)
        for number, parts in by_leaf.items():
            blocks = [unpacked(edge.content, edge.first) for edge in parts]
            self._leaf(secret, number, joined(blocks))

    def root(self, secret: bytes, records: int) -> str:
        if sorted(self.leaves) != list(range(-(-records // LEAF))):
            raise SourceError("Every row of a source must be read once", "others", "Did it change meanwhile?")
        return root_of(secret, records, (self.leaves[i] for i in sorted(self.leaves)))


def _cut(block: RowBlock, start: int, stop: int) -> RowBlock:
    return RowBlock(
        block.first + start,
        stop - start,
        {name: codes[start:stop] for name, codes in block.codes.items()},
        {name: column.slice(start, stop - start) for name, column in block.raw.items()},
        owners={name: numbers[start:stop] for name, numbers in block.owners.items()},
    )


def joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Blocks one after the other."""
    first = blocks[0]
    return RowBlock(
        first.first,
        sum(block.rows for block in blocks),
        {name: np.concatenate([block.codes[name] for block in blocks]) for name in first.codes},
        {
            name: pa.chunked_array([c for block in blocks for c in block.raw[name].chunks], column.type)
            for name, column in first.raw.items()
        },
        owners={name: np.concatenate([block.owners[name] for block in blocks]) for name in first.owners},
    )


# ---------------------------------------------------------------- on the way from one machine to another


def packed(block: RowBlock) -> bytes:
    """A block as bytes: what it holds, the codes column by column, the other columns as an Arrow stream."""
    coded = {**block.codes, **block.owners}
    kinds = [[name, codes.dtype.str, name in block.owners] for name, codes in coded.items()]
    head = json.dumps([block.rows, kinds]).encode()
    parts = [len(head).to_bytes(8, "little"), head]
    parts += (np.ascontiguousarray(codes).tobytes() for codes in coded.values())
    if block.raw:
        parts.append(_stream(pa.table(dict(block.raw))))
    return b"".join(parts)


def unpacked(content: bytes, first: int = 0) -> RowBlock:
    """What `packed` was given."""
    offset = 8 + int.from_bytes(content[:8], "little")
    rows, kinds = json.loads(content[8:offset])
    codes: dict[str, Codes] = {}
    owners: dict[str, Codes] = {}
    for name, dtype, of_owners in kinds:
        kind = np.dtype(dtype)
        column = np.frombuffer(content, kind, rows, offset)
        (owners if of_owners else codes)[name] = column if column.flags.aligned else column.copy()
        offset += rows * kind.itemsize
    raw = {}
    if offset < len(content):
        table = pa.ipc.open_stream(pa.py_buffer(content)[offset:]).read_all()
        raw = {name: table.column(name) for name in table.column_names}
    return RowBlock(first, rows, codes, raw, owners=owners)


def _stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
