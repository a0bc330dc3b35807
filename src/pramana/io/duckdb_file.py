"""DuckDB through its own package, which speaks Arrow both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.errors import SourceError
from pramana.files.atomic import open_regular
from pramana.io.columns import check_type, select
from pramana.io.database import Database, Fallible, TableName, named_query, quoted
from pramana.io.formats import library
from pramana.io.sqlite import file_of

# Extensions would be fetched from the internet when a query needs one. What a query cannot hold in memory would be
# written in the clear to a folder beside the database, which stays there when the program is killed.
_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
# What arrives as an Arrow type of the same meaning. 128-bit numbers do not: Arrow's decimals end before they do.
_PLAIN = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE",
    "VARCHAR", "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE", "BLOB", '"NULL"',
)  # fmt: skip
_NESTED = ("STRUCT", "MAP", "UNION")
_FAULTS = {  # class of the package's error: what it means
    "CatalogException": "no such table",
    "BinderException": "no such column, or types that do not fit",
    "ParserException": "a fault of syntax",
    "SyntaxException": "a fault of syntax",
    "ConversionException": "a value that the query cannot work with",
    "InvalidInputException": "something it cannot do",
    "OutOfRangeException": "a value that the query cannot work with",
    "IOException": "a file that is damaged, in use or of another kind",
    "ConnectionException": "a file that is in use",
    "PermissionException": "no permission",
    "TransactionException": "another writer",
    "OutOfMemoryException": "too little memory",
}


class DuckDB(Database):
    """A connection to a file that exists, with one transaction."""

    def _connected(self, url: str, section: str, writing: bool) -> Any:
        duckdb = library("duckdb", "DuckDB", "database")
        path = file_of(url, section)
        _check_file(path, self._where)
        with self._plainly("must be a DuckDB file that is free"):
            return duckdb.connect(path, read_only=not writing, config=dict(_SETTINGS))

    def _begin(self, writing: bool) -> None:  # noqa: ARG002 - told when it was connected
        with self._plainly("must be usable"):
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.begin()

    def batches(self, what: str | TableName, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
        name, query = named_query(what)
        with self._plainly(f"must answer {name}"):
            kinds = [statement.type.name for statement in self._connection.extract_statements(query)]
            if kinds != ["SELECT"]:  # others change settings, write files, or fetch extensions
                raise SourceError(f"{self._where} must answer {name}", "another statement", "Ask by one SELECT.")
            relation: Any = self._connection.sql(query)
            names = select(relation.columns, wanted, name)
            types = dict(zip(relation.columns, map(str, relation.types), strict=True))
            chosen = relation.project(", ".join(_as_arrow(n, types[n]) for n in names))
            with chosen.to_arrow_reader(rows) as reader:
                for field in reader.schema:
                    check_type(field.name, field.type)
                yield from reader
                yield pa.RecordBatch.from_pylist([], schema=reader.schema)

    def create(self, table: TableName, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        source = Fallible(schema, batches)
        with source.first(), self._plainly(f"must take the table {table.name!r}", table):
            self._connection.register("published rows", source.reader)
            self._connection.execute(f'CREATE TABLE {table.quoted} AS SELECT * FROM "published rows"')

    def _is_taken(self, error: Exception) -> bool:
        return "already exists" in str(error)

    def _fault(self, error: Exception) -> str | None:
        import duckdb

        if not isinstance(error, duckdb.Error | OSError | ValueError | pa.ArrowException):
            return None
        return _FAULTS.get(type(error).__name__, "a failure while rows were moved")


def _check_file(path: Path, where: str) -> None:
    """Other files it opens as well: as a database in memory, or with an extension from the internet."""
    try:
        with open_regular(path) as file:
            is_duckdb = file.read(12)[8:] == b"DUCK"
    except OSError as error:
        raise SourceError(f"{where} must be a readable file", error.strerror) from None
    if not is_duckdb:
        raise SourceError(f"{where} must be a DuckDB file", "another kind of file")


def _as_arrow(name: str, kind: str) -> str:
    nested = kind.endswith("]") or kind.startswith(_NESTED)
    if nested or kind in _PLAIN or kind.startswith("DECIMAL"):
        return quoted(name)
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"
