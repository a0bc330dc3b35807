"""Published tables as files of other programs: SPSS, Stata, Excel and Arrow, with labels where they have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import SourceError
from pramana.io.columns import is_text, plain_type
from pramana.io.formats import FORMATS
from pramana.io.survey import Code, Variable
from pramana.schema.kind import Kind, calendar_day, decimal_number, is_code, label_of

_MOST_LABELS = 32_000  # of a variable; Stata holds 65,536, and nobody reads so many


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
        rows = coded.indices.to_pylist()
        codes, labels = _codes_for(texts, variable, kind, longest)
        values = [None if row is None or texts[row] == "" else codes[row] for row in rows]
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


@dataclass(frozen=True)
class Export:
    """A published table; `kinds` and `variables` say what its columns are."""

    table: pa.Table
    kinds: Mapping[str, Kind]
    variables: Mapping[str, Variable]

    def columns(self, longest: int = 0, longest_label: int = 1 << 15) -> list[ExportColumn]:
        """In a format's bounds: bytes of a value's label, characters of a variable's."""
        columns = []
        for name in self.table.column_names:
            variable = self.variables.get(name, Variable())
            variable = Variable(variable.label[:longest_label], variable.codes, variable.ordered)
            columns.append(ExportColumn.of(name, self.table.column(name), self.kinds[name], variable, longest))
        return columns


def write_export(
    path: Path, form: str, table: pa.Table, kinds: Mapping[str, Kind], variables: Mapping[str, Variable]
) -> None:
    """Write the file; `kinds` and `variables` say what its columns are."""
    try:
        FORMATS[form].load().write_copy(path, form, Export(table, kinds, variables))
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # what the libraries refuse may be quoted
        raise SourceError(
            f"Every name and value must be one that {form} can hold",
            "a name or a value that its library refuses",
            "Export it to another format.",
        ) from None
