"""Pieces of a table: runs of consecutive rows that can be read apart from each other, on any machine.

A piece is some row groups of a Parquet file, or a CSV file (its quoted values may hold line ends, so that it
cannot be cut without reading it). Pieces are read by the reader of whole tables: there is one idea of what a
value is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.sources.table import SUFFIXES, Source

_BATCH = 1 << 16


@dataclass(frozen=True)
class Piece:
    """`rows` is None until someone has counted them; `groups` are row groups, none for all of a file."""

    source: Source
    rows: int | None = None
    groups: tuple[int, ...] = ()

    def read(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The wanted columns, some rows at a time."""
        if not self.groups or self.source.path is None:
            table = self.source.read(columns)
            yield pa.table({name: table.column(name) for name in columns})
            return
        try:
            with pq.ParquetFile(self.source.path) as file:
                schema = file.schema_arrow
            text = [name for name in columns if pa.types.is_string(schema.field(name).type)]
            with pq.ParquetFile(self.source.path, read_dictionary=text) as file:
                for batch in file.iter_batches(_BATCH, self.groups, list(columns), use_threads=False):
                    yield pa.Table.from_batches([batch])
        except (OSError, KeyError, ValueError):  # Arrow's errors among them, whose messages quote values
            raise SourceError(
                f"The source {self.source.path} must be a readable Parquet file", "something else or damaged data"
            ) from None


def pieces_of(source: Source, columns: Sequence[str], wanted: int = 1) -> tuple[Piece, ...]:
    """A source in source order: about `wanted` pieces, more where it has more files, fewer where it is small.

    Checks what can be told without reading rows: that the files are there and have the columns.
    """
    if source.path is None:
        raise SourceError("A table that is read in pieces must be a file or a folder", "a data frame")
    found: list[Piece] = []
    for path in _files(source.path, source.kind):
        own = replace(source, path=path, format=source.kind)
        found += _of_parquet(own, path, columns) if source.kind == "parquet" else [Piece(own)]
    total = sum(piece.rows or 0 for piece in found)
    return tuple(_joined(found, -(-total // max(1, wanted))))


def _files(path: Path, kind: str) -> list[Path]:
    """A file, or those of a folder in the order of their paths; names that begin with . or _ are no data."""
    if not path.is_dir():
        return [path]
    suffixes = {suffix for suffix, of in SUFFIXES.items() if of == kind}
    inside = [p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in suffixes]
    found = [p for p in inside if not any(part.startswith((".", "_")) for part in p.relative_to(path).parts)]
    if not found:
        raise SourceError(f"The folder {path} must hold {kind} files", "none")
    return sorted(found)


def _of_parquet(source: Source, path: Path, columns: Sequence[str]) -> list[Piece]:
    with pq.ParquetFile(path) as file:
        return [Piece(source, file.metadata.row_group(g).num_rows, (g,)) for g in range(file.num_row_groups)]


def _joined(pieces: Sequence[Piece], rows: int) -> Iterator[Piece]:
    """Row groups that lie side by side, as long as they have no more rows together."""
    held: Piece | None = None
    for piece in pieces:
        if held is not None and held.source.path == piece.source.path and held.rows and piece.rows is not None:
            together = held.rows + piece.rows
            if together <= rows:
                held = replace(held, rows=together, groups=held.groups + piece.groups)
                continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held
