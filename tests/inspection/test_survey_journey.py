"""A survey as offices write it: from the file to a useful, valid release by `init`, a look, and `release`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pramana
from pramana.app.main import run
from pramana.datasets.survey import survey


def answer(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capfd.readouterr()
    code = run([*arguments, "--json"])
    shown = capfd.readouterr()
    assert code == 0, shown.err
    return dict(json.loads(shown.out))


def test_from_the_file_to_a_release_without_cleaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people = survey(rows=20_000)
    people.write_csv("survey.csv")  # semicolons, decimal commas, trailing blanks, 99 for missing, 01.03.2024
    seen = answer(capfd, "inspect", "survey.csv")
    assert seen["repeated_identifiers"] == ["person", "household"]
    drafted = answer(capfd, "init", "survey.csv", "--out", "recipe.toml")
    asked = " ".join(drafted["confirm"])  # type: ignore[arg-type]
    assert "Rows with the same person are one person's" in asked and "Households are not protected" in asked
    text = Path("recipe.toml").read_text()
    assert 'decimal = ","' in text and 'person = "person"' in text and "constant = true" in text
    done = answer(capfd, "release", "recipe.toml", "--out", "published")
    assert done["records"] == 20_000
    worth = done["usefulness"]
    assert isinstance(worth, dict) and not worth["useless"]
    assert pramana.verify("published", source="survey.csv", key="published.key").valid
    table = answer(capfd, "crosstab", "published", "--by", "sex")
    true = people.columns["sex"]
    for cell in table["cells"]:  # type: ignore[attr-defined]
        count = sum(str(value) == cell["sex"] for value in true)
        assert cell["low"] <= count <= cell["high"]
        assert cell["high"] - cell["low"] < 20_000
