"""PostgreSQL through ADBC: COPY in binary form both ways, straight from and to Arrow's buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import SourceError
from pramana.io.columns import check_type, select
from pramana.io.database import DIGITS, Database, Fallible, TableName, named_query, quoted
from pramana.io.formats import library

_LONGEST_NAME = 63  # bytes; PostgreSQL would cut a longer name and say nothing
_BATCH_BYTES = 1 << 22
_TAKEN = ("42P07", "42710", "23505")  # a name in use, or taken while this one waited
# What arrives as an Arrow type of the same meaning. char(n) is not here: its padding is no part of its value.
_PLAIN = {
    "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "name", "char", "bool", "date",
    "timestamp", "timestamptz", "time", "bytea",
}  # fmt: skip
_TYPES = {
    pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.float32(): "real",
    pa.float64(): "double precision", pa.bool_(): "boolean", pa.string(): "text", pa.binary(): "bytea",
    pa.date32(): "date", pa.time64("us"): "time", pa.timestamp("us"): "timestamp",
    pa.timestamp("us", tz="UTC"): "timestamptz",
}  # fmt: skip
_STATES = {  # SQLSTATE, or its class: what it means for whoever wrote the recipe
    "08": "a lost connection",
    "0A": "something the database does not offer",
    "22": "a value that the query cannot work with",
    "25006": "a database that is read-only",
    "28": "a wrong user or password",
    "3D": "no such database",
    "3F": "no such schema",
    "42501": "no permission",
    "42601": "a fault of syntax",
    "42703": "no such column",
    "42P01": "no such table",
    "53100": "a full disk",
    "53": "too few resources",
    "57014": "a cancelled statement",
    "57P": "a server that is shutting down",
}
_WORDS = {  # libpq has no code for what fails before there is a session
    "password": "a wrong user or password",
    "no pg_hba.conf entry": "no permission to connect",
    "authentication": "a wrong user or password",
    "refused": "a refused connection",
    "translate host name": "no such host",
    "no such file": "no server at that socket",
    "timeout": "no answer in time",
    "timed out": "no answer in time",
    "role": "a wrong user or password",
    "database": "no such database",
    "ssl": "a failure of TLS",
    "certificate": "a failure of TLS",
}


class PostgreSQL(Database):
    """A connection with one transaction, read-only unless it is for writing."""

    def _connected(self, url: str, section: str, writing: bool) -> Any:  # noqa: ARG002 - told in the transaction
        library("adbc_driver_postgresql", "PostgreSQL", "database")
        from adbc_driver_postgresql import dbapi

        with self._plainly("must be reachable"):
            return dbapi.connect(url)

    def _begin(self, writing: bool) -> None:
        if writing:
            return
        with self._plainly("must be readable"):
            self._execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # Else a scan starts where another one happens to be, and the rows come in another order each time.
            self._execute("SET LOCAL synchronize_seqscans = off")

    def batches(
        self,
        what: str | TableName,
        wanted: Sequence[str] | None,
        rows: int,  # noqa: ARG002 - batches are bounded in bytes here; the caller cuts them
    ) -> Iterator[pa.RecordBatch]:
        name, query = named_query(what)
        with self._plainly(f"must answer {name}"), self._connection.cursor() as cursor:
            schema = cursor.adbc_execute_schema(query)
            if not len(schema):
                raise SourceError(f"{self._where} must answer {name}", "no rows", "Ask by a SELECT.")
            names = select(schema.names, wanted, name)
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)})
            cursor.execute(self._statement(what, query, schema, names))
            with cursor.fetch_record_batch() as reader:
                schema = pa.schema([pa.field(n, _type(reader.schema.field(n))) for n in names])
                for field in schema:
                    check_type(field.name, field.type)
                for batch in reader:
                    yield pa.record_batch([_column(batch.column(f.name), f.type) for f in schema], schema=schema)
                yield pa.RecordBatch.from_pylist([], schema=schema)

    def _statement(self, what: str | TableName, query: str, schema: pa.Schema, names: Sequence[str]) -> str:
        """The query itself where it can be: what stands around one need not keep its order."""
        cast = {n for n in names if not _is_plain(schema.field(n))}
        if isinstance(what, str) and not cast:
            return query
        columns = ", ".join(f"{quoted(n)}::text AS {quoted(n)}" if n in cast else quoted(n) for n in names)
        if isinstance(what, str):
            return f"SELECT {columns} FROM (\n{query}) AS answer"
        self._execute("SET LOCAL max_parallel_workers_per_gather = 0")  # else in the order workers finish
        return f"SELECT {columns} FROM {what.quoted}"

    def create(self, table: TableName, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        for name in (table.name, table.schema or "", *schema.names):
            if (length := len(name.encode())) > _LONGEST_NAME:
                raise SourceError(
                    f"A name in PostgreSQL must have at most {_LONGEST_NAME} bytes", f"{length} bytes"
                )
        columns = ", ".join(f"{quoted(field.name)} {_type_name(field.type)}" for field in schema)
        with self._plainly(f"must take the table {table.name!r}", table):
            self._execute(f"CREATE TABLE {table.quoted} ({columns})")
        source = Fallible(schema, batches)
        plainly = self._plainly(f"must take the table {table.name!r}")
        with source.first(), plainly, self._connection.cursor() as cursor:
            cursor.adbc_ingest(table.name, source.reader, mode="append", db_schema_name=table.schema)

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _is_taken(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) in _TAKEN

    def _fault(self, error: Exception) -> str | None:
        from adbc_driver_manager import Error

        if not isinstance(error, Error | OSError | ValueError | pa.ArrowException):
            return None
        return _kind(str(getattr(error, "sqlstate", None) or ""), str(error))


def _kind(state: str, message: str) -> str:
    for length in (5, 3, 2):
        if state[:length] in _STATES:
            return f"{_STATES[state[:length]]} (SQLSTATE {state})"
    if state:
        return f"a failure with SQLSTATE {state}"
    if "failed to connect" not in message.lower():
        return "a failure while rows were moved"
    words = message.lower().partition("failed:")[2] or message.lower()  # before it stand host and user
    return next((meaning for word, meaning in _WORDS.items() if word in words), "no connection")


# ---------------------------------------------------------------- types


def _is_plain(field: pa.Field) -> bool:
    """Whether a column arrives with its meaning; lists do, and are refused like everywhere."""
    name = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    return name in _PLAIN or bool(pa.types.is_nested(field.type))


def _type(field: pa.Field) -> pa.DataType:
    """numeric arrives as text: with a declared precision it is a decimal, without one it stays as it is."""
    if not isinstance(field.type, pa.BaseExtensionType):
        return field.type
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    precision, scale = modifier >> 16 & 0xFFFF, modifier & 0x7FF  # as PostgreSQL packs numeric(precision, scale)
    if modifier < 0 or not 0 <= scale <= precision <= DIGITS:
        return pa.string()
    return pa.decimal128(precision, scale)


def _column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if not isinstance(column, pa.ExtensionArray):
        return column
    texts = column.storage
    missing = pc.equal(texts, "nan")  # not a number: missing, as it is among floats
    return pc.if_else(missing, pa.scalar(None, pa.string()), texts).cast(kind)


def _type_name(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _TYPES[kind]
