"""Data as a set of files: the published rows cut at fixed numbers, each part a file of its own; and their checks.

Where rows lie on executors, these write the parts; else they come piece by piece and are written here. The parts
are the same: a part is a function of its rows and of its number. A set is checked as a whole, by one part, or
against parts that are made again.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.bundle.bundle import Bundle, Spread
from pramana.bundle.form import MOST_NAMED, Check, first_names
from pramana.bundle.parts import Part, PartSet, part_name, parts_in
from pramana.errors import BundleError, PramanaError
from pramana.files.atomic import open_regular
from pramana.files.parts import PartTarget, WrittenFile
from pramana.io.writing import write_tables
from pramana.methods.protocol import Counts, Publication, TableMaker
from pramana.randomness.samplers import available_cores
from pramana.rows.engines import ahead
from pramana.rows.protocol import Columns, SpreadPieces

T = TypeVar("T")


@dataclass(frozen=True)
class WrittenPart:
    """A part, and what the report and the holder learn of its rows."""

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
        fill = partial(write_tables, tables, form=self.form, escape=self.escape, threads=self.threads)
        file, written = self.target.write(name, fill)
        return WrittenPart(Part(name, written.rows, file.size, file.sha256), file.name, formulas=written.formulas)


def write_parts(
    publication: Publication,
    pieces: Iterator[Columns],
    target: PartTarget,
    form: str,
    escape: bool,
    rows: int,
    threads: int = 0,
) -> WrittenSet:
    """The published rows as a set of files of `rows` rows each, by executors where the rows lie there."""
    plan = publication.plan
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


# ---------------------------------------------------------------- held against a certificate


def certified_parts(bundle: Bundle) -> PartSet:
    parts = bundle.certificate.parts
    if parts is None:
        raise BundleError(f"The bundle {bundle.path} must be a set of files to have parts", "one data file")
    return parts


def check_parts(bundle: Bundle) -> list[Check]:
    """Every part is there and as certified, and nothing else is; files are digested a few at a time."""
    parts, folder = certified_parts(bundle), bundle.data_path
    if folder.is_symlink() or not folder.is_dir():
        return [Check("parts", False, f"the folder {folder.name} is missing, or a symbolic link")]
    failed = list(_failed(folder, parts.files, bundle.spread))
    checks = [Check(f"digest {name}", False, detail) for name, detail in failed[:MOST_NAMED]]
    if unknown := sorted({path.name for path in folder.iterdir()} - {part.name for part in parts.files}):
        checks.append(Check("parts", False, f"not in the certificate: {first_names(unknown)}"))
    detail = f"{len(parts.files)} files as certified, of which {parts.root} is the root"
    if failed:
        detail = f"{len(failed)} of {len(parts.files)} are not as certified"
    return [*checks, Check("parts", not failed, detail)]


def check_one_part(bundle: Bundle, name: str) -> Check:
    """One part, whether the others are there or not."""
    parts = certified_parts(bundle)
    part = parts.files[parts.number(name)]
    failed = next(_failed(bundle.data_path, [part]), None)
    return Check(f"digest {name}", failed is None, "as certified" if failed is None else failed[1])


def _failed(folder: Path, parts: Sequence[Part], spread: Spread | None = None) -> Iterator[tuple[str, str]]:
    """The parts that are not as certified, and why."""
    fault = partial(_fault, folder.absolute())
    yield from filter(
        None, ahead(fault, parts, available_cores()) if spread is None else spread.each(fault, parts)
    )


def _fault(folder: Path, part: Part) -> tuple[str, str] | None:
    try:
        file = open_regular(folder / part.name, follow=False)
    except FileNotFoundError:
        return part.name, "the file is missing"
    except OSError:
        return part.name, "no file that can be read"
    with file:
        same = os.fstat(file.fileno()).st_size == part.size
        if same and hashlib.file_digest(file, "sha256").hexdigest() == part.sha256:
            return None
    return part.name, "differs from the certificate"


@dataclass(frozen=True)
class ComparedParts:
    """Takes parts that are made again and writes none: each is held against the one that was published."""

    bundle: Bundle
    other: list[str] = field(default_factory=list)  # parts with other rows
    rewritten: list[str] = field(default_factory=list)  # with the same rows, as another version writes them

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        buffer = io.BytesIO()
        result = fill(buffer)
        content = buffer.getbuffer()
        digest = hashlib.sha256(content).hexdigest()
        published = {part.name: part.sha256 for part in certified_parts(self.bundle).files}
        if published.get(name) != digest:
            same = name in published and self._same_rows(name, buffer)
            (self.rewritten if same else self.other).append(name)
        return WrittenFile(len(content), digest), result

    def _same_rows(self, name: str, buffer: BinaryIO) -> bool:
        buffer.seek(0)
        if self.bundle.certificate.output == "csv":
            return False
        try:
            return bool(pq.read_table(buffer).equals(pq.read_table(self.bundle.data_path / name)))
        except (OSError, pa.ArrowException):
            return False

    def check(self, parts: PartSet) -> Check:
        """Once all of them were made; of those that executors made, only digests came back."""
        published = certified_parts(self.bundle)
        if [part.name for part in parts.files] != [part.name for part in published.files]:
            return Check("made again", False, "another number of parts")
        pairs = zip(parts.files, published.files, strict=True)
        differing = [again.name for again, known in pairs if again.sha256 != known.sha256]
        if other := [name for name in differing if name not in self.rewritten]:
            compared = other[0] in self.other
            detail = f"other rows, first in {other[0]}" if compared else f"other bytes, first in {other[0]}"
            return Check(
                "made again", False, detail if compared else f"{detail}; the local engine compares their rows"
            )
        detail = "the same rows; the parts were written by another version" if self.rewritten else "byte for byte"
        return Check("made again", True, detail)
