from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import pramana
from pramana.app.main import run
from pramana.errors import BundleError, InputError

RECIPE = """
[source]
path = "people.{format}"
[release]
retention = 0.6
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 65, 90]
missing = "category"
[attributes.income]
role = "sensitive"
randomise = true
domain = ["low", "middle", "high"]
[attributes.region]
role = "insensitive"
[attributes.weight]
role = "insensitive"
[output]
format = "{format}"
"""


def people(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "sex": rng.choice(["F", "M"], rows),
        "age": rng.integers(0, 90, rows),
        "income": rng.choice(["low", "middle", "high"], rows, p=[0.5, 0.3, 0.2]),
        "region": rng.choice(["west", "east"], rows),
        "weight": rng.choice([1, 2.5], rows),
    }


@pytest.fixture(scope="module", params=["parquet", "csv"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    pq.write_table(pa.table(people(6_000)), folder / "people.parquet")
    pacsv.write_csv(pa.table(people(6_000)), folder / "people.csv")
    (folder / "recipe.toml").write_text(RECIPE.format(format=request.param))
    pramana.release(folder / "recipe.toml", folder / "out", seed=3)
    return folder / "out"


def test_the_bundle_alone_gives_tables_that_cover_the_truth(bundle: Path) -> None:
    true = people(6_000)
    table = pramana.crosstab(bundle, ["income", "region"], "age >= 65 and sex = F", method="inverse")
    hits = 0
    for cell in table.cells():
        chosen = (true["income"] == cell["income"]) & (true["region"] == cell["region"])
        want = (chosen & (true["sex"] == "F") & (true["age"] >= 65)).sum()
        hits += cell["low"] <= want <= cell["high"]
    assert hits >= 5
    assert len(table.cells()) == 6


def test_a_column_released_unchanged_is_counted_exactly(bundle: Path) -> None:
    true = people(6_000)
    for method in ("em", "inverse"):
        cells = {c["region"]: c for c in pramana.crosstab(bundle, ["region"], method=method).cells()}
        for region in ("east", "west"):
            want = (true["region"] == region).sum()
            assert (cells[region]["estimate"], cells[region]["low"]) == pytest.approx((want, want))


def test_survey_weights_come_from_a_column_released_unchanged(bundle: Path) -> None:
    true = people(6_000)
    cells = pramana.crosstab(bundle, ["sex"], weights="weight", method="inverse").cells()
    for cell in cells:
        want = true["weight"][true["sex"] == cell["sex"]].sum()
        assert cell["low"] - 50 <= want <= cell["high"] + 50
    assert sum(c["estimate"] for c in cells) == pytest.approx(true["weight"].sum())
    with pytest.raises(BundleError, match="released unchanged"):
        pramana.crosstab(bundle, ["sex"], weights="age")


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_the_command_line_answers_with_the_agreed_keys(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for method in ("em", "inverse"):
        found = run_json(capsys, "crosstab", str(bundle), "--by", "sex,age", "--method", method)
        assert found["records"] == 6_000
        assert len(found["cells"]) == 10
        assert set(found["cells"][0]) == {"sex", "age", "estimate", "low", "high"}
        assert {c["age"] for c in found["cells"]} == {"[0,20)", "[20,40)", "[40,65)", "[65,90)", None}
    total = run_json(capsys, "crosstab", str(bundle), "--where", "income = high", "--method", "inverse")
    assert [set(c) for c in total["cells"]] == [{"estimate", "low", "high"}]
    means = run_json(capsys, "crosstab", str(bundle), "--by", "sex", "--mean", "age")
    assert all(30 < c["estimate"] < 60 for c in means["cells"])
    two = run_json(
        capsys, "compare", str(bundle), "--first", "sex = F", "--second", "sex = M", "--share", "income = low"
    )
    assert set(two) == {"first", "second", "difference", "p_value"}
    assert run(["crosstab", str(bundle), "--by", "sex,income", "--shares"]) == 0
    assert "95% from" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "height"], "must be in the release"),
        (["--by", "sex", "--where", "age >>> 3"], "must read like"),
        (["--by", "sex", "--where", "age > 30"], "must not cut"),
        (["--by", "sex", "--mean", "income"], "numeric"),
        (["--by", "sex", "--confidence", "95"], "strictly between"),
        (["--by", "sex", "--method", "inverse", "--profile"], "method em"),
    ],
)
def test_bad_questions_end_with_one_line(
    bundle: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["crosstab", str(bundle), *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_bundle_that_fails_verification_is_refused_unless_told_otherwise(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    statement = json.loads((broken / "certificate.json").read_text())
    statement["guarantees"][0]["value"] = 1e9
    (broken / "certificate.json").write_text(json.dumps(statement))
    assert run(["crosstab", str(broken), "--by", "sex"]) == 2
    assert "must pass verification" in capsys.readouterr().err
    assert run(["crosstab", str(broken), "--by", "sex", "--unverified"]) == 0
    with pytest.raises(InputError, match="folder"):
        pramana.crosstab(tmp_path / "nowhere", ["sex"])


def test_the_sheets_numbers_hold_through_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The published counts of the sheet are planted as the data of a bundle with the sheet's retentions."""
    counts = np.array([20, 10, 15, 12, 25, 18])
    sex, age = np.repeat(list("000111"), counts), np.repeat(list("012012"), counts)
    recipe = """
[release]
retention = 0.5
[attributes.sex]
role = "quasi-identifying"
domain = ["0", "1"]
[attributes.age]
role = "quasi-identifying"
domain = ["0", "1", "2"]
retention = 0.4
"""
    (tmp_path / "r.toml").write_text(recipe)
    pramana.release(tmp_path / "r.toml", tmp_path / "out", data=pa.table({"sex": sex, "age": age}), seed=1)
    published = pa.table({"sex": pa.array(sex).dictionary_encode(), "age": pa.array(age).dictionary_encode()})
    pq.write_table(published, tmp_path / "out" / "data.parquet")
    found = run_json(
        capsys, "crosstab", str(tmp_path / "out"), "--by", "sex,age", "--method", "inverse", "--unverified"
    )
    assert [c["estimate"] for c in found["cells"]] == pytest.approx([40, -13.75, 13.75, -10, 51.25, 18.75])
