"""Pieces of a table: runs of consecutive rows that can be read apart from each other, on any machine.

A piece is some row groups of a Parquet file, a CSV file, or some rows of one (quoted values may hold line ends, so
that it is scanned before it is cut). Pieces are read by the readers of whole tables: there is one idea of what
a value is, and of the order of the rows.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.files.locations import arrow_input
from pramana.files.store_path import AnyPath
from pramana.io.codes import is_ordered
from pramana.io.columns import checked
from pramana.io.csv_blocks import CsvPart, Do, Effect, is_cuttable, parts_of, scans_of
from pramana.io.csv_file import CsvReading
from pramana.io.formats import check_kind, files_of
from pramana.io.parquet import parquet_columns, parquet_faults, parquet_folder
from pramana.io.source import Source
from pramana.io.values import ReadingNotes

LEAST_BLOCK = 1 << 22  # bytes of a CSV file that are worth a piece
LEAST_ROWS, MOST_ROWS = 1 << 20, 1 << 23  # that are worth a task, and that are lost with one
_ROWS = 1 << 16  # of a batch


@dataclass(frozen=True)
class Piece:
    """`rows` is None until someone has counted them. `part` tells which rows, where they are not all of a file."""

    source: Source
    rows: int | None = None
    part: Any = None  # rows of a CSV file, numbers of row groups of a file, or a fragment of a folder
    schema: pa.Schema | None = None  # of the folder

    def read(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The wanted columns, some rows at a time."""
        if self.part is None:
            for batch in self.source.batches(columns, _ROWS):
                yield pa.Table.from_batches([batch])
            return
        settling = self.source.settling
        with self.source.faults():
            for batch in self._batches(list(columns)):
                if batch.num_rows:
                    yield settling.table(checked(pa.Table.from_batches([batch]), columns))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        path = self.source.file
        if isinstance(self.part, CsvPart):
            [reading] = CsvReading.of_files(self.source, path, columns, in_full=False)
            yield from reading.batches(self.part)
            return
        with parquet_faults(path):
            yield from self._row_groups(path, columns)

    def _row_groups(self, path: AnyPath, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if self.schema is not None:
            # Arrow makes a set of the numbers of a fragment that travels, whose order may begin in their midst
            groups = sorted(group.id for group in self.part.row_groups)
            yield from self.part.subset(row_group_ids=groups).to_batches(
                schema=self.schema, columns=columns, batch_size=_ROWS, use_threads=False, batch_readahead=1
            )
            return
        names, text = parquet_columns(path, pq.read_schema(arrow_input(path)), columns)
        with pq.ParquetFile(arrow_input(path), read_dictionary=text, pre_buffer=False) as file:
            yield from file.iter_batches(_ROWS, list(self.part), names, use_threads=False)


@dataclass(frozen=True)
class Cut:
    """Into about so many pieces of one size; or, for so many cores, smaller ones towards the end.

    There cores wait for the last one.
    """

    pieces: int | None = None
    cores: int = 1

    def rows(self, of: int, left: int) -> int:
        """Of a piece of Parquet files that begins where some of all rows are left; two more for each core."""
        if self.pieces is not None:
            return -(-of // max(1, self.pieces))
        return max(LEAST_ROWS, min(MOST_ROWS, left // (2 * self.cores)))

    def bytes(self, of: int) -> int:
        """Of each piece of CSV files, which are cut evenly."""
        return max(LEAST_BLOCK, -(-of // max(1, 4 * self.cores if self.pieces is None else self.pieces)))


def pieces_of(
    source: Source, columns: Sequence[str], cut: Cut = Cut(1), do: Do | None = None
) -> tuple[Piece, ...]:
    """A source in source order, cut as is asked; into more pieces where it has more files, fewer if it is small.

    Checks what can be told without reading rows: that the files are there and have the columns. CSV files are cut
    where there is someone to scan them: `do` does some pieces of work, anywhere, and returns their results.
    """
    path, kind = source.path, source.kind
    if path is None:
        raise SourceError("A table that is read in pieces must be a file or a folder", "a data frame")
    if kind not in ("csv", "parquet"):
        raise SourceError(
            "A table for the Spark engine must be CSV or Parquet",
            f"format = {kind!r}",
            "Release it on this machine, or let Spark write it as Parquet first.",
        )
    with source.faults():
        check_kind(path, kind)
        path = path.absolute()  # who reads a piece may be at home in another folder
        source = replace(source, path=path)
        if kind == "csv":
            looked_at = replace(source, notes=ReadingNotes())  # at beginnings, which do not tell the encoding yet
            readings = CsvReading.of_files(looked_at, path, columns, in_full=False)
            if do is None:
                return tuple(Piece(replace(source, path=reading.file.path, format=kind)) for reading in readings)
            return tuple(_of_csv(source, readings, cut, do))
        with parquet_faults(path):
            if path.is_file():
                return tuple(_of_file(source, columns, cut))
            return tuple(_of_folder(source, columns, cut))


def _of_csv(source: Source, readings: Sequence[CsvReading], cut: Cut, do: Do) -> Iterator[Piece]:
    """One look at all files: in which encoding each is, and where those that are large can be cut."""
    sizes = [reading.file.path.stat().st_size for reading in readings]
    block = cut.bytes(sum(sizes))
    scans = [
        scans_of(reading.file.path, reading.options["parse_options"].delimiter, block)
        if size > block and reading.file.packed is None
        else []
        for reading, size in zip(readings, sizes, strict=True)
    ]
    recognitions = [reading.file.recognised for reading in readings] if source.encoding is None else []
    results = iter(do([*recognitions, *(scan for own in scans for scan in own)]))
    recognised = [cast(str, encoding) for encoding in islice(results, len(recognitions))]
    source.notes.encodings.update(recognised)
    encodings: list[str | None] = [*recognised] or [source.encoding] * len(readings)
    for reading, own, encoding in zip(readings, scans, encodings, strict=True):
        effects = [cast(Effect, effect) for effect in islice(results, len(own))]
        whole = replace(source, path=reading.file.path, format="csv", encoding=encoding)
        if own and encoding is not None and is_cuttable(codecs.lookup(encoding).name):
            yield from (Piece(whole, part=part) for part in parts_of(own, effects))
        else:
            yield Piece(whole)


def ordered_columns(source: Source, columns: Sequence[str]) -> tuple[str, ...]:
    """Those of a Parquet source whose categories are declared to have an order."""
    if source.kind != "parquet" or source.path is None:
        return ()
    with source.faults(), parquet_faults(source.path):
        schema = pq.read_schema(arrow_input(files_of(source.path, "parquet")[0]))
    return tuple(name for name in columns if name in schema.names and is_ordered(schema.field(name).type))


def _of_file(source: Source, columns: Sequence[str], cut: Cut) -> Iterator[Piece]:
    path = source.file
    parquet_columns(path, pq.read_schema(arrow_input(path)), columns)
    metadata = pq.read_metadata(arrow_input(path))
    rows = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
    for part in side_by_side(rows, partial(cut.rows, sum(rows))):
        yield Piece(source, sum(rows[g] for g in part), tuple(part))


def _of_folder(source: Source, columns: Sequence[str], cut: Cut) -> Iterator[Piece]:
    whole, _ = parquet_folder(source.file, columns)
    fragments = list(whole.get_fragments())
    groups = [[g.num_rows for g in fragment.row_groups] for fragment in fragments]
    total = left = sum(map(sum, groups))
    for fragment, rows in zip(fragments, groups, strict=True):
        for part in side_by_side(rows, partial(cut.rows, total), left):
            own = fragment.subset(row_group_ids=part)
            yield Piece(source, sum(rows[g] for g in part), own, whole.schema)
        left -= sum(rows)


def side_by_side(rows: Sequence[int], most: Callable[[int], int], left: int | None = None) -> Iterator[list[int]]:
    """Row groups side by side, as long as they have no more rows together than `most` has it.

    That is asked at the beginning of each of them, of all rows that are left: those of these groups, or more.
    """
    left = sum(rows) if left is None else left
    groups: list[int] = []
    own, room = 0, most(left)
    for group, count in enumerate(rows):
        if groups and own + count > room:
            yield groups
            left -= own
            groups, own, room = [], 0, most(left)
        groups.append(group)
        own += count
    if groups:
        yield groups
