"""Files told by their first bytes, so that a refusal can say what they are."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass

from pramana.stores import AnyPath, StorePath, arrow_input, open_regular


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
_ENCODED = 'Set encoding = "{}" in [source].'
_EXCEL = _readable("an Excel workbook", "xlsx")
_SAS = _readable("a SAS file", "sas7bdat")
_TRANSPORT = _readable("a SAS transport file", "xpt")
_STATA = _readable("a Stata file", "dta")
_ARROW = _readable("an Arrow file", "arrow")
_OLD_FEATHER = FileKind("a Feather file of version 1", "Write it again as Parquet or Arrow.")

# offset and bytes; the marks of UTF-32 before those of UTF-16, with which they begin
_MARKS: tuple[tuple[int, bytes, FileKind], ...] = (
    (0, b"PAR1", _readable("a Parquet file", "parquet")),
    (0, b"\x1f\x8b", FileKind("a gzip file", _PACKED_TEXT)),
    (0, b"\x28\xb5\x2f\xfd", FileKind("a zstd file", _PACKED_TEXT)),
    (4, b"1AY&SY", FileKind("a bzip2 file", _UNPACK)),
    (0, b"\xfd7zXZ\0", FileKind("an xz file", _UNPACK)),
    (0, b"7z\xbc\xaf\x27\x1c", FileKind("a 7-Zip file", _UNPACK)),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _readable("an old Excel workbook", "xlsx")),
    (0, b"\xff\xfe\0\0", FileKind("text in UTF-32", _ENCODED.format("utf-32"), is_text=True)),
    (0, b"\0\0\xfe\xff", FileKind("text in UTF-32", _ENCODED.format("utf-32"), is_text=True)),
    (0, b"\xff\xfe", FileKind("text in UTF-16", _ENCODED.format("utf-16"), is_text=True)),
    (0, b"\xfe\xff", FileKind("text in UTF-16", _ENCODED.format("utf-16"), is_text=True)),
    (0, b"$FL2@(#)", _readable("an SPSS file", "sav")),
    (0, b"$FL3@(#)", _readable("a compressed SPSS file", "sav")),
    (0, b"<stata_dta>", _STATA),
    (0, b"HEADER RECORD*******LIB", _TRANSPORT),
    (12, bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011"), _SAS),  # sas7bdat, after twelve zeros
    (0, b"ARROW1", _ARROW),
    (0, b"FEA1", _OLD_FEATHER),
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
        return _STATA
    return None


def _kind_of_zip(path: AnyPath) -> FileKind:
    try:
        with zipfile.ZipFile(arrow_input(path)) as file:
            names = file.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = []
    if any(name.startswith("xl/") for name in names):
        return _EXCEL
    if "content.xml" in names:
        return _readable("an OpenDocument file", "xlsx")
    return FileKind("a zip file", _UNPACK)
