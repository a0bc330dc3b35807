"""`pramana inspect`: what columns are, why, and the risk; nothing of the table's values unless asked for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.inspection import survey

import pramana
from pramana.app.main import run
from pramana.holder.guesses import hints_of
from pramana.holder.inspect import ColumnReport, Inspection
from pramana.holder.values import WORDS, missing_numbers

GUIDE_WEIGHTS = [180, 180, 215, 76, 186, 76, 180, 215, 186, 76]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return survey.write(tmp_path / "people.csv", survey.rows(600))


def column(found: Inspection, name: str) -> ColumnReport:
    return next(c for c in found.columns if c.name == name)


def test_columns_of_a_survey(people: Path) -> None:
    found = pramana.inspect(people)
    assert found.records == 600
    assert {c.name: (c.kind, c.role) for c in found.columns} == {
        "pid": ("number", "identifying"),
        "hid": ("number", "identifying"),
        "sex": ("nominal", "quasi-identifying"),
        "age": ("number", "quasi-identifying"),
        "birth": ("date", "quasi-identifying"),
        "plz": ("code", "quasi-identifying"),
        "region": ("nominal", "quasi-identifying"),
        "district": ("nominal", "quasi-identifying"),
        "education": ("nominal", "quasi-identifying"),
        "income": ("number", "sensitive"),
        "weight": ("number", "insensitive"),
        "note": ("text", "identifying"),
    }
    assert found.repeated_identifiers == ("hid",)
    assert column(found, "pid").reason == "nearly unique, looks like an identifier"
    assert "free-text" in column(found, "note").notes


def test_names_alone_decide_nothing() -> None:
    """Names of identifiers over values that identify nobody, and names that say nothing over those that do."""
    n = 400
    table = pa.table(
        {
            "person_id": ["a", "b"] * (n // 2),
            "name": ["yes", "no"] * (n // 2),
            "x": [f"K{i:06}" for i in range(n)],
            "age": [f"{i}.5" for i in range(n)],
        }
    )
    found = pramana.inspect(table)
    roles = {c.name: c.role for c in found.columns}
    assert roles["person_id"] != "identifying" and roles["name"] != "identifying"
    assert roles["x"] == "identifying"
    assert column(found, "age").reason != "ages, which others know"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Geburtsdatum", "birth"), ("fecha_nacimiento", "birth"), ("Haushalts-Nr", "household"),
        ("CodePostal", "postcode"), ("Geschlecht", "demographic"), ("REVENU", "sensitive"), ("Età", "age"),
        ("hhid", "household"), ("sexe", "demographic"),
    ],
)  # fmt: skip
def test_names_in_several_languages(name: str, hint: str) -> None:
    assert hint in hints_of(name)
    assert all(word.isascii() and word == word.lower() for words in WORDS["names"].values() for word in words)


def test_short_hints_are_whole_words() -> None:
    assert "age" not in hints_of("language_skills") and "identifier" not in hints_of("nose")


def test_suspected_codes_for_missing_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    ages = [str(int(a)) for a in rng.integers(18, 80, 300)]
    for i in range(0, 300, 15):
        ages[i] = "999"
    table = [
        {"age": age, "job": ("clerk", "smith", "k.A.", "refused")[i % 4], "kids": str(i % 4 if i % 9 else -1)}
        for i, age in enumerate(ages)
    ]
    path = survey.write(tmp_path / "codes.csv", table)
    found = pramana.inspect(path)
    assert {c.name: (c.suspected_codes, c.suspected_rows) for c in found.columns} == {
        "age": (1, 20),
        "job": (2, 150),
        "kids": (1, sum(row["kids"] == "-1" for row in table)),
    }
    shown = pramana.inspect(path, show_values=True)
    assert column(shown, "age").codes == ("999",) and set(column(shown, "job").codes) == {"k.A.", "refused"}


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(1, 100)], []),  # where it is a plausible end of the range, nothing is said
        ([*range(1, 60), 99], [99]),
        ([1, 2, 3, 4, 5, 9], [9]),
        ([*range(100), 9999], [9999]),
        ([-3, -2, -1, 0, 1, 2], []),  # as many below zero as above
        ([0, 1, 2, 3, 4, -1], [-1]),
        ([50, 98, 99, 100, 101], []),
    ],
)
def test_codes_stand_apart_from_values(values: list[int], codes: list[int]) -> None:
    numbers = np.array(values, np.float64)
    counts = np.full(len(values), 10, np.int64)
    assert numbers[missing_numbers(numbers, counts)].tolist() == codes


@pytest.mark.parametrize("form", ["frame", "parquet", "typed parquet", "categories", "semicolons"])
def test_the_same_columns_from_every_form(form: str, tmp_path: Path) -> None:
    drawn = survey.rows(300, seed=9)
    texts = pa.table({name: [row[name] for row in drawn] for name in survey.COLUMNS})
    plain = {c.name: (c.role, c.distinct, c.missing) for c in pramana.inspect(texts).columns}
    if form == "semicolons":
        found = pramana.inspect(survey.write(tmp_path / "a.csv", drawn, ";"))
    elif form == "frame":
        found = pramana.inspect(texts.to_pandas())
    elif form == "categories":
        found = pramana.inspect(pa.table({n: texts.column(n).dictionary_encode() for n in survey.COLUMNS}))
    else:
        if form == "typed parquet":
            typed = {
                "pid": pa.int64(),
                "hid": pa.int32(),
                "age": pa.int8(),
                "income": pa.float64(),
                "birth": pa.date32(),
            }
            texts = pa.table({n: texts.column(n).cast(typed.get(n, pa.string())) for n in survey.COLUMNS})
        pq.write_table(texts, tmp_path / "a.parquet")
        found = pramana.inspect(tmp_path / "a.parquet")
    assert {c.name: (c.role, c.distinct, c.missing) for c in found.columns} == plain


def test_missing_and_constant_columns() -> None:
    table = pa.table(
        {"a": pa.array([None, "", "x", "x"] * 10), "b": pa.array([1.0, float("nan"), 2.0, None] * 10)}
    )
    found = pramana.inspect(table.append_column("c", pa.array(["same"] * 40)))
    assert [(c.distinct, c.missing) for c in found.columns] == [(1, 20), (2, 20), (1, 0)]
    assert "constant" in column(found, "c").notes


def test_an_empty_category_of_a_frame_is_nobodys() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 2, 2, 0], pa.int8()), pa.array(["a", "secret", "a"]))
    found = pramana.inspect(pa.table({"x": coded, "y": ["1", "2", "1", "2"]}), show_values=True)
    assert column(found, "x").distinct == 1 and column(found, "x").values == ("a",)


# ---------------------------------------------------------------- risk


def test_risk_is_counted_as_by_hand(people: Path) -> None:
    names = ["sex", "region", "education"]
    drawn = survey.rows(600)
    sizes = Counter(tuple(row[name] for name in names) for row in drawn)
    risk = pramana.inspect(people, quasi=names, k=30).risk
    assert risk is not None
    assert risk.uniques == sum(size == 1 for size in sizes.values())
    assert risk.below_k == sum(size for size in sizes.values() if size < 30)
    assert risk.classes == len(sizes) and risk.smallest == min(sizes.values())
    assert risk.prosecutor == 1 / min(sizes.values())
    assert risk.mean == pytest.approx(sum(1 / sizes[tuple(row[n] for n in names)] for row in drawn) / 600)
    assert risk.journalist is None and risk.individual is None and risk.population is None
    assert sum(records for _, records in risk.sizes) == 600


def test_risk_with_weights_as_by_hand(people: Path) -> None:
    names = ["sex", "age", "region"]
    drawn = survey.rows(600)
    behind: dict[tuple[str, ...], float] = {}
    sizes: Counter[tuple[str, ...]] = Counter()
    for row in drawn:
        key = tuple(row[name] for name in names)
        behind[key] = behind.get(key, 0.0) + float(row["weight"])
        sizes[key] += 1
    risk = pramana.inspect(people, quasi=names, weight="weight").risk
    assert risk is not None and risk.individual is not None and risk.population is not None
    assert risk.journalist == pytest.approx(1 / min(behind.values()))
    assert risk.marketer == pytest.approx(sum(sizes[key] / behind[key] for key in sizes) / 600)
    assert risk.population.population == round(sum(behind.values()))
    assert risk.individual.expected == pytest.approx(risk.individual.mean * 600)


def test_the_practice_guides_records_with_their_weights() -> None:
    from tests.inspection.test_special import GUIDE

    table = pa.table({f"q{i}": [row[i] for row in GUIDE] for i in range(4)} | {"w": GUIDE_WEIGHTS})
    risk = pramana.inspect(table, quasi=[f"q{i}" for i in range(4)], weight="w", k=3).risk
    assert risk is not None and risk.individual is not None
    published = [0.005424520] * 2 + [0.025096439] * 2 + [0.012563425] * 2 + [0.028247279, 0.029010932]
    assert risk.individual.expected == pytest.approx(sum(published) + 2 * 0.007403834, abs=1e-8)
    assert risk.individual.largest == pytest.approx(0.029010932, abs=1e-9)
    assert (risk.uniques, risk.below_k) == (4, 10)


# ---------------------------------------------------------------- the command


def test_the_command_speaks_json_words_and_a_page(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "look.html"
    assert run(["inspect", str(people), "--quasi", "sex,age", "--html", str(page), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["records"] == 600 and content["repeated_identifiers"] == ["hid"]
    assert {"name", "kind", "role", "reason", "distinct", "missing"} <= set(content["columns"][0])
    assert {"k", "uniques", "below_k"} <= set(content["risk"])
    assert "not for publication" in content["notice"]
    html = page.read_text()
    assert "NOT FOR RELEASE" in html and "<script" not in html and page.stat().st_mode & 0o77 == 0
    assert run(["inspect", str(people)]) == 0
    words = capsys.readouterr().out
    assert words.startswith(
        "The holder's own view of a private table: it is not protected, and not for publication."
    )
    assert run(["inspect", str(people), "--html", str(page)]) == 2  # nothing is overwritten
    assert page.read_text() == html


def test_values_are_shown_only_when_asked_for(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = {row[name] for row in survey.rows(600) for name in ("note", "plz", "income", "pid")}
    secrets |= {"north", "middle"}
    for arguments in ([], ["--json"]):
        assert run(["inspect", str(people), *arguments]) == 0
        shown = capsys.readouterr().out
        assert not [secret for secret in secrets if secret in shown]
    assert run(["inspect", str(people), "--show-values"]) == 0
    assert "north" in capsys.readouterr().out


HOSTILE = [
    'a"b',
    "new\nline",
    "[x]",
    "<script>alert(1)</script>",
    "a.b = 1",
    "\x1b[31mred",
    "'",
    "#c",
    "{}",
    "ü ö",
]


def test_hostile_names_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    table = [{name: "FM"[int(rng.integers(2))] for name in HOSTILE} for _ in range(60)]
    path, page = survey.write(tmp_path / "hostile.csv", table), tmp_path / "look.html"
    assert run(["inspect", str(path), "--html", str(page), "--show-values"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "new\\nline" in shown
    html = page.read_text()
    assert "<script>" not in html and "&lt;script&gt;" in html and "\x1b" not in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--quasi", "sexx"], "Did you mean"),
        (["--quasi", "sex,sex"], "named once"),
        (["--quasi", ","], "At least one"),
        (["--weight", "sex"], "must be a number in every row"),
        (["--weight", "nothing"], "must be a column"),
        (["--population", "10"], "at least the"),
        (["--weight", "weight", "--population", "1000"], "both"),
        (["--html", "no/such/folder/x.html"], "does not exist"),
    ],
)
def test_bad_options_are_refused(
    people: Path, arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", str(people), *arguments]) == 2
    shown = capfd.readouterr()
    assert shown.out == "" and words in shown.err and shown.err.count("\n") == 1


def test_files_that_are_no_tables_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b\n")
    for name in ("empty.csv", "header.csv", "none.csv"):
        assert run(["inspect", str(tmp_path / name)]) == 2
        assert capfd.readouterr().err.count("\n") == 1
