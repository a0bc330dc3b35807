"""A release from which nothing can be learned stops before anything is written; others say what they are worth."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pramana
from pramana.app.main import run
from pramana.errors import UselessError
from pramana.methods.recipe import Recipe

QUASI = {"role": "quasi-identifying"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten columns as a survey has them, some of many values; hierarchies; a table of numbers."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(8)
    sizes = [2, 3, 4, 5, 8, 12, 60, 100, 400, 1000]
    columns = [draw.integers(0, size, 4000) for size in sizes]
    lines = [
        ",".join(f"c{i}" for i in range(10)),
        *(",".join(map(str, row)) for row in zip(*columns, strict=True)),
    ]
    (tmp_path / "ten.csv").write_text("\n".join(lines) + "\n")
    attributes = {f"c{i}": {**QUASI, "domain": [str(v) for v in range(size)]} for i, size in enumerate(sizes)}
    (tmp_path / "ten.json").write_text(json.dumps(attributes))
    (tmp_path / "a.csv").write_text("x;*\ny;*\n")
    (tmp_path / "b.csv").write_text("".join(f"{v};{v // 4};*\n" for v in range(8)))
    rows = [f"{'xy'[i % 2]},{i % 8},{i * i % 97}" for i in range(400)]
    (tmp_path / "few.csv").write_text("\n".join(["a,b,n", *rows]) + "\n")
    return tmp_path


def ten(desk: Path, columns: int = 10, **release: Any) -> Any:
    """The first of the ten columns, which are in the order of their sizes."""
    attributes = dict(list(json.loads((desk / "ten.json").read_text()).items())[:columns])
    return Recipe.parse({"source": {"path": "ten.csv"}, "release": release, "attributes": attributes}, desk)


def few(desk: Path, release: dict[str, Any], **columns: dict[str, Any]) -> Any:
    return Recipe.parse({"source": {"path": "few.csv"}, "release": release, "attributes": columns}, desk)


def test_ten_columns_at_k_10(desk: Path) -> None:
    recipe = ten(desk, k=10)
    with pytest.raises(UselessError) as stopped:
        pramana.release(recipe, desk / "out")
    assert not any(path.name.startswith("out") for path in desk.iterdir())
    said = str(stopped.value)
    assert "\n" not in said
    assert "--even-if-useless" in said
    # every number of the advice is reached when the advice is taken
    advice = re.search(r"With (\d+) of 10 columns randomised .*? within ([0-9.]+) points: drop c", said)
    assert advice is not None
    kept, reached = int(advice[1]), advice[2]
    done = pramana.release(ten(desk, kept, k=10), desk / "narrow", seed=1)
    best = done.usefulness.best
    assert best is not None
    assert best.shown(best.within) == f"{reached} points"
    wider = pramana.plan(ten(desk, kept + 1, k=10)).usefulness
    assert len(wider.hopeless) == len(wider.tables)


def test_going_on_is_said_in_the_report(desk: Path) -> None:
    done = pramana.release(ten(desk, k=10), desk / "out", seed=1, even_if_useless=True)
    assert done.usefulness.useless
    assert "This release is useless: nothing can be learned from it" in (desk / "out" / "report.html").read_text()
    assert pramana.verify(desk / "out", source=desk / "ten.csv", seed=1).valid


@pytest.mark.parametrize(
    ("release", "columns"),
    [
        ({"method": "generalize", "k": 300, "cells": "hierarchy"}, {"a": "a.csv", "b": "b.csv"}),
        ({"method": "microaggregate", "k": 400}, {"n": None}),
        ({"method": "levels", "retention": 0.0}, {"a": "domain"}),
        ({"method": "retention", "retention": 0.0}, {"a": "domain"}),
        ({"method": "matrix"}, {"a": "matrix"}),
    ],
    ids=["generalize", "microaggregate", "levels", "retention", "matrix"],
)
def test_nothing_to_learn_by_any_method(desk: Path, release: dict[str, Any], columns: dict[str, Any]) -> None:
    attributes: dict[str, dict[str, Any]] = {}
    for name, how in columns.items():
        role = "sensitive" if release["method"] == "levels" else "quasi-identifying"
        domain = {"domain": ["x", "y"]}
        known: dict[str | None, dict[str, Any]] = {
            None: {},
            "domain": domain,
            "matrix": {**domain, "matrix": [[0.5, 0.5]] * 2},
        }
        attributes[name] = {"role": role, **known.get(how, {"hierarchy": how})}
    recipe = few(desk, release, **attributes)
    with pytest.raises(UselessError, match="even-if-useless"):
        pramana.release(recipe, desk / "out")
    assert not (desk / "out").exists()
    done = pramana.release(recipe, desk / "out", even_if_useless=True)
    assert done.usefulness.useless
    found = pramana.verify(desk / "out", source=desk / "few.csv", key=done.key_file)
    assert found.valid, found.checks


def test_presence_of_everyone_at_the_top(desk: Path) -> None:
    rows = (desk / "few.csv").read_text().splitlines()
    (desk / "all.csv").write_text(
        "\n".join([f"{rows[0]},in", *(f"{r},{i % 3 % 2}" for i, r in enumerate(rows[1:]))])
    )
    release = {"method": "presence", "delta": [0.0, 0.9], "public": "all.csv", "present": "in"}
    columns = {name: {**QUASI, "hierarchy": f"{name}.csv"} for name in ("a", "b")}
    recipe = few(desk, {**release, "levels": {"a": 1, "b": 2}}, **columns)
    with pytest.raises(UselessError, match="With levels left out the share of a value of a is known exactly"):
        pramana.release(recipe, desk / "out")
    assert pramana.release(few(desk, {**release, "levels": {"a": 0, "b": 2}}, **columns), desk / "out")


CLASSES = {"a": {**QUASI, "hierarchy": "a.csv"}, "b": {**QUASI, "hierarchy": "b.csv"}}
ADVISED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "generalize": ({"method": "generalize", "k": 300, "cells": "hierarchy"}, CLASSES),
    "microaggregate": ({"method": "microaggregate", "k": 400}, {"n": QUASI}),
    "presence": ({"method": "presence", "delta": [0.3, 0.45], "public": "all.csv", "present": "in"}, CLASSES),
    "invariant": (
        {"method": "invariant", "xi": 0.2, "unreached": "publish"},
        {"a": {**QUASI, "domain": ["x", "y"]}},
    ),
}


@pytest.mark.parametrize("method", ADVISED)
def test_advice_that_is_taken_reaches_what_it_says(desk: Path, method: str) -> None:
    rows = (desk / "few.csv").read_text().splitlines()
    present = (f"{row},{int(i % 8 in (0, 3, 5) if i % 50 else i % 100 == 0)}" for i, row in enumerate(rows[1:]))
    (desk / "all.csv").write_text("\n".join([f"{rows[0]},in", *present]))
    if method == "invariant":  # by which few records are needed to learn something
        (desk / "few.csv").write_text("\n".join(rows[:5]) + "\n")
    release, columns = ADVISED[method]
    with pytest.raises(UselessError) as stopped:
        pramana.release(few(desk, release, **columns), desk / "out")
    assert not (desk / "out").exists()
    said = re.search(r"With (k|xi|delta) = (\[[^]]*\]|[0-9.]+) ([^:]*? known .*?)\.(?= |$)", str(stopped.value))
    assert said is not None, str(stopped.value)
    taken = pramana.plan(few(desk, {**release, said[1]: json.loads(said[2])}, **columns)).usefulness
    assert taken.best is not None
    assert not taken.useless
    assert taken.best.words == said[3]


def test_named_tables_are_those_that_matter(desk: Path) -> None:
    """Single columns would be useful; the recipe asks for a pair that is not."""
    columns = {"a": {**QUASI, "domain": ["x", "y"]}, "b": {**QUASI, "domain": [str(v) for v in range(8)]}}
    plain = pramana.release(few(desk, {"epsilon": 1.2}, **columns), desk / "plain", seed=1)
    assert [t.title for t in plain.usefulness.tables] == ["a", "b", "a x b"]
    assert [t.title for t in plain.usefulness.hopeless] == ["a x b"]
    with pytest.raises(UselessError, match="a x b"):
        pramana.release(few(desk, {"epsilon": 0.4, "tables": [["a", "b"]]}, **columns), desk / "named")
    release = {"method": "generalize", "k": 5, "cells": "hierarchy", "tables": [["b"]]}
    general = {name: {**QUASI, "hierarchy": f"{name}.csv"} for name in ("a", "b")}
    done = pramana.release(few(desk, release, **general), desk / "general", seed=1)
    assert [t.title for t in done.usefulness.tables] == ["b"]
    assert done.certificate.mechanism["tables"] == [["b"]]
    assert pramana.verify(desk / "general", source=desk / "few.csv", seed=1).valid


def test_a_level_from_which_nothing_is_learned(desk: Path) -> None:
    (desk / "levels.toml").write_text(
        '[source]\npath = "few.csv"\n[release]\nmethod = "levels"\n'
        '[attributes.a]\nrole = "sensitive"\ndomain = ["x", "y"]\n'
    )
    assert run(["levels", "create", "L.db", "--recipe", "levels.toml"]) == 0
    asked = ["levels", "issue", "L.db", "--recipient", "anna", "--retention", "0.001", "--out", "anna"]
    assert run(asked) == 2
    assert not (desk / "anna").exists()
    assert pramana.Ledger.open("L.db").releases() == []
    assert run([*asked, "--even-if-useless"]) == 0
    assert "This release is useless" in (desk / "anna" / "report.html").read_text()


def test_the_command_line(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sex = '[attributes.a]\nrole = "quasi-identifying"\ndomain = ["x", "y"]\n'
    (desk / "ok.toml").write_text(f'[source]\npath = "few.csv"\n[release]\nepsilon = 3.0\n{sex}')
    (desk / "no.toml").write_text(f'[source]\npath = "few.csv"\n[release]\nepsilon = 0.01\n{sex}')
    assert run(["release", "ok.toml", "--out", "ok", "--json"]) == 0
    worth = json.loads(capsys.readouterr().out)["usefulness"]
    assert not worth["useless"]
    assert worth["tables"][0]["table"] == ["a"]
    assert 0 < worth["tables"][0]["within"] < worth["tables"][0]["guess"]
    assert run(["release", "no.toml", "--out", "no"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "With epsilon = 1 the share of a value of a is known to within" in said
    assert not (desk / "no").exists()
    assert not (desk / "no.key").exists()
    assert run(["plan", "ok.toml", "no.toml", "--json", "--out", "both"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert [one["usefulness"]["useless"] for one in both["candidates"]] == [False, True]
    assert [row["recipe"] for row in both["comparison"]] == ["ok.toml", "no.toml"]
    assert {Path(p).name for p in both["files"]} == {"plan.csv", "plan.md", "plan.svg", "plan.png"}
    assert run(["plan", "no.toml"]) == 0
    assert "no.toml is useless" in capsys.readouterr().out


def test_what_is_said_tells_nothing_of_the_rows(desk: Path) -> None:
    """Two tables of as many records, one all x: by retention the same words, before and at release."""
    (desk / "other.csv").write_text("\n".join(["a,b,n", *["x,0,1"] * 400]) + "\n")
    column = {"a": {**QUASI, "domain": ["x", "y"], "missing": "never"}}
    said = []
    for path in ("few.csv", "other.csv"):
        recipe = Recipe.parse({"source": {"path": path}, "release": {"epsilon": 2.0}, "attributes": column}, desk)
        worth = pramana.release(recipe, desk / f"out {path}", seed=1).usefulness
        assert worth == pramana.plan(recipe).usefulness
        said.append(worth)
    assert said[0] == said[1]
