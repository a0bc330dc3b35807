"""Opening tables: files, data frames and databases become Arrow columns, read only where asked for.

Text columns arrive dictionary-encoded, so that a domain is looked up once per distinct value and not once per
row. No error of a reader is passed on as it is: their messages quote the rows they stumble over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import RecipeError, SourceError
from pramana.files.locations import arrow_input, located
from pramana.files.store_path import AnyPath, StorePath, store_error
from pramana.io.columns import checked, select
from pramana.io.formats import FORMATS, check_content, check_kind, files_of, is_folder, is_packed, kind_by_name
from pramana.io.parquet import parquet_faults
from pramana.io.survey import Variable
from pramana.io.values import NumberMarks, ReadingNotes, Settling, ValueForm

_ROWS = 1 << 16  # of a batch, where nobody says
_BYTES_A_CELL = 10  # of a column of texts that is read as a dictionary, made into codes and published
_UNPACKED = 10  # bytes of a text for each of its packed ones, about
_WRITTEN = tuple(entry.name for entry in FORMATS.values() if entry.is_typed_by_hand)
_ONLY_OF = {"decimal": _WRITTEN, "thousands": _WRITTEN, "trim": _WRITTEN, "sheet": ("xlsx",)}
_DEFAULTS: dict[str, object] = {"decimal": ".", "thousands": None, "trim": True, "sheet": None}


@dataclass(frozen=True)
class Table:
    """Some columns of a table, in memory, in source order."""

    columns: Mapping[str, pa.ChunkedArray]
    records: int

    def __post_init__(self) -> None:
        if self.records < 1:
            raise SourceError("A table must have at least one record", "none")

    @classmethod
    def of(cls, table: pa.Table) -> Table:
        return cls(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        return self.columns[name]


@dataclass(frozen=True)
class Source:
    """A table that can be read: a file, a data frame or what a database holds, and how to read it."""

    path: AnyPath | None = None
    frame: Any = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None  # recognised where it is not stated
    missing: tuple[str, ...] = field(default=("",))
    decimal: str = "."
    thousands: str | None = None
    trim: bool = True
    sheet: str | None = None
    forms: Mapping[str, ValueForm] = field(default_factory=dict)
    notes: ReadingNotes = field(default_factory=ReadingNotes, repr=False, compare=False)
    url: str | None = field(default=None, repr=False)  # of a database; it may hold a password
    query: str | None = field(default=None, repr=False)  # or:
    table: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # of Spark's reader

    def __post_init__(self) -> None:
        NumberMarks(self.decimal, self.thousands)
        if self.path is None:
            return
        for option, kinds in _ONLY_OF.items():
            if option in self._stated() and self.kind not in kinds:
                raise RecipeError(f"source.{option} must go with a source that has it", f"format = {self.kind!r}")

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Source:
        """What the [source] section of a recipe says."""
        if "url" in options:
            if "path" in options:
                raise SourceError("A recipe must name a file or a database", "both")
            return cls(**{key: options[key] for key in ("url", "query", "table", "schema") if key in options})
        if "table" in options and "path" not in options:
            return cls(**{key: options[key] for key in ("table", "format", "options") if key in options})
        if "path" not in options:
            raise SourceError(
                "A recipe must say where its table is",
                "no path in [source]",
                'Write path = "people.csv" or a url, or pass a data frame to pramana.release.',
            )
        known = {key: options[key] for key in ("format", "delimiter", "encoding", *_ONLY_OF) if key in options}
        return cls(path=located(options["path"]), missing=tuple(options.get("missing", ("",))), **known)

    @property
    def kind(self) -> str:
        if self.path is None:
            if self.url is not None:
                return "database"
            return "frame" if self.table is None else "catalogue"
        if self.format is not None:
            if self.format not in FORMATS:
                raise SourceError(f"The format of a source must be one of {', '.join(FORMATS)}", repr(self.format))
            return self.format
        by_name = kind_by_name(self.path)
        if by_name is None and is_folder(self.path):
            return "parquet" if files_of(self.path, "parquet") else "csv"
        return by_name or "csv"

    @property
    def file(self) -> AnyPath:
        """The path of a source that is a file or a folder, as its readers ask for it."""
        assert self.path is not None, "readers of files are given files"
        return self.path

    @property
    def has_labels(self) -> bool:
        """Whether values of the source may have labels of their own."""
        return self.path is not None and FORMATS[self.kind].has_labels

    def variables(self, names: Sequence[str]) -> dict[str, Variable]:
        """What the source says of some of its columns, where it is of a kind that does."""
        if not self.has_labels or not isinstance(self.path, Path):
            return {}
        from pramana.io.survey import survey_variables

        with self.faults():
            known = survey_variables(self.path, self.kind)
        return {name: known[name] for name in names if name in known}

    @property
    def has_marks(self) -> bool:
        """Whether numbers stand there in another notation than plain decimals."""
        return not NumberMarks(self.decimal, self.thousands).are_plain

    @property
    def settling(self) -> Settling:
        """What is done to the values that are read, whoever reads them."""
        if self.kind not in _WRITTEN:
            return Settling(self.forms, notes=self.notes)
        marks = NumberMarks(self.decimal, self.thousands)
        return Settling(self.forms, marks, self.trim, ("", *self.missing), self.notes)

    def batches(self, wanted: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns batch by batch, in order, with flat memory; `rows` is about how many at a time.

        None of the batches is empty; a source without a record is refused.
        """
        settling, any_rows = self.settling, False
        with self.faults():
            for batch in self._batches(wanted, rows):
                if batch.num_rows:
                    any_rows = True
                    yield settling.batch(batch)
        if not any_rows:
            raise SourceError("A table must have at least one record", "none")

    def _batches(self, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
        if self.kind == "database":
            yield from self._of_database(wanted, rows)
        elif self.path is None:
            yield from _from_frame(self, wanted).to_batches(rows)
        else:
            check_kind(self.path, self.kind)
            form = FORMATS[self.kind]
            if not form.is_data:  # whose reader tells by itself what else a file is
                check_content(self.path, form)
            yield from form.load().batches(self, wanted, rows)

    def _of_database(
        self, wanted: Sequence[str] | None, rows: int = _ROWS
    ) -> Generator[pa.RecordBatch, None, None]:
        from pramana.io.database import batches

        return batches(self.url or "", wanted, query=self.query, table=self.table, schema=self.schema, rows=rows)

    def read(self, wanted: Sequence[str] | None = None) -> Table:
        """Read the wanted columns (all, if None); a missing one is an error that names a near miss."""
        return Table.of(self.settling.table(self._read(wanted)))

    def _read(self, wanted: Sequence[str] | None) -> pa.Table:
        if self.kind == "database":
            table = pa.Table.from_batches(self._of_database(wanted))
            return checked(table, table.column_names)
        if self.path is None:
            return _from_frame(self, wanted)
        with self.faults():
            form = FORMATS[self.kind]
            if form.is_data:
                check_kind(self.path, self.kind)
                return form.load().read(self, wanted)
            batches = list(self._batches(wanted, _ROWS))
            if not batches:
                raise SourceError(f"The source {self.path} must have at least one record", "none")
            return pa.Table.from_batches(batches)

    def column_names(self) -> tuple[str, ...] | None:
        """In their order; None where the source cannot be read. At most one row is read for them."""
        try:
            if self.kind == "database":
                with contextlib.closing(self._of_database(None, 1)) as batches:
                    return tuple(next(batches).schema.names)
            if self.path is None:
                import narwhals as nw

                return tuple(nw.from_native(self.frame).collect_schema().names())
            with self.faults():
                check_kind(self.path, self.kind)
                if self.kind == "csv":
                    from pramana.io.csv_file import CsvReading

                    beginnings = replace(self, notes=ReadingNotes())  # whoever reads the rows notes their encoding
                    return tuple(CsvReading.of_files(beginnings, self.path, None, in_full=False)[0].names)
                first = self.path if self.path.is_file() else files_of(self.path, "parquet")[0]
                with parquet_faults(first):
                    return tuple(pq.read_schema(arrow_input(first)).names)
        except (SourceError, IndexError, TypeError, ValueError):
            return None

    def check_engine(self) -> None:
        """Refuse a table of Spark's where there is no Spark."""
        if self.kind == "catalogue":
            raise SourceError(
                "A [source] with a table and no url must be read by the Spark engine",
                "another reader",
                "Run release with --engine spark; or name a database by its url.",
            )

    @contextlib.contextmanager
    def guesses(self) -> Iterator[None]:
        """A refusal of values names what was recognised and may be wrong."""
        try:
            yield
        except SourceError as error:
            guessed = sorted(self.notes.encodings - {"utf-8"})
            if not guessed or "encoding" in str(error):
                raise
            question = f"Its encoding was recognised as {guessed[0]}: is it another?"
            hint = question if error.hint is None else f"{error.hint} {question}"
            raise type(error)(error.what, error.got, hint) from None

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        """What a file system says while the source is read, or a reader of damaged data, in one line."""
        try:
            yield
        except MemoryError:
            raise SourceError(f"The source {self.path} must fit in memory", "a larger one") from None
        except (OSError, pa.ArrowException, UnicodeError) as error:
            if isinstance(self.path, StorePath) and (refusal := store_error(self.path, error)) is not None:
                raise refusal from None
            if not isinstance(error, OSError) or isinstance(error, pa.ArrowException) or error.strerror is None:
                raise SourceError(
                    f"The source {self.path} must be a readable {self.kind} file", "damaged data"
                ) from None
            raise SourceError(f"The source {self.path} must be readable", error.strerror) from None

    def to_json(self) -> dict[str, Any]:
        """How to read the source again; not where it lies, nor a query, which may hold values."""
        if self.kind == "database":
            return {"format": "database", **self._columns()}
        statement: dict[str, Any] = {"format": self.kind, "missing": list(self.missing)}
        if self.kind == "csv":
            statement |= {"delimiter": self.delimiter, "encoding": self.encoding or self.notes.encoding}
        return statement | self._stated() | self._columns()

    def _stated(self) -> dict[str, object]:
        """The options of written files that are others than usual."""
        options = {
            "decimal": self.decimal, "thousands": self.thousands, "trim": self.trim, "sheet": self.sheet
        }  # fmt: skip
        return {key: value for key, value in options.items() if value != _DEFAULTS[key]}

    def _columns(self) -> dict[str, Any]:
        columns = {name: statement for name, form in self.forms.items() if (statement := form.to_json())}
        return {"columns": columns} if columns else {}


def _from_frame(source: Source, wanted: Sequence[str] | None) -> pa.Table:
    """A data frame of any library that narwhals knows."""
    source.check_engine()
    frame = source.frame
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


def expected_records(source: Source) -> int | None:
    """How many records a source says it has, where that costs nothing to ask; None where it does not say."""
    if source.path is None or source.kind != "parquet":
        return None
    try:
        return sum(int(pq.read_metadata(arrow_input(file)).num_rows) for file in files_of(source.path, "parquet"))
    except (OSError, ValueError):  # Arrow's errors are among them
        return None


def size_in_memory(source: Source) -> int:
    """About how many bytes reading the whole source takes; 0 where there is no telling."""
    if source.path is None:
        return 0
    try:
        files = files_of(source.path, source.kind)
        if source.kind == "parquet":
            footers = (pq.read_metadata(arrow_input(file)) for file in files)
            return sum(int(m.num_rows * m.num_columns) for m in footers) * _BYTES_A_CELL
        return sum(file.stat().st_size * (_UNPACKED if is_packed(file) else 1) for file in files)
    except (OSError, ValueError):  # Arrow's errors are among them
        return 0
