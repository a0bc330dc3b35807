"""A data frame's columns as they came, sealed, in Spark's own storage: Spark makes its rows once.

Turning Spark's rows into Arrow is what takes longest about a data frame, texts above all. So that is done once,
for columns whose values are known without their texts, and every later reading takes the copy: texts as
dictionaries, as Parquet would give them. It is sealed under a key that is forgotten with the job; what does not
fit in memory, Spark writes to its disks encrypted once more.

Of a frame that chooses rows of files the copy has what is computed, and which rows stay; the files have the rest.
Of one that looks rows of files up in other tables it has the place of each row in the files, for the same reason.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.rows.spark.blocks import BLOCK
from pramana.rows.spark.frames.looks import FileLook
from pramana.rows.spark.frames.numbered import NumberedColumns
from pramana.rows.spark.readings import changed_rows
from pramana.rows.spark.steps import Seal, Sent
from pramana.sources import Piece

OTHER_VALUES = -1  # instead of a number of rows
OTHER_PLACES = -2  # the same: rows are not where they were thought to be
_ROWS_OF_A_RUN = 33  # bits; what Spark has above them in a row's number is the partition
_FIRST, _ROWS = b"first", b"rows"  # of rows that are neighbours in the files
_FEW = 4  # rows for each value of a column that is worth a dictionary


@dataclass(frozen=True)
class FileColumns:
    """Columns that files have, of the same rows as a copy, and how these files looked before it was made."""

    names: frozenset[str]
    pieces: tuple[bytes, ...]  # of each run, with looks, pickled one by one: a task needs one of them

    @classmethod
    def of(cls, names: Iterable[str], pieces: Iterable[tuple[Piece, ...]]) -> FileColumns:
        runs = [[(piece, _file_of(piece)) for piece in run] for run in pieces]
        try:
            looks = {path: FileLook.at(path) for path in {path for run in runs for _, path in run}}
        except OSError:
            raise changed_rows() from None
        looked_at = ([(piece, path, looks[path]) for piece, path in run] for run in runs)
        return cls(frozenset(names), tuple(map(pickle.dumps, looked_at)))

    def tables(self, run: int, columns: Sequence[str]) -> Iterator[pa.Table]:
        pieces: list[tuple[Piece, Path, FileLook]] = pickle.loads(self.pieces[run])
        for piece, path, look in pieces:
            if not look.is_of(path):  # what the copy says of its rows was said of others
                raise changed_rows()
            yield from piece.read(columns)
            if not look.is_of(path):
                raise changed_rows()


def _file_of(piece: Piece) -> Path:
    path = piece.source.path
    assert isinstance(path, Path), "these are files of this machine"
    return path


@dataclass(frozen=True)
class CopiedColumns:
    """Some columns of all runs, and how their copy is sealed."""

    columns: tuple[str, ...]
    seal: Seal
    numbered: NumberedColumns = field(default_factory=lambda: NumberedColumns({}))
    kept: str | None = None  # the one of them that says which rows stay; None: all of them
    files: FileColumns | None = None
    places: str | None = None  # the one of them that says which row of the files a row is; None: each once

    @property
    def plain(self) -> tuple[str, ...]:
        """The columns that Spark hands over as they are."""
        return tuple(name for name in self.columns if name not in self.numbered.values)

    def covers(self, columns: Iterable[str]) -> bool:
        beside = () if self.files is None else self.files.names
        return set(columns) <= {*self.columns, *beside}

    def contents(self, run: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Sent]:
        """What is kept of a run: some thousand rows at a time, and how many stay; or that it is unexpected."""
        least = 0
        for number, table in enumerate(_gathered(batches)):
            columns = {name: _compact(table.column(name)) for name in self.plain if name != self.places}
            stretch: dict[bytes, bytes] = {}
            if self.places is not None:
                places = _places(run, least, table.column(self.places))
                if places is None:
                    yield run, OTHER_PLACES, b""
                    return
                least = int(places[-1])
                if _neighbours(places):  # most rows are found once: where they begin says it all
                    stretch = {_FIRST: b"%d" % int(places[0]), _ROWS: b"%d" % len(places)}
                else:
                    columns[self.places] = pa.chunked_array([pa.array(places, _narrow(least))])
            for name, column in self.numbered.columns(table):
                if column is None:
                    yield run, OTHER_VALUES, b""
                    return
                columns[name] = column
            whole = pa.table({name: columns[name] for name in self.columns if name in columns}, metadata=stretch)
            stay = table.num_rows if self.kept is None else (pc.sum(whole.column(self.kept)).as_py() or 0)
            yield run, stay, self.seal.closed(run, number, _packed(whole))

    def tables(
        self, run: int, batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """The rows of a run that stay, in their order; `columns` are those that are needed, where not all are."""
        needed = self.columns if columns is None else columns
        rows = self._opened(run, batches)
        if self.files is not None:
            beside = [name for name in needed if name in self.files.names]
            if beside and self.places is not None:
                rows = _looked_up(rows, self.places, self.files.tables(run, beside))
            elif beside:
                rows = _side_by_side(rows, self.files.tables(run, beside))
        for table in rows:
            stays = None if self.kept is None else table.column(self.kept)
            own = table.select([name for name in table.column_names if name in needed]).replace_schema_metadata()
            yield own if stays is None or pc.all(stays).as_py() else own.filter(stays)

    def _opened(self, run: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        contents = (content for batch in batches for content in batch.column("content"))
        for number, content in enumerate(contents):
            plain = self.seal.opened(run, number, content.as_py())
            yield pa.ipc.open_stream(plain).read_all()


def _side_by_side(copied: Iterator[pa.Table], filed: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The columns of both, which have the same rows, cut at other places."""
    own = pa.table({})
    for table in filed:
        while table.num_rows:
            while not own.num_rows:
                own = next(copied, None)
                if own is None:
                    raise changed_rows()
            rows = min(own.num_rows, table.num_rows)
            both = own.slice(0, rows)
            for name in table.column_names:
                both = both.append_column(name, table.column(name).slice(0, rows))
            yield both
            own, table = own.slice(rows), table.slice(rows)
    if own.num_rows or any(more.num_rows for more in copied):
        raise changed_rows()


