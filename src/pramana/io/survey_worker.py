"""The process that reads SPSS, Stata and SAS files: a damaged file may end it, and ends nothing else.

    python -P -m pramana.io.survey_worker PATH KIND

It writes what the file says of its variables as a line of JSON, waits for a line that tells what is wanted, and
writes the rows as an Arrow stream. Nothing is written to standard error: what the library says may quote a row.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramana.io.columns import texts as text_array
from pramana.io.formats import library
from pramana.io.survey import Variable
from pramana.schema.kind import label_of

_READERS = {"sav": "read_sav", "dta": "read_dta", "sas7bdat": "read_sas7bdat", "xpt": "read_xport"}
_TYPES = ((datetime.datetime, pa.timestamp("us")), (datetime.date, pa.date32()), (datetime.time, pa.time64("us")))
_TEXT = pa.dictionary(pa.int32(), pa.string())
_MOST_COLUMNS = 1 << 16


@dataclass(frozen=True)
class SurveyReader:
    """A file whose variables are known, and nothing of its rows."""

    path: str
    kind: str
    variables: Mapping[str, Variable]
    types: Mapping[str, str]

    @classmethod
    def open(cls, path: str, kind: str) -> SurveyReader:
        metadata = _read(path, kind, metadataonly=True)[1]
        if len(metadata.column_names) > _MOST_COLUMNS:
            raise ValueError("too many columns")
        variables = {
            name: Variable.of(
                metadata.column_names_to_labels.get(name),
                metadata.variable_value_labels.get(name, {}),
                metadata.variable_measure.get(name) == "ordinal",
            )
            for name in metadata.column_names
        }
        if len(variables) != len(metadata.column_names):
            raise ValueError("one name twice")
        return cls(path, kind, variables, dict(metadata.readstat_variable_types))

    def send(
        self, names: Sequence[str], codes: Sequence[str], missing: Mapping[str, list[str]], size: int
    ) -> None:
        """The rows, `size` at a time. A column keeps one type from the first row to the last."""
        columns = _read(self.path, self.kind, usecols=list(names), row_limit=size)[0]
        types = [self._type(name, columns[name], name in codes) for name in names]
        schema = pa.schema(list(zip(names, types, strict=True)))
        with pa.ipc.new_stream(sys.stdout.buffer, schema) as writer:
            offset = 0
            while count := len(columns[names[0]]):
                arrays = [self._column(f, columns[f.name], missing.get(f.name, ())) for f in schema]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
                offset += count
                if count < size:
                    break
                columns = _read(self.path, self.kind, usecols=list(names), row_offset=offset, row_limit=size)[0]

    def _type(self, name: str, values: Sequence[Any], as_codes: bool) -> pa.DataType:
        """Of a column, by its first value, wherever that is: a chunk without one must not tell otherwise."""
        variable = self.variables[name]
        if variable.codes and not as_codes:
            return pa.dictionary(pa.int32(), pa.string(), ordered=variable.ordered)
        if self.types.get(name) == "string":
            return _TEXT
        first = next((value for value in values if value is not None), None)
        if first is None and self.types.get(name) == "double":
            column = _read(self.path, self.kind, usecols=[name])[0][name]
            first = next((value for value in column if value is not None), None)
        for python, arrow in _TYPES:
            if isinstance(first, python):
                return arrow
        return pa.float64() if self.types.get(name) in ("double", "float") else pa.int64()

    def _column(self, field: pa.Field, values: Sequence[Any], gone: Sequence[str]) -> pa.Array:
        """Values with labels as their labels: those that are declared first, in the order of their codes."""
        if not pa.types.is_dictionary(field.type):
            return pa.array(values, field.type, from_pandas=True)
        plain = pa.array(values, from_pandas=True)
        coded = (plain.cast(pa.string()) if pa.types.is_null(plain.type) else plain).dictionary_encode()
        variable = self.variables[field.name]
        texts = variable.texts | dict.fromkeys(gone, "")
        written = [label_of(value) for value in coded.dictionary.to_pylist()]
        shown = [texts.get(text, text) for text in written]
        entries = [*variable.codes, *sorted(set(shown) - {*variable.codes, ""})]
        places = pc.index_in(text_array(shown), value_set=text_array(entries))  # null where empty: missing
        indices = places.take(coded.indices)
        return pa.DictionaryArray.from_arrays(indices, text_array(entries), ordered=field.type.ordered)


def _read(path: str, kind: str, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    reader = library("pyreadstat", "SPSS, Stata and SAS files")
    columns, metadata = vars(reader)[_READERS[kind]](path, output_format="dict", **options)
    return columns, metadata


def main(path: str, kind: str) -> None:
    own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (own, own))  # a number in a damaged file may ask for any memory
    reader = SurveyReader.open(path, kind)
    header = {name: variable.to_json() for name, variable in reader.variables.items()}
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n")
    sys.stdout.buffer.flush()
    if wanted := sys.stdin.buffer.readline():
        reader.send(**json.loads(wanted))


if __name__ == "__main__":
    main(*sys.argv[1:])
