"""Published tables as files of other programs: SPSS, Stata, Excel and Arrow, with labels where they have them."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import SourceError
from pramana.schema import Kind, calendar_day, decimal_number, is_code, label_of
from pramana.sources.columns import is_text, plain_type
from pramana.sources.formats.extras import library
from pramana.sources.formats.labels import Code, Variable

EXPORTS = {".sav": "sav", ".zsav": "sav", ".dta": "dta", ".xlsx": "xlsx", ".arrow": "arrow", ".feather": "arrow"}
_TIME = datetime.datetime(2000, 1, 1)  # when a file was written is nobody's business
_MOST_LABELS = 32_000  # of a variable; Stata holds 65,536, and nobody reads so many
_LONGEST = {"sav": (120, 255), "dta": (32_000, 80)}  # bytes of a value label, characters of a variable label
_MOST_ROWS = 1_048_575  # of a sheet, below its header
_LIBRARIES = {
    "sav": ("pandas", "pyreadstat"),
    "dta": ("pandas", "pyreadstat"),
    "xlsx": ("xlsxwriter", "python_calamine"),
}
_STATA_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,31}"


@dataclass(frozen=True)
class ExportColumn:
    """A column as it is written: its values, and labels of those that are codes."""

    name: str
    values: list[Any]
    label: str = ""
    labels: Mapping[Code, str] = field(default_factory=dict)
    measure: str = "unknown"

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray, kind: Kind, variable: Variable, longest: int) -> ExportColumn:
        if not is_text(plain_type(column.type)):
            return cls(name, _typed(column), variable.label, {}, "scale")
        coded = _one_dictionary(column)
        texts = coded.dictionary.to_pylist()
        places = coded.indices.to_pylist()
        codes, labels = _codes_for(texts, variable, kind, longest)
        values = [None if place is None or texts[place] == "" else codes[place] for place in places]
        ordered = kind is Kind.ORDERED or variable.ordered
        measure = ("ordinal" if ordered else "nominal") if labels else "unknown"
        return cls(name, values, variable.label, labels, measure)


def _one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = coded.unify_dictionaries().combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _typed(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    values: list[Any] = column.to_pylist()
    return values


def _codes_for(
    texts: Sequence[str], variable: Variable, kind: Kind, longest: int
) -> tuple[list[Any], dict[Code, str]]:
    """What each text is written as, and the labels of codes among them.

    By the codes that the source had, where they cover everything; numbers and dates as such; any other set of
    names is numbered from 1, as these programs have categories; texts that are too long or too many stay texts.
    """
    by_text = dict(variable.codes)
    by_code = {label_of(code): code for code in by_text.values()}
    if by_text and all(text in by_text or text in by_code or _is_number(text) for text in texts):
        codes = [by_text.get(text, by_code.get(text)) for text in texts]
        own = [_number(text) if code is None else code for text, code in zip(texts, codes, strict=True)]
        if len({label_of(code) for code in own}) == len(own) and len({isinstance(c, str) for c in own}) <= 1:
            return own, {code: text for text, code in by_text.items()}
    if texts and all(map(_is_number, texts)):
        return [_number(text) for text in texts], {}
    if texts and all(calendar_day(text) is not None for text in texts):
        return [calendar_day(text) for text in texts], {}
    if kind is Kind.CELL or len(texts) > _MOST_LABELS or any(len(text.encode()) > longest for text in texts):
        return list(texts), {}
    numbered: dict[Code, str] = dict(enumerate(texts, 1))
    return list(numbered), numbered


def _is_number(text: str) -> bool:
    return decimal_number(text) is not None and not is_code(text)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1 << 53 else number


def check_export(form: str) -> None:
    """Refuse, before any work is done, a form whose libraries are not there; also those that read it back."""
    for name in _LIBRARIES.get(form, ()):
        library(name, f"files of the form {form}")


def write_export(
    path: Path, form: str, table: pa.Table, kinds: Mapping[str, Kind], variables: Mapping[str, Variable]
) -> None:
    """Write the file; `kinds` and `variables` say what its columns are."""
    if form == "arrow":
        _write_arrow(path, table, variables)
        return
    longest, longest_label = _LONGEST.get(form, (0, 1 << 15))
    columns = []
    for name in table.column_names:
        variable = variables.get(name, Variable())
        if len(variable.label) > longest_label:
            variable = Variable(variable.label[:longest_label], variable.codes, variable.ordered)
        columns.append(ExportColumn.of(name, table.column(name), kinds[name], variable, longest))
    try:
        _WRITERS[form](path, columns, table)
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # what the libraries refuse may be quoted
        raise SourceError(
            f"Every name and value must be one that {form} can hold", "others", "Export it to another format."
        ) from None


def _frame(columns: Sequence[ExportColumn]) -> Any:
    pandas = library("pandas", "SPSS and Stata files")
    made = {}
    for column in columns:
        present = [value for value in column.values if value is not None]
        if present and all(isinstance(value, int | float) for value in present):
            made[column.name] = pandas.array(
                [float("nan") if v is None else float(v) for v in column.values], "float64"
            )
        elif present and isinstance(present[0], datetime.date):
            made[column.name] = pandas.Series(column.values, dtype=object)
        else:
            made[column.name] = pandas.Series(
                ["" if v is None else label_of(v) for v in column.values], dtype=object
            )
    return pandas.DataFrame(made)


def _write_sav(path: Path, columns: Sequence[ExportColumn], table: pa.Table) -> None:
    del table
    pyreadstat = library("pyreadstat", "SPSS files")
    try:
        pyreadstat.write_sav(
            _frame(columns),
            str(path),
            column_labels={c.name: c.label for c in columns if c.label},
            variable_value_labels={c.name: dict(c.labels) for c in columns if c.labels},
            variable_measure={c.name: c.measure for c in columns},
            compress=path.suffix.lower() == ".zsav",
            row_compress=path.suffix.lower() != ".zsav",
        )
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError):
        raise ValueError("refused by the library") from None
    with path.open("r+b") as file:  # the header's date and time: "%d %b %y" and "%H:%M:%S"
        file.seek(92)
        file.write(b"01 Jan 00" + b"00:00:00")


def _write_dta(path: Path, columns: Sequence[ExportColumn], table: pa.Table) -> None:
    pandas = library("pandas", "Stata files")
    for column in columns:
        if re.fullmatch(_STATA_NAME, column.name) is None:
            raise SourceError("The name of a Stata variable must be of letters, digits and _", repr(column.name))
    frame, dates = _frame(columns), {}
    for column in columns:
        if any(isinstance(value, datetime.date) for value in column.values):
            is_time = any(isinstance(value, datetime.datetime) for value in column.values)
            frame[column.name] = pandas.to_datetime(frame[column.name])
            dates[column.name] = "tc" if is_time else "td"
    frame.to_stata(
        path,
        convert_dates=dates,
        write_index=False,
        time_stamp=_TIME,
        variable_labels={c.name: c.label for c in columns},
        value_labels={c.name: dict(c.labels) for c in columns if c.labels},
        version=118,
    )
    del table


def _write_xlsx(path: Path, columns: Sequence[ExportColumn], table: pa.Table) -> None:
    """Texts as they are published, and what stands behind them on a sheet of its own; nothing is a formula."""
    if table.num_rows > _MOST_ROWS:
        raise SourceError(f"A sheet must have at most {_MOST_ROWS:,} rows", f"{table.num_rows:,}")
    writer = library("xlsxwriter", "workbooks")
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    beside = {"tmpdir": str(path.parent), "default_date_format": "yyyy-mm-dd"}
    packed = io.BytesIO()  # what goes wrong with the file is then told as everywhere
    book = writer.Workbook(packed, {**options, **beside})
    book.set_properties({"created": _TIME})
    sheet = book.add_worksheet("data")
    for place, name in enumerate(table.column_names):
        sheet.write_string(0, place, name)
    shown = [column.values if not column.labels else _shown(column) for column in columns]
    for row in range(table.num_rows):
        for place, values in enumerate(shown):
            _write_cell(sheet, row + 1, place, values[row])
    _write_codebook(book.add_worksheet("codebook"), columns)
    book.close()
    path.write_bytes(packed.getbuffer())


def _shown(column: ExportColumn) -> list[Any]:
    return [None if value is None else column.labels.get(value, value) for value in column.values]


def _write_cell(sheet: Any, row: int, place: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | datetime.date):
        sheet.write_string(row, place, label_of(value))
    elif isinstance(value, datetime.date):
        sheet.write_datetime(row, place, value)
    else:
        sheet.write_number(row, place, value)


def _write_codebook(sheet: Any, columns: Sequence[ExportColumn]) -> None:
    lines = [("column", "label", "code", "value")]
    for column in columns:
        lines.append((column.name, column.label, "", ""))
        lines += [(column.name, "", label_of(code), text) for code, text in column.labels.items()]
    for row, line in enumerate(lines):
        for place, text in enumerate(line):
            sheet.write_string(row, place, text)


def _write_arrow(path: Path, table: pa.Table, variables: Mapping[str, Variable]) -> None:
    """The table as it is, its categories in their order; a variable's label is metadata of its field."""
    fields = [
        f.with_metadata({"label": variables[f.name].label})
        if f.name in variables and variables[f.name].label
        else f
        for f in table.schema
    ]
    labelled = table.replace_schema_metadata(None).cast(pa.schema(fields)).unify_dictionaries()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, labelled.schema) as writer:
        writer.write_table(labelled)


_WRITERS = {"sav": _write_sav, "dta": _write_dta, "xlsx": _write_xlsx}
