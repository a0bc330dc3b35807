"""SPSS, Stata, SAS, Excel and Arrow files: labels, missing declarations, types; and what damage does."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pramana.errors import MissingExtraError, PramanaError, RecipeError, SourceError
from pramana.io.codes import Numbering, domain_from_data
from pramana.io.pieces import pieces_of
from pramana.io.source import Source
from pramana.io.values import ValueForm
from pramana.schema.kind import Kind, label_of

OFTEN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SELDOM = settings(OFTEN, max_examples=6)  # each example starts a process
IN_A_PROCESS = ("t.sav", "t.zsav", "t.dta", "t.xpt")
DAY, TIME = datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 1, 12, 30)
SEX = {1.0: "male", 2.0: "female", 9.0: "refused"}
ROWS = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, np.nan],
        "age": [23.0, 99.0, 41.5, 5.0],
        "town": ["Ulm", "Köln", "", "XX"],
        "day": [DAY, DAY, None, DAY],
        "when": [TIME, TIME, TIME, None],
    }
)


def write_sav(path: Path, compress: bool = False) -> None:
    pyreadstat.write_sav(
        ROWS,
        path,
        column_labels={"sex": "Sex of the person"},
        variable_value_labels={"sex": SEX},
        compress=compress,
        missing_ranges={"sex": [9.0], "age": [{"lo": 90, "hi": 99}], "town": ["XX"]},
        variable_measure={"sex": "ordinal"},
    )


WRITERS: dict[str, Callable[[Path], object]] = {
    "t.sav": write_sav,
    "t.zsav": lambda path: write_sav(path, compress=True),
    "t.dta": lambda path: pyreadstat.write_dta(ROWS, path, variable_value_labels={"sex": SEX}),
    "t.xpt": lambda path: pyreadstat.write_xport(ROWS, path),
    "t.xlsx": lambda path: ROWS.to_excel(path, index=False, engine="xlsxwriter"),
    "t.arrow": lambda path: pa.feather.write_feather(pa.Table.from_pandas(ROWS), path, compression="lz4"),
}


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    WRITERS[request.param](path)
    return path


def test_every_format_gives_the_same_values_whole_and_in_batches(written: Path) -> None:
    source = Source(path=written)
    table = source.read()
    assert table.column("day").to_pylist()[:2] == [DAY] * 2 and table.column("when").to_pylist()[0] == TIME
    assert table.column("town").to_pylist()[:2] == ["Ulm", "Köln"]
    batches = pa.Table.from_batches(source.batches(list(table.columns), 1))
    for name, column in table.columns.items():
        assert batches.column(name).to_pylist() == column.to_pylist()
        assert batches.column(name).type == column.type
    with pytest.raises(SourceError, match="must have the column 'sexx'"):
        source.read(["sexx"])


@pytest.mark.parametrize("name", ["t.sav", "t.zsav"])
def test_spss_labels_and_missing_declarations(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    source = Source(path=tmp_path / name)
    table = source.read()
    assert table.column("sex").to_pylist() == ["male", "female", None, None]  # 9 is declared missing
    assert table.column("sex").type.ordered
    assert table.column("age").to_pylist() == [23.0, None, 41.5, 5.0]
    assert table.column("town").to_pylist() == ["Ulm", "Köln", None, None]
    variable = source.variables(["sex"])["sex"]
    assert variable.label == "Sex of the person" and list(variable.codes.items())[:2] == [
        ("male", 1),
        ("female", 2),
    ]
    assert variable.of_published({"male"}).codes == {"male": 1}


def test_codes_where_a_recipe_has_numbers(tmp_path: Path) -> None:
    WRITERS["t.dta"](tmp_path / "t.dta")
    plain, coded = (
        Source(path=tmp_path / "t.dta"),
        Source(path=tmp_path / "t.dta", forms={"sex": ValueForm(codes=True)}),
    )
    assert plain.read(["sex"]).column("sex").to_pylist() == ["male", "female", "refused", None]
    assert coded.read(["sex"]).column("sex").to_pylist() == [1, 2, 9, None]
    for code in ("9", "refused"):  # a missing code may be the code, or what it is called
        source = Source(path=tmp_path / "t.dta", forms={"sex": ValueForm((code,))})
        assert source.read(["sex"]).column("sex").to_pylist() == ["male", "female", None, None]


def test_labels_that_stand_for_two_codes_are_not_used(tmp_path: Path) -> None:
    pyreadstat.write_sav(ROWS, tmp_path / "t.sav", variable_value_labels={"sex": {1.0: "a", 2.0: "a"}})
    assert Source(path=tmp_path / "t.sav").read(["sex"]).column("sex").to_pylist() == [1, 2, 9, None]


def test_a_column_keeps_its_type_whatever_stands_in_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first chunk has no day at all."""
    monkeypatch.setattr("pramana.io.survey._CELLS", 4)
    monkeypatch.setattr("pramana.io.survey._LEAST_ROWS", 1)
    frame = pd.DataFrame({"day": [None] * 4 + [DAY], "n": [None] * 5, "sex": [1.0] * 5}).astype({"n": float})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_format={"day": "DATE11"})
    table = Source(path=tmp_path / "t.sav").read()
    assert table.column("day").type == pa.date32() and table.column("day").to_pylist() == [None] * 4 + [DAY]
    assert table.column("n").type == pa.float64() and table.records == 5


