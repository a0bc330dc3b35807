"""CSV files and folders of them. Text columns arrive as dictionaries."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv

from pramana.errors import SourceError
from pramana.files.store_path import AnyPath
from pramana.io.columns import select
from pramana.io.csv_blocks import CsvPart
from pramana.io.formats import files_of, kind_of
from pramana.io.text_file import TextFile, wide_encoding

if TYPE_CHECKING:
    from pramana.io.source import Source


DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_UNUSUAL = (":", " ", "^", "~")  # tried for a hint alone
_PROBE = 'a,b\n"1",2\r\n'
_HEAD = 1 << 16  # bytes in which the header must end
_TEXT = pa.dictionary(pa.int32(), pa.string())


@contextlib.contextmanager
def _hint_at_folder(several: bool) -> Iterator[None]:
    """A readme beside tables is read as a table, since its ending is that of one: who put it there may wonder."""
    try:
        yield
    except SourceError as error:
        if not several:
            raise
        rule = "All files of the folder that end in .csv, .tsv or .txt are its table: move others away."
        raise SourceError(error.what, error.got, " ".join(filter(None, (error.hint, rule)))) from None


@dataclass(frozen=True)
class CsvReading:
    """How one CSV file is to be read: its header looked at, nothing of its rows."""

    file: TextFile
    names: list[str]
    options: dict[str, Any]

    @classmethod
    def of_files(
        cls, source: Source, path: AnyPath, wanted: Sequence[str] | None, in_full: bool = True
    ) -> list[CsvReading]:
        """A file, or those of a folder that have records; each must have the columns of the first.

        Unless `in_full`, only their beginnings are looked at: their rows will be read elsewhere.
        """
        readings = []
        for file in files_of(path, "csv"):
            with _hint_at_folder(several=file != path):
                reading, records = cls._of(source, file, wanted, in_full)
            wanted = reading.names
            if records:
                readings.append(reading)
        if not readings:
            raise SourceError(f"The source {path} must have at least one record", "none")
        return readings

    @classmethod
    def _of(
        cls, source: Source, path: AnyPath, wanted: Sequence[str] | None, in_full: bool
    ) -> tuple[CsvReading, bool]:
        """How to read it, and whether there is anything after its header."""
        file = TextFile.at(path)
        header = _header(source, file, in_full)
        names = select(header.names, wanted, str(path), header.other_delimiter(wanted or ()))
        options = {
            "read_options": pacsv.ReadOptions(
                column_names=header.names, skip_rows_after_names=1, encoding=header.encoding, block_size=1 << 22
            ),
            "parse_options": pacsv.ParseOptions(
                delimiter=header.delimiter, newlines_in_values=True, ignore_empty_lines=len(header.names) > 1
            ),
            "convert_options": pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, _TEXT),
                include_columns=names,
                null_values=list(dict.fromkeys(("", *source.missing))),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        }
        return cls(file, names, options), header.records

    def batches(self, part: CsvPart | None = None) -> Iterator[pa.RecordBatch]:
        """The wanted columns of all rows, or of those of a part, some at a time."""
        opened = self.file.open() if part is None else part.open(self.file.path)
        with self.faults(), opened as file, pacsv.open_csv(file, **self.options) as reader:
            for batch in reader:
                yield batch.select(self.names)

    def table(self) -> pa.Table:
        with self.faults(), self.file.open() as file:
            return pacsv.read_csv(file, **self.options).select(self.names)

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
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
                first = self._first_of_other_length(fields)
                raise SourceError(
                    f"Every row of {self.file.path} must have {fields} fields like its header",
                    f"one of {ragged[1]}" if first is None else f"{first[1]} in line {first[0]}",
                    "Check the delimiter and the quoting.",
                ) from None
            raise SourceError(
                f"The source {self.file.path} must be a CSV file in {self.options['read_options'].encoding}",
                "bytes that are not",
                "Set encoding (for example latin-1) or delimiter in [source], and check the quoting.",
            ) from None

    def _first_of_other_length(self, fields: int) -> tuple[int, int] | None:
        """The line in which the first row with another number of fields starts, and that number."""
        encoding, delimiter = self.options["read_options"].encoding, self.options["parse_options"].delimiter
        try:
            with self.file.open() as stream, io.TextIOWrapper(stream, encoding, "replace", newline="") as file:
                rows, line = csv.reader(file, delimiter=delimiter), 1
                for row in rows:
                    if len(row) != fields and (row or fields == 1):
                        return line, len(row)
                    line = rows.line_num + 1
        except (csv.Error, OSError, ValueError):
            pass
        return None


def read(source: Source, wanted: Sequence[str] | None) -> pa.Table:
    """The wanted columns (all, if None) of a file or a folder."""
    tables = [reading.table() for reading in CsvReading.of_files(source, source.file, wanted)]
    return pa.concat_tables(tables) if len(tables) > 1 else tables[0]


def batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
    """The same some rows at a time: as many as a block of the file has."""
    for reading in CsvReading.of_files(source, source.file, wanted):
        yield from reading.batches()


# ---------------------------------------------------------------- the header


@dataclass(frozen=True)
class _Header:
    """The beginning of a file, the names in its first line at a delimiter, and whether there is more."""

    text: str
    names: list[str]
    delimiter: str
    records: bool
    encoding: str

    def other_delimiter(self, wanted: Sequence[str]) -> str | None:
        """A hint where another delimiter finds what this one does not. It shows nothing that the file holds."""
        if all(name in self.names for name in wanted):
            return None
        for other in (*DELIMITERS, *_UNUSUAL):
            if other != self.delimiter and set(wanted) <= set(_split(self.text, other) or ()):
                as_is = f"Split at {self.delimiter!r} it has one column. " if len(self.names) == 1 else ""
                return f"{as_is}Is the delimiter {other!r}? With it the header has every wanted column."
        if len(self.names) == 1:
            return f"Split at {self.delimiter!r} its header is one column: set delimiter in [source]."
        return None


def _header(source: Source, file: TextFile, in_full: bool) -> _Header:
    """Read as far as the column names; delimiter and encoding are the likeliest of the usual ones unless given."""
    path = file.path
    if source.encoding is not None:
        _codec(source.encoding)
    head = file.head(_HEAD)
    if not head.strip():
        raise SourceError(f"The source {path} must hold a table", "an empty file")
    encoding = source.encoding
    if encoding is None or not _codec(encoding).startswith(("utf-16", "utf-32")):
        _check_text(path, head, stated=encoding is not None)
    if encoding is None:
        encoding = file.recognised() if in_full else file.recognised(_HEAD)
        source.notes.encodings.add(encoding)
    codec = _codec(encoding)
    text = head.decode(codec, "ignore").removeprefix("\ufeff")
    delimiter = source.delimiter
    if delimiter is None:
        first = text.replace("\r", "\n").partition("\n")[0]
        delimiter = max(DELIMITERS, key=lambda d: (first.count(d), -list(DELIMITERS).index(d)))
    elif delimiter != "\t" and (len(delimiter) != 1 or not " " <= delimiter <= "~" or delimiter == '"'):
        raise SourceError("A delimiter must be a single plain character other than a quote", repr(delimiter))
    names = _split(text, delimiter)
    if names is None:
        raise SourceError(f"The first line of {path} must name the columns", "a line that cannot be parsed")
    if not any(names):
        raise SourceError(f"The first line of {path} must name the columns", "an empty line")
    return _Header(text, names, delimiter, len(head) == _HEAD or _has_records(text, delimiter), encoding)


def _check_text(path: AnyPath, head: bytes, stated: bool) -> None:
    """Refuse what is no text; texts in UTF-16 and UTF-32 are, unless another encoding was stated."""
    kind = kind_of(path, head)
    if kind is not None and (stated or not kind.is_text):
        raise SourceError(f"The source {path} must be a CSV file", kind.name, kind.hint)
    if b"\0" in head and (stated or wide_encoding(head) is None):
        raise SourceError(f"The source {path} must be a CSV file", "binary data")


def _split(text: str, delimiter: str) -> list[str] | None:
    try:
        return [name.strip() for name in next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))]
    except (csv.Error, StopIteration):
        return None


def _has_records(text: str, delimiter: str) -> bool:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return next(rows, None) is not None and next(rows, None) is not None
    except csv.Error:
        return True


def _codec(encoding: str) -> str:
    """The codec's own name. Python's also have such that are no encodings of text, or that need it all at once."""
    try:
        codec = codecs.lookup(encoding)
        probe = codec.encode(_PROBE)[0]
        decoder = codec.incrementaldecoder()
        pieces = [decoder.decode(pa.py_buffer(bytes([byte]))) for byte in probe]
        whole = probe.decode(codec.name, "ignore"), "".join([*pieces, decoder.decode(b"", True)])
        if all(text.removeprefix("\ufeff") == _PROBE for text in whole):
            return codec.name
    except Exception:  # each codec has errors of its own
        pass
    raise SourceError(
        "The encoding of a source must be one of text",
        repr(encoding),
        "For example utf-8, latin-1, cp1252 or utf-16.",
    )
