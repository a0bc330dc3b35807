"""Tables that Spark knows by name, or by a format of its own: read by Spark's reader, as a data frame.

What Delta, Iceberg and the like need, the session must have; nothing of them is in this package.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from pramana.errors import EngineError, InputError, SourceError
from pramana.rows.spark.session import session
from pramana.sources import Source

_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "CATALOG_NOT_FOUND")


@contextlib.contextmanager
def catalogue_frame(master: str | None, options: Mapping[str, str], source: Source) -> Iterator[Any]:
    """The table as a data frame of the session that is in use; nothing of it is read yet."""
    with session(master, dict(options)) as spark:
        reader = spark.read.options(**source.options)
        try:
            if source.format is None:
                frame = reader.table(source.table)
            else:
                frame = reader.format(source.format).load(source.table)
            names = frame.schema.names
        except Exception as error:  # whatever the JVM says is long, and may hold paths and options
            raise _told(source, error) from None
        if not names:
            raise SourceError(f"The table {source.table!r} must have columns", "none")
        yield frame


def _told(source: Source, error: Exception) -> InputError:
    words = str(error)
    if any(condition in words for condition in _NO_TABLE):
        return SourceError(f"Spark must know the table {source.table!r}", "none of that name")
    if any(condition in words for condition in ("DATA_SOURCE_NOT_FOUND", "ClassNotFoundException")):
        return EngineError(
            f"Spark must have what reads {source.format or 'this table'!r}",
            "a session without it",
            "Start the session with the package of that format (spark.jars.packages), and use it.",
        )
    return SourceError(f"Spark must be able to read the table {source.table!r}", type(error).__name__)
