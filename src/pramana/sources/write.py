"""Writing published tables so that the file tells nothing that the published values do not.

Parquet: the dictionary page of a randomised column is its whole public domain in public order; no statistics,
no foreign metadata, fixed row groups. Raw columns are written as plain values, so that no dictionary of the
source, whose order is that of the source's rows, comes along.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.sources.table import Table

ROW_GROUP = 1 << 20
FILE_NAMES = {"parquet": "data.parquet", "csv": "data.csv"}


def raw_column(column: pa.ChunkedArray, order: pa.Array | None) -> pa.ChunkedArray:
    """A column that passes unchanged, in published order and free of the source's dictionary."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    try:
        plain.validate(full=True)
    except pa.ArrowException:
        raise SourceError("A text that is released unchanged must be text", "bytes that are not UTF-8") from None
    return plain if order is None else plain.take(order)


def write_table(table: pa.Table, path: Path | BinaryIO, format: str) -> None:  # noqa: A002 - the recipe's word
    try:
        _write(table.replace_schema_metadata(None), path, format)
    except pa.ArrowException:
        raise SourceError(
            f"Every value must be one that {format} can hold", "others", "Choose the other format in [output]."
        ) from None


def _write(clean: pa.Table, path: Path | BinaryIO, format: str) -> None:  # noqa: A002
    if format == "csv":
        pacsv.write_csv(_as_text(clean), path, pacsv.WriteOptions(quoting_style="needed"))
        return
    pq.write_table(
        clean,
        path,
        row_group_size=ROW_GROUP,
        compression="none",  # coin flips do not compress; snappy and zstd only cost time here
        write_statistics=False,
        write_page_index=False,
        store_schema=True,
        version="2.6",
    )


class _Digest(io.RawIOBase):
    """A file that keeps nothing of what is written to it but its digest."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)


def digest_of_written(table: pa.Table, format: str) -> str:  # noqa: A002
    """SHA-256 of the file that `write_table` would write; nothing touches the disk."""
    sink = _Digest()
    write_table(table, cast(BinaryIO, sink), format)
    return sink.sha256.hexdigest()


def _as_text(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def read_published(path: Path, format: str, columns: list[str] | None = None) -> Table:  # noqa: A002
    """Read a bundle's data back."""
    from pramana.sources.table import Source

    return Source(path=path, format=format).read(columns)
