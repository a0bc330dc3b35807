"""The formats of tables in files: one entry says all that the rest of the house asks of a format.

A new format is an entry of FORMATS and a module of this room with the function `batches`, and `write_copy` where
published tables can be written in it, too.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pramana.errors import MissingExtraError, SourceError, install_command
from pramana.files.atomic import open_regular
from pramana.files.locations import arrow_input
from pramana.files.store_path import AnyPath, StorePath
from pramana.io.text_file import PACKED_MARKS, TEXT_MARKS

if TYPE_CHECKING:
    import pyarrow as pa

    from pramana.io.exports import Export
    from pramana.io.source import Source


class FormatModule(Protocol):
    """What the module of a format has."""

    def batches(self, source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns (all, if None), about `rows` rows at a time."""

    def read(self, source: Source, wanted: Sequence[str] | None) -> pa.Table:
        """Of a format that may be a bundle's data: the whole table, faster than batch by batch."""

    def write_copy(self, path: Path, form: str, export: Export) -> None:
        """Where the format has endings to export: a published table as such a file."""


@dataclass(frozen=True)
class Format:
    """A format of files: how it is called, how its files are known, and what can be done with them."""

    name: str  # in [source] and [output]
    title: str
    endings: tuple[str, ...]
    module: str  # of this room
    marks: tuple[tuple[int, bytes, str], ...] = ()  # offset, bytes that stand there, what such a file is
    is_data: bool = (
        False  # a bundle's data may be in it; a folder of such files is one table; can be cut for Spark
    )
    media_type: str = ""
    exports: tuple[str, ...] = ()  # endings of copies for other programs
    libraries: tuple[str, ...] = ()  # that writing a copy and reading it back need
    in_stores: bool = False  # is read where it lies, also in an object store
    has_labels: bool = False  # a file of a program for statistics, in which codes have labels
    is_typed_by_hand: bool = False  # values stand as people type them

    @property
    def data_name(self) -> str:
        """Of the file in a bundle."""
        return f"data.{self.name}"

    def load(self) -> FormatModule:
        return cast(FormatModule, importlib.import_module(f"pramana.io.{self.module}"))


_PANDAS = ("pandas", "pyreadstat")
_SAS = bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")  # after twelve zeros
FORMATS: Mapping[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "csv", "a CSV file", (".csv", ".tsv", ".txt"), "csv_file",
            is_data=True, media_type="text/csv", in_stores=True, is_typed_by_hand=True,
        ),
        Format(
            "parquet", "a Parquet file", (".parquet", ".pq"), "parquet", ((0, b"PAR1", "a Parquet file"),),
            is_data=True, media_type="application/x-parquet", in_stores=True,
        ),
        Format(
            "arrow", "an Arrow file", (".arrow", ".feather", ".ipc"), "arrow_file",
            ((0, b"ARROW1", "an Arrow file"),), exports=(".arrow", ".feather"), in_stores=True,
        ),
        Format(
            "sav", "an SPSS file", (".sav", ".zsav"), "survey",
            ((0, b"$FL2@(#)", "an SPSS file"), (0, b"$FL3@(#)", "a compressed SPSS file")),
            exports=(".sav", ".zsav"), libraries=_PANDAS, has_labels=True,
        ),
        Format(
            "dta", "a Stata file", (".dta",), "survey", ((0, b"<stata_dta>", "a Stata file"),),
            exports=(".dta",), libraries=_PANDAS, has_labels=True,
        ),
        Format("sas7bdat", "a SAS file", (".sas7bdat",), "survey", ((12, _SAS, "a SAS file"),), has_labels=True),
        Format(
            "xpt", "a SAS transport file", (".xpt",), "survey",
            ((0, b"HEADER RECORD*******LIB", "a SAS transport file"),), has_labels=True,
        ),
        Format(
            "xlsx", "a workbook", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook",
            ((0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook"),),
            exports=(".xlsx",), libraries=("xlsxwriter", "python_calamine"), is_typed_by_hand=True,
        ),
    )
}  # fmt: skip
_BY_ENDING = {ending: entry for entry in FORMATS.values() for ending in entry.endings}
_PACKED = (".gz", ".zst")
EXPORTS = {  # ending -> format: in the order in which they are offered
    ending: name for name in ("sav", "dta", "xlsx", "arrow") for ending in FORMATS[name].exports
}
DATA_FILES = {entry.name: entry.data_name for entry in FORMATS.values() if entry.is_data}
COPIES = {FORMATS[name].data_name: name for name in EXPORTS.values()}  # of a bundle's data, by their names


