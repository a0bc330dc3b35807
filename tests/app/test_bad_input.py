"""Everything a hostile or clumsy user can give: one clear line, exit 2, nothing written, nothing lost."""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import PEOPLE, RECIPE, Refused, snapshot

from pramana.app.main import run

RELEASE = ("release", "recipe.toml", "--out", "out")
SEX = 'domain = ["F", "M"]'

# what the file holds -> words the refusal must have
TABLES = {
    "empty": ("", "empty file"),
    "blank": ("\n\n", "empty file"),
    "blank first line": ("\n" + PEOPLE, "empty line"),
    "header only": ("name,sex,age\n", "at least one record"),
    "header without its newline": ("name,sex,age", "at least one record"),
    "short row": ("name,sex,age\nx,F\n", "3 fields"),
    "long row": ("name,sex,age\nx,F,3,4\n", "3 fields"),
    "unclosed quote": ('name,sex,age\n"x,F,3\nx,M,3\n', "3 fields"),
    "short row that is no text": (b"name,sex,age\nx,F,3\nSecret\xff,M\n", "3 fields"),
    "column twice": ("sex,age,sex\nF,3,F\n", "columns 1 and 3"),
    "column twice but for a space": ("sex,age, sex\nF,3,F\n", "columns 1 and 3"),
    "latin-1": ("name,sex,age\nx,F\xe9,3\n".encode("latin-1"), "cp1252: is it another?"),
    "half a gzip": (gzip.compress(PEOPLE.encode())[:-30], "damaged data"),
    "cyrillic": ("sex,age\nСекрет,3\n".encode("cp1251"), "neither UTF-8 nor Windows-1252. Set encoding"),
    "NUL": ("sex,age\nF\0,3\n", "binary data"),
    "outside a list": ("sex,age\nSecretX,3\nSecretX,4\nF,3\n", "'sex' must be in its domain, got 2 rows"),
    "outside bins": ("sex,age\nF,777777\n", "'age' must be in its domain, got 1 row outside"),
    "no number in bins": ("sex,age\nF,Secret\n", "'age' must be in its domain, got 1 row outside"),
}


