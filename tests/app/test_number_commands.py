"""`pramana quantiles` and `pramana regression`: what they say, in words and JSON, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import Recipe, open_study, release
from pramana.app.main import run

QUASI = {"role": "quasi-identifying"}
ATTRIBUTES = {
    "age": {**QUASI, "bins": {"width": 20, "from": 0, "to": 100}, "publish": "draw"},
    "born": {**QUASI, "bins": {"calendar": "decade", "from": "1920-01-01"}, "top": "2020-01-01"},
    "sex": {**QUASI, "domain": ["F", "M"]},
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("numbers")
    age = np.random.default_rng(2).integers(0, 100, 3_000)
    table = pa.table({"age": age, "born": [f"{2023 - a}-07-01" for a in age], "sex": np.where(age % 3, "F", "M")})
    pq.write_table(table, folder / "people.parquet")
    stated = {"source": {"path": "people.parquet"}, "release": {"retention": 0.8}, "attributes": ATTRIBUTES}
    release(Recipe.parse(stated, folder), folder / "bundle", seed=3)
    return str(folder / "bundle")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_quantiles(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "quantiles", bundle, "age", "--where", "sex = F", "--shares", "0.5")
    expected = open_study(bundle).quantiles("age", [0.5], "sex = F")
    assert found["quantiles"] == [q.to_json() for q in expected] and found["where"] == "sex = F"
    assert run(["quantiles", bundle, "born", "--shares", "0.5,0.99"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["share", "estimate", "95%", "from", "to"]
    assert lines[1].split()[2:] in (["1970-01-01", "1979-12-31"], ["1960-01-01", "1979-12-31"])
    assert lines[2].endswith("no end")


def test_regression(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "regression", bundle, "age", "--on", "sex")
    expected = open_study(bundle).regression("age", ["sex"]).to_json()
    assert found == {**expected, "confidence": 0.95, "where": None}
    assert run(["regression", bundle, "age", "--on", "sex,born", "--where", "born < 2020"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:3]] == ["(intercept)", "sex = M"]


def test_means_within_bins(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "crosstab", bundle, "--by", "sex", "--mean", "age", "--within-bins")
    study = open_study(bundle)
    for cell in found["cells"]:
        wide = study.mean("age", f"sex = {cell['sex']}", within_bins=True)
        assert [cell[key] for key in ("estimate", "low", "high")] == [wide.estimate, wide.low, wide.high]
        assert wide.high - wide.low > 20  # the width of the bins


@pytest.mark.parametrize(
    "arguments",
    [
        ["crosstab", "--by", "sex", "--within-bins"],
        ["quantiles", "sex"],
        ["quantiles", "height"],
        ["quantiles", "age", "--shares", "half"],
        ["quantiles", "age", "--shares", "1.5"],
        ["quantiles", "age", "--where", "age < 5"],
        ["regression", "sex", "--on", "age"],
        ["regression", "age", "--on", "age"],
        ["regression", "age", "--on", ""],
    ],
)
def test_questions_without_an_answer(
    arguments: list[str], bundle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = arguments
    assert run([command, bundle, *rest]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and told.err.startswith("pramana: ")


def test_help_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert "quantiles" in told and "regression" in told and not Path("bundle").exists()
