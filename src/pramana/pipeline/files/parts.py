"""Data as a set of files: the published rows cut at fixed numbers, each run of them a file of its own.

Where rows lie on executors, these write the parts; else they come piece by piece and are written here. The parts
are the same: a part is a function of its rows and of its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO

import pyarrow as pa

from pramana.bundle import Part, PartSet, PartTarget, part_name, parts_in
from pramana.errors import PramanaError
from pramana.methods import Counts, Publication, TableMaker
from pramana.randomness import available_cores
from pramana.rows import Columns, SpreadPieces, ahead
from pramana.sources import TableWriter, formula_columns


@dataclass(frozen=True)
class WrittenPart:
    """A part, and what the report and the holder are told of its rows."""

    part: Part
    file: str  # what it is called until all parts are there
    counts: Mapping[str, Counts] = field(default_factory=dict)
    formulas: tuple[str, ...] = ()  # columns of a CSV with texts that a spreadsheet would run


@dataclass(frozen=True)
class WrittenSet:
    """All parts, and what all of them tell."""

    parts: PartSet
    files: tuple[str, ...]  # what they are called until all are there
    counts: Mapping[str, Counts]
    formulas: tuple[str, ...]


@dataclass(frozen=True)
class PartWriting:
    """How parts of so many rows are written, wherever their rows are."""

    target: PartTarget
    maker: TableMaker
    form: str
    escape: bool
    rows: int
    threads: int = 1

    def __call__(self, number: int, pieces: Iterator[Columns]) -> WrittenPart | PramanaError:
        """One part, far from the driver: a fault comes back, because what fails as a task is written to logs."""
        maker = self.maker.at(number * self.rows)
        try:
            written = self.write(number, map(maker.table, pieces))
        except PramanaError as error:
            return error
        return replace(written, counts=maker.counts())

    def write(self, number: int, tables: Iterable[pa.Table]) -> WrittenPart:
        """One part from its rows as they are published."""
        name = part_name(number, self.form)
        file, (rows, formulas) = self.target.write(name, partial(self._fill, tables))
        return WrittenPart(Part(name, rows, file.size, file.sha256), file.name, formulas=formulas)

    def _fill(self, tables: Iterable[pa.Table], sink: BinaryIO) -> tuple[int, tuple[str, ...]]:
        rows, formulas, coming = 0, dict[str, None](), iter(tables)
        table = next(coming)
        with TableWriter(sink, self.form, table.schema, self.escape, self.threads) as writer:
            while True:
                writer.write(table)
                rows += table.num_rows
                if self.form == "csv" and not self.escape:
                    formulas |= dict.fromkeys(formula_columns(table))
                following = next(coming, None)
                if following is None:
                    return rows, tuple(formulas)
                table = following


def write_parts(
    publication: Publication, target: PartTarget, form: str, escape: bool, rows: int, threads: int = 0
) -> WrittenSet:
    """The published rows as a set of files of `rows` rows each, by executors where the rows lie there."""
    plan, pieces = publication.plan, publication.pieces
    parts_in(plan.records, rows)  # refuses too many before anything is written
    if isinstance(pieces, SpreadPieces):
        maker = publication.table.at(0)
        work = PartWriting(target, maker, form, escape, rows)
        kept = None if plan.records == plan.source_records else maker.kept
        return _joined(rows, [_sound(part) for part in pieces.each_part(rows, work, kept)])
    writing = PartWriting(target, publication.table, form, escape, rows, threads or available_cores())
    tables = ahead(publication.table.table, pieces, 1)  # one thread: pieces in their order
    written = [writing.write(number, part) for number, part in enumerate(_cut(tables, rows))]
    whole = _joined(rows, written)
    return replace(whole, counts=publication.table.counts())


def _sound(written: WrittenPart | PramanaError) -> WrittenPart:
    if isinstance(written, PramanaError):
        raise written
    return written


def _joined(rows: int, written: Sequence[WrittenPart]) -> WrittenSet:
    counts: dict[str, Counts] = {}
    for one in written:
        for name, count in one.counts.items():
            counts[name] = counts[name] + count if name in counts else count
    formulas = dict.fromkeys(name for one in written for name in one.formulas)
    parts = PartSet(rows, tuple(one.part for one in written))
    return WrittenSet(parts, tuple(one.file for one in written), counts, tuple(formulas))


def _cut(tables: Iterator[pa.Table], rows: int) -> Iterator[Iterator[pa.Table]]:
    """The same rows in runs of `rows`; a run must be taken in full before the next one is."""
    rest: pa.Table | None = None

    def run(first: pa.Table) -> Iterator[pa.Table]:
        nonlocal rest
        table, room = first, rows
        while True:
            taken = table.slice(0, room)
            room -= taken.num_rows
            rest = table.slice(taken.num_rows)
            yield taken
            if not room:
                return
            following = next(tables, None)
            if following is None:
                return
            table = following

    while True:
        table = rest if rest is not None and rest.num_rows else next((t for t in tables if t.num_rows), None)
        if table is None:
            return
        yield run(table)