@pytest.mark.parametrize("content, words", TABLES.values(), ids=TABLES)
def test_a_table_that_cannot_be_used(desk: Path, refused: Refused, content: str | bytes, words: str) -> None:
    (desk / "people.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    said = refused(*RELEASE)
    assert words in said
    assert "Secret" not in said and "777777" not in said


GOOD_TABLES = {
    "byte order mark": "\ufeff" + PEOPLE,
    "quoted newlines": PEOPLE.replace("Person 3", '"Per\nson; 3"'),
    "semicolons": PEOPLE.replace(",", ";"),
    "utf-16": PEOPLE.encode("utf-16"),
    "utf-16 without a mark": PEOPLE.encode("utf-16-le"),
    "utf-32": PEOPLE.encode("utf-32"),
    "gzip": gzip.compress(PEOPLE.encode()),
    "zstd": pa.compress(PEOPLE.encode(), "zstd", asbytes=True),
    "gzip in utf-16": gzip.compress(PEOPLE.encode("utf-16")),
    "blanks": PEOPLE.replace(",", " , "),
    "tabs": PEOPLE.replace(",", "\t"),
    "bars": PEOPLE.replace(",", "|"),
    "CRLF": PEOPLE.replace("\n", "\r\n"),
    "CR": PEOPLE.replace("\n", "\r"),
    "quoted fields": PEOPLE.replace("F", '"F"'),
    "no last newline": PEOPLE.rstrip("\n"),
}


@pytest.mark.parametrize("content", GOOD_TABLES.values(), ids=GOOD_TABLES)
def test_the_usual_dialects_are_the_same_table(desk: Path, content: str | bytes) -> None:
    """One seed, one table, one release: the dialect changes no published byte."""
    assert run([*RELEASE, "--seed", "1"]) == 0
    (desk / "people.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    assert run(["release", "recipe.toml", "--out", "again", "--seed", "1"]) == 0
    assert (desk / "out/data.parquet").read_bytes() == (desk / "again/data.parquet").read_bytes()


def test_other_encodings_are_read_when_named(desk: Path) -> None:
    (desk / "people.csv").write_bytes("sex,age\nÄ,3\nM,4\n".encode("latin-1"))
    recipe = RECIPE.replace('"people.csv"', '"people.csv"\nencoding = "latin-1"').replace('"F"', '"Ä"')
    (desk / "recipe.toml").write_text(recipe, "utf-8")
    assert run([*RELEASE, "--even-if-useless"]) == 0


# what stands in the recipe's place -> words the refusal must have
SOURCES = {
    'encoding = "zzz"': "encoding",
    'encoding = "hex"': "encoding",
    'encoding = "idna"': "encoding",
    'encoding = "undefined"': "encoding",
    'encoding = "punycode"': "encoding",
    'encoding = "rot13"': "encoding",
    'encoding = "base64"': "encoding",
    'encoding = "a\\u0000b"': "encoding",
    "encoding = 5": "source.encoding must be text",
    'delimiter = ""': "delimiter",
    'delimiter = "ab"': "delimiter",
    'delimiter = "\\n"': "delimiter",
    "delimiter = '\"'": "delimiter",
    'format = "xls"': "must be one of csv, parquet, arrow, sav, dta, sas7bdat, xpt, xlsx",
    'decimal = ";"': "source.decimal must be a point or a comma",
    'thousands = "x"': "source.thousands must be",
    'decimal = ","\nthousands = ","': "another mark than source.decimal",
    'sheet = "a"': "source.sheet must go with",
    'trim = "no"': "source.trim must be true or false",
    'format = "parquet"': "must be a Parquet file",
    'missing = "x"': "source.missing",
    "missing = [5]": "source.missing",
    "pth = 1": "Did you mean 'path'?",
}
PROMISES = {
    "k = 41": "at most the number of records, 40, got 41",
    "k = 0.5": "at least 1",
    "k = 0": "at least 1",
    "k = -3": "at least 1",
    "k = nan": "release.k must be a finite number",
    "k = true": "must be a number",
    'k = "3"': "must be a number",
    "k = 1e300": "at most the number of records",
    f"k = 1{'0' * 400}": "release.k must be a number that fits in 64 bits, got one of about 400 digits",
    f"k = 1{'0' * 5000}": "too many digits",
    "k = 3\nshuffle = false": "shuffled",
    "epsilon = 0": "positive",
    "epsilon = -1": "positive",
    "epsilon = inf": "release.epsilon must be a finite number",
    "epsilon = 1e9": "at most 1000",
    "epsilon = 2020-01-01": "release.epsilon must be a positive number",
    "": "neither k nor epsilon",
    "epsilonn = 1": "Did you mean 'epsilon'?",
    "epsilon = 1\ndelta = 1": "delta",
    "epsilon = 1\ndelta = nan": "delta",
    'epsilon = 1\ndelta = "x"': "delta",
    "epsilon = 1\ncoin = 5": "release.coin",
    "epsilon = 1\nallocation = []": "release.allocation",
    "epsilon = 1\ntables = 5": "tables must be",
    "epsilon = 1\ntables = [[5]]": "tables must be",
    'epsilon = 1\ntables = [["agee"]]': "Did you mean 'age'?",
    "epsilon = 1\nshuffle = 1": "true or false",
    "epsilon = 1\nrecords = 0": "whole number",
    "k = 2\ncandidates = 10": "at least the 40 records",
    "retention = 1.5": "between 0 and 1",
    "retention = -0.1": "between 0 and 1",
    "retention = 0.9\nepsilon = 0.1": "must reach",
    'method = "magic"': "release.method",
    "method = 5": "release.method",
    'method = "matrix"': "must have a matrix",
}
COLUMNS = {
    'domain = ["F"]': "at least two values",
    "domain = []": "list of texts or numbers",
    'domain = [""]': "at least two values",
    "domain = [[1]]": "list of texts or numbers",
    'domain = ["F", "F"]': "distinct",
    "domain = [1, 1.0]": "distinct",
    "domain = 5": "from-data",
    "bins = [1]": "at least two edges",
    "bins = [2, 1]": "ascending",
    "bins = [1, nan, 2]": "ascending",
    'bins = ["a", "b"]': "list of numbers",
    "bins = [true, false]": "list of numbers",
    'hierarchy = "nowhere.csv"': "must be readable",
    'hierarchy = "."': "must be readable",
    "hierarchy = 5": "must be a path",
    'hierarchy = "a\\u0000"': "must be a path",
    'domain = ["F", "M"]\nbins = [1, 2]': "one way",
    "": "must have a domain",
    'domain = ["F", "M"]\nlevel = -1': "level",
    'domain = ["F", "M"]\nrandomise = false': "must be randomised",
    'domain = ["F", "M"]\nrandomise = 1': "true or false",
    'domain = ["F", "M"]\nmissing = "maybe"': "missing must be auto, category, never, or a list of codes",
    'domain = ["F", "M"]\nmissing = ["F"]': "must be no value of the domain",
    'domain = ["F", "M"]\nmissing = ["9", "9"]': "must be distinct texts",
    'domain = ["F", "M"]\ndates = "%d.%m"': "dates must name a day, a month and a year",
    'domain = ["F", "M"]\ndates = "%d.%m.%y"': "Years must have four digits",
    'domain = ["F", "M"]\nkind = "number"\ndates = "%d.%m.%Y"': 'dates must go with the kind "date"',
    'domain = ["F", "M"]\nretention = "x"': "must be a number",
    'domain = ["F", "M"]\ndomian = 1': "Did you mean 'domain'?",
}
MATRICES = {
    "[[nan, 1], [0, 1]]": "must be a finite number",
    "[[inf, 0], [0, 1]]": "must be a finite number",
    "[[0.7, 0.4], [0.3, 0.7]]": "sum to 1 (row 1)",
    "[[1.2, -0.2], [0, 1]]": "between 0 and 1",
    "[[0.7, 0.3]]": "square",
    "[[0.7, 0.3], [1]]": "square",
    "[]": "square",
    "[[true, false], [false, true]]": "rows of numbers",
    '[["a"]]': "rows of numbers",
    "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]": "as many rows",
    "5": "must be a path",
    '"nowhere.csv"': "must be readable",
}


@pytest.mark.parametrize("line, words", SOURCES.items())
def test_a_source_that_cannot_be_read_so(desk: Path, refused: Refused, line: str, words: str) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace('"people.csv"', f'"people.csv"\n{line}'))
    assert words in refused(*RELEASE)


@pytest.mark.parametrize("line, words", PROMISES.items(), ids=[p[:40] for p in PROMISES])
def test_a_promise_that_cannot_be_kept(desk: Path, refused: Refused, line: str, words: str) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace("epsilon = 2", line))
    assert words in refused(*RELEASE)


