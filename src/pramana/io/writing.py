"""Writing published tables so that the file tells nothing that the published values do not.

Parquet: the dictionary page of a randomised column is its whole public domain in public order; no statistics,
no foreign metadata, fixed row groups. Raw columns are written as plain values, so that no dictionary of the
source, whose order is that of the source's rows, comes along.

CSV: texts that a spreadsheet would run when it opens the file can be kept from it. OWASP, "CSV Injection", and its
ASVS 5, 1.2.10: a cell that begins with one of = + - @, a tab, a line's end or a zero byte may be taken for a
formula; an apostrophe before it makes it text. Some programs fold full-width signs. A text that is a number and
nothing else, as -5 is, runs nothing and stays as it is.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.files.atomic import DigestedFile
from pramana.io.columns import compute as pc
from pramana.io.columns import is_text, plain_type
from pramana.io.columns import texts as text_array
from pramana.io.parquet import ROW_GROUP

_LINES = 1 << 14  # of CSV that are made at once: a megabyte or so is digested and written while the cache holds it
_PARQUET: dict[str, Any] = {
    "compression": "none",  # coin flips do not compress; snappy and zstd only cost time here
    "write_statistics": False,
    "write_page_index": False,
    "store_schema": True,
    "version": "2.6",
}


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
    with TableWriter(path, format, table.schema, escape_formulas) as writer:
        writer.write(table)


class TableWriter:
    """Writes a table that comes in pieces of any size; where the pieces end does not change the file.

    Lines of CSV are made on so many threads at a time (`workers`), and written in their order.
    """

    def __init__(
        self,
        path: Path | BinaryIO,
        format: str,  # noqa: A002
        schema: pa.Schema,
        escape_formulas: bool = False,
        workers: int = 1,
    ) -> None:
        self._format, self._schema = format, schema.remove_metadata()
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._owned = path.open("wb") if isinstance(path, Path) else None
        self._file = DigestedFile(path if self._owned is None else self._owned)
        self._encoder: _CsvLines | _RowGroups
        if format == "csv":
            self._encoder = _CsvLines(self._file, self._schema, escape_formulas, workers)
        else:
            self._encoder = _RowGroups(self._file, self._schema)

    def write(self, piece: pa.Table) -> None:
        """Row groups have a fixed size, whatever the pieces: their bounds tell nothing of how a file was made."""
        self._waiting.append(piece.replace_schema_metadata(None))
        self._rows += piece.num_rows
        if self._rows >= self._encoder.at_once:
            self._encode(self._rows - self._rows % self._encoder.at_once)

    def _encode(self, rows: int) -> None:
        """The first of the waiting rows; the others wait on."""
        joined, at_once = pa.concat_tables(self._waiting), self._encoder.at_once
        with self._refusing():
            for first in range(0, rows, at_once):
                self._encoder.add(joined.slice(first, min(at_once, rows - first)))
        self._rows -= rows
        self._waiting = [joined.slice(rows)] if self._rows else []

    @contextlib.contextmanager
    def _refusing(self) -> Any:
        try:
            yield
        except pa.ArrowException:
            raise SourceError(
                f"Every value must be one that {self._format} can hold",
                "a value of a type that it has not",
                "Choose the other format in [output].",
            ) from None

    @property
    def entry(self) -> dict[str, object]:
        """Of the whole file, once it is closed: its digest and its length."""
        return {"sha256": self._file.sha256.hexdigest(), "bytes": self._file.length}

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                if self._rows:
                    self._encode(self._rows)
                with self._refusing():
                    self._encoder.finish()
        finally:
            self._encoder.abandon()
            if self._owned is not None:
                self._owned.close()


class _RowGroups:
    """The row groups of a Parquet file."""

    at_once = ROW_GROUP

    def __init__(self, file: DigestedFile, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(file, schema, **_PARQUET)

    def add(self, rows: pa.Table) -> None:
        """Every column in one piece: its pages are then cut as they would be in a table made at once."""
        self._writer.write_table(rows.combine_chunks(), row_group_size=ROW_GROUP)

    def finish(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        with contextlib.suppress(Exception):  # what failed before is raised already
            self._writer.close()


class _CsvLines:
    """The lines of a CSV file."""

    at_once = _LINES

    def __init__(self, file: DigestedFile, schema: pa.Schema, escape: bool, workers: int) -> None:
        self._file, self._escape, self._workers = file, escape, workers
        self._pool = ThreadPoolExecutor(workers)
        self._under_way: deque[Future[pa.Buffer]] = deque()
        self._submit(pa.Table.from_batches([], schema), header=True)  # `empty_table` loads pandas

    def add(self, rows: pa.Table) -> None:
        self._submit(rows, header=False)

    def _submit(self, rows: pa.Table, header: bool) -> None:
        self._under_way.append(self._pool.submit(self._lines, rows, header))
        while len(self._under_way) > self._workers:
            self._file.write(self._under_way.popleft().result())

    def _lines(self, rows: pa.Table, header: bool) -> pa.Buffer:
        import pyarrow.csv as pacsv

        shown = escaped(rows) if self._escape else rows
        sink = pa.BufferOutputStream()
        pacsv.write_csv(_as_text(shown), sink, pacsv.WriteOptions(quoting_style="needed", include_header=header))
        return sink.getvalue()

    def finish(self) -> None:
        while self._under_way:
            self._file.write(self._under_way.popleft().result())

    def abandon(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class WrittenTable:
    """One file of data: its entry in a certificate, its rows, and columns with texts that a spreadsheet runs."""

    entry: dict[str, object]
    rows: int
    formulas: tuple[str, ...]


def write_tables(
    tables: Iterable[pa.Table], sink: Path | BinaryIO, form: str, escape: bool, threads: int
) -> WrittenTable:
    """Write tables of the same columns, one after the other, into one file."""
    writer: TableWriter | None = None
    rows, formulas = 0, dict[str, None]()
    with contextlib.ExitStack() as written:
        for table in tables:
            if writer is None:
                writer = written.enter_context(TableWriter(sink, form, table.schema, escape, threads))
            writer.write(table)
            rows += table.num_rows
            if form == "csv" and not escape:
                formulas |= dict.fromkeys(formula_columns(table))
    return WrittenTable({} if writer is None else writer.entry, rows, tuple(formulas))


def digest_of_written(write: Callable[[BinaryIO], object]) -> str:
    """SHA-256 of the file that `write` would write; nothing touches the disk."""
    sink = DigestedFile()
    write(cast(BinaryIO, sink))
    return sink.sha256.hexdigest()


def _as_text(table: pa.Table) -> pa.Table:
    return pa.table([column.cast(plain_type(column.type)) for column in table.columns], names=table.column_names)


# ---------------------------------------------------------------- formulas

_SIGNS = r"[=+\-@\t\r\n\x00＝＋－＠]"
_RUNS = rf"^{_SIGNS}"
_ESCAPABLE = rf"^'*{_SIGNS}"  # with apostrophes before: what was escaped can be told from what had one
_ESCAPED = rf"^'+{_SIGNS}"
_NUMBER = r"^[+-](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def formula_columns(table: pa.Table) -> tuple[str, ...]:
    """The columns with a text, or with a name, that a spreadsheet may take for a formula.

    Of a dictionary every entry counts, whether a row has it or not: a published column's is its public domain,
    and what is said of that tells nothing of the rows.
    """
    return tuple(
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if _any_formula(text_array([name])) or any(_any_formula(texts) for texts in _texts_of(column))
    )


def _texts_of(column: pa.ChunkedArray) -> list[pa.Array]:
    if not is_text(plain_type(column.type)):
        return []
    if not pa.types.is_dictionary(column.type):
        return list(column.chunks)
    distinct: list[pa.Array] = []
    for chunk in column.chunks:
        if not distinct or not chunk.dictionary.equals(distinct[-1]):  # published pieces share one
            distinct.append(chunk.dictionary)
    return distinct


def _any_formula(texts: pa.Array) -> bool:
    runs = pc.match_substring_regex(texts, _RUNS)
    if not pc.any(runs).as_py():
        return False
    return bool(pc.any(pc.invert(pc.match_substring_regex(texts.filter(runs), _NUMBER))).as_py())


def escaped(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text that would be run; a name that would is refused."""
    for name in table.column_names:
        if _any_formula(text_array([name])):
            raise SourceError(
                "The name of a column in a CSV file must be none that a spreadsheet takes for a formula",
                repr(name),
            )
    return pa.table([_escaped_column(c) for c in table.columns], names=table.column_names)


def _escaped_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not is_text(plain_type(column.type)):
        return column
    if not pa.types.is_dictionary(column.type):
        return _escaped_texts(column)
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, _escaped_texts(chunk.dictionary)) for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, column.type)


def _escaped_texts(texts: pa.Array) -> pa.Array:
    number = pc.match_substring_regex(texts, _NUMBER)
    runs = pc.and_not(pc.match_substring_regex(texts, _ESCAPABLE), number)
    before = text_array(["'", ""]).cast(texts.type)
    return pc.if_else(runs, pc.binary_join_element_wise(before[0], texts, before[1]), texts)


def unescaped(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """What `escaped` was given: one apostrophe less where it added one."""
    return pc.if_else(pc.match_substring_regex(texts, _ESCAPED), pc.utf8_slice_codeunits(texts, 1), texts)
