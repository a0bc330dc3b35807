"""Opening tables: CSV, Parquet and data frames become Arrow columns, read once and only where asked for.

Text columns arrive dictionary-encoded, so that a domain is looked up once per distinct value and not once per
row. No error of a reader is passed on as it is: their messages quote the rows they stumble over.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.schema import near

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
_HEAD = 1 << 16  # bytes in which the header must end
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
            return _read_database(self, wanted)
        if self.path is None:
            return from_frame(self.frame, wanted)
        with self.faults():
            check_kind(self.path, self.kind)
            if self.kind == "parquet":
                return _read_parquet(self.path, wanted)
            return _read_csv(self, self.path, wanted)

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


def check_kind(path: Path, kind: str) -> None:
    """A pipe or a device can be read once, or for ever: a table is read from a file or a folder of files."""
    try:
        str(path).encode()  # Arrow takes names in UTF-8 only
        mode = path.stat().st_mode
    except (FileNotFoundError, ValueError):
        if re.match(r"[a-z][a-z0-9+]*:", str(path)):  # it may hold a password, which must not be shown
            raise SourceError("A source must be a file", "a URL", "Databases are named in a recipe.") from None
        raise SourceError(f"The source {path} must exist", "no such file") from None
    if stat.S_ISDIR(mode):
        if not files_of(path, kind):
            raise SourceError(f"The folder {path} must hold {kind} files", "none")
    elif not stat.S_ISREG(mode):
        raise SourceError(f"The source {path} must be a file", "a device")


def files_of(path: Path, kind: str) -> list[Path]:
    """The files of a source in the order of their names; of a folder those of its kind, hidden ones left out.

    Folders of Parquet may have folders inside, as engines write them.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - false, and no error, for what can be no name
        return [path]
    names = [suffix for suffix, of in SUFFIXES.items() if of == kind]
    inside = path.rglob("*") if kind == "parquet" else path.glob("*")
    found = (p for p in inside if p.suffix.lower() in names and p.is_file())
    return sorted(p for p in found if not any(part[0] in "._" for part in p.relative_to(path).parts))


def select(present: Sequence[str], wanted: Sequence[str] | None, where: str) -> list[str]:
    """A file without a header has a record in its place: names that were not asked for stay unsaid."""
    place: dict[str, int] = {}
    for number, name in enumerate(present, 1):
        if (first := place.setdefault(name, number)) != number:
            raise SourceError(
                f"The columns of {where} must have distinct names", f"one name for columns {first} and {number}"
            )
    for name in wanted or ():
        if name not in place:
            hint = near(name, present) or f"Its header must name its columns, {len(present)} in all."
            raise SourceError(f"{where} must have the column {name!r}", "no such column", hint)
    return list(present if wanted is None else wanted)


def _read_database(source: Source, wanted: Sequence[str] | None) -> Table:
    from pramana.sources.database import batches

    found = batches(source.url or "", wanted, query=source.query, table=source.table, schema=source.schema)
    table = pa.Table.from_batches(found)
    return checked(table, table.column_names)


# ---------------------------------------------------------------- CSV


@dataclass(frozen=True)
class CsvReading:
    """How one CSV file is to be read: its header looked at, nothing of its rows."""

    path: Path
    names: list[str]
    options: dict[str, Any]

    @classmethod
    def of_files(cls, source: Source, path: Path, wanted: Sequence[str] | None) -> list[CsvReading]:
        """A file, or those of a folder that have records; each must have the columns of the first."""
        found = []
        for file in files_of(path, "csv"):
            reading, records = cls._of(source, file, wanted)
            wanted = reading.names
            if records:
                found.append(reading)
        if not found:
            raise SourceError(f"The source {path} must have at least one record", "none")
        return found

    @classmethod
    def _of(cls, source: Source, path: Path, wanted: Sequence[str] | None) -> tuple[CsvReading, bool]:
        """How to read it, and whether there is anything after its header."""
        header, delimiter, records = _header(source, path)
        names = select(header, wanted, str(path))
        options = {
            "read_options": pacsv.ReadOptions(
                column_names=header, skip_rows_after_names=1, encoding=source.encoding, block_size=1 << 22
            ),
            "parse_options": pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
            ),
            "convert_options": pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, _TEXT),
                include_columns=names,
                null_values=list(dict.fromkeys(("", *source.missing))),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        }
        return cls(path, names, options), records

    @contextlib.contextmanager
    def faults(self, source: Source) -> Iterator[None]:
        """Of the reader's message only two numbers are used; the row that it quotes is left where it is.

        (A handler of invalid rows could count them, but where a row is no text either it is not called, and the
        row lost.)
        """
        try:
            yield
        except (pa.ArrowException, UnicodeError, LookupError) as error:
            ragged = re.match(r"CSV parse error: (?:Row #\d+: )?Expected \d+ columns, got (\d+)", str(error))
            if ragged is not None:
                fields = len(self.options["read_options"].column_names)
                found = self._first_of_other_length(fields)
                raise SourceError(
                    f"Every row of {self.path} must have {fields} fields like its header",
                    f"one of {ragged[1]}" if found is None else f"{found[1]} in line {found[0]}",
                    "Check the delimiter and the quoting.",
                ) from None
            raise SourceError(
                f"The source {self.path} must be a CSV file in {source.encoding}",
                "bytes that are not",
                "Set encoding (for example latin-1) or delimiter in [source], and check the quoting.",
            ) from None

    def _first_of_other_length(self, fields: int) -> tuple[int, int] | None:
        """The line in which the first row with another number of fields starts, and that number."""
        encoding, delimiter = self.options["read_options"].encoding, self.options["parse_options"].delimiter
        try:
            with self.path.open(encoding=encoding, errors="replace", newline="") as file:
                rows, line = csv.reader(file, delimiter=delimiter), 1
                for row in rows:
                    if len(row) != fields and (row or fields == 1):
                        return line, len(row)
                    line = rows.line_num + 1
        except (csv.Error, OSError, ValueError):
            pass
        return None