@pytest.mark.parametrize("line, words", COLUMNS.items())
def test_a_column_that_cannot_be(desk: Path, refused: Refused, line: str, words: str) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace(SEX, line))
    assert words in refused(*RELEASE)


@pytest.mark.parametrize("matrix, words", MATRICES.items())
def test_a_matrix_that_is_none(desk: Path, refused: Refused, matrix: str, words: str) -> None:
    recipe = RECIPE.replace("epsilon = 2", 'method = "matrix"').replace(SEX, f"{SEX}\nmatrix = {matrix}")
    (desk / "recipe.toml").write_text(recipe)
    assert words in refused(*RELEASE)


@pytest.mark.parametrize(
    "content, words",
    {
        "": "must have rows",
        "a,b\nc,d\n": "must be a number",
        "0.5,,0.5\n0.5,,0.5\n": "must be a number",
        "nan,1\n0,1\n": "must be a number",
        "1/0,1\n0,1\n": "must be a number",
        "1e999999999,0\n0,1\n": "must be a number",
        "2,-1\n0,1\n": "between 0 and 1",
        "0.5,0.6\n0.5,0.5\n": "sum to 1",
        "0.5,0.5\n": "square",
        "1" * 200_000 + ",0\n": "CSV",
    }.items(),
    ids=lambda text: text[:20],
)
def test_a_matrix_file_that_is_none(desk: Path, refused: Refused, content: str, words: str) -> None:
    (desk / "m.csv").write_text(content)
    assert words in refused("guarantee", "--records", "100", "--matrix", "m.csv")


