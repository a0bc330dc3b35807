"""The first inputs of every reader: small, honest, and of many kinds.

python -m tests.security.fuzzing.seeds    # writes those that are not there yet into tests/security/corpus
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
from tests.golden.cells import SETTINGS
from tests.security.bundles import made, make_small_tables
from tests.security.fuzzing.readers import CORPUS

PEOPLE = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0],
        "age": [23.0, 99.0, 41.5],
        "town": ["Ulm", "Köln", ""],
        "day": [datetime.date(2024, 3, 1), None, datetime.date(2024, 3, 2)],
    }
)
SEX = {1.0: "male", 2.0: "female", 9.0: "refused"}
CSV = b"sex,age,day\nF,12,2024-01-01\nM,,2024-01-02\n"
FILTERS = (
    "sex = F",
    "age >= 20 and (sex != M or not day < 2024-01-15)",
    "sex in (F, 'M') and sex is not missing",
    'sex = "F" or age < 40 and day >= 2024-01-01',
)
MATRICES = ("0.8,0.2\n0.3,0.7\n", "1/3;1/3;1/3\n0;1;0\n2/4;1e-1;4e-1\n", "1\n", "0.5 0.5\n0.25 0.75\n")
HIERARCHIES = (
    "".join(f"{i};{i // 5 * 5}-{i // 5 * 5 + 4};*\n" for i in range(10)),
    'a;x;*\nb;x;*\n"c;d";y;*\n',
    "\ufeffa;*\nb;*\n",
)


def _toml(release: dict[str, object], attributes: dict[str, dict[str, object]]) -> str:
    """A recipe of the golden settings as a file; JSON's values are TOML's, but for tables."""
    lines = ["[source]", 'path = "people.csv"', "[release]"]
    lines += [f"{key} = {_value(value)}" for key, value in release.items()]
    for name, section in attributes.items():
        lines += [f'[attributes."{name}"]', *(f"{key} = {_value(value)}" for key, value in section.items())]
    return "\n".join([*lines, "[output]", 'format = "csv"', ""])


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def _written(write: Callable[[Path], object], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / f"t{suffix}")
        return (Path(place) / f"t{suffix}").read_bytes()


def seeds() -> dict[str, dict[str, bytes]]:
    """By reader, the inputs and what they are called."""
    coded = pa.table({"sex": pa.array(["F", "M", None]).dictionary_encode(), "age": [1, 2, 3]})
    answers = {"smokes": "yes", "age": "[0,30)"}
    batch = pa.RecordBatch.from_pydict({"sex": ["F", "M"], "age": [1.0, None]})
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    header = {n: {"label": "", "codes": {}, "ordered": False} for n in ("sex", "age")}
    return {
        "recipe": {name: _toml(*SETTINGS[name]).encode() for name in SETTINGS},  # type: ignore[arg-type]
        "hierarchy": {f"h{i}": text.encode() for i, text in enumerate(HIERARCHIES)},
        "certificate": _certificates(),
        "matrix": {f"m{i}": text.encode() for i, text in enumerate(MATRICES)},
        "filter": {f"f{i}": text.encode() for i, text in enumerate(FILTERS)},
        "submission": {
            "whole": json.dumps({"id": "0" * 32, "answers": answers}).encode(),
            "invited": json.dumps({"id": "a" * 32, "answers": answers, "invitation": "b" * 32}).encode(),
        },
        "key": {"key": b"0123456789abcdef" * 4 + b"\n", "seeded": b"seeded " + b"f" * 64},
        "csv": {
            "plain": CSV,
            "quoted": b'sex,age\r\n"F ""x""",1\r\n,\r\n',
            "marked": b"\xef\xbb\xbf" + CSV,
            "latin": "sex,age\nFrançais,3\n".encode("latin-1"),
        },
        "csv-dialect": {
            "comma": b"\0sex;age\nF;1,5\n",
            "tab": b"\1sex\tage\nF\t1'000\n",
            "wide": b"\2" + CSV.decode().encode("utf-16"),
            "windows": b"\3" + CSV,
            "codes": b"\4sex,age\nNA,99\n",
            "bar": b"\5sex|age\nF|1.000,5\n",
        },
        "csv-packed": {"gzip": gzip.compress(CSV, mtime=0)},
        "parquet": {
            "plain": _written(lambda p: pq.write_table(coded, p, compression="none"), ".parquet"),
            "snappy": _written(lambda p: pq.write_table(coded, p, compression="snappy"), ".parquet"),
        },
        "arrow": {"feather": _written(lambda p: pa.feather.write_feather(coded, p, compression="lz4"), ".arrow")},
        "workbook": {"xlsx": _written(lambda p: PEOPLE.to_excel(p, index=False, engine="xlsxwriter"), ".xlsx")},
        "worker": {"rows": json.dumps(header).encode() + b"\n" + stream.getvalue()},
        "sav": {
            "plain": _written(_sav, ".sav"),
            "packed": _written(lambda p: pyreadstat.write_sav(PEOPLE, p, compress=True), ".zsav"),
        },
        "dta": {
            "plain": _written(
                lambda p: pyreadstat.write_dta(PEOPLE, p, variable_value_labels={"sex": SEX}), ".dta"
            )
        },
        "sas7bdat": {"head": bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(256)},
        "xpt": {"plain": _written(lambda p: pyreadstat.write_xport(PEOPLE, p), ".xpt")},
    }


def _sav(path: Path) -> None:
    pyreadstat.write_sav(
        PEOPLE,
        path,
        column_labels={"sex": "Sex"},
        variable_value_labels={"sex": SEX},
        missing_ranges={"sex": [9.0], "age": [{"lo": 90, "hi": 99}]},
        variable_measure={"sex": "ordinal"},
    )


def _certificates() -> dict[str, bytes]:
    """One for every method, in as few bytes as JSON has."""
    chosen = (
        "retention k",
        "retention numbers",
        "matrix",
        "invariant",
        "levels",
        "generalize labels",
        "presence labels",
        "microaggregate",
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_small_tables(folder)
        return {
            name: json.dumps(
                json.loads((made(name, "csv", folder) / "certificate.json").read_text()), separators=(",", ":")
            ).encode()
            for name in chosen
        }


def main() -> None:
    for reader, inputs in seeds().items():
        (CORPUS / reader).mkdir(parents=True, exist_ok=True)
        for name, content in inputs.items():
            path = CORPUS / reader / name.replace(" ", "-")
            if not path.exists():
                path.write_bytes(content)


if __name__ == "__main__":
    main()
