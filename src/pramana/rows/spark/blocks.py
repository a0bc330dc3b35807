"""A run of consecutive rows, worked on block by block: read, encoded, digested.

Blocks begin at multiples of BLOCK rows of the whole table, so that whole leaves of the source's digest lie within
a block. What is left of a leaf at either end of a run (an edge) is put together with its other rows by whoever
collects the runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.io.codes import Encoder, Faults
from pramana.io.columns import numbers, plain_type
from pramana.io.writing import raw_column
from pramana.randomness.shuffle import gathered
from pramana.rows.digest import LEAF, Column, joined_column, leaf_of, root_of
from pramana.rows.owners import HOUSEHOLD, PERSON
from pramana.rows.protocol import ROW_NUMBER, Columns, Work
from pramana.rows.spool import pack, split
from pramana.schema.domain import Attribute

BLOCK = 1 << 18  # rows; a multiple of LEAF
ATTACHED = "\0"  # what the names of columns begin with that the driver attaches; no source has such a name
assert BLOCK % LEAF == 0


@dataclass(frozen=True)
class RowBlock:
    """Rows `first`, first+1, ... of a table: its columns in the order of the digest."""

    first: int
    rows: int
    columns: Columns
    derived: Columns = field(default_factory=dict)  # worked out from other columns, or attached

    def cut(self, start: int, stop: int) -> RowBlock:
        """Some of its rows, by their positions in it."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return RowBlock(self.first + start, stop - start, columns)

    def take(self, order: NDArray[np.uint32]) -> RowBlock:
        """Its rows in another order, by their positions in it."""
        coded, raw = split(self.columns)
        indices = numbers(order) if raw else None
        taken = {name: gathered(codes, order) for name, codes in coded.items()}
        taken |= {name: column.take(indices) for name, column in raw.items()}
        return RowBlock(self.first, len(order), {name: taken[name] for name in self.columns})


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
    return table.cast(pa.schema([(field.name, plain_type(field.type)) for field in table.schema]))


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
        unpublished: Sequence[str] = (),
    ) -> None:
        """`unpublished`: columns that others are derived from, and no more."""
        self.derived, self.unpublished = derived, unpublished
        self.coded = {a.name: Encoder(a.coded, a.name, show) for a in attributes if not a.raw}
        self.raw = [a.name for a in attributes if a.raw]

    def block(self, first: int, table: pa.Table) -> RowBlock:
        columns: Columns = {n: encoder.encode_column(table.column(n)) for n, encoder in self.coded.items()}
        columns |= {name: raw_column(table.column(name), None) for name in self.raw}
        attached = {n: table.column(n).to_numpy() for n in table.column_names if n.startswith(ATTACHED)}
        known = {**columns, **{n: raw_column(table.column(n), None) for n in self.unpublished}, **attached}
        known[ROW_NUMBER] = np.arange(first, first + table.num_rows, dtype=np.uint64)
        if not self.faults:  # codes of faulty rows mean nothing
            for column in self.derived:
                known[column.name] = column.work({name: known[name] for name in column.of})
        derived = {column.name: known[column.name] for column in self.derived if column.name in known}
        columns |= {name: attached[name] for name in (PERSON, HOUSEHOLD) if name in attached}
        return RowBlock(first, table.num_rows, columns, {**attached, **derived})

    @property
    def faults(self) -> dict[str, Faults]:
        return {name: encoder.faults for name, encoder in self.coded.items() if encoder.faults}


def refuse(faults_by_run: Iterable[Mapping[str, Faults]], attributes: Sequence[Attribute], show: bool) -> None:
    """Tell of the faults of all runs as if they had been seen in one; columns in their order."""
    runs = list(faults_by_run)
    for a in attributes:
        if not a.raw:
            encoder = Encoder(a.coded, a.name, show)
            for faults in runs:
                encoder.add(faults.get(a.name, Faults()))
            encoder.finish()


# ---------------------------------------------------------------- digests


@dataclass
class Digests:
    """Digests of a run's leaves by number, over all columns, and the rows of leaves that other runs share.

    Such an edge is the number of its first row, and its rows, packed.
    """

    leaves: dict[int, bytes] = field(default_factory=dict)
    edges: list[tuple[int, bytes]] = field(default_factory=list, repr=False)

    def add(self, secret: bytes, block: RowBlock) -> None:
        start = 0
        while start < block.rows:
            stop = min(block.rows, start + LEAF - (block.first + start) % LEAF)
            part = block.cut(start, stop)
            if part.rows == LEAF:
                self.leaves[part.first // LEAF] = leaf_of(secret, part.columns)
            else:
                self.edges.append((part.first, packed(part)))
            start = stop


def root_of_digests(runs: Iterable[Digests], secret: bytes, records: int) -> str:
    """The digest of a table from those of all its runs."""
    leaves: dict[int, bytes] = {}
    edges: list[tuple[int, bytes]] = []
    for digests in runs:
        leaves |= digests.leaves
        edges += digests.edges
    by_leaf: dict[int, list[RowBlock]] = {}
    for first, content in sorted(edges):
        by_leaf.setdefault(first // LEAF, []).append(unpacked(content))
    leaves |= {number: leaf_of(secret, joined(blocks).columns) for number, blocks in by_leaf.items()}
    number = -(-records // LEAF)
    if sorted(leaves) != list(range(number)):
        got = f"{len(leaves)} of {number} blocks of {LEAF} rows"
        raise SourceError("Every row of a source must be read once", got, "Did it change meanwhile?")
    return root_of(secret, records, (leaves[i] for i in range(number)))


# ---------------------------------------------------------------- on the way from one machine to another


def joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Blocks one after the other."""
    names, rows = blocks[0].columns, sum(block.rows for block in blocks)
    columns = {name: joined_column([block.columns[name] for block in blocks]) for name in names}
    return RowBlock(blocks[0].first, rows, columns)


def packed(block: RowBlock) -> bytes:
    """A block as bytes: what it holds, the codes column by column, the other columns as an Arrow stream."""
    coded, raw = split(block.columns)
    kinds = [[name, coded[name].dtype.str if name in coded else None] for name in block.columns]
    head = json.dumps([block.rows, kinds]).encode()
    parts = [len(head).to_bytes(8, "little"), head]
    parts += (np.ascontiguousarray(codes).tobytes() for codes in coded.values())
    if raw:
        parts.append(bytes(pack(pa.table(raw))))
    return b"".join(parts)


def unpacked(content: bytes) -> RowBlock:
    """What `packed` was given; the number of the first row is not in it."""
    offset = 8 + int.from_bytes(content[:8], "little")
    rows, kinds = json.loads(content[8:offset])
    columns: dict[str, Column] = dict.fromkeys(name for name, _ in kinds)  # in their order
    for name, dtype in kinds:
        if dtype is not None:
            codes = np.frombuffer(content, dtype, rows, offset)
            columns[name] = codes if codes.flags.aligned else codes.copy()
            offset += codes.nbytes
    if offset < len(content):
        table = pa.ipc.open_stream(pa.py_buffer(content)[offset:]).read_all()
        columns |= {name: table.column(name) for name in table.column_names}
    return RowBlock(0, rows, columns)