@SELDOM
@given(
    values=st.lists(st.sampled_from([1.0, 2.0, 3.0, None]), min_size=1, max_size=30),
    labels=st.lists(
        st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=20),
        min_size=3,
        max_size=3,
        unique=True,
    ),
    name=st.sampled_from(["t.sav", "t.zsav", "t.dta"]),
)
def test_any_labels_are_read_as_an_independent_reader_reads_them(
    tmp_path: Path, values: list[float | None], labels: list[str], name: str
) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype="float64")})
    texts = dict(zip([1.0, 2.0, 3.0], labels, strict=True))
    path = tmp_path / name
    (pyreadstat.write_dta if name == "t.dta" else pyreadstat.write_sav)(
        frame, path, variable_value_labels={"x": texts}
    )
    found = Source(path=path).read(["x"]).column("x").to_pylist()
    other = pd.read_stata(path) if name == "t.dta" else pd.read_spss(path)
    expected = [None if pd.isna(v) else v for v in other["x"].tolist()]
    assert [None if v is None else str(v) for v in found] == [None if v is None else str(v) for v in expected]


def test_sheets_are_named_and_chosen(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        ROWS[["age"]].to_excel(book, sheet_name="first", index=False)
        ROWS[["town"]].to_excel(book, sheet_name="second", index=False)
    source = Source(path=path)
    assert source.read().column("age").to_pylist() == [23.0, 99.0, 41.5, 5.0]
    assert "'first'" in source.notes.sentences()[0]
    with pytest.raises(SourceError, match="Set sheet"):
        source.read(["town"])
    chosen = Source(path=path, sheet="second")
    assert (
        chosen.read().column("town").to_pylist()[:2] == ["Ulm", "Köln"] and chosen.to_json()["sheet"] == "second"
    )
    with pytest.raises(SourceError, match="must have the sheet 'third'"):
        Source(path=path, sheet="third").read()


def test_options_of_one_format_are_refused_with_another(tmp_path: Path) -> None:
    for option in ({"decimal": ","}, {"thousands": "'"}, {"trim": False}, {"sheet": "x"}):
        with pytest.raises(RecipeError, match="must go with a source that has it"):
            Source(path=tmp_path / "t.parquet", **option)
    with pytest.raises(SourceError, match=r"must be CSV or Parquet, got format = 'sav'"):
        pieces_of(Source(path=tmp_path / "t.sav"), ["x"])


# ---------------------------------------------------------------- categories with an order


@pytest.mark.parametrize("home", ["pandas", "polars", "parquet", "arrow"])
@pytest.mark.parametrize("ordered", [True, False])
def test_ordered_categories_keep_their_order_in_memory_and_in_batches(
    home: str, ordered: bool, tmp_path: Path
) -> None:
    values = ["high", "low", "high", None, "middle"]
    frame = pd.DataFrame({"x": pd.Categorical(values, ["low", "middle", "high", "nobody"], ordered=ordered)})
    if home == "polars":
        import polars

        source = Source(frame=polars.from_pandas(frame) if not ordered else polars.from_arrow(pa.table(frame)))
    elif home == "pandas":
        source = Source(frame=frame)
    else:
        path = tmp_path / f"t.{home}"
        table = pa.Table.from_pandas(frame)
        pq.write_table(table, path) if home == "parquet" else pa.feather.write_feather(table, path)
        source = Source(path=path)
    domain = domain_from_data(source.read().column("x"))
    numbering = Numbering()
    for batch in source.batches(["x"], 2):
        numbering.number(batch.column("x"))
    streamed = domain_from_data(numbering.seen())
    assert streamed == domain
    if home == "polars":  # its Enum tells no order to Arrow
        assert set(domain.labels) == {"low", "middle", "high"}
    elif ordered:
        assert domain.labels == ("low", "middle", "high") and domain.kind is Kind.ORDERED
    else:
        assert domain.labels == ("high", "low", "middle") and domain.kind is Kind.NOMINAL


def test_nullable_integers_and_days_keep_their_values() -> None:
    frame = pd.DataFrame({"n": pd.array([1, None, 30], "Int64"), "d": [DAY, None, DAY]})
    table = Source(frame=frame).read()
    assert table.column("n").to_pylist() == [1, None, 30] and table.column("n").type == pa.int64()
    assert [label_of(value) for value in table.column("d").to_pylist()] == ["2024-03-01", "", "2024-03-01"]


# ---------------------------------------------------------------- hostile files


def damaged(content: bytes, cut: int, flips: list[int]) -> bytes:
    data = bytearray(content)
    for flip in flips:
        data[flip % len(data)] ^= 1 << (flip % 8)
    return bytes(data[: len(data) - cut % len(data)])


DAMAGE = {
    "cut": st.one_of(st.just(0), st.integers(0, 20_000)),
    "flips": st.lists(st.integers(0, 1 << 20), max_size=8),
}


@pytest.mark.parametrize("name", IN_A_PROCESS)
@SELDOM
@given(**DAMAGE)
def test_damaged_survey_files_give_one_error_or_a_table(
    name: str, tmp_path: Path, cut: int, flips: list[int]
) -> None:
    check_damage(name, tmp_path, cut, flips)


@pytest.mark.parametrize("name", [name for name in WRITERS if name not in IN_A_PROCESS])
@OFTEN
@given(**DAMAGE)
def test_damaged_files_give_one_error_or_a_table(name: str, tmp_path: Path, cut: int, flips: list[int]) -> None:
    check_damage(name, tmp_path, cut, flips)


def test_a_file_that_ends_its_reader_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some damage does to a library in C."""
    write_sav(tmp_path / "t.sav")
    worker = tmp_path / "worker.py"
    worker.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("pramana.io.survey._WORKER", "worker")
    for read in (lambda s: s.read(), lambda s: list(s.batches(["sex"], 10)), lambda s: s.variables(["sex"])):
        with pytest.raises(SourceError, match="must be a readable file of its kind, got damaged data"):
            read(Source(path=tmp_path / "t.sav"))


def check_damage(name: str, tmp_path: Path, cut: int, flips: list[int]) -> None:
    whole, path = tmp_path / f"whole-{name}", tmp_path / name
    if not whole.exists():
        WRITERS[name](whole)
    path.write_bytes(damaged(whole.read_bytes(), cut, flips))
    try:
        Source(path=path).read()
    except PramanaError as error:
        assert "\n" not in str(error) and "Ulm" not in str(error) and "Köln" not in str(error)


@pytest.mark.parametrize("name", WRITERS)
def test_a_wrong_ending_is_named(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    for other in ("t.csv", "t.parquet", "x.dta", "x.xlsx", "x.sav", "x.arrow"):
        path = tmp_path / other
        if path.suffix.removeprefix(".z").strip(".") in name.replace("zsav", "sav"):
            continue
        path.write_bytes((tmp_path / name).read_bytes())
        with pytest.raises(SourceError, match=r"must be a.*Set format = ") as caught:
            Source(path=path).read()
        told = str(caught.value).rpartition('format = "')[2].partition('"')[0]
        assert Source(path=path, format=told).read(["sex"]).records == 4


def test_a_workbook_that_is_a_bomb(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", bytes(1 << 27))
    with pytest.raises(SourceError, match="at most 200 times its size"):
        Source(path=path).read()


@pytest.mark.parametrize("name, library", [("t.sav", "pyreadstat"), ("t.xlsx", "python_calamine")])
def test_without_the_extra_there_is_a_hint(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pramana-privacy\[formats\]'"):
        Source(path=tmp_path / name).read()


def test_nothing_of_a_library_is_loaded_for_a_csv_file(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    code = (
        "import sys; from pathlib import Path; from pramana.io.source import Source; "
        f"Source(path=Path({str(tmp_path / 't.csv')!r})).read(); "
        "print([m for m in ('pandas', 'pyreadstat', 'python_calamine', 'xlsxwriter') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
