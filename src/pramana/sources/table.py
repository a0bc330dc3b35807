"""Opening tables: CSV, Parquet, data frames and databases become Arrow columns, read only where asked for.

Text columns arrive dictionary-encoded, so that a domain is looked up once per distinct value and not once per
row. No error of a reader is passed on as it is: their messages quote the rows they stumble over.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.columns import checked
from pramana.sources.csv_file import read_csv
from pramana.sources.files import SUFFIXES, check_kind, files_of
from pramana.sources.frame import from_frame
from pramana.sources.parquet_file import read_parquet


@dataclass(frozen=True)
class Table:
    """Some columns of a table, in memory, in source order."""

    columns: Mapping[str, pa.ChunkedArray]
    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise SourceError("A table must have at least one record", "none")

    @classmethod
    def of(cls, table: pa.Table) -> Table:
        return cls(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        return self.columns[name]


@dataclass(frozen=True)
class Source:
    """A table that can be read: a file, a data frame or what a database holds, and how to read it."""

    path: Path | None = None
    frame: Any = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = field(default=("",))
    url: str | None = field(default=None, repr=False)  # of a database; it may hold a password
    query: str | None = field(default=None, repr=False)  # or:
    table: str | None = None
    schema: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Source:
        """What the [source] section of a recipe says."""
        if "url" in options:
            if "path" in options:
                raise SourceError("A recipe must name a file or a database", "both")
            return cls(**{key: options[key] for key in ("url", "query", "table", "schema") if key in options})
        if "path" not in options:
            raise SourceError(
                "A recipe must say where its table is",
                "no path in [source]",
                'Write path = "people.csv" or a url, or pass a data frame to pramana.release.',
            )
        known = {key: options[key] for key in ("format", "delimiter", "encoding") if key in options}
        return cls(path=Path(options["path"]), missing=tuple(options.get("missing", ("",))), **known)

    @property
    def kind(self) -> str:
        if self.path is None:
            return "frame" if self.url is None else "database"
        if self.format is not None:
            if self.format not in ("csv", "parquet"):
                raise SourceError("The format of a source must be csv or parquet", repr(self.format))
            return self.format
        if self.path.suffix.lower() not in SUFFIXES and os.path.isdir(self.path):  # noqa: PTH112
            return "parquet" if files_of(self.path, "parquet") else "csv"
        return SUFFIXES.get(self.path.suffix.lower(), "csv")

    def batches(self, wanted: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns batch by batch, in order, with flat memory; `rows` is about how many at a time."""
        from pramana.sources.batches import batches

        with self.faults():
            yield from batches(self, wanted, rows)

    def read(self, wanted: Sequence[str] | None = None) -> Table:
        """Read the wanted columns (all, if None); a missing one is an error that names a near miss."""
        if self.kind == "database":
            return Table.of(_read_database(self, wanted))
        if self.path is None:
            return Table.of(from_frame(self.frame, wanted))
        with self.faults():
            check_kind(self.path, self.kind)
            if self.kind == "parquet":
                return Table.of(read_parquet(self.path, wanted))
            return Table.of(read_csv(self, self.path, wanted))

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        """What a file system says while the source is read, in one line."""
        try:
            yield
        except OSError as error:
            if isinstance(error, pa.ArrowException) or error.strerror is None:
                raise SourceError(
                    f"The source {self.path} must be a readable {self.kind} file", "damaged data"
                ) from None
            raise SourceError(f"The source {self.path} must be readable", error.strerror) from None
        except MemoryError:
            raise SourceError(f"The source {self.path} must fit in memory", "a larger one") from None

    def to_json(self) -> dict[str, Any]:
        """How to read the source again; not where it lies, nor a query, which may hold values."""
        if self.kind == "database":
            return {"format": "database"}
        found: dict[str, Any] = {"format": self.kind, "missing": list(self.missing)}
        if self.kind == "csv":
            found |= {"delimiter": self.delimiter, "encoding": self.encoding}
        return found


def _read_database(source: Source, wanted: Sequence[str] | None) -> pa.Table:
    from pramana.sources.databases.database import batches

    found = batches(source.url or "", wanted, query=source.query, table=source.table, schema=source.schema)
    table = pa.Table.from_batches(found)
    return checked(table, table.column_names)
