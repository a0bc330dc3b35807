"""SQLite through Python's own module.

A column of SQLite holds values of any kind, whatever it was declared to be. So the kinds that occur are asked for
first, in the same transaction; a reader that takes them from the first rows must fail, or worse, at later ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.errors import SourceError
from pramana.io.columns import select
from pramana.io.database import Database, TableName, named_query, quoted
from pramana.schema.connection import lost_its_end
from pramana.schema.kind import label_of

_PATIENCE = 60  # seconds to wait for another writer
_MOST_ROWS = 1 << 14  # of Python objects at a time
_FAULTS = {  # the start of SQLite's name of an error: what it means
    "SQLITE_BUSY": "another writer",
    "SQLITE_LOCKED": "another writer",
    "SQLITE_CANTOPEN": "a file that cannot be opened",
    "SQLITE_NOTADB": "another kind of file",
    "SQLITE_CORRUPT": "a damaged file",
    "SQLITE_FULL": "a full disk",
    "SQLITE_IOERR": "a full or failing disk",
    "SQLITE_READONLY": "a file that is read-only",
    "SQLITE_AUTH": "no permission",
    "SQLITE_TOOBIG": "too large a value",
}
# Declared types of new columns. Of numbers that are neither whole nor floats the digits are kept, as text.
_TYPES = (
    (pa.types.is_integer, "INTEGER"),
    (pa.types.is_boolean, "INTEGER"),
    (pa.types.is_floating, "REAL"),
    (pa.types.is_binary, "BLOB"),
)


class SQLite(Database):
    """A connection to a file that exists, with one transaction."""

    def _connected(self, url: str, section: str, writing: bool) -> Any:
        self._path = file_of(url, section)
        with self._plainly("must be a SQLite file"):
            return sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode={'rw' if writing else 'ro'}",
                uri=True,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,  # one thread at a time, but not always the one that opened it
            )

    def _begin(self, writing: bool) -> None:
        with self._plainly("must be a SQLite file that is free"):
            self._connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        if lost_its_end(self._path):
            raise SourceError(f"{self._where} must be a whole SQLite file", "one that ends within a page")

    def batches(self, what: str | TableName, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
        name, query = named_query(what)
        with self._plainly(f"must answer {name}"):
            self._connection.execute(f"SELECT * FROM (\n{query}) LIMIT 0")  # in brackets only a SELECT can stand
            cursor = self._connection.execute(query)
            present = [column[0] for column in cursor.description]
            names = select(present, wanted, name)
            schema = self._schema(query, names)
            while fetched := cursor.fetchmany(min(rows, _MOST_ROWS)):
                columns = dict(zip(present, zip(*fetched, strict=True), strict=True))
                yield pa.record_batch([_column(columns[field.name], field) for field in schema], schema=schema)
            yield pa.RecordBatch.from_pylist([], schema=schema)

    def _schema(self, query: str, names: Sequence[str]) -> pa.Schema:
        kinds = ", ".join(f"typeof({quoted(n)})" for n in names)
        seen = self._connection.execute(f"SELECT DISTINCT {kinds} FROM (\n{query})").fetchall()
        columns = zip(*seen, strict=True) if seen else ([] for _ in names)
        return pa.schema([pa.field(n, _type(n, set(own))) for n, own in zip(names, columns, strict=True)])

    def create(self, table: TableName, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        with self._plainly(f"must take the table {table.name!r}", table):
            columns = ", ".join(f"{quoted(field.name)} {_type_name(field.type)}" for field in schema)
            self._connection.execute(f"CREATE TABLE {table.quoted} ({columns})")
            insert = f"INSERT INTO {table.quoted} VALUES ({', '.join('?' * len(schema))})"
            for batch in batches:
                rows = zip(*(_values(column) for column in batch.columns), strict=True)
                self._connection.executemany(insert, rows)

    def _is_taken(self, error: Exception) -> bool:
        return "already exists" in str(error) or "there is already" in str(error)

    def _fault(self, error: Exception) -> str | None:
        ours = (sqlite3.Error, sqlite3.Warning, pa.ArrowException, ValueError, OverflowError)
        if not isinstance(error, ours):
            return None
        name = getattr(error, "sqlite_errorname", None) or ""
        got = next((words for start, words in _FAULTS.items() if name.startswith(start)), None)
        if got is None:
            got = "something it cannot do" if name else "values it cannot take"
        return f"{got} ({name})" if name else got


def file_of(url: str, section: str) -> Path:
    """The file of a URL with three slashes. A name that was misspelt must not make a new database."""
    scheme, _, name = url.partition(":///")
    path = Path(name)
    if not name or "\0" in name or not path.is_file():
        raise SourceError(
            f"The database of [{section}] must be a file that exists",
            "none",
            f"{scheme}:///name is relative, {scheme}:////folder/name is not.",
        )
    return path


# ---------------------------------------------------------------- types


def _type(name: str, kinds: set[str]) -> pa.DataType:
    kinds = kinds - {"null"}
    if not kinds:
        return pa.null()
    if "blob" in kinds and len(kinds) > 1:
        raise SourceError(
            f"The column {name!r} must hold values of one kind", f"{' and '.join(sorted(kinds))} values"
        )
    if "text" in kinds:
        return pa.string()
    if "blob" in kinds:
        return pa.binary()
    return pa.float64() if "real" in kinds else pa.int64()


def _column(values: tuple[Any, ...], field: pa.Field) -> pa.Array:
    if pa.types.is_string(field.type) and not all(isinstance(v, str | None) for v in values):
        values = tuple(None if v is None else label_of(v) for v in values)  # texts and numbers: all as text
    return pa.array(values, field.type)


def _type_name(kind: pa.DataType) -> str:
    return next((name for is_kind, name in _TYPES if is_kind(kind)), "TEXT")


def _values(column: pa.Array) -> Sequence[Any]:
    as_is = any(is_kind(column.type) for is_kind, _ in _TYPES)
    values: list[Any] = (column if as_is else column.cast(pa.string())).to_pylist()
    return values
