"""`pramana init`: every job's recipe runs as it is, from file to verified bundle; what is guessed is asked."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import snapshot
from tests.inspection import survey
from tests.inspection.test_inspect import HOSTILE

import pramana
from pramana.app.main import run
from pramana.holder.draft_columns import ages, round_bins
from pramana.holder.draft_recipe import comment, key_text, text_of, value_text

RELEASED = ("publish", "frequencies", "k-anonymity", "microaggregate")


def survey_in(folder: Path, number: int = 400, **changes: Any) -> Path:
    return survey.write(folder / "people.csv", survey.rows(number, **changes))


def drafted(folder: Path, job: str, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe as TOML, and what the command said."""
    out = folder / "recipe.toml"
    made = pramana.draft_recipe(folder / "people.csv", out, job=job)
    del arguments
    return tomllib.loads(out.read_text()), made.to_json()


@pytest.mark.parametrize("job", RELEASED)
def test_the_recipe_runs_as_it_is(job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, recipe, bundle = survey_in(tmp_path), tmp_path / "recipe.toml", tmp_path / "bundle"
    assert run(["init", str(table), "--job", job, "--out", str(recipe), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["recipe"] == str(recipe) and content["confirm"]
    assert run(["recipe", "check", str(recipe)]) == 0
    assert run(["release", str(recipe), "--out", str(bundle)]) == 0
    assert run(["verify", str(bundle)]) == 0
    assert run(["verify", str(bundle), "--source", str(table), "--key", f"{bundle}.key"]) == 0


def test_levels_are_created_and_issued(tmp_path: Path) -> None:
    table, recipe, ledger = survey_in(tmp_path), tmp_path / "recipe.toml", tmp_path / "people.db"
    assert run(["init", str(table), "--job", "levels", "--out", str(recipe)]) == 0
    assert run(["levels", "create", str(ledger), "--recipe", str(recipe)]) == 0
    issued = ["--recipient", "university", "--retention", "0.3", "--out", str(tmp_path / "one")]
    assert run(["levels", "issue", str(ledger), *issued]) == 0
    assert run(["verify", str(tmp_path / "one")]) == 0
    assert run(["release", str(recipe), "--out", str(tmp_path / "two")]) == 0


def test_presence_by_a_mark_and_by_a_public_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    everyone = [{name: row[name] for name in ("sex", "age", "region")} for row in survey.rows(400)]
    public = survey.write(tmp_path / "everyone.csv", everyone)
    marked = [{**row, "ill": str(int(rng.random() < 0.2))} for row in everyone]
    listed = [{name: row[name] for name in ("sex", "age", "region")} for row in marked if row["ill"] == "1"]
    mark, private = survey.write(tmp_path / "marked.csv", marked), survey.write(tmp_path / "ill.csv", listed)
    for name, arguments in (("a", [str(mark)]), ("b", [str(private), "--public", str(public)])):
        recipe = tmp_path / f"{name}.toml"
        assert run(["init", *arguments, "--job", "presence", "--out", str(recipe)]) == 0
        assert run(["release", str(recipe), "--out", str(tmp_path / name)]) == 0
        assert run(["verify", str(tmp_path / name)]) == 0
    assert tomllib.loads((tmp_path / "a.toml").read_text())["release"]["present"] == "ill"
    capfd.readouterr()
    assert run(["init", str(public), "--job", "presence", "--out", str(tmp_path / "c.toml")]) == 2
    assert "--public" in capfd.readouterr().err


def test_what_a_person_must_confirm_stands_in_the_recipe_as_well(tmp_path: Path) -> None:
    survey_in(tmp_path)
    recipe, made = drafted(tmp_path, "k-anonymity")
    text = " ".join((tmp_path / "recipe.toml").read_text().replace("\n#", " ").split())
    assert all(" ".join(sentence.split()) in text for sentence in made["confirm"])
    assert {"sex", "age", "birth", "plz", "region", "district", "education"} <= set(recipe["attributes"])
    for name in ("age", "birth", "plz", "district"):
        assert (tmp_path / recipe["attributes"][name]["hierarchy"]).exists()


def test_hierarchies_suit_their_columns(tmp_path: Path) -> None:
    survey_in(tmp_path)
    recipe, made = drafted(tmp_path, "k-anonymity")
    read = {
        name: pramana.Hierarchy.read(tmp_path / keys["hierarchy"])
        for name, keys in recipe["attributes"].items()
        if "hierarchy" in keys
    }
    assert [len(set(level)) for level in read["age"].levels] == [126, 26, 13, 7, 4, 1]
    assert read["birth"].leaves[0] == "1960-01-01" and read["birth"].leaves[-1] == "2009-12-31"  # whole decades
    assert read["birth"].levels[3][0] == "1960"
    assert {label[:4] for label in read["plz"].levels[1]} <= {leaf[:4] for leaf in read["plz"].leaves}
    assert set(read["district"].levels[1]) == {"north", "east", "south", "west"}  # each district lies in a region
    said = " ".join(made["confirm"])
    assert "leaves are the values in your table" in said and "plz" in said


def test_nothing_read_from_the_data_goes_unflagged(tmp_path: Path) -> None:
    """Every domain is from-data (which the certificate flags), round bins, or a hierarchy that is asked of."""
    survey_in(tmp_path)
    for job in ("publish", "frequencies", "k-anonymity", "levels", "microaggregate"):
        (tmp_path / "recipe.toml").unlink(missing_ok=True)
        for old in tmp_path.glob("recipe-*.csv"):
            old.unlink()
        recipe, made = drafted(tmp_path, job)
        asked = " ".join(made["confirm"])
        for name, keys in recipe["attributes"].items():
            assert keys.get("domain", "from-data") == "from-data"
            if {"domain", "bins", "hierarchy"} & set(keys):
                assert name in asked
            for edge in keys.get("bins", []) if isinstance(keys.get("bins"), list) else []:
                assert len(f"{edge:g}".rstrip("0").replace(".", "").lstrip("-0") or "0") <= 3 or edge in (
                    np.inf,
                    -np.inf,
                )


def test_nothing_is_overwritten_and_nothing_half_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = survey_in(tmp_path)
    (tmp_path / "recipe-age.csv").write_text("mine")
    before = snapshot(tmp_path)
    assert run(["init", str(table), "--job", "k-anonymity", "--out", str(tmp_path / "recipe.toml")]) == 2
    assert "already exists" in capfd.readouterr().err and snapshot(tmp_path) == before
    (tmp_path / "recipe.toml").write_text("mine")
    before = snapshot(tmp_path)
    assert run(["init", str(table), "--out", str(tmp_path / "recipe.toml")]) == 2
    assert run(["init", str(table), "--out", str(tmp_path / "recipe.txt")]) == 2
    assert run(["init", str(tmp_path / "none.csv"), "--out", str(tmp_path / "x.toml")]) == 2
    assert snapshot(tmp_path) == before


def test_a_table_with_one_row_for_each_promise_is_useful(tmp_path: Path) -> None:
    """More records, or fewer columns, allow a stronger promise."""
    drawn = survey.rows(3_000)
    survey.write(tmp_path / "people.csv", [{n: row[n] for n in ("sex", "education", "region")} for row in drawn])
    recipe, _ = drafted(tmp_path, "publish")
    assert recipe["release"]["k"] >= 10


def test_words_among_numbers_are_missing_values(tmp_path: Path) -> None:
    table = survey.rows(200)
    for row in table[::10]:
        row["age"], row["income"] = "refused", "k.A."
    survey.write(tmp_path / "people.csv", [{n: row[n] for n in ("sex", "age", "income")} for row in table])
    recipe, _ = drafted(tmp_path, "frequencies")
    assert "bins" in recipe["attributes"]["age"]
    pramana.release(tmp_path / "recipe.toml", tmp_path / "bundle")


def test_dates_as_the_table_writes_them(tmp_path: Path) -> None:
    table = survey.rows(200)
    for row in table:
        year, month, day = row["birth"].split("-")
        row["birth"] = f"{day}.{month}.{year}"
    survey.write(tmp_path / "people.csv", table)
    recipe, _ = drafted(tmp_path, "frequencies")
    assert "hierarchy" in recipe["attributes"]["birth"]
    pramana.release(tmp_path / "recipe.toml", tmp_path / "bundle")


@pytest.mark.parametrize("job", RELEASED)
def test_hostile_names_and_values(job: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    values = ['"', "a;b", "*", "<b>", "x\ny", "'''", "=1+1", "\\"]
    table = [
        {**{name: values[int(rng.integers(len(values)))] for name in HOSTILE}, "age": str(int(rng.integers(90)))}
        for _ in range(200)
    ]
    path = survey.write(tmp_path / "people.csv", table)
    recipe = tmp_path / "recipe.toml"
    assert run(["init", str(path), "--job", job, "--out", str(recipe)]) == 0
    assert set(tomllib.loads(recipe.read_text())["attributes"]) == {*HOSTILE, "age"}
    assert run(["release", str(recipe), "--out", str(tmp_path / "bundle")]) == 0


# ---------------------------------------------------------------- any table


VALUES = st.one_of(
    st.sampled_from(
        ["F", "M", "north", "south", "", "NA", "refused", "0", "1", "99", "-1", "007", "01067", "12.5", "1,5"]
    ),
    st.integers(-5, 120).map(str),
    st.dates().map(str),
    st.text(max_size=6),
)
NAMES = st.one_of(
    st.sampled_from(["age", "sex", "plz", "income", "birth", "pid", "region"]), st.text(min_size=1, max_size=8)
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, str]]:
    names = draw(st.lists(NAMES.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True))
    pools = {name: draw(st.lists(VALUES, min_size=3, max_size=8, unique=True)) for name in names}
    number = draw(st.sampled_from([40, 12, 60, 3, 1]))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return [{name: pool[int(rng.integers(len(pool)))] for name, pool in pools.items()} for _ in range(number)]


@settings(max_examples=25)
@given(
    tables(), st.sampled_from(["publish", "frequencies", "levels", "k-anonymity", "presence", "microaggregate"])
)
def test_any_table_gets_a_recipe_that_runs_or_a_clear_refusal(
    tmp_path_factory: pytest.TempPathFactory, table: list[dict[str, str]], job: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        path = survey.write(folder / "people.csv", table)
    except UnicodeEncodeError:
        return
    recipe = folder / "recipe.toml"
    try:
        pramana.draft_recipe(path, recipe, job=job)
    except pramana.PramanaError as error:
        assert str(error) and "\n" not in str(error)
        assert [p.name for p in folder.iterdir()] == ["people.csv"]
        return
    pramana.release(recipe, folder / "bundle")
    assert pramana.verify(folder / "bundle").valid


# ---------------------------------------------------------------- parts


@given(st.text(max_size=20))
def test_any_text_survives_toml(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    line = f"{key_text(text)} = {value_text(text)}"
    assert tomllib.loads(line) == {text: text}
    assert "\n" not in text_of(text)
    said = "\n".join(comment(text, "- "))
    assert tomllib.loads(said) == {} and all(part.startswith("#") for part in said.split("\n"))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.integers(3, 12))
def test_round_bins_hold_every_number(values: list[float], about: int) -> None:
    numbers = np.unique(np.array(values))
    edges = round_bins(numbers, np.ones(len(numbers), np.int64), about)
    assert edges == sorted(set(edges)) and edges[0] <= numbers.min() and edges[-1] == np.inf
    assert len(edges) <= 2 * about + 3


def test_ages_are_cut_at_round_numbers() -> None:
    assert ages(10) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, np.inf]
    assert ages(5)[:3] == [0, 5, 10] and ages(5)[-2:] == [90, np.inf]


# ---------------------------------------------------------------- units


def test_persons_and_households_are_named(tmp_path: Path) -> None:
    from pramana.holder.draft_recipe import _units
    from pramana.holder.inspect import examine, source_for

    examined = examine(source_for(survey_in(tmp_path, 90)))
    assert list(_units(examined)) == [
        {"person": "pid", "rows": 1},
        {"person": "pid", "rows": 1, "household": "hid"},
        {"row": True},
    ]
    panel = [{"pid": str(1000 + i // 4), "wave": str(i % 4), "sex": "FM"[i // 4 % 2]} for i in range(200)]
    examined = examine(source_for(survey.write(tmp_path / "panel.csv", panel)))
    assert next(_units(examined)) == {"person": "pid", "rows": 4}
