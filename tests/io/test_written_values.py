"""Values as people write them: blanks, numbers in a notation, dates, missing codes, encodings, packed files."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pramana.errors import PramanaError, RecipeError, SourceError
from pramana.io.pieces import pieces_of
from pramana.io.source import Source
from pramana.io.values import NumberMarks, ValueForm
from pramana.schema.kind import Kind

OFTEN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.text(
    st.characters(codec="cp1252", exclude_characters='";\r\n,', exclude_categories=["Cc", "Zs"]), min_size=1
)


def read(path: Path, **options: Any) -> dict[str, list[object]]:
    """All columns, read whole, in batches and in the pieces that Spark's tasks read, which must agree."""
    source, again = Source(path=path, **options), Source(path=path, **options)
    whole = {name: column.to_pylist() for name, column in source.read().columns.items()}
    parts = list(again.batches(list(whole), 7))
    assert {n: [v for b in parts for v in b.column(n).to_pylist()] for n in whole} == whole
    assert again.notes == source.notes
    pieces = pieces_of(Source(path=path, **options), list(whole))
    tables = [table for piece in pieces for table in piece.read(list(whole))]
    assert {n: [v for t in tables for v in t.column(n).to_pylist()] for n in whole} == whole
    return whole


@OFTEN
@given(
    rows=st.lists(st.tuples(WORDS, st.integers(-(10**9), 10**9), st.integers(0, 99)), min_size=1, max_size=20),
    thousands=st.sampled_from([None, ".", "'", " "]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    pack=st.sampled_from(["none", "gzip", "zstd"]),
    blanks=st.sampled_from(["", " ", "  "]),
)
def test_any_office_table_is_read_back(
    tmp_path: Path, rows: list[tuple[str, int, int]], thousands: str | None, encoding: str, pack: str, blanks: str
) -> None:
    """The writer here is plain Python; what it wrote is known."""
    lines = ["word;amount"]
    for word, whole, cents in rows:
        amount = f"{whole:,}".replace(",", thousands or "") + f",{cents:02d}"
        lines.append(f"{blanks}{word};{amount}{blanks}")
    text = ("\r\n".join(lines) + "\r\n").encode(encoding)
    packed = {"none": text, "gzip": gzip.compress(text), "zstd": pa.compress(text, "zstd", asbytes=True)}[pack]
    path = tmp_path / "table.csv"
    path.write_bytes(packed)
    stated = encoding if encoding == "cp1252" else None  # of a few odd letters nobody can tell
    found = read(
        path, decimal=",", thousands=thousands, encoding=stated, forms={"word": ValueForm(as_written=True)}
    )
    assert found["word"] == [word.strip() or None for word, _, _ in rows]
    assert found["amount"] == [f"{whole}.{cents:02d}" for _, whole, cents in rows]


@OFTEN
@given(
    days=st.lists(st.dates(datetime.date(1, 1, 1)), min_size=1, max_size=20),
    form=st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d/%m/%Y %H:%M", "%Y%m%d"]),
    padded=st.booleans(),
)
def test_any_day_in_any_stated_form_is_read_back(
    tmp_path: Path, days: list[datetime.date], form: str, padded: bool
) -> None:
    def written(day: datetime.date) -> str:
        parts = {"%d": f"{day.day:02d}", "%m": f"{day.month:02d}", "%Y": f"{day.year:04d}", "%H": "09", "%M": "30"}
        if not padded and form != "%Y%m%d":
            parts |= {"%d": str(day.day), "%m": str(day.month)}
        text = form
        for directive, value in parts.items():
            text = text.replace(directive, value)
        return text

    path = tmp_path / "days.csv"
    path.write_text("day\n" + "".join(f"{written(day)}\n" for day in days))
    assert read(path, forms={"day": ValueForm(dates=form)})["day"] == [day.isoformat() for day in days]


@pytest.mark.parametrize(
    "text", ["30.02.2024", "29.02.2023", "00.01.2024", "1.13.2024", "2024-03-01", "Secret", "1.3.24"]
)
def test_what_is_no_day_in_the_stated_form_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"day\n01.03.2024\n{text}\n")
    with pytest.raises(SourceError, match=r"must be a date written as %d\.%m\.%Y") as caught:
        read(tmp_path / "t.csv", forms={"day": ValueForm(dates="%d.%m.%Y")})
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["2024-03-01", "01.03.2024", "1.3.2024", "2024/3/1", "2024-03-01T09:30", "01.03.2024 09:30:15"]
)
def test_days_that_mean_one_thing_need_no_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"day\n{text}\n")
    assert read(tmp_path / "t.csv", forms={"day": ValueForm(kind=Kind.DATE)}) == {"day": ["2024-03-01"]}
    assert read(tmp_path / "t.csv") == {"day": [text]}  # of a column that nobody calls a date