# ---------------------------------------------------------------- by name


def is_packed(path: AnyPath) -> bool:
    return path.suffix.lower() in _PACKED


def kind_by_name(path: AnyPath) -> str | None:
    """The format that a file's ending stands for; of a packed one, the ending before. None for other endings."""
    packed = is_packed(path)
    entry = _BY_ENDING.get((Path(path.stem) if packed else path).suffix.lower())
    if entry is None or (packed and entry.name != "csv"):
        return None
    return entry.name


def check_kind(path: AnyPath, kind: str) -> None:
    """A pipe or a device can be read once, or for ever: a table is read from a file or a folder of files."""
    if isinstance(path, StorePath) and not FORMATS[kind].in_stores:
        *others, last = (entry.name for entry in FORMATS.values() if entry.in_stores)
        raise SourceError(
            f"A source in a store must be {', '.join(others)} or {last}",
            f"format = {kind!r}",
            "Copy it to this machine first.",
        )
    try:
        str(path).encode()  # Arrow takes names in UTF-8 only
        mode = path.stat().st_mode
    except (FileNotFoundError, ValueError):
        if isinstance(path, Path) and re.search(
            r"^[a-z][a-z0-9+]*:|/[a-z][a-z0-9+]*:/", str(path)
        ):  # it may hold a password, which must not be shown
            raise SourceError(
                "A source must be a file", "a URL", "Databases are named in a recipe, by url."
            ) from None
        raise SourceError(f"The source {path} must exist", "no such file") from None
    if stat.S_ISDIR(mode):
        if not FORMATS[kind].is_data:
            raise SourceError(f"The source {path} must be a file", f"a folder, and format = {kind!r}")
        if not files_of(path, kind):
            raise SourceError(f"The folder {path} must hold {kind} files", "none")
    elif not stat.S_ISREG(mode):
        raise SourceError(f"The source {path} must be a file", "a device")


def is_folder(path: AnyPath) -> bool:
    """Whether there is more than one file to it; false, and no error, for what can be no name."""
    return path.is_dir() if isinstance(path, StorePath) else os.path.isdir(path)  # noqa: PTH112


def files_of(path: AnyPath, kind: str) -> list[AnyPath]:
    """The files of a source in the order of their names; of a folder those of its kind, hidden ones left out.

    Folders of Parquet may have folders inside, as engines write them.
    """
    if not is_folder(path):
        return [path]
    if isinstance(path, StorePath):
        objects = path.rglob("*") if kind == "parquet" else path.glob("*")
        return [p for p in objects if kind_by_name(p) == kind and not _hidden(p.relative_to(path).parts)]
    inside = path.rglob("*") if kind == "parquet" else path.glob("*")
    files = (p for p in inside if kind_by_name(p) == kind and p.is_file())
    return [*sorted(p for p in files if not _hidden(p.relative_to(path).parts))]


def _hidden(parts: tuple[str, ...]) -> bool:
    return any(part[0] in "._" for part in parts)


# ---------------------------------------------------------------- by content


@dataclass(frozen=True)
class FileKind:
    """What a file is, how [source] calls it, if it can be read, and what its owner can do."""

    name: str
    hint: str
    format: str | None = None
    is_text: bool = False


def _readable(name: str, form: str) -> FileKind:
    return FileKind(name, f'Set format = "{form}" in [source].', form)


