"""coin = "best": from recipe to verified bundle, the same wherever rows are, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from tests.security.bundles import statement_of, write_statement

from pramana import Recipe, open_study, plan, release, verify
from pramana.errors import PramanaError
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import CoinGroups
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key
from pramana.run.release import Released

QUASI = {"role": "quasi-identifying"}
SEX = {**QUASI, "domain": ["f", "m"]}
AGE = {**QUASI, "bins": {"width": 5, "from": 0, "to": 100}}
TOWN = {**QUASI, "hierarchy": "towns.csv"}
JOB = {**QUASI, "domain": [f"job {i}" for i in range(6)]}
COLUMNS = {"sex": SEX, "age": AGE, "town": TOWN, "job": JOB}
TABLES = [["sex", "age"], ["town", "job"]]
RECORDS = 6000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("best")
    chance = np.random.default_rng(8)
    sex = chance.integers(0, 2, RECORDS)
    age = np.clip(chance.normal(40 + 10 * sex, 15, RECORDS), 0, 99.9)
    town = chance.integers(0, 12, RECORDS)
    job = (town // 2 + chance.integers(0, 2, RECORDS)) % 6
    table = pa.table(
        {
            "sex": np.array(["f", "m"])[sex],
            "age": age,
            "town": [f"town {t}" for t in town],
            "job": [f"job {j}" for j in job],
        }
    )
    pacsv.write_csv(table, here / "people.csv")
    (here / "towns.csv").write_text("".join(f"town {t};part {t // 3};*\n" for t in range(12)))
    return here


def recipe_of(folder: Path, columns: dict[str, Any], **setting: Any) -> AnyRecipe:
    content = {"source": {"path": "people.csv"}, "release": {"coin": "best", **setting}, "attributes": columns}
    return Recipe.parse(content, folder)


def certificate(bundle: Path) -> Any:
    return json.loads((bundle / "certificate.json").read_text())


@pytest.fixture(scope="module")
def grouped(folder: Path) -> Released:
    return release(recipe_of(folder, COLUMNS, k=20, tables=TABLES), folder / "grouped", key=Key(bytes(range(32))))


def test_the_chosen_law_is_certified_and_chosen_again(grouped: Released) -> None:
    law = mechanism_from_json(certificate(grouped.bundle)["mechanism"]["law"])
    assert isinstance(law, CoinGroups)
    assert {frozenset(g.sizes) for g in law.groups} == {frozenset(("sex", "age")), frozenset(("town", "job"))}
    checks = {check.name: check for check in verify(grouped.bundle).checks}
    assert all(check.ok for check in checks.values())
    assert "together" in checks["choice of the coin"].detail
    assert {g["notion"] for g in grouped.guarantees} == {
        "pk-anonymity",
        "local-differential-privacy",
        "central-differential-privacy",
    }


def test_tables_are_estimated_right(grouped: Released, folder: Path) -> None:
    study = open_study(grouped.bundle)
    true = pacsv.read_csv(folder / "people.csv").group_by(["town", "job"]).aggregate([([], "count_all")])
    counts = {(row["town"], row["job"]): row["count_all"] for row in true.to_pylist()}
    rows = study.crosstab(["town", "job"], method="inverse").to_rows()
    inside = [row["low"] <= counts.get((row["town"], row["job"]), 0) <= row["high"] for row in rows]
    assert np.mean(inside) > 0.85
    assert len(study.crosstab(["sex", "job"]).to_rows()) == 12


def test_rows_within_a_bound_give_the_same_bytes(grouped: Released, folder: Path) -> None:
    again = release(
        recipe_of(folder, COLUMNS, k=20, tables=TABLES),
        folder / "bounded",
        key=Key(bytes(range(32))),
        memory=1 << 29,
    )
    one, other = certificate(grouped.bundle), certificate(again.bundle)
    assert one["content"] == other["content"]
    assert one["mechanism"] == other["mechanism"]


def coarse(folder: Path) -> AnyRecipe:
    columns = {**COLUMNS, "age": {**AGE, "coarsen": True}, "town": {**TOWN, "coarsen": True}}
    return recipe_of(folder, columns, k=500, tables=TABLES)


def test_columns_are_published_coarser_where_that_helps(folder: Path) -> None:
    done = release(coarse(folder), folder / "coarse", key=Key(bytes(range(32))), even_if_useless=True)
    stated = certificate(done.bundle)
    taken = stated["mechanism"]["choice"]["taken"]
    assert set(taken) == {"age", "town"}
    domains = {a["name"]: a["domain"]["labels"] for a in stated["attributes"]}
    assert len(domains["age"]) < 20
    assert domains["town"] == [f"part {i}" for i in range(4)]
    assert all(check.ok for check in verify(done.bundle).checks)
    bounded = release(
        coarse(folder),
        folder / "coarse bounded",
        key=Key(bytes(range(32))),
        even_if_useless=True,
        memory=1 << 29,
    )
    assert certificate(bounded.bundle)["content"] == stated["content"]
    made_again = verify(done.bundle, source=folder / "people.csv", key=Key(bytes(range(32))))
    assert all(check.ok for check in made_again.checks)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k": 19.0}, "another would be chosen"),
        ({"records": 5999}, "another would be chosen"),
        ({"taken": {"age": 0}}, "in a way that is stated"),
        ({"coarser": {"age": [[5, 5]]}}, "must fit its domains"),
        ({"coarser": {"age": [[20]]}}, "two values or more"),
        ({"coarser": {"nobody": [[1, 1]]}}, "must fit its columns"),
        ({"k": 0.5}, "k"),
    ],
)
def test_a_choice_that_was_altered_is_noticed(
    grouped: Released, change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    bundle = Path(copytree(grouped.bundle, tmp_path / "altered"))
    stated = statement_of(bundle)
    stated["mechanism"]["choice"] |= change
    write_statement(bundle, stated)
    failed = [check for check in verify(bundle).checks if not check.ok]
    assert any(told in check.detail for check in failed), failed


def test_a_plan_shows_the_frontier(folder: Path) -> None:
    outlook = plan(coarse(folder), records=RECORDS, ks=[20], epsilons=[])
    best = [way for way in outlook.frontier if way.chosen]
    assert len(best) == 1
    assert best[0].coarsened
    rows = outlook.frontier_rows()
    assert [row[""] for row in rows].count("*") == 1
    stated = outlook.to_json()["frontier"]
    assert isinstance(stated, list)
    assert {"coin", "groups", "errors", "k", "epsilon", "chosen"} <= set(stated[0])
    assert [way["chosen"] for way in stated].count(True) == 1
    other = plan(recipe_of(folder, COLUMNS, k=20, coin="attribute", tables=TABLES), records=RECORDS)
    assert len(other.frontier) > 3  # what coin = "best" would take is shown to those who do not use it


@pytest.mark.parametrize(
    ("columns", "setting", "word"),
    [
        ({"sex": SEX, "age": {**AGE, "coarsen": True}}, {"k": 20, "coin": "attribute"}, "coarsen"),
        ({"sex": SEX, "job": {**JOB, "coarsen": True}}, {"k": 20}, "hierarchy or bins"),
        ({"sex": SEX, "age": {**AGE, "coarsen": True, "channel": "ordered"}}, {"k": 20}, "law"),
        ({"sex": SEX, "age": {**AGE, "retention": 0.5}}, {"k": 20}, "retention"),
        ({"sex": SEX, "age": AGE}, {"k": 20, "retention": 0.5}, "retention"),
        ({"sex": SEX, "age": {**AGE, "role": "insensitive", "coarsen": True}}, {"k": 20}, "randomised"),
        ({"sex": SEX, "age": AGE}, {}, "promise"),
    ],
)
def test_what_cannot_be_chosen_is_refused(
    folder: Path, columns: dict[str, Any], setting: dict[str, Any], word: str, tmp_path: Path
) -> None:
    with pytest.raises(PramanaError, match=word):
        release(recipe_of(folder, columns, **setting), tmp_path / "out", key=Key(bytes(32)))
    assert not (tmp_path / "out").exists()