@pytest.mark.parametrize("text", ["3/1/2024", "13/1/2024", "3-1-2024", "3/1/2024 09:30"])
def test_day_or_month_first_must_be_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"day\n{text}\n")
    with pytest.raises(SourceError, match="whether day or month comes first"):
        read(tmp_path / "t.csv", forms={"day": ValueForm(kind=Kind.DATE)})


@pytest.mark.parametrize("form", ["%d.%m", "%d.%m.%y", "%d.%m.%Y.%d", "%x", "%d.%b.%Y", "", "%"])
def test_a_form_must_name_a_day(form: str) -> None:
    with pytest.raises(RecipeError, match="must name a day, a month and a year"):
        ValueForm(dates=form)


def test_a_number_in_another_notation_is_refused_where_numbers_are(tmp_path: Path) -> None:
    """1.234 is a thousand in one country and little more than one in another."""
    (tmp_path / "t.csv").write_text("n;name\n1,5;1.234\n1.234;x\n")
    number = {"n": ValueForm(kind=Kind.NUMBER)}
    with pytest.raises(SourceError, match="column 'n' must be written with the decimal mark ','") as caught:
        read(tmp_path / "t.csv", decimal=",", forms=number)
    assert "234" not in str(caught.value)
    names = {"name": ValueForm()}
    assert read(tmp_path / "t.csv", decimal=",", forms=names)["name"] == ["1.234", "x"], (
        "where names are, it may stand"
    )
    assert read(tmp_path / "t.csv", decimal=",", thousands=".", forms=number)["n"] == ["1.5", "1234"]


def test_only_numbers_of_the_notation_are_rewritten(tmp_path: Path) -> None:
    texts = ["01067", "1,5", "1.23,4", "12.345", "12.345,6", "v1,5", "1,5,6", "-7", "1.2.3"]
    (tmp_path / "t.csv").write_text("n;m\n" + "".join(f"{text};x\n" for text in texts))
    found = read(tmp_path / "t.csv", decimal=",", thousands=".")["n"]
    assert found == ["01067", "1.5", "1.23,4", "12345", "12345.6", "v1,5", "1,5,6", "-7", "1.2.3"]
    assert read(tmp_path / "t.csv", delimiter=";")["n"] == texts


@pytest.mark.parametrize("decimal, thousands", [(";", None), (",", ","), (".", "."), (",", "x"), (".", "")])
def test_marks_that_cannot_be(decimal: str, thousands: str | None) -> None:
    with pytest.raises(RecipeError):
        NumberMarks(decimal, thousands)


def test_missing_codes_are_of_their_column_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n99;99\n refused;1\n1;\n")
    found = read(tmp_path / "t.csv", forms={"a": ValueForm(("99", "refused"))})
    assert found == {"a": [None, None, "1"], "b": ["99", "1", None]}


def test_missing_codes_keep_the_type_of_a_typed_column() -> None:
    frame = pa.table(
        {"n": [1, 99, None], "x": [1.5, 99.0, 2.0], "d": pa.array(["u", "v", "u"]).dictionary_encode()}
    )
    forms = {"n": ValueForm(("99",)), "x": ValueForm(("99",)), "d": ValueForm(("v",))}
    table = Source(frame=frame, forms=forms).read()
    assert table.column("n").to_pylist() == [1, None, None] and table.column("n").type == pa.int64()
    assert table.column("x").to_pylist() == [1.5, None, 2.0] and table.column("x").type == pa.float64()
    assert table.column("d").to_pylist() == ["u", None, "u"]


def test_times_of_a_date_column_become_days() -> None:
    moment = datetime.datetime(2024, 3, 1, 23, 30)
    frame = pa.table({"t": pa.array([moment, None])})
    table = Source(frame=frame, forms={"t": ValueForm(kind=Kind.DATE)}).read()
    assert table.column("t").to_pylist() == [datetime.date(2024, 3, 1), None]
    assert Source(frame=frame).read().column("t").to_pylist() == [moment, None]