@pytest.mark.parametrize(
    "content", ["0.7,0.3\n0.3,0.7", "0.7;0.3;\n0.3;0.7;", "0.7,  0.3\n0.3,  7/10", "0.7 0.3\n0.3 0.7"]
)
def test_a_matrix_file_in_any_usual_form(desk: Path, content: str) -> None:
    (desk / "m.csv").write_text(content)
    assert run(["guarantee", "--records", "100", "--matrix", "m.csv"]) == 0


def test_an_unknown_column_has_a_hint_and_a_file_without_header_stays_unsaid(desk: Path, refused: Refused) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace("attributes.sex", "attributes.sexx"))
    assert "Did you mean 'sex'?" in refused(*RELEASE)
    more = "".join(f'[attributes.{name}]\nrole = "insensitive"\n' for name in ("town", "job"))
    (desk / "recipe.toml").write_text(RECIPE.replace("attributes.sex", "attributes.sexx") + more)
    (desk / "people.csv").write_text("sex,age,town,job\nF,3,x,y\n")  # enough of them are there: it is a header
    assert "Did you mean 'sex'?" in refused(*RELEASE)
    (desk / "people.csv").write_text(PEOPLE.partition("\n")[2])  # the first record in the header's place
    said = refused(*RELEASE)
    assert "Person" not in said and "3 in all" in said


@pytest.mark.parametrize(
    "record", ["x,sexy,ages", "sexy,Secret,age", "F,ages,agee", "age,sexy,31", "sexy,age,sex of Secret"]
)
def test_a_record_in_the_headers_place_is_never_shown(desk: Path, refused: Refused, record: str) -> None:
    """Its values may be near a wanted name, and one of them may even be a wanted name."""
    (desk / "people.csv").write_text(f"{record}\nx,F,3\nx,M,4\n")
    said = refused(*RELEASE).partition("must have")[2]
    assert not any(value in said for value in record.split(",") if value not in ("sex", "age", "F", "x"))
    more = "".join(f'[attributes.{name}]\nrole = "insensitive"\n' for name in ("town", "job"))
    (desk / "recipe.toml").write_text(RECIPE + more)
    (desk / "people.csv").write_text(f"{record},town,job,77\nx,F,3,x,y,z\n")  # numbers are in no header
    said = refused(*RELEASE).partition("must have")[2]
    assert not any(value in said for value in record.split(",") if value not in ("sex", "age", "F", "x"))


@pytest.mark.parametrize("stated, right", [(",", ";"), (";", ","), ("\\t", "|"), (",", "~"), (None, ":")])
def test_a_wrong_delimiter_is_named(desk: Path, refused: Refused, stated: str | None, right: str) -> None:
    (desk / "people.csv").write_text(PEOPLE.replace(",", right))
    if stated is not None:
        line = f'"people.csv"\ndelimiter = "{stated}"'
        (desk / "recipe.toml").write_text(RECIPE.replace('"people.csv"', line))
    said = refused(*RELEASE)
    assert f"Is the delimiter {right!r}?" in said and "name" not in said


def test_a_delimiter_that_nothing_suggests_is_asked_for(desk: Path, refused: Refused) -> None:
    (desk / "people.csv").write_text("Secret%F%3\nSecret%M%4\n")
    said = refused(*RELEASE)
    assert "one column: set delimiter" in said and "Secret" not in said


def test_blanks_around_values_are_counted_and_shown(desk: Path, refused: Refused) -> None:
    recipe = RECIPE.replace('"people.csv"', '"people.csv"\ntrim = false')
    (desk / "recipe.toml").write_text(recipe)
    (desk / "people.csv").write_text("sex,age\nF,3\n F,4\nM  ,5\nM  ,6\nQ,7\n")
    said = refused(*RELEASE)
    assert "got 4 rows outside it, 3 of them only by blanks around the value. Run" in said
    shown = refused(*RELEASE, "--show-values")
    assert "3 of them only by blanks around the value: ' F', 'M  ', 'Q'" in shown
    (desk / "people.csv").write_text("sex,age\nF,3\n F,4\n")
    assert "got 1 row outside it, all of them only by blanks" in refused(*RELEASE)
    (desk / "people.csv").write_text("sex,age\nF,3\n ,4\nQ,4\n")  # a blank is no missing value of this domain
    assert "got 2 rows outside it. Run" in refused(*RELEASE)


