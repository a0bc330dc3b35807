"""Opening tables: CSV, Parquet and data frames become Arrow columns, read once and only where asked for.

Text columns arrive dictionary-encoded, so that a domain is looked up once per distinct value and not once per
row. No error of a reader is passed on as it is: their messages quote the rows they stumble over.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.schema import near

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Table:
    """Some columns of a table, in memory, in source order."""

    columns: Mapping[str, pa.ChunkedArray]
    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise SourceError("A table must have at least one record", "none")

    def column(self, name: str) -> pa.ChunkedArray:
        return self.columns[name]


@dataclass(frozen=True)
class Source:
    """A table that can be read: a file or a data frame, and how to read it."""

    path: Path | None = None
    frame: Any = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = field(default=("",))

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Source:
        """What the [source] section of a recipe says."""
        if "path" not in options:
            raise SourceError(
                "A recipe must say where its table is",
                "no path in [source]",
                'Write path = "people.csv", or pass a data frame to pramana.release.',
            )
        known = {key: options[key] for key in ("format", "delimiter", "encoding") if key in options}
        return cls(path=Path(options["path"]), missing=tuple(options.get("missing", ("",))), **known)

    @property
    def kind(self) -> str:
        if self.path is None:
            return "frame"
        if self.format is not None:
            if self.format not in ("csv", "parquet"):
                raise SourceError("The format of a source must be csv or parquet", repr(self.format))
            return self.format
        return "parquet" if self.path.suffix.lower() in (".parquet", ".pq") else "csv"

    def read(self, wanted: Sequence[str] | None = None) -> Table:
        """Read the wanted columns (all, if None); a missing one is an error that names a near miss."""
        _ = self.kind
        if self.path is None:
            return _from_frame(self.frame, wanted)
        if not self.path.exists():
            raise SourceError(f"The source {self.path} must exist", "no such file")
        try:
            if self.kind == "parquet":
                return _read_parquet(self.path, wanted)
            return _read_csv(self, self.path, wanted)
        except OSError as error:
            if isinstance(error, pa.ArrowException) or error.strerror is None:
                raise SourceError(
                    f"The source {self.path} must be a readable {self.kind} file", "damaged data"
                ) from None
            raise SourceError(f"The source {self.path} must be readable", error.strerror) from None
        except MemoryError:
            raise SourceError(f"The source {self.path} must fit in memory", "a larger one") from None

    def to_json(self) -> dict[str, Any]:
        """How to read the source again; not where it lies."""
        found: dict[str, Any] = {"format": self.kind, "missing": list(self.missing)}
        if self.kind == "csv":
            found |= {"delimiter": self.delimiter, "encoding": self.encoding}
        return found


def _select(present: Sequence[str], wanted: Sequence[str] | None, where: str) -> list[str]:
    if len(set(present)) != len(present):
        twice = sorted({name for name in present if list(present).count(name) > 1})
        raise SourceError(
            f"The columns of {where} must have distinct names", f"{', '.join(map(repr, twice))} twice"
        )
    for name in wanted or ():
        if name not in present:
            hint = near(name, present) or f"The table has: {', '.join(present)}."
            raise SourceError(f"{where} must have the column {name!r}", "no such column", hint)
    return list(present if wanted is None else wanted)


# ---------------------------------------------------------------- CSV


def _read_csv(source: Source, path: Path, wanted: Sequence[str] | None) -> Table:
    header, delimiter = _header(source, path)
    names = _select(header, wanted, str(path))
    ragged: list[int] = []

    def refuse(row: pacsv.InvalidRow) -> str:
        ragged.append(row.actual_columns)
        return "skip"

    try:
        table = pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(
                column_names=header, skip_rows_after_names=1, encoding=source.encoding, block_size=1 << 22
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                invalid_row_handler=refuse,
                ignore_empty_lines=len(header) > 1,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, _TEXT),
                include_columns=names,
                null_values=list(dict.fromkeys(("", *source.missing))),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, UnicodeError, LookupError):
        raise SourceError(
            f"The source {path} must be a CSV file in {source.encoding}",
            "bytes that are not",
            "Set encoding (for example latin-1) or delimiter in [source].",
        ) from None
    if ragged:
        raise SourceError(
            f"Every row of {path} must have {len(header)} fields like its header",
            f"{len(ragged)} that {'has' if len(ragged) == 1 else 'have'} not (the first has {ragged[0]})",
            "Check the delimiter and the quoting.",
        )
    return Table({name: table.column(name) for name in names}, table.num_rows)


def _header(source: Source, path: Path) -> tuple[list[str], str]:
    """The column names and the delimiter, which is the likeliest of the usual ones unless it is given."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.strip():
        raise SourceError(f"The source {path} must hold a table", "an empty file")
    if b"\0" in head and not source.encoding.lower().startswith(("utf-16", "utf-32")):
        raise SourceError(
            f"The source {path} must be a CSV file", "binary data", 'Set format = "parquet" if it is one.'
        )
    try:
        text = head.decode(source.encoding, "ignore").removeprefix("\ufeff")
    except LookupError:
        raise SourceError("The encoding of a source must be one Python knows", repr(source.encoding)) from None
    lines = text.splitlines()
    if not lines:
        raise SourceError(f"The source {path} must hold a table in {source.encoding}", "other bytes")
    delimiter = source.delimiter
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda d: (lines[0].count(d), -list(DELIMITERS).index(d)))
    elif len(delimiter) != 1 or ord(delimiter) > 127:
        raise SourceError("A delimiter must be a single plain character", repr(delimiter))
    try:
        names = next(csv.reader(io.StringIO(text), delimiter=delimiter))
    except (csv.Error, StopIteration, TypeError, ValueError):
        raise SourceError(
            f"The first line of {path} must name the columns", "a line that cannot be parsed"
        ) from None
    return [name.strip() for name in names], delimiter


# ---------------------------------------------------------------- Parquet


def _read_parquet(path: Path, wanted: Sequence[str] | None) -> Table:
    try:
        schema = pq.read_schema(path) if path.is_file() else pq.ParquetDataset(path).schema
        names = _select(schema.names, wanted, str(path))
        text = [name for name in names if pa.types.is_string(schema.field(name).type)]
        table = pq.read_table(path, columns=names, read_dictionary=text, schema=None)
    except (pa.ArrowException, ValueError):
        raise SourceError(f"The source {path} must be a Parquet file", "something else or damaged data") from None
    return _checked(table, names)


def _from_frame(frame: Any, wanted: Sequence[str] | None) -> Table:
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise SourceError(
            "A table must be a path or a data frame (pandas, polars, pyarrow)", type(frame).__name__
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    names = _select(native.columns, wanted, "the data frame")
    return _checked(native.select(names).to_arrow(), names)


def _checked(table: pa.Table, names: list[str]) -> Table:
    for name in names:
        kind = table.schema.field(name).type
        if pa.types.is_nested(kind):
            raise SourceError(f"The column {name!r} must hold single values", "nested ones")
    return Table({name: table.column(name) for name in names}, table.num_rows)
