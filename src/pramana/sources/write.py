"""Writing published tables so that the file tells nothing that the published values do not.

Parquet: the dictionary page of a randomised column is its whole public domain in public order; no statistics,
no foreign metadata, fixed row groups. Raw columns are written as plain values, so that no dictionary of the
source, whose order is that of the source's rows, comes along.
"""

from __future__ import annotations

import hashlib
import io
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.sources.columns import plain_type
from pramana.sources.parquet.group_encoder import GroupEncoder
from pramana.sources.parquet.row_groups import MAGIC, Encoded, JoinedFooter

if TYPE_CHECKING:
    from pramana.sources.lines import CellTexts

ROW_GROUP = 1 << 17
LINES = 1 << 14  # of CSV that are made at once: a megabyte or so is digested and written while the cache holds it
FILE_NAMES = {"parquet": "data.parquet", "csv": "data.csv"}


def raw_column(column: pa.ChunkedArray, order: pa.Array | None) -> pa.ChunkedArray:
    """A column that passes unchanged, in published order and free of the source's dictionary."""
    plain = column.cast(plain_type(column.type))
    try:
        plain.validate(full=True)
    except pa.ArrowException:
        raise SourceError("A text that is released unchanged must be text", "bytes that are not UTF-8") from None
    return plain if order is None else plain.take(order)


def write_table(
    table: pa.Table,
    path: Path | BinaryIO,
    format: str,  # noqa: A002 - the recipe's word
    escape_formulas: bool = False,
) -> None:
    """Write the file. `escape_formulas` puts an apostrophe before texts of CSV that a spreadsheet would run."""
    import pyarrow.csv as pacsv

    clean = table.replace_schema_metadata(None)
    try:
        if format == "csv":
            from pramana.sources.formulas import escaped

            shown = _as_text(escaped(clean) if escape_formulas else clean)
            pacsv.write_csv(shown, path, pacsv.WriteOptions(quoting_style="needed"))
        else:
            pq.write_table(clean, path, row_group_size=ROW_GROUP, **_PARQUET)
    except pa.ArrowException:
        _refuse(format)


def _refuse(format: str) -> NoReturn:  # noqa: A002
    raise SourceError(
        f"Every value must be one that {format} can hold", "others", "Choose the other format in [output]."
    ) from None


_PARQUET: dict[str, Any] = {
    "compression": "none",  # coin flips do not compress; snappy and zstd only cost time here
    "write_statistics": False,
    "write_page_index": False,
    "store_schema": True,
    "version": "2.6",
}


class TableWriter:
    """Writes a table that comes in pieces of any size; the file is the one `write_table` writes of the whole.

    Pieces of a fixed number of rows are encoded on so many threads at a time, and written in their order.
    """

    def __init__(
        self,
        path: Path | BinaryIO,
        format: str,  # noqa: A002
        schema: pa.Schema,
        escape_formulas: bool = False,
        workers: int = 1,
    ) -> None:
        self.format, self.escape_formulas = format, escape_formulas
        self.schema = schema if format == "parquet" else _text_schema(schema)
        self.waiting: list[pa.Table] = []
        self.rows = 0
        self._at_once = ROW_GROUP if format == "parquet" else LINES
        self._workers = workers
        self._owned = isinstance(path, Path)
        self._file = path.open("wb") if isinstance(path, Path) else path
        self._pool = ThreadPoolExecutor(workers)
        self._under_way: deque[Future[Encoded | memoryview]] = deque()
        self._cells: dict[str, CellTexts] = {}
        self._position = 0
        self._sha256 = hashlib.sha256()
        self._digester = ThreadPoolExecutor(1)
        self._digesting: Future[None] | None = None
        if format == "csv":
            self._submit(pa.Table.from_batches([], schema), header=True)  # `empty_table` loads pandas
        else:
            self._put(MAGIC)
            self._groups = GroupEncoder(schema, _PARQUET)
            self._footer = JoinedFooter(self._groups.empty_footer())

    def write(self, piece: pa.Table) -> None:
        """Row groups have a fixed size, whatever the pieces: their bounds tell nothing of how a file was made."""
        self.waiting.append(piece)
        self.rows += piece.num_rows
        if self.rows >= self._at_once:
            self._encode(self.rows - self.rows % self._at_once)

    def _encode(self, rows: int) -> None:
        """The first of the waiting rows, so many at once; the others wait on."""
        joined = pa.concat_tables(self.waiting)
        for first in range(0, rows, self._at_once):
            self._submit(joined.slice(first, min(self._at_once, rows - first)))
        self.rows -= rows
        self.waiting = [joined.slice(rows)] if self.rows else []

    def _submit(self, table: pa.Table, header: bool = False) -> None:
        if self.format == "csv":
            self._under_way.append(self._pool.submit(self._encoded_csv, table, header))
        elif self._groups.has_first:
            self._under_way.append(self._pool.submit(self._groups.encoded, _single(table)))
        else:
            self._under_way.append(self._pool.submit(self._groups.first, _single(table)))
            wait(self._under_way)
        while len(self._under_way) > self._workers:
            self._take()

    def _encoded_csv(self, table: pa.Table, header: bool) -> memoryview:
        import pyarrow.csv as pacsv

        from pramana.sources.formulas import escaped
        from pramana.sources.lines import lines_of

        shown = escaped(table) if self.escape_formulas else table
        if not header and (lines := lines_of(_single(shown), self._cells)) is not None:
            return lines
        sink, shown = pa.BufferOutputStream(), _as_text(shown)
        pacsv.write_csv(shown, sink, pacsv.WriteOptions(quoting_style="needed", include_header=header))
        return memoryview(sink.getvalue())

    def _take(self) -> None:
        """The oldest of what is under way goes into the file."""
        try:
            encoded = self._under_way.popleft().result()
        except pa.ArrowException:
            _refuse(self.format)
        if isinstance(encoded, Encoded):
            self._footer.add(encoded.told, self._position)
            self._put(encoded.data)
        else:
            self._put(encoded)

    def _put(self, data: bytes | memoryview) -> None:
        """What is written is digested meanwhile."""
        if self._digesting is not None:
            self._digesting.result()
        self._digesting = self._digester.submit(self._sha256.update, data)
        self._file.write(data)
        self._position += len(data)

    @property
    def entry(self) -> dict[str, object]:
        """Of the whole file, once it is closed: its digest and its length."""
        return {"sha256": self._sha256.hexdigest(), "bytes": self._position}

    def close(self) -> None:
        """The file is whole afterwards."""
        with self:
            pass

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                if self.rows:
                    self._encode(self.rows)
                while self._under_way:
                    self._take()
                if self.format == "parquet":
                    self._put(self._footer.end())
        finally:
            self._pool.shutdown(cancel_futures=True)
            self._digester.shutdown()
            if self._owned:
                self._file.close()


def _single(table: pa.Table) -> pa.Table:
    """Every column in one piece: the pages of a group are then cut as they would be in a table made at once."""
    return table.combine_chunks()


def _text_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, plain_type(f.type)) for f in schema])


class _Digest(io.RawIOBase):
    """A file that keeps nothing of what is written to it but its digest."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)


def digest_of_written(write: Callable[[BinaryIO], object]) -> str:
    """SHA-256 of the file that `write` would write; nothing touches the disk."""
    sink = _Digest()
    write(cast(BinaryIO, sink))
    return sink.sha256.hexdigest()


def _as_text(table: pa.Table) -> pa.Table:
    return pa.table([column.cast(plain_type(column.type)) for column in table.columns], names=table.column_names)