def test_values_outside_are_shown_only_when_asked(desk: Path, refused: Refused) -> None:
    (desk / "people.csv").write_text("sex,age\nSecretX,3\n")
    assert "SecretX" not in refused(*RELEASE)
    assert "'SecretX'" in refused(*RELEASE, "--show-values")


@pytest.mark.parametrize(
    "policy, code", [("auto", 0), ("category", 0), ("never", 2)], ids=["auto", "category", "never"]
)
def test_missing_values_under_each_policy(desk: Path, refused: Refused, policy: str, code: int) -> None:
    (desk / "people.csv").write_text("sex,age\nF,3\n,4\nM,5\n,6\n")
    (desk / "recipe.toml").write_text(RECIPE.replace(SEX, f'{SEX}\nmissing = "{policy}"'))
    if code:
        assert "'sex' must have no missing values, got 2 rows" in refused(*RELEASE)
    else:
        assert run([*RELEASE, "--even-if-useless"]) == 0


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "out", ["people.csv", "folder", "link", "dangling", ".", "/", "people.csv/out", "no/out", "a" * 300, "a\0b"]
)
def test_nothing_that_exists_is_overwritten(desk: Path, refused: Refused, out: str) -> None:
    (desk / "folder").mkdir()
    (desk / "link").symlink_to("folder")
    (desk / "dangling").symlink_to("nowhere")
    refused("release", "recipe.toml", "--out", out)


@pytest.mark.parametrize("out", ["a[b", "**", "x*", "-x", " ", "a\nb", "out/"])
def test_odd_names_are_names(desk: Path, out: str) -> None:
    assert run(["release", "recipe.toml", f"--out={out}"]) == 0
    assert (desk / out / "certificate.json").is_file()
    assert (desk / (out.rstrip("/") + ".key")).is_file()
    assert not list(desk.glob(".*partial*"))


@pytest.mark.parametrize("option", ["--key", "--sign", "--source"])
@pytest.mark.parametrize("value", ["nowhere", "folder", "people.toml", "/dev/null", "a\0b", ""])
def test_files_that_are_not_what_they_should_be(desk: Path, refused: Refused, option: str, value: str) -> None:
    (desk / "people.toml").write_text("garbage")
    (desk / "folder").mkdir()
    refused(*RELEASE, option, value)


@pytest.mark.parametrize("content", ["", "ab" * 31, "ab" * 33, "zz" * 32, "\xe9"])
def test_a_key_of_the_wrong_length_or_garbage(desk: Path, refused: Refused, content: str) -> None:
    (desk / "k").write_text(content)
    said = refused(*RELEASE, "--key", "k")
    assert "64 hexadecimal digits" in said
    assert not content or content not in said


def test_a_folder_of_tables_takes_files_by_their_endings(desk: Path, refused: Refused) -> None:
    (desk / "dd").mkdir()
    (desk / "recipe.toml").write_text(RECIPE.replace("people.csv", "dd"))
    for name in ("a.csv", "b.txt", ".hidden.csv", "_half.csv"):
        (desk / "dd" / name).write_text("nothing" if name[0] in "._" else PEOPLE.replace("Person", name))
    (desk / "dd" / "README.md").write_text("ignored, and so are hidden files")
    assert run([*RELEASE, "--seed", "1"]) == 0
    (desk / "dd" / "readme.txt").write_text("not a table")
    told = refused("release", "recipe.toml", "--out", "other")
    assert "readme.txt must have the column" in told
    assert "All files of the folder that end in .csv, .tsv or .txt are its table: move others away." in told


@pytest.mark.parametrize("rows", ["nan", "inf", "9" * 26, "1e30", "2.5", "999"])
def test_the_key_of_a_wrong_number_is_named(desk: Path, refused: Refused, rows: str) -> None:
    with (desk / "recipe.toml").open("a") as file:
        file.write(f'[output]\nfiles = "many"\npart_rows = {rows}\n')
    assert "output.part_rows must be a" in refused(*RELEASE)


def test_an_existing_key_file_is_kept(desk: Path, refused: Refused) -> None:
    (desk / "out.key").write_text("precious")
    assert "already exists" in refused(*RELEASE)
    (desk / "out.key").unlink()
    (desk / "out.key").symlink_to("nowhere")
    refused(*RELEASE)
    (desk / "a.pub").write_text("mine")
    refused("key", "sign", "a")  # and no half of a pair is left
    refused("key", "new", "a.pub")


