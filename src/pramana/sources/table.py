"""Opening tables: files, data frames and databases become Arrow columns, read only where asked for.

Text columns arrive dictionary-encoded, so that a domain is looked up once per distinct value and not once per
row. No error of a reader is passed on as it is: their messages quote the rows they stumble over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.errors import RecipeError, SourceError
from pramana.sources.columns import checked
from pramana.sources.files import KINDS, SURVEYS, check_kind, files_of, is_folder, kind_by_name
from pramana.sources.formats.labels import Variable
from pramana.sources.formats.marks import NumberMarks
from pramana.sources.formats.values import ReadingNotes, Settling, ValueForm
from pramana.sources.parquet.parquet_file import read_parquet
from pramana.stores import AnyPath, StorePath, located, store_error

_WRITTEN = ("csv", "xlsx")  # whose values stand as people type them
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
            if self.format not in KINDS:
                raise SourceError(f"The format of a source must be one of {', '.join(KINDS)}", repr(self.format))
            return self.format
        told = kind_by_name(self.path)
        if told is None and is_folder(self.path):
            return "parquet" if files_of(self.path, "parquet") else "csv"
        return told or "csv"

    @property
    def has_labels(self) -> bool:
        """Whether values of the source may have labels of their own."""
        return self.path is not None and self.kind in SURVEYS

    def variables(self, names: Sequence[str]) -> dict[str, Variable]:
        """What the source says of some of its columns, where it is of a kind that does."""
        if not self.has_labels or not isinstance(self.path, Path):
            return {}
        from pramana.sources.formats.survey import survey_variables

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
        """The wanted columns batch by batch, in order, with flat memory; `rows` is about how many at a time."""
        from pramana.sources.batches import batches

        settling = self.settling
        with self.faults():
            for batch in batches(self, wanted, rows):
                yield settling.batch(batch)

    def read(self, wanted: Sequence[str] | None = None) -> Table:
        """Read the wanted columns (all, if None); a missing one is an error that names a near miss."""
        return Table.of(self.settling.table(self._read(wanted)))

    def _read(self, wanted: Sequence[str] | None) -> pa.Table:
        if self.kind == "database":
            return _read_database(self, wanted)
        if self.path is None:
            self.check_engine()
            from pramana.sources.frame import from_frame

            return from_frame(self.frame, wanted)
        with self.faults():
            check_kind(self.path, self.kind)
            if self.kind == "parquet":
                return read_parquet(self.path, wanted)
            if self.kind == "csv":
                from pramana.sources.csv_file import read_csv

                return read_csv(self, self.path, wanted)
            from pramana.sources.formats.foreign import foreign_batches

            batches = list(foreign_batches(self, wanted))
            if not batches:
                raise SourceError(f"The source {self.path} must have at least one record", "none")
            return pa.Table.from_batches(batches)

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
            asked = f"Its encoding was recognised as {guessed[0]}: is it another?"
            hint = asked if error.hint is None else f"{error.hint} {asked}"
            raise type(error)(error.must, error.got, hint) from None

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        """What a file system says while the source is read, in one line."""
        try:
            yield
        except OSError as error:
            if isinstance(self.path, StorePath) and (told := store_error(self.path, error)) is not None:
                raise told from None
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
            return {"format": "database", **self._columns()}
        found: dict[str, Any] = {"format": self.kind, "missing": list(self.missing)}
        if self.kind == "csv":
            found |= {"delimiter": self.delimiter, "encoding": self.encoding or self.notes.encoding}
        return found | self._stated() | self._columns()

    def _stated(self) -> dict[str, object]:
        """The options of written files that are others than usual."""
        options = {
            "decimal": self.decimal, "thousands": self.thousands, "trim": self.trim, "sheet": self.sheet
        }  # fmt: skip
        return {key: value for key, value in options.items() if value != _DEFAULTS[key]}

    def _columns(self) -> dict[str, Any]:
        columns = {name: statement for name, form in self.forms.items() if (statement := form.to_json())}
        return {"columns": columns} if columns else {}


def _read_database(source: Source, wanted: Sequence[str] | None) -> pa.Table:
    from pramana.sources.databases.database import batches

    found = batches(source.url or "", wanted, query=source.query, table=source.table, schema=source.schema)
    table = pa.Table.from_batches(found)
    return checked(table, table.column_names)
