"""SPSS, Stata and SAS files: read by pyreadstat in a process of its own, some rows at a time; copies written.

Values with labels arrive as their labels, in the order of their codes, unless a recipe has the column as numbers.
What a file declares missing is missing. The library is in C, and was not written for hostile files: damage may end
the process that reads, and is told here as what it is.

    python -P -m pramana.io.survey PATH KIND

That process writes what the file says of its variables as a line of JSON, waits for a line that tells what is
wanted, and writes the rows as an Arrow stream. Nothing is written to standard error: what the library says may
quote a row.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from pramana.errors import PramanaError, SourceError
from pramana.io.columns import compute as pc
from pramana.io.columns import select
from pramana.io.columns import texts as text_array
from pramana.io.formats import library, missing_library
from pramana.schema.kind import label_of

if TYPE_CHECKING:
    from pramana.io.exports import Export, ExportColumn
    from pramana.io.source import Source


_WORKER = "pramana.io.survey"
_CELLS = 1 << 22  # values read at a time: the library makes a Python object of each
_LEAST_ROWS = 1 << 15  # each chunk goes over the rows before it once more
_LONGEST_HEADER = 1 << 28
_NO_TIME = datetime.datetime(2000, 1, 1)  # when a file was written is nobody's business
_LONGEST = {"sav": (120, 255), "dta": (32_000, 80)}  # bytes of a value label, characters of a variable label
_STATA_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,31}"

Code = int | float | str


@dataclass(frozen=True)
class Variable:
    """A variable's label, and its codes by their labels, in the order of the codes."""

    label: str = ""
    codes: Mapping[str, Code] = field(default_factory=dict)
    ordered: bool = False

    def __post_init__(self) -> None:
        kinds = {isinstance(code, str) for code in self.codes.values()}
        if len(kinds) > 1 or any(
            isinstance(c, bool) or c != c or c in (math.inf, -math.inf) for c in self.codes.values()
        ):
            raise SourceError(
                "The codes of a variable must be numbers or texts", "both, or a number that is not finite"
            )
        if len({label_of(code) for code in self.codes.values()}) != len(self.codes):
            raise SourceError("Every label of a variable must have a code of its own", "one code twice")

    @classmethod
    def of(cls, label: object, value_labels: Mapping[Any, Any], ordered: bool) -> Variable:
        """As a file has it. Labels that are empty or stand for several codes tell nothing: the codes stay."""
        texts = {code: str(text).strip() for code, text in value_labels.items() if _is_code(code)}
        known = {code: text for code, text in texts.items() if text}
        if len(set(known.values())) != len(known):
            known = {}
        if len({isinstance(code, str) for code in known}) > 1:
            known = {code: text for code, text in known.items() if not isinstance(code, str)}
        codes = {known[code]: _plain(code) for code in sorted(known)}
        return cls("" if label is None else str(label).strip(), codes, ordered)

    @property
    def texts(self) -> dict[str, str]:
        """The label of each code, as codes are written."""
        return {label_of(code): text for text, code in self.codes.items()}

    def of_published(self, labels: set[str]) -> Variable:
        """What may be said of it where only these values are published: nothing of any other."""
        codes = {text: c for text, c in self.codes.items() if text in labels or label_of(c) in labels}
        return Variable(self.label, codes, self.ordered)

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "codes": dict(self.codes), "ordered": self.ordered}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Variable:
        codes = sorted(statement["codes"].items(), key=lambda pair: (isinstance(pair[1], str), pair[1]))
        return cls(statement["label"], dict(codes), statement["ordered"])


def _is_code(code: object) -> bool:
    return isinstance(code, str) or (isinstance(code, int | float) and math.isfinite(code))


def _plain(code: Code) -> Code:
    return int(code) if isinstance(code, float) and code.is_integer() and abs(code) < 1 << 53 else code


# ---------------------------------------------------------------- reading


def survey_variables(path: Path, kind: str) -> dict[str, Variable]:
    """What the file says of its variables; no row is read."""
    with _reading(path, kind) as (variables, _, _):
        return variables


def batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    path = source.path
    assert isinstance(path, Path), "a kind that is refused elsewhere"
    with _reading(path, source.kind) as (variables, requests, answers):
        names = select(list(variables), wanted, str(path))
        fitting = max(_LEAST_ROWS, _CELLS // max(1, len(names)))
        wish = {
            "names": names,
            "codes": [name for name in names if name in source.forms and source.forms[name].codes],
            "missing": {name: source.forms[name].missing for name in names if name in source.forms},
            "size": max(_LEAST_ROWS, min(rows, fitting)),
        }
        requests.write(json.dumps(wish).encode() + b"\n")
        requests.close()
        with pa.ipc.open_stream(answers) as reader:
            for batch in reader:
                batch.validate(full=True)
                yield batch


@contextlib.contextmanager
def _reading(path: Path, kind: str) -> Iterator[tuple[dict[str, Variable], IO[bytes], IO[bytes]]]:
    """The variables, where to ask for rows, and where they come."""
    if find_spec("pyreadstat") is None:
        raise missing_library("pyreadstat", "SPSS, Stata and SAS files")
    command = [sys.executable, "-P", "-m", _WORKER, str(path), kind]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        ended = False
        try:
            header = json.loads(worker.stdout.readline(_LONGEST_HEADER))
            yield (
                {name: Variable.from_json(statement) for name, statement in header.items()},
                worker.stdin,
                worker.stdout,
            )
            worker.stdin.close()
            worker.stdout.read(1)
            ended = worker.wait() == 0
        except GeneratorExit:
            raise
        except (PramanaError, MemoryError):
            raise
        except (ValueError, KeyError, TypeError, OSError):  # Arrow's errors are among them; some quote a row
            pass
        finally:
            worker.kill()
        if not ended:
            raise SourceError(f"The source {path} must be a readable file of its kind", "damaged data")


# ---------------------------------------------------------------- the process that reads

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
        positions = pc.index_in(text_array(shown), value_set=text_array(entries))  # null where empty: missing
        indices = positions.take(coded.indices)
        return pa.DictionaryArray.from_arrays(indices, text_array(entries), ordered=field.type.ordered)


def _read(path: str, kind: str, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    reader = library("pyreadstat", "SPSS, Stata and SAS files")
    columns, metadata = vars(reader)[_READERS[kind]](path, output_format="dict", **options)
    return columns, metadata


def serve(path: str, kind: str) -> None:
    own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (own, own))  # a number in a damaged file may ask for any memory
    reader = SurveyReader.open(path, kind)
    header = {name: variable.to_json() for name, variable in reader.variables.items()}
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n")
    sys.stdout.buffer.flush()
    if wanted := sys.stdin.buffer.readline():
        reader.send(**json.loads(wanted))


# ---------------------------------------------------------------- writing


def write_copy(path: Path, form: str, export: Export) -> None:
    columns = export.columns(*_LONGEST[form])
    if form == "sav":
        _write_sav(path, columns)
    else:
        _write_dta(path, columns)


def _frame(columns: Sequence[ExportColumn]) -> Any:
    pandas = library("pandas", "SPSS and Stata files")

    def series(values: Sequence[Any]) -> Any:
        present = [value for value in values if value is not None]
        if present and all(isinstance(value, int | float) for value in present):
            return pandas.array([math.nan if v is None else float(v) for v in values], "float64")
        if not present or not isinstance(present[0], datetime.date):
            values = ["" if v is None else label_of(v) for v in values]
        return pandas.Series(values, dtype=object)

    return pandas.DataFrame({column.name: series(column.values) for column in columns})


def _write_sav(path: Path, columns: Sequence[ExportColumn]) -> None:
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


def _write_dta(path: Path, columns: Sequence[ExportColumn]) -> None:
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
        time_stamp=_NO_TIME,
        variable_labels={c.name: c.label for c in columns},
        value_labels={c.name: dict(c.labels) for c in columns if c.labels},
        version=118,
    )


if __name__ == "__main__":
    serve(*sys.argv[1:])
