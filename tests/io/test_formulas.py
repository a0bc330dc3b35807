"""Texts that spreadsheets run: found, and escaped where asked, so that they can be read back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import SourceError
from pramana.io.writing import TableWriter, formula_columns, unescaped, write_table

SIGNS = "=+-@\t\r\n\0＝＋－＠"
FORMULAS = [
    "=1+1",
    "+cmd",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1",
    "--5",
    "-5 kg",
    "+49 30 1",
    "-1e",
    "-",
    "-.",
]
HARMLESS = ["", "x=1", " =1", "[-5,0)", "'x", "5", "-5", "+5", "-5.25", "-.5", "-1e-7", "a\n=1"]


def is_formula(text: str) -> bool:
    """Beside the regular expressions: by hand."""
    if not text or text[0] not in SIGNS:
        return False
    try:
        float(text)
    except ValueError:
        return True
    plain = text.removeprefix("-").removeprefix("+")
    return not set(plain) <= set("0123456789.eE+-") or text[0] not in "+-" or plain[:1] in ("+", "-")


def columns_of(text: str) -> list[pa.Array]:
    return [
        pa.array(["x", None, text]),
        pa.array([text, "x"], pa.large_string()),
        pa.array([text, "x", None]).dictionary_encode(),
    ]


@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS])
def test_formulas_are_found(text: str) -> None:
    assert is_formula(text) == (text in FORMULAS)
    for column in columns_of(text):
        assert formula_columns(pa.table({"a": column, "b": ["x"] * len(column)})) == (
            ("a",) if text in FORMULAS else ()
        )


def test_numbers_are_none_and_names_may_be() -> None:
    assert formula_columns(pa.table({"a": [-5, 3], "b": [-0.5, 1.0], "c": [None, None]})) == ()
    assert formula_columns(pa.table({"=a": [5], "-5": [1]})) == ("=a",)
    pieces = pa.chunked_array([pa.array(["x"]).dictionary_encode(), pa.array(["=x"]).dictionary_encode()])
    assert formula_columns(pa.table({"a": pieces})) == ("a",)


def written(table: pa.Table, folder: Path, escape: bool) -> list[list[str]]:
    """The rows of the file, which must be the same when it is written piece by piece."""
    write_table(table, folder / "whole.csv", "csv", escape_formulas=escape)
    with TableWriter(folder / "pieces.csv", "csv", table.schema, escape_formulas=escape) as writer:
        for row in range(table.num_rows):
            writer.write(table.slice(row, 1))
    content = (folder / "whole.csv").read_bytes()
    assert (folder / "pieces.csv").read_bytes() == content
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_escaping_is_off_unless_asked_for(tmp_path: Path) -> None:
    texts = [t for t in FORMULAS + HARMLESS if t]
    for column in (pa.array(texts), pa.array(texts).dictionary_encode(), pa.array(texts, pa.large_string())):
        table = pa.table({"a": column, "n": list(range(-3, len(texts) - 3))})
        assert [row[0] for row in written(table, tmp_path, False)[1:]] == texts
        rows = written(table, tmp_path, True)[1:]
        assert [row[0] for row in rows] == [f"'{t}" if t in FORMULAS else t for t in texts]
        assert [int(row[1]) for row in rows] == table["n"].to_pylist()
    missing = pa.table({"a": pa.array(["=1", None, "x"]), "b": ["x", "y", "z"]})
    assert [row[0] for row in written(missing, tmp_path, True)[1:]] == ["'=1", "", "x"]


def test_a_name_that_is_a_formula_cannot_be_escaped(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="'=a'"):
        write_table(pa.table({"=a": ["x"]}), tmp_path / "t.csv", "csv", escape_formulas=True)


def test_parquet_is_as_it_was(tmp_path: Path) -> None:
    table = pa.table({"=a": ["=1"]})
    for escape in (False, True):
        write_table(table, tmp_path / f"{escape}.parquet", "parquet", escape_formulas=escape)
    assert (tmp_path / "False.parquet").read_bytes() == (tmp_path / "True.parquet").read_bytes()


@given(st.lists(st.text("'=+-@a5.\t＝", max_size=5), min_size=1, max_size=8))
def test_no_two_texts_are_escaped_alike(texts: list[str]) -> None:
    from pramana.io.writing import escaped

    column = escaped(pa.table({"a": texts})).column("a")
    assert not any(is_formula(text) for text in column.to_pylist())
    assert unescaped(column).to_pylist() == texts
