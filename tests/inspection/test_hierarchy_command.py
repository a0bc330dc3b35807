"""`pramana hierarchy`: built, checked and shown; what does not fit is counted, located, and shown if asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.inspection import survey

import pramana
from pramana.app.main import run
from pramana.holder.hierarchies import HierarchyPlan
from pramana.schema.hierarchy import (
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return survey.write(tmp_path / "people.csv", survey.rows(120))


def built(people: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> pramana.Hierarchy:
    out = people.parent / "h.csv"
    assert run(["hierarchy", "build", str(people), *arguments, "--out", str(out), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    read = pramana.Hierarchy.read(out)
    assert content["path"] == str(out) and content["levels"] == read.height
    return read


def values(name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in survey.rows(120)))


def test_each_kind_is_built(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = people.parent / "h.csv"
    made = built(people, capsys, "--column", "age", "--kind", "intervals", "--widths", "5,10")
    assert made == hierarchy_of_intervals(values("age"), [5, 10])
    out.unlink()
    made = built(people, capsys, "--column", "birth", "--kind", "dates", "--units", "year,decade")
    assert made == hierarchy_of_dates(values("birth"), ["year", "decade"])
    out.unlink()
    made = built(people, capsys, "--column", "plz", "--kind", "mask", "--levels", "2")
    assert made == hierarchy_by_masking(sorted(values("plz")), levels=2)
    out.unlink()
    order = ["low", "middle", "high"]
    made = built(
        people, capsys, "--column", "education", "--kind", "ordered", "--order", ",".join(order), "--sizes", "2"
    )
    assert made == hierarchy_of_groups(order, [2])
    out.unlink()
    tree = people.parent / "tree.toml"
    tree.write_text('upper = ["north", "east"]\nlower = ["south", "west", "nowhere"]\n')
    made = built(people, capsys, "--column", "region", "--kind", "tree", "--tree", str(tree))
    assert dict(zip(made.leaves, made.levels[1], strict=True))["west"] == "lower"


@pytest.mark.parametrize("kind", ["intervals", "dates"])
def test_values_that_do_not_fit_are_counted_and_located(
    kind: str, people: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = survey.rows(120)
    fitting, odd = {"intervals": ("7", "seven"), "dates": ("2024-02-28", "2024-02-30")}[kind]
    for i, row in enumerate(rows):
        row["x"] = odd if i in (10, 40) else fitting
    survey.write(people, rows)
    arguments = [
        "hierarchy",
        "build",
        str(people),
        "--column",
        "x",
        "--kind",
        kind,
        "--out",
        str(people.parent / "h.csv"),
    ]
    assert run(arguments) == 2
    told = capfd.readouterr().err
    assert "1 value" in told and "in 2 rows, the first in row 11" in told and odd not in told
    assert run([*arguments, "--show-values"]) == 2
    assert odd in capfd.readouterr().err
    assert not (people.parent / "h.csv").exists()


def test_check_counts_and_locates(people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.csv"
    hierarchy_of_intervals([v for v in values("age") if v != values("age")[0]], [5]).write(path)
    arguments = ["hierarchy", "check", str(path), "--data", str(people), "--column", "age"]
    assert run([*arguments, "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    lost = values("age")[0]
    rows = [i for i, row in enumerate(survey.rows(120), 1) if row["age"] == lost]
    assert content["missing_leaves"] == 1 and content["rows"] == len(rows)
    assert content["first_rows"] == rows[:20] and "shown" not in content
    assert run([*arguments, "--show-values"]) == 1
    assert repr(lost) in capsys.readouterr().out
    assert run(["hierarchy", "check", str(path)]) == 0


def test_preview_shows_levels_and_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.csv"
    hierarchy_of_intervals(range(100), [10, 50]).write(path)
    assert run(["hierarchy", "preview", str(path), "--lines", "5", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["labels"] == [100, 10, 2, 1] and len(content["lines"]) == 5
    assert content["lines"][0] == ["0", "0-9", "0-49", "*"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "people.csv", "--column", "agee", "--kind", "intervals", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "intervals", "--widths", "5,7", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "intervals", "--widths", "five", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "mask", "--widths", "5", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "tree", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "tree", "--tree", "recipe.toml", "--out", "h.csv"],
        ["build", "people.csv", "--column", "age", "--kind", "intervals", "--out", "people.csv"],
        ["check", "people.csv"],
        ["check", "none.csv"],
        ["check", "h.csv", "--data", "people.csv"],
        ["preview", "none.csv"],
    ],
)
def test_bad_input_is_refused(arguments: list[str], refused: object) -> None:
    assert callable(refused)
    refused("hierarchy", *arguments)


def test_options_of_another_kind_are_refused() -> None:
    with pytest.raises(pramana.PramanaError, match="must go with --kind dates"):
        HierarchyPlan("mask", units=("year",))
