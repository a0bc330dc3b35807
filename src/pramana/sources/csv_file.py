"""CSV files and folders of them. Text columns arrive as dictionaries."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pacsv

from pramana.errors import SourceError
from pramana.sources.columns import select
from pramana.sources.file_kinds import kind_of
from pramana.sources.files import files_of

if TYPE_CHECKING:
    from pramana.sources.table import Source

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_UNUSUAL = (":", " ", "^", "~")  # tried for a hint alone
_PROBE = 'a,b\n"1",2\r\n'
_HEAD = 1 << 16  # bytes in which the header must end
_TEXT = pa.dictionary(pa.int32(), pa.string())


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
        header = _header(source, path)
        names = select(header.names, wanted, str(path), header.other_delimiter(wanted or ()))
        options = {
            "read_options": pacsv.ReadOptions(
                column_names=header.names, skip_rows_after_names=1, encoding=source.encoding, block_size=1 << 22
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
        return cls(path, names, options), header.records

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


def read_csv(source: Source, path: Path, wanted: Sequence[str] | None) -> pa.Table:
    tables = []
    for reading in CsvReading.of_files(source, path, wanted):
        with reading.faults(source):
            tables.append(pacsv.read_csv(reading.path, **reading.options).select(reading.names))
    return pa.concat_tables(tables) if len(tables) > 1 else tables[0]


# ---------------------------------------------------------------- the header


@dataclass(frozen=True)
class _Header:
    """The beginning of a file, the names in its first line at a delimiter, and whether there is more."""

    text: str
    names: list[str]
    delimiter: str
    records: bool

    def other_delimiter(self, wanted: Sequence[str]) -> str | None:
        """A hint where another delimiter finds what this one does not. It shows nothing that the file holds."""
        if all(name in self.names for name in wanted):
            return None
        for other in (*DELIMITERS, *_UNUSUAL):
            if other != self.delimiter and set(wanted) <= set(_split(self.text, other) or ()):
                return f"Is the delimiter {other!r}? With it the header has every wanted column."
        if len(self.names) == 1:
            return f"Split at {self.delimiter!r} its header is one column: set delimiter in [source]."
        return None


def _header(source: Source, path: Path) -> _Header:
    """Read as far as the column names; the delimiter is the likeliest of the usual ones unless given."""
    codec = _codec(source.encoding)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise SourceError(f"The source {path} must hold a table", "an empty file")
    if not codec.startswith(("utf-16", "utf-32")):
        if (kind := kind_of(path)) is not None:
            raise SourceError(f"The source {path} must be a CSV file", kind.name, kind.hint)
        if b"\0" in head:
            raise SourceError(f"The source {path} must be a CSV file", "binary data")
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
    return _Header(text, names, delimiter, len(head) == _HEAD or _has_records(text, delimiter))


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