@pytest.mark.parametrize("recipe", ["nowhere.toml", ".", "people.csv", "a\0b"])
def test_a_recipe_that_cannot_be_read(refused: Refused, recipe: str) -> None:
    refused("release", recipe, "--out", "out")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x = " + b"[" * 5000 + b"]" * 5000,
        b"x" + b".x" * 5000 + b" = 1",
        RECIPE.encode() + b"# \xe9",
        b'source = "x"\nrelease = 5\nattributes = []\n',
        b"[[attributes]]\nx = 1\n",
        b"[attributes]\nsex = 5\n",
        b'[attributes.sex]\ndomain = ["F", "M"]\n',
        b'[attributes.""]\nrole = "quasi-identifying"\n',
        b'[attributes.name]\nrole = "identifying"\n[source]\npath = "people.csv"\n',
        b"[sauce]\n",
        b"\0",
    ],
)
def test_odd_recipes(desk: Path, refused: Refused, content: bytes) -> None:
    (desk / "recipe.toml").write_bytes(content)
    refused(*RELEASE)


def test_a_recipe_may_begin_with_a_byte_order_mark(desk: Path) -> None:
    (desk / "recipe.toml").write_text("\ufeff" + RECIPE, "utf-8")
    assert run([*RELEASE]) == 0


@pytest.mark.parametrize("damage", ["truncated", "footer", "text", "nested", "unreadable"])
def test_parquet_that_cannot_be_used(desk: Path, refused: Refused, damage: str) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace("people.csv", "people.parquet"))
    ages = [[3], [4]] if damage == "nested" else [3, 4]
    pq.write_table(pa.table({"sex": ["F", "M"], "age": ages}), desk / "people.parquet")
    whole = (desk / "people.parquet").read_bytes()
    changed = {
        "truncated": whole[: len(whole) // 2],
        "footer": whole[:-12] + b"\xff" * 8 + whole[-4:],
        "text": PEOPLE.encode(),
        "unreadable": b"PAR1" + whole[60:],
    }.get(damage, whole)
    (desk / "people.parquet").write_bytes(changed)
    said = refused(*RELEASE)
    assert "nested" in said if damage == "nested" else "Parquet" in said or "parquet" in said


# ---------------------------------------------------------------- numbers on the command line


@pytest.mark.parametrize(
    "arguments",
    [
        "calibrate --records 100 --domains 2,5 --epsilon 0",
        "calibrate --records 100 --domains 2,5 --epsilon 1e999999999",
        "calibrate --records 100 --domains 2,5 --epsilon nan",
        "calibrate --records 100 --domains 2,5 --epsilon 1,2",
        "calibrate --records 100 --domains 2,5 --k 101",
        "calibrate --records 100 --domains 2,5 --k 0.99",
        "calibrate --records 100 --domains 2,5 --k 1e150",
        "calibrate --records 100 --domains 2,5",
        "calibrate --records 0 --domains 2,5 --k 2",
        "calibrate --records 1000000000000000000 --domains 2,5 --k 2",
        "calibrate --records 100 --domains 2,0 --k 2",
        "calibrate --records 100 --domains 2,x --k 2",
        "calibrate --records 100 --domains 99999999999999999999 --k 2",
        "calibrate --records 100 --domains 99999999999999999999 --k 2 --coin record",
        "calibrate --records 100 --domains 2 --k 2 --delta 0",
        "calibrate --records 100 --domains 2 --k 2 --delta nan",
        "calibrate --records 100 --domains 2 --k 2 --population 99",
        "calibrate --records 100 --domains 2 --central-epsilon 0",
        "calibrate --records 100 --domains 2 --central-epsilon nan",
        "calibrate --records 100 --domains 2 --central-epsilon 1,2",
        "calibrate --records 100 --domains 2 --central-epsilon 1 --delta 1",
        "guarantee --records 100 --domains 2 --retention 1.01",
        "guarantee --records 100 --domains 2 --retention -1",
        "guarantee --records 100 --domains 2 --retention 1e-999999999",
        "guarantee --records 100 --domains 2,3 --retention .1,.2,.3",
        "guarantee --records 100 --domains 2,3 --retention .1,.2 --coin record",
        "guarantee --records 100 --domains 2",
        "guarantee --records 100 --domains 2 --retention .1 --matrix m.csv",
        "guarantee --records 100 --matrix nowhere.csv",
        "guarantee --records 100 --matrix .",
        "release recipe.toml --out out --threads -1",
        "release recipe.toml --out out --threads 100000",
        "release recipe.toml --out out --seed 1 --key k",
        "release recipe.toml --out out --engine abacus",
        "release recipe.toml",
        "release",
        "verify nowhere",
        "verify people.csv",
        "verify .",
        "nothing",
        "--nothing",
    ],
)
def test_command_lines_that_cannot_be(refused: Refused, arguments: str) -> None:
    refused(*arguments.split())


@pytest.mark.parametrize(
    "arguments",
    [
        "guarantee --records 100 --domains 1 --retention .3",
        "guarantee --records 1 --domains 2 --retention .3",
        "guarantee --records 100 --domains 2 --retention 0",
        "guarantee --records 100 --domains 2 --retention 1",
        "guarantee --records 100 --domains 2 --retention .3 --delta 1e-320",
        f"guarantee --records 100 --domains {','.join(['1000'] * 40)} --retention .999",
        f"guarantee --records 100 --domains {','.join(['1000'] * 40)} --retention .999 --coin record",
        "calibrate --records 100 --domains 2,5 --epsilon 1000",
        "calibrate --records 100 --domains 2,5 --epsilon 1/3",
        "calibrate --records 100 --domains 2,5 --central-epsilon 1000",
        "calibrate --records 100 --domains 2,5 --central-epsilon 1e-9",
        f"calibrate --records 100 --domains {','.join(['2000000000'] * 40)} --central-epsilon 1000",
        f"calibrate --records 4294967295 --domains {','.join(['2000000000'] * 40)} --central-epsilon 1",
        "calibrate --records 1 --domains 1 --central-epsilon 1",
    ],
)
def test_extremes_have_an_answer(arguments: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments.split(), "--json"]) == 0
    assert "NaN" not in capfd.readouterr().out