def _looked_up(copied: Iterator[pa.Table], places: str, filed: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The columns of both, where the copy says of its rows which of the files' rows they are, in their order."""
    batches = (batch for table in filed for batch in table.to_batches())  # of one dictionary each
    batch, first = next(batches, None), 0
    for table in copied:
        wanted = _wanted(table, places)
        start = 0
        while start < len(wanted):
            while batch is not None and wanted[start] >= first + batch.num_rows:
                first, batch = first + batch.num_rows, next(batches, None)
            if batch is None:
                raise changed_rows()
            stop = bisect_left(wanted, first + batch.num_rows)
            own, found = table.slice(start, stop - start), _taken(batch, wanted[start:stop], first)
            sides = {name: side.column(name) for side in (own, found) for name in side.schema.names}
            yield pa.table(sides)
            start = stop


Places = range | NDArray[np.int64]


def _wanted(table: pa.Table, places: str) -> Places:
    """The places of a copied table's rows, each after those before."""
    told = table.schema.metadata or {}
    if _FIRST in told:
        first = int(told[_FIRST])
        return range(first, first + int(told[_ROWS]))
    return np.asarray(table.column(places).to_numpy(), np.int64)


def _taken(batch: pa.RecordBatch, places: Places, first: int) -> pa.RecordBatch:
    """The rows of a batch that begins at place `first`."""
    if isinstance(places, range) or _neighbours(places):
        return batch.slice(int(places[0]) - first, len(places))
    return batch.take(pa.array(places - first))


def _neighbours(places: NDArray[np.int64]) -> bool:
    """Whether each is the one after the one before; they do not decrease."""
    return int(places[-1] - places[0]) == len(places) - 1 and bool((np.diff(places) == 1).all())


def _places(run: int, least: int, numbers: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Places of rows in their run from their numbers; None where they are of another, or in another order."""
    found = numbers.to_numpy() - (run << _ROWS_OF_A_RUN)
    if found[0] < least or found[-1] >> _ROWS_OF_A_RUN or bool((np.diff(found) < 0).any()):
        return None
    return np.asarray(found, np.int64)


def _narrow(most: int) -> pa.DataType:
    return pa.uint32() if most < 1 << 32 else pa.int64()


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches are small; a dictionary for each of them would cost more than it saves."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BLOCK:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts that repeat as a dictionary, with numbers as narrow as they may be."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    coded = column.dictionary_encode()
    values = coded.chunk(0).dictionary
    if len(values) * _FEW > len(column):
        return column
    width = next(kind for kind in (pa.int8(), pa.int16(), pa.int32()) if len(values) <= 1 << (kind.bit_width - 1))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(chunk.indices.cast(width), values) for chunk in coded.chunks]
    )