def test_blanks_are_trimmed_counted_and_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n x,1\nx ,1\nx,1\n   ,1 \n")
    source = Source(path=tmp_path / "t.csv")
    assert source.read().column("a").to_pylist() == ["x", "x", "x", None]
    assert source.notes.trimmed == {"a": 3, "b": 1}
    assert any("a (3), b (1)" in sentence for sentence in source.notes.sentences())
    assert "3" not in str(source.to_json())  # a count of rows is not for the certificate
    kept = Source(path=tmp_path / "t.csv", trim=False)
    assert kept.read().column("a").to_pylist() == [" x", "x ", "x", "   "]
    assert kept.to_json()["trim"] is False and kept.notes.sentences() == ()


def test_a_domain_that_states_blanks_or_marks_has_them(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n x;1,5\n y ;2,5\n")
    forms = {"a": ValueForm(stated=frozenset({" x", "y"})), "b": ValueForm(stated=frozenset({"1,5", "2.5"}))}
    assert read(tmp_path / "t.csv", decimal=",", forms=forms) == {"a": [" x", "y"], "b": ["1,5", "2.5"]}


TEXT = "name;town\n" + "".join(f"Jürgen {n};Köln\n" for n in range(50))


@pytest.mark.parametrize(
    "encoding, told",
    [
        ("utf-8-sig", "utf-8"),
        *((name, name) for name in ("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32")),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_recognised(tmp_path: Path, encoding: str, told: str, packed: bool) -> None:
    content = TEXT.encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    source = Source(path=path)
    assert set(source.read().column("town").to_pylist()) == {"Köln"}
    assert source.notes.encodings == {told} and source.to_json()["encoding"] == told
    assert bool(source.notes.sentences()) == (told != "utf-8")


@pytest.mark.parametrize(
    "text, encoding",
    [
        ("имя;город\nЮрий;Москва\n", "cp1251"),
        ("名前;町\n太郎;東京\n", "shift_jis"),
        ("όνομα;a\nΝίκος;x\n", "cp1253"),
    ],
)
def test_an_encoding_that_the_rules_do_not_tell_must_be_stated(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    with pytest.raises(SourceError, match="neither UTF-8 nor Windows-1252"):
        Source(path=tmp_path / "t.csv").read()
    assert read(tmp_path / "t.csv", encoding=encoding)


def test_a_letter_far_down_decides(tmp_path: Path) -> None:
    rows = "".join(f"{n};plain\n" for n in range(200_000))
    (tmp_path / "t.csv").write_bytes(("n;town\n" + rows + "1;Köln\n").encode("cp1252"))
    source = Source(path=tmp_path / "t.csv")
    assert source.read(["town"]).column("town").to_pylist()[-1] == "Köln"
    assert source.notes.encodings == {"cp1252"}


def test_a_packed_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    for name, packed in (
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"0,0\n" * (1 << 25))),
        ("a.csv.zst", pa.compress(b"a,b\n" + b"0,0\n" * (1 << 25), "zstd", asbytes=True)),
    ):
        (tmp_path / name).write_bytes(packed)
        for read_it in (lambda s: s.read(["a"]), lambda s: list(s.batches(["a"], 1000))):
            with pytest.raises(SourceError, match="at most 200 times its size"):
                read_it(Source(path=tmp_path / name))


@OFTEN
@given(cut=st.integers(0, 400), flip=st.integers(0, 3000), pack=st.sampled_from(["gzip", "zstd"]))
def test_damaged_packed_files_give_one_error_or_the_table(tmp_path: Path, cut: int, flip: int, pack: str) -> None:
    content = ("secret,n\n" + "".join(f"Sesame{n},{n * n}\n" for n in range(300))).encode()
    packed = bytearray(gzip.compress(content) if pack == "gzip" else pa.compress(content, pack, asbytes=True))
    packed[flip % len(packed)] ^= 1 << (flip % 8)
    path = tmp_path / "t.csv"
    path.write_bytes(bytes(packed[: len(packed) - cut % len(packed)]))
    try:
        Source(path=path).read()
    except PramanaError as error:
        assert "Sesame" not in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("packed", [False, True])
def test_a_short_row_is_located_in_a_packed_file_too(tmp_path: Path, packed: bool) -> None:
    content = b"a;b\n1;2\nSecret\n"
    (tmp_path / "t.csv").write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(SourceError, match="must have 2 fields like its header, got 1 in line 3") as caught:
        Source(path=tmp_path / "t.csv").read()
    assert "Secret" not in str(caught.value)