_UNPACK = "Unpack it first."
_PACKED_TEXT = "A packed CSV file can be read; unpack any other first."
_DATABASE = "Name it by its url in [source]."
# offset and bytes
_MARKS: tuple[tuple[int, bytes, FileKind], ...] = (
    *(
        (offset, mark, _readable(title, entry.name))
        for entry in FORMATS.values()
        for offset, mark, title in entry.marks
    ),
    *((0, mark, FileKind(f"a {name} file", _PACKED_TEXT)) for mark, name in PACKED_MARKS.items()),
    (4, b"1AY&SY", FileKind("a bzip2 file", _UNPACK)),
    (0, b"\xfd7zXZ\0", FileKind("an xz file", _UNPACK)),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind("a 7-Zip file", _UNPACK)),
    *(
        (0, mark, FileKind(f"text in {name.upper()}", f'Set encoding = "{name}" in [source].', is_text=True))
        for mark, name in TEXT_MARKS
    ),
    (0, b"FEA1", FileKind("a Feather file of version 1", "Write it again as Parquet or Arrow.")),
    (0, b"SQLite format 3\0", FileKind("an SQLite database", _DATABASE)),
    (8, b"DUCK", FileKind("a DuckDB database", _DATABASE)),
    (0, b"%PDF-", FileKind("a PDF", "Save the table as CSV.")),
)
_LETTERS = frozenset({b"PAR1", b"ARROW1", b"FEA1", b"DUCK"})  # a column may be called so
_HEAD = 4096
_STATA_BEFORE_13 = range(105, 116)  # its first byte; byte order, kind of file and a zero follow


def kind_of(path: AnyPath, head: bytes | None = None) -> FileKind | None:
    """The kind of a file that is known by its first bytes; None for text, and for whatever else it is.

    `head`: its beginning, where that is not the file's own, as in a packed one.
    """
    if head is None:
        try:
            with path.open() if isinstance(path, StorePath) else open_regular(path) as file:
                head = file.read(_HEAD)
        except OSError:
            return None
    head = head[:_HEAD]
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    for offset, mark, kind in _MARKS:
        if head[offset : offset + len(mark)] == mark and (mark not in _LETTERS or b"\0" in head):
            return kind
    if len(head) > 3 and head[0] in _STATA_BEFORE_13 and head[1] in (1, 2) and head[2:4] == b"\x01\0":
        return _readable("a Stata file", "dta")
    return None


def _kind_of_zip(path: AnyPath) -> FileKind:
    names = [entry.filename for entry in zip_entries(path)]
    if any(name.startswith("xl/") for name in names):
        return _readable("an Excel workbook", "xlsx")
    if "content.xml" in names:
        return _readable("an OpenDocument file", "xlsx")
    return FileKind("a zip file", _UNPACK)


def zip_entries(path: AnyPath) -> list[zipfile.ZipInfo]:
    """What a zip file says of its content; nothing where it is damaged, or no zip file."""
    try:
        with zipfile.ZipFile(arrow_input(path)) as file:
            return file.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []


def check_content(path: AnyPath, form: Format) -> None:
    """Refuse, before its library is loaded, a file that does not begin as one of the format does."""
    kind = kind_of(path)
    if kind is None or kind.format != form.name:
        raise not_of_format(path, form.name)


def not_of_format(path: object, name: str) -> SourceError:
    """The refusal of a file that cannot be read in a format, by what it is instead, if that is known."""
    kind = kind_of(path) if isinstance(path, Path | StorePath) else None
    must = f"The source {path} must be {FORMATS[name].title}"
    if kind is None or kind.format == name:
        return SourceError(must, "something else or damaged data")
    return SourceError(must, kind.name, kind.hint)


# ---------------------------------------------------------------- their libraries


def library(name: str, what: str, extra: str = "formats") -> Any:
    """A library of an extra, loaded when it is needed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_library(name, what, extra) from None


def missing_library(name: str, what: str, extra: str = "formats") -> MissingExtraError:
    return MissingExtraError(f"{name} must be installed for {what}", "no such library", install_command(extra))


def check_export(form: str) -> None:
    """Refuse, before any work is done, a form whose libraries are not there; also those that read it back."""
    for name in FORMATS[form].libraries:
        library(name, f"files of the form {form}")