def test_help_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["key"], ["release", "--help"]):
        assert run(arguments) == 0
        shown = capfd.readouterr()
        assert "Usage" in shown.out and not shown.err


def test_a_terminal_never_obeys_a_message(desk: Path, refused: Refused) -> None:
    (desk / "recipe.toml").write_text(RECIPE.replace("epsilon = 2", '"\\u001b[31mred\\u2028" = 1'))
    said = refused(*RELEASE)
    assert "\x1b" not in said and "\u2028" not in said


# ---------------------------------------------------------------- as a process


def command(*arguments: str, preexec_fn: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "pramana", *arguments]
    return subprocess.run(whole, capture_output=True, text=True, timeout=60, check=False, preexec_fn=preexec_fn)


@pytest.mark.parametrize("bytes_", [10, 1000, 3000, 20_000])
def test_a_full_disk_leaves_nothing(desk: Path, bytes_: int) -> None:
    """No file may grow beyond `bytes_`: the data, the report or the certificate breaks off."""
    (desk / "people.csv").write_text("sex,age\n" + "F,3\nM,44\n" * 200_000)
    before = snapshot(desk)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))  # noqa: E731
    done = command(*RELEASE, preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert "room" in done.stderr.splitlines()[-1]  # a slow machine shows progress before it
    assert done.stderr.count("pramana:") == 1
    assert snapshot(desk) == before


def test_a_full_disk_leaves_no_half_key(desk: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # noqa: E731
    for arguments in (["key", "new", "k"], ["key", "sign", "k"]):
        before = snapshot(desk)
        done = command(*arguments, preexec_fn=limit)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert snapshot(desk) == before


def test_a_process_says_one_line_and_exits_2(desk: Path) -> None:
    before = snapshot(desk)
    done = command("release", "recipe.toml", "--out", "out", "--key", "nowhere")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = command("release", os.fsdecode(b"\xff.toml"), "--out", "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = command("release", "recipe.toml", "--out", os.fsdecode(b"\xff"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert snapshot(desk) == before


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_no_traceback(desk: Path, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pramana", "key", "new", "k"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False, cwd=desk,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("pramana: ") and done.stderr.count("\n") == 1