def _read_csv(source: Source, path: Path, wanted: Sequence[str] | None) -> Table:
    tables = []
    for reading in CsvReading.of_files(source, path, wanted):
        with reading.faults(source):
            tables.append(pacsv.read_csv(reading.path, **reading.options).select(reading.names))
    table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    return Table({name: table.column(name) for name in table.column_names}, table.num_rows)


def _header(source: Source, path: Path) -> tuple[list[str], str, bool]:
    """The column names; the delimiter, the likeliest of the usual ones unless given; whether there is more."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise SourceError(f"The source {path} must hold a table", "an empty file")
    if b"\0" in head and not source.encoding.lower().startswith(("utf-16", "utf-32")):
        raise SourceError(
            f"The source {path} must be a CSV file", "binary data", 'Set format = "parquet" if it is one.'
        )
    try:
        text = head.decode(source.encoding, "ignore").removeprefix("\ufeff")
    except (LookupError, ValueError):
        raise SourceError("The encoding of a source must be one Python knows", repr(source.encoding)) from None
    delimiter = source.delimiter
    if delimiter is None:
        first = text.replace("\r", "\n").partition("\n")[0]
        delimiter = max(DELIMITERS, key=lambda d: (first.count(d), -list(DELIMITERS).index(d)))
    elif delimiter != "\t" and (len(delimiter) != 1 or not " " <= delimiter <= "~" or delimiter == '"'):
        raise SourceError("A delimiter must be a single plain character other than a quote", repr(delimiter))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [name.strip() for name in next(rows)]
        alone = len(head) < _HEAD and next(rows, None) is None
    except (csv.Error, StopIteration):
        raise SourceError(
            f"The first line of {path} must name the columns", "a line that cannot be parsed"
        ) from None
    if not any(names):
        raise SourceError(f"The first line of {path} must name the columns", "an empty line")
    return names, delimiter, not alone


# ---------------------------------------------------------------- Parquet


@contextlib.contextmanager
def parquet_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError):
        raise SourceError(f"The source {path} must be a Parquet file", "something else or damaged data") from None


def parquet_columns(path: Path, schema: pa.Schema, wanted: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The columns to read, and those of them whose texts are read as a dictionary."""
    names = select(schema.names, wanted, str(path))
    return names, [name for name in names if pa.types.is_string(schema.field(name).type)]


def parquet_folder(path: Path, wanted: Sequence[str] | None) -> tuple[Any, list[str]]:
    """A folder of Parquet as a dataset, and the columns to read. Each file must have all of them.

    Where the reader meets a file without a column it takes its values for missing ones, which would be published.
    """
    import pyarrow.dataset as ds

    for file in files_of(path, "parquet"):
        with parquet_faults(file):
            pq.read_schema(file)
    names, text = parquet_columns(path, pq.ParquetDataset(path).schema, wanted)
    form = ds.ParquetFileFormat(dictionary_columns=set(text), pre_buffer=False)
    whole = ds.dataset(path, format=form, partitioning="hive")
    for fragment in whole.get_fragments():
        with parquet_faults(Path(fragment.path)):
            present = list(fragment.physical_schema.names)
        in_its_name = ds.get_partition_keys(fragment.partition_expression)  # folders called column=value
        select([*present, *(name for name in in_its_name if name not in present)], names, fragment.path)
    return whole, names


def _read_parquet(path: Path, wanted: Sequence[str] | None) -> Table:
    with parquet_faults(path):
        if path.is_file():  # the reader of single files; that of folders takes longer to load than to read
            names, text = parquet_columns(path, pq.read_schema(path), wanted)
            table = pq.ParquetFile(path, read_dictionary=text).read(names)
        else:
            whole, names = parquet_folder(path, wanted)
            table = whole.to_table(columns=names)
    return checked(table, names)


def from_frame(frame: Any, wanted: Sequence[str] | None) -> Table:
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise SourceError(
            "A table must be a path or a data frame (pandas, polars, pyarrow)", type(frame).__name__
        ) from None
    except (nw.exceptions.NarwhalsError, ValueError):
        raise SourceError("The columns of the data frame must have distinct names") from None
    try:
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        names = select(native.columns, wanted, "the data frame")
        return checked(native.select(names).to_arrow(), names)
    except SourceError:
        raise
    except Exception as error:  # whatever the frame's library raises may quote its rows
        raise SourceError(
            "Every column of the data frame must hold values of one kind", type(error).__name__
        ) from None


def checked(table: pa.Table, names: list[str]) -> Table:
    columns = {}
    for name in names:
        column = table.column(name)
        check_type(name, column.type)
        columns[name] = column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column
    return Table(columns, table.num_rows)


def check_type(name: str, kind: pa.DataType) -> None:
    """Whether a column's values can be written one way, and so be coded."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise SourceError(f"The column {name!r} must hold single values", "nested ones")
    if not any(is_kind(kind) for is_kind in _KINDS):
        raise SourceError(f"The column {name!r} must hold texts, numbers, dates or truth values", "others")


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes that need not be text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_KINDS = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
    pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_date, pa.types.is_time,
    pa.types.is_timestamp, pa.types.is_duration, pa.types.is_null, is_bytes,
)  # fmt: skip
