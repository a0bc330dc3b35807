"""Workbooks (xlsx, xlsm, xlsb, xls, ods) by calamine: one sheet, whose first row names the columns."""

from __future__ import annotations

import contextlib
import datetime
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pramana.errors import PramanaError, SourceError
from pramana.schema import label_of
from pramana.sources.columns import select
from pramana.sources.formats.extras import library
from pramana.sources.formats.text import LEAST_BOUND, MOST_RATIO

if TYPE_CHECKING:
    from pramana.sources.table import Source

_TEXT = pa.dictionary(pa.int32(), pa.string())


def workbook_batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    """A sheet is read whole, as the format has it; its million rows are the most there can be."""
    path = source.path
    assert isinstance(path, Path), "a kind that is refused elsewhere"
    _check_size(path)
    with workbook_faults(path):
        book = library("python_calamine", "workbooks").CalamineWorkbook.from_path(str(path))
        sheet = book.get_sheet_by_name(_sheet_name(source, book.sheet_names))
        cells = sheet.to_python(skip_empty_area=True)
    if not cells or not any(label_of(name).strip() for name in cells[0]):
        raise SourceError(f"The first row of {path} must name the columns", "an empty one")
    header = [label_of(name).strip() for name in cells[0]]
    while header and not header[-1]:
        header.pop()
    others = len(book.sheet_names) > 1
    names = select(header, wanted, str(path), "Is it on another sheet? Set sheet in [source]." if others else None)
    if source.sheet is None and others:
        source.notes.sheets.add(sheet.name)
    with workbook_faults(path):
        columns = {name: _column([row[header.index(name)] for row in cells[1:]]) for name in names}
    yield from pa.table(columns).to_batches(rows)


def _sheet_name(source: Source, names: Sequence[str]) -> str:
    if not names:
        raise SourceError(f"The source {source.path} must have a sheet", "none")
    if source.sheet is not None and source.sheet not in names:
        raise SourceError(f"The source {source.path} must have the sheet {source.sheet!r}", f"{len(names)} others")
    return source.sheet or names[0]


def _column(cells: list[Any]) -> pa.Array:
    """One type where all cells have it, and else texts, as labels are written."""
    kinds = {type(cell) for cell in cells if cell != "" and cell is not None}
    values = [None if cell == "" else cell for cell in cells]
    if kinds and kinds <= {int, float}:
        return pa.array(values, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(values, pa.date32())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        times = [_midnight(value) for value in values]
        return pa.array(times, pa.timestamp("us"))
    return pa.array([label_of(value) or None for value in values], pa.string()).dictionary_encode().cast(_TEXT)


def _midnight(value: Any) -> Any:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def _check_size(path: Path) -> None:
    """A workbook is a packed file, too; an old one is not."""
    size = path.stat().st_size
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as file:
            unpacked = sum(entry.file_size for entry in file.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        unpacked = 0
    if unpacked > max(LEAST_BOUND, MOST_RATIO * size):
        raise SourceError(f"The packed file {path} must unpack to at most {MOST_RATIO} times its size", "more")


@contextlib.contextmanager
def workbook_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (PramanaError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of the reader is no Exception
        raise SourceError(f"The source {path} must be a readable workbook", "damaged data") from None
