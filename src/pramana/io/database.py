"""Databases by URL: rows are read as a stream of Arrow batches, and a new table is written in one transaction.

Connection strings hold passwords and hosts, queries hold values, and drivers quote all of them and rows besides:
no message of a driver is passed on, only the kind of failure it stands for.
"""

from __future__ import annotations

import contextlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pramana.errors import PramanaError, SourceError
from pramana.io.columns import is_bytes
from pramana.schema.connection import connection_string

DIGITS = 38  # of a decimal that Arrow and databases hold in 128 bits
ROWS = 1 << 16  # of a batch, at most
_CLASS_OF = {  # scheme -> module of this room and class in it
    "postgresql": ("postgresql", "PostgreSQL"),
    "postgres": ("postgresql", "PostgreSQL"),
    "sqlite": ("sqlite", "SQLite"),
    "duckdb": ("duckdb_file", "DuckDB"),
}
CAN_READ = "postgresql://host/database, sqlite:///file and duckdb:///file can be opened."


@dataclass(frozen=True)
class TableName:
    """A table by its exact name, in a schema or where the connection looks first."""

    name: str
    schema: str | None = None

    def __post_init__(self) -> None:
        for part in (self.name, self.schema):
            if part is not None and (not part.strip() or "\0" in part):
                raise SourceError("The name of a table must be text", "a blank name or a zero byte")

    @property
    def quoted(self) -> str:
        return ".".join(quoted(part) for part in (self.schema, self.name) if part is not None)


def quoted(name: str) -> str:
    """A name as SQL's delimited identifier: taken as it is, letter case and all."""
    return '"' + name.replace('"', '""') + '"'


class Database(ABC):
    """A connection. What was created and not committed when it is closed was never there."""

    def __init__(self, url: str, section: str, writing: bool) -> None:
        self._where = f"The database of [{section}]"
        self._connection = self._connected(url, section, writing)
        try:
            self._begin(writing)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _connected(self, url: str, section: str, writing: bool) -> Any:
        """The driver's connection."""

    @abstractmethod
    def _begin(self, writing: bool) -> None:
        """Begin the one transaction of the connection."""

    @abstractmethod
    def batches(self, what: str | TableName, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows in batches, the last of which is empty: there is a schema also where there are no rows."""

    @abstractmethod
    def create(self, table: TableName, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        """A new table with these rows, seen by nobody before `commit`; one that exists is an error."""

    @abstractmethod
    def _fault(self, error: Exception) -> str | None:
        """What an error of the driver means, in words that quote nothing of it; None for any other error."""

    def _is_taken(self, error: Exception) -> bool:
        """Whether the name of a new table is in use."""
        raise NotImplementedError

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement)

    def commit(self) -> None:
        with self._plainly("must commit the new table"):
            self._connection.commit()

    def drop(self, table: TableName) -> None:
        with self._plainly("must drop the table again"):
            self._execute(f"DROP TABLE {table.quoted}")
            self._connection.commit()

    def close(self) -> None:
        with contextlib.suppress(Exception):  # what is open ends with the connection
            self._connection.close()

    @contextlib.contextmanager
    def _plainly(self, must: str, table: TableName | None = None) -> Iterator[None]:
        """Whatever the driver says, in words that quote nothing of it."""
        try:
            yield
        except PramanaError:
            raise
        except Exception as error:
            if (got := self._fault(error)) is None:
                raise
            if table is not None and self._is_taken(error):
                raise SourceError(
                    f"The table {table.name!r} already exists", hint="Choose another name, or drop it."
                ) from None
            raise SourceError(f"{self._where} {must}", got) from None


def open_database(url: str, section: str = "source", writing: bool = False) -> Database:
    """Connect. `section` is the part of a recipe that messages speak of."""
    text = connection_string(url, f"[{section}]", SourceError, CAN_READ)
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in _CLASS_OF:
        raise SourceError(f"The URL of [{section}] must be one of a known database", "no such scheme", CAN_READ)
    module, name = _CLASS_OF[scheme]
    opened: Database = vars(importlib.import_module(f"pramana.io.{module}"))[name](text, section, writing)
    return opened


def batches(
    url: str,
    wanted: Sequence[str] | None = None,
    *,
    query: str | None = None,
    table: str | None = None,
    schema: str | None = None,
    rows: int = ROWS,
) -> Generator[pa.RecordBatch, None, None]:
    """The wanted columns (all, if None) of a query's or a table's rows, at most `rows` at a time.

    All batches have one schema, and there is at least one batch, which is empty where there are no rows.
    """
    if (query is None) == (table is None):
        raise SourceError(
            "A database must be asked by a query or for a table", "both" if query is not None else "neither"
        )
    # Drivers set a query in brackets; a comment at its end must not swallow the closing one.
    what = f"{query.strip().rstrip(';')}\n" if query is not None else TableName(table or "", schema)
    with contextlib.closing(open_database(url)) as database:
        any_rows = False
        for batch in database.batches(what, wanted, rows):
            for start in range(0, batch.num_rows, rows):
                any_rows = True
                yield batch.slice(start, rows)
        if not any_rows:
            yield batch


def named_query(what: str | TableName) -> tuple[str, str]:
    """What messages call the rows that were asked for, and the query for them."""
    if isinstance(what, str):
        return "the query", what
    return f"the table {what.name!r}", f"SELECT * FROM {what.quoted}"


# ---------------------------------------------------------------- types that every database can store


_STORED_AS = (
    (pa.types.is_float64, pa.float64()), (pa.types.is_floating, pa.float32()), (is_bytes, pa.binary()),
    (pa.types.is_boolean, pa.bool_()), (pa.types.is_date, pa.date32()), (pa.types.is_time, pa.time64("us")),
)  # fmt: skip


def storable(schema: pa.Schema) -> pa.Schema:
    """The schema under which published columns are stored; what no table can hold is an error."""
    return pa.schema([pa.field(field.name, _storable(field.name, field.type)) for field in schema])


def _storable(name: str, kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return _storable(name, kind.value_type)
    if types.is_nested(kind):
        raise SourceError(
            f"The column {name!r} must hold single values to be written to a table",
            "nested ones",
            'Write format = "csv" in [output], or cells of another kind.',
        )
    if types.is_integer(kind):
        return _whole(kind)
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    if types.is_decimal(kind) and kind.precision <= DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return next((stored_as for is_kind, stored_as in _STORED_AS if is_kind(kind)), pa.string())


def _whole(kind: pa.DataType) -> pa.DataType:
    """The databases have signed numbers only; 64 bits without a sign need one digit more than they have."""
    if pa.types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(kind.bit_width, pa.decimal128(20, 0))
    return pa.int16() if kind.bit_width == 8 else kind


def stored(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches under a schema that `storable` made."""
    for batch in batches:
        try:
            yield pa.record_batch(
                [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)],
                schema=schema,
            )
        except (pa.ArrowException, ValueError):
            got = "values that do not fit their columns"
            raise SourceError("Every published value must be one that a table can hold", got) from None


class Fallible:
    """Batches that remember why they ended: drivers pull them through C, where an exception loses its kind."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.fault: BaseException | None = None
        self.reader = pa.RecordBatchReader.from_batches(schema, self._remembering())

    def _remembering(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except BaseException as fault:
            self.fault = fault
            raise

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """What went wrong here goes before what a driver makes of it."""
        try:
            yield
        except Exception:
            if self.fault is not None:
                raise self.fault from None
            raise
