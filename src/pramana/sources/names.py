"""The names of a source's columns; at most one row is read for them."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.sources.files import check_kind, files_of
from pramana.sources.formats.values import ReadingNotes
from pramana.sources.parquet.parquet_file import parquet_faults
from pramana.stores import arrow_input

if TYPE_CHECKING:
    from pramana.sources.table import Source


def names_of(source: Source) -> tuple[str, ...] | None:
    """In their order; None where the source cannot be read. A database is asked for one row."""
    try:
        if source.kind == "database":
            from pramana.sources.databases.database import batches

            found = batches(source.url or "", query=source.query, table=source.table, schema=source.schema, rows=1)
            with contextlib.closing(found):
                return tuple(next(found).schema.names)
        if source.path is None:
            import narwhals as nw

            return tuple(nw.from_native(source.frame).collect_schema().names())
        with source.faults():
            check_kind(source.path, source.kind)
            if source.kind == "csv":
                from pramana.sources.csv_file import CsvReading

                beginnings = replace(source, notes=ReadingNotes())  # whoever reads the rows tells their encoding
                return tuple(CsvReading.of_files(beginnings, source.path, None, in_full=False)[0].names)
            first = source.path if source.path.is_file() else files_of(source.path, "parquet")[0]
            with parquet_faults(first):
                return tuple(pq.read_schema(arrow_input(first)).names)
    except (SourceError, IndexError, TypeError, ValueError):
        return None  # whoever reads it says what is wrong
