"""Workbooks: one sheet, whose first row names the columns, read by calamine; copies written by xlsxwriter."""

from __future__ import annotations

import contextlib
import datetime
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pramana.errors import PramanaError, SourceError
from pramana.io.columns import select
from pramana.io.formats import library, zip_entries
from pramana.io.text_file import LEAST_BOUND, MOST_RATIO
from pramana.schema.kind import label_of

if TYPE_CHECKING:
    from pramana.io.exports import Export, ExportColumn
    from pramana.io.source import Source


_TEXT = pa.dictionary(pa.int32(), pa.string())
_NO_TIME = datetime.datetime(2000, 1, 1)  # when a file was written is nobody's business
_MOST_ROWS = 1_048_575  # of a sheet, below its header


def batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
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
        raise SourceError(
            f"The source {source.path} must have the sheet {source.sheet!r}", f"{len(names)} with other names"
        )
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
    unpacked = sum(entry.file_size for entry in zip_entries(path))
    if unpacked > max(LEAST_BOUND, MOST_RATIO * path.stat().st_size):
        raise SourceError(
            f"The packed file {path} must unpack to at most {MOST_RATIO} times its size", f"{unpacked:,} bytes"
        )


@contextlib.contextmanager
def workbook_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (PramanaError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # a panic of the reader is no Exception
        raise SourceError(f"The source {path} must be a readable workbook", "damaged data") from None


# ---------------------------------------------------------------- writing


def write_copy(path: Path, form: str, export: Export) -> None:  # noqa: ARG001 - there is one form
    """Texts as they are published, and what stands behind them on a sheet of its own; nothing is a formula."""
    table = export.table
    if table.num_rows > _MOST_ROWS:
        raise SourceError(f"A sheet must have at most {_MOST_ROWS:,} rows", f"{table.num_rows:,}")
    columns = export.columns()
    writer = library("xlsxwriter", "workbooks")
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    form_options = {"tmpdir": str(path.parent), "default_date_format": "yyyy-mm-dd"}
    packed = io.BytesIO()  # what goes wrong with the file is then told as everywhere
    book = writer.Workbook(packed, {**options, **form_options})
    book.set_properties({"created": _NO_TIME})
    sheet = book.add_worksheet("data")
    for position, name in enumerate(table.column_names):
        sheet.write_string(0, position, name)
    shown = [column.values if not column.labels else _shown(column) for column in columns]
    for row in range(table.num_rows):
        for position, values in enumerate(shown):
            _write_cell(sheet, row + 1, position, values[row])
    _write_codebook(book.add_worksheet("codebook"), columns)
    book.close()
    path.write_bytes(packed.getbuffer())


def _shown(column: ExportColumn) -> list[Any]:
    return [None if value is None else column.labels.get(value, value) for value in column.values]


def _write_cell(sheet: Any, row: int, position: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | datetime.date):
        sheet.write_string(row, position, label_of(value))
    elif isinstance(value, datetime.date):
        sheet.write_datetime(row, position, value)
    else:
        sheet.write_number(row, position, value)


def _write_codebook(sheet: Any, columns: Sequence[ExportColumn]) -> None:
    lines = [("column", "label", "code", "value")]
    for column in columns:
        lines.append((column.name, column.label, "", ""))
        lines += [(column.name, "", label_of(code), text) for code, text in column.labels.items()]
    for row, line in enumerate(lines):
        for position, text in enumerate(line):
            sheet.write_string(row, position, text)
