"""SPSS, Stata and SAS files, by pyreadstat, some rows at a time.

Values with labels arrive as their labels, in the order of their codes, unless a recipe has the column as numbers.
What a file declares missing is missing. A column keeps one type from the first row to the last.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import PramanaError, SourceError
from pramana.schema import label_of
from pramana.sources.arrays import texts as text_array
from pramana.sources.columns import select
from pramana.sources.formats.extras import library
from pramana.sources.formats.labels import Variable
from pramana.sources.formats.values import ValueForm

if TYPE_CHECKING:
    from pramana.sources.table import Source

_READERS = {"sav": "read_sav", "dta": "read_dta", "sas7bdat": "read_sas7bdat", "xpt": "read_xport"}
_CELLS = 1 << 22  # values read at a time: the library makes a Python object of each
_TYPES = ((datetime.datetime, pa.timestamp("us")), (datetime.date, pa.date32()), (datetime.time, pa.time64("us")))
_LEAST_ROWS = 1 << 15  # each chunk goes over the rows before it once more
_MOST_COLUMNS = 1 << 16


@dataclass(frozen=True)
class SurveyFile:
    """A file whose variables are known, and nothing of its rows."""

    path: Path
    kind: str
    names: tuple[str, ...]
    variables: Mapping[str, Variable]
    types: Mapping[str, str]

    @classmethod
    def open(cls, path: Path, kind: str) -> SurveyFile:
        with survey_faults(path):
            metadata = _read(path, kind, metadataonly=True)[1]
            names = tuple(metadata.column_names)
            if len(names) > _MOST_COLUMNS:
                raise SourceError(
                    f"The source {path} must have at most {_MOST_COLUMNS:,} columns", f"{len(names):,}"
                )
            variables = {
                name: Variable.of(
                    metadata.column_names_to_labels.get(name),
                    metadata.variable_value_labels.get(name, {}),
                    metadata.variable_measure.get(name) == "ordinal",
                )
                for name in names
            }
            return cls(path, kind, names, variables, dict(metadata.readstat_variable_types))

    def batches(
        self, wanted: Sequence[str] | None, forms: Mapping[str, ValueForm], rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        names = select(self.names, wanted, str(self.path))
        fitting = max(_LEAST_ROWS, _CELLS // max(1, len(names)))
        size = fitting if rows is None else max(_LEAST_ROWS, min(rows, fitting))
        types: dict[str, pa.DataType] = {}
        offset = 0
        while True:
            with survey_faults(self.path):
                columns = _read(self.path, self.kind, usecols=names, row_offset=offset, row_limit=size)[0]
                count = len(columns[names[0]])
                if not types:
                    types = {name: self._type(name, columns[name], forms.get(name)) for name in names}
                arrays = [self._column(name, columns[name], types[name], forms.get(name)) for name in names]
            if count:
                yield pa.RecordBatch.from_arrays(arrays, names=names)
            if count < size:
                return
            offset += count

    def _type(self, name: str, values: Sequence[Any], form: ValueForm | None) -> pa.DataType:
        """Of a column, by its first value, wherever that is: a chunk without one must not tell otherwise."""
        variable = self.variables[name]
        if variable.codes and not (form is not None and form.codes):
            return pa.dictionary(pa.int32(), pa.string(), ordered=variable.ordered)
        if self.types.get(name) == "string":
            return pa.dictionary(pa.int32(), pa.string())
        first = next((value for value in values if value is not None), None)
        if first is None and self.types.get(name) == "double":
            column = _read(self.path, self.kind, usecols=[name])[0][name]
            first = next((value for value in column if value is not None), None)
        for python, arrow in _TYPES:
            if isinstance(first, python):
                return arrow
        return pa.float64() if self.types.get(name) in ("double", "float") else pa.int64()

    def _column(self, name: str, values: Sequence[Any], kind: pa.DataType, form: ValueForm | None) -> pa.Array:
        if not pa.types.is_dictionary(kind):
            return pa.array(values, kind, from_pandas=True)
        plain = pa.array(values, from_pandas=True)
        coded = (plain.cast(pa.string()) if pa.types.is_null(plain.type) else plain).dictionary_encode()
        texts = self.variables[name].texts | dict.fromkeys(() if form is None else form.missing, "")
        written = [label_of(value) for value in coded.dictionary.to_pylist()]
        shown = [texts.get(text, text) for text in written]
        known = list(self.variables[name].codes)
        entries = [*known, *sorted(set(shown) - {*known, ""})]
        places = pc.index_in(text_array(shown), value_set=text_array(entries))  # null where empty: missing
        return pa.DictionaryArray.from_arrays(
            places.take(coded.indices), text_array(entries), ordered=kind.ordered
        )


def survey_batches(
    source: Source, wanted: Sequence[str] | None, rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    path = source.path
    assert path is not None
    yield from SurveyFile.open(path, source.kind).batches(wanted, source.forms, rows)


def _read(path: Path, kind: str, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    reader = library("pyreadstat", "SPSS, Stata and SAS files")
    columns, metadata = vars(reader)[_READERS[kind]](str(path), output_format="dict", **options)
    return columns, metadata


@contextlib.contextmanager
def survey_faults(path: Path) -> Iterator[None]:
    """Whatever the library says of a damaged file may quote it."""
    try:
        yield
    except (PramanaError, MemoryError):
        raise
    except Exception:  # the library's own errors, and those of the values it makes
        raise SourceError(f"The source {path} must be a readable file of its kind", "damaged data") from None
