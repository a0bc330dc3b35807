"""Cells instead of rows: every promise counted by hand in what is published, other nodes chosen, and the space."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pramana import plan, release, verify
from pramana.app.main import run
from pramana.errors import PramanaError, RecipeError, UnreachableError
from pramana.methods.recipe import Recipe

QUASI = ("sex", "age", "town")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(4)
    rows = zip(
        draw.choice(["F", "M"], 300),
        np.minimum(draw.geometric(0.2, 300), 12),
        draw.choice([f"t{i}" for i in range(6)], 300, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
        draw.choice(["none", "flu", "gout"], 300, p=[0.6, 0.3, 0.1]),
        strict=True,
    )
    lines = ["sex,age,town,illness", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    (tmp_path / "age.csv").write_text("".join(f"{a};{(a - 1) // 3};{(a - 1) // 6};*\n" for a in range(1, 13)))
    (tmp_path / "town.csv").write_text("".join(f"t{i};{'north' if i < 3 else 'south'};*\n" for i in range(6)))
    return tmp_path


def recipe(desk: Path, **setting: Any) -> Any:
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifying", "hierarchy": f"{name}.csv"} for name in QUASI
    }
    attributes["illness"] = {"role": "sensitive"}
    stated = {"method": "generalize", "cells": "hierarchy", "suppress": "cells", "k": 5, "suppression": 0.1}
    return Recipe.parse(
        {
            "source": {"path": "people.csv"},
            "release": {**stated, **setting},
            "attributes": attributes,
            "output": {"format": "csv"},
        },
        desk,
    )


def published(bundle: Path) -> list[dict[str, str]]:
    with (bundle / "data.csv").open() as file:
        return list(csv.DictReader(file))


def classes_of(rows: list[dict[str, str]]) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[tuple(row[name] for name in QUASI)][row["illness"]] += 1
    return found


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"k": 12, "suppression": 0.3},
        {"l": 2},
        {"l": 1.8, "l_kind": "entropy", "suppression": 0.4},
        {"l": 2, "l_kind": "recursive", "c": 4.0, "suppression": 0.4},
        {"t": 0.45, "suppression": 0.4},
        {"k": 3, "weights": {"age": 5.0}, "measure": "entropy"},
        {"levels": {"sex": 0, "age": 1, "town": 0}, "suppression": 0.3},
    ],
    ids=str,
)
def test_every_promise_is_kept_by_the_published_tuples(desk: Path, setting: dict[str, Any]) -> None:
    done = release(recipe(desk, **setting), desk / "out", seed=1)
    rows = published(desk / "out")
    assert len(rows) == 300  # nobody is left out
    classes = classes_of(rows)
    assert min(sum(values.values()) for values in classes.values()) >= setting.get("k", 5)
    whole = Counter(row["illness"] for row in rows)
    for values in classes.values():
        n = sum(values.values())
        shares = np.array([values[v] / n for v in whole])
        if "t" in setting:
            all_shares = np.array([whole[v] / 300 for v in whole])
            assert np.abs(shares - all_shares).sum() / 2 <= setting["t"] + 1e-9
        if setting.get("l_kind") == "entropy":
            entropy = -sum(p * np.log(p) for p in shares if p > 0)
            assert entropy >= np.log(setting["l"]) - 1e-9
        elif setting.get("l_kind") == "recursive":
            counts = sorted(values.values(), reverse=True)
            assert counts[0] < setting["c"] * sum(counts[1:])
        elif "l" in setting:
            assert len(values) >= setting["l"]
    stated = done.certificate.mechanism["measured"]["cells"]["by_column"]
    levels = dict(zip(QUASI, done.certificate.mechanism["levels"], strict=True))
    tops = {"sex": 1, "age": 3, "town": 2}
    for name in QUASI:
        stars = sum(row[name] == "*" for row in rows)
        assert stated[name] == (stars if levels[name] < tops[name] else 0)
    assert sum(stated.values()) <= setting.get("suppression", 0.1) * 900
    found = verify(desk / "out", source=desk / "people.csv", seed=1)
    assert found.valid, [check for check in found.checks if not check.ok]
    assert any(check.name == "suppressed cells counted again" and check.derived for check in found.checks)


def test_true_values_stand_where_none_was_suppressed(desk: Path) -> None:
    """Without shuffling each row is beside its source: its label, or the top."""
    done = release(recipe(desk, shuffle=False, k=3, suppression=0.3), desk / "out", seed=1)
    levels = dict(zip(QUASI, done.certificate.mechanism["levels"], strict=True))
    ladders = {}
    for name in QUASI:
        with (desk / f"{name}.csv").open() as file:
            ladders[name] = {line[0]: line for line in csv.reader(file, delimiter=";")}
    with (desk / "people.csv").open() as file:
        source = list(csv.DictReader(file))
    for true, shown in zip(source, published(desk / "out"), strict=True):
        for name in QUASI:
            assert shown[name] in (ladders[name][true[name]][levels[name]], "*")


def test_a_stream_publishes_the_same_bytes(desk: Path) -> None:
    one = release(recipe(desk), desk / "whole", seed=1)
    other = release(recipe(desk), desk / "streamed", seed=1, memory=1 << 30)
    assert one.certificate.files == other.certificate.files


def test_fewer_cells_than_rows_would_cost(desk: Path) -> None:
    """At the same levels: rows that are left out lose all their cells."""
    levels = {"sex": 0, "age": 1, "town": 1}
    rows = release(recipe(desk, suppress="rows", levels=levels, suppression=0.3), desk / "rows", seed=1)
    cells = release(recipe(desk, levels=levels, suppression=0.3), desk / "cells", seed=1)
    lost = 300 - rows.records
    assert lost > 0
    told = cells.certificate.mechanism["measured"]["cells"]
    assert sum(told["by_column"].values()) < 3 * lost
    assert told["fewest"]


def test_what_cannot_be_kept_is_refused(desk: Path) -> None:
    with pytest.raises(UnreachableError, match="suppressed cells"):
        release(recipe(desk, levels={"sex": 0, "age": 0, "town": 0}, suppression=0.01), desk / "out")
    with pytest.raises(UnreachableError):
        release(recipe(desk, k=200, suppression=0.0, t=0.0, levels={"sex": 0, "age": 3, "town": 2}), desk / "out")
    with pytest.raises(UnreachableError):
        release(recipe(desk, l=4), desk / "out")  # there are three illnesses
    for setting, words in (
        ({"cells": "pdf"}, 'cells = "hierarchy"'),
        ({"algorithm": "mondrian", "suppression": 0.0}, 'algorithm = "incognito"'),
        ({"measure": "kl"}, "measure must be one of"),
        ({"suppress": "columns"}, "suppress"),
        ({"levels": {"sex": 0}}, "levels must give a level for every"),
        ({"levels": {"sex": 0, "age": 9, "town": 0}}, "from 0 to 3"),
        ({"levels": {"sex": 0, "age": 1, "town": 0}, "algorithm": "local", "suppression": 0.0,
          "suppress": "rows"}, "levels must go with"),
    ):  # fmt: skip
        with pytest.raises(RecipeError, match=words):
            release(recipe(desk, **setting), desk / "out")
    assert not (desk / "out").exists()


def test_a_forged_star_is_noticed(desk: Path) -> None:
    release(recipe(desk), desk / "out", seed=1)
    text = (desk / "out" / "certificate.json").read_text()
    stated = json.loads(text)
    stated["mechanism"]["measured"]["cells"]["by_column"]["age"] += 1
    (desk / "out" / "certificate.json").write_text(json.dumps(stated))
    assert not verify(desk / "out").valid


def test_the_space_has_every_node_and_what_fails_there(desk: Path) -> None:
    space = plan(recipe(desk, suppress="rows", suppression=0.05, l=2), ks=[], space=True).space
    assert space is not None
    assert len(space.nodes) == 2 * 4 * 3
    with (desk / "people.csv").open() as file:
        source = list(csv.DictReader(file))
    ladders = {}
    for name in QUASI:
        with (desk / f"{name}.csv").open() as file:
            ladders[name] = {line[0]: line for line in csv.reader(file, delimiter=";")}
    for node in space.nodes:  # by hand, node by node
        found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for row in source:
            shown = tuple(ladders[n][row[n]][level] for n, level in zip(QUASI, node.levels, strict=True))
            found[shown][row["illness"]] += 1
        sizes = {shown: sum(values.values()) for shown, values in found.items()}
        assert node.classes == len(found)
        assert node.smallest == min(sizes.values())
        assert node.fails["k"] == sum(n for n in sizes.values() if n < 5)
        assert node.fails["l"] == sum(sizes[shown] for shown, values in found.items() if len(values) < 2)
        bad = sum(sizes[shown] for shown, values in found.items() if sizes[shown] < 5 or len(values) < 2)
        assert node.records_failing == bad
        assert node.holds == (bad <= 15 and bad < 300)
    chosen = space.chosen
    assert chosen is not None
    assert chosen.cost == min(node.cost for node in space.nodes if node.holds and node.cost is not None)
    done = release(recipe(desk, suppress="rows", suppression=0.05, l=2), desk / "out", seed=1)
    assert done.certificate.mechanism["levels"] == list(chosen.levels)


def test_another_node_is_certified_or_refused(desk: Path) -> None:
    setting = {"suppress": "rows", "suppression": 0.05}
    space = plan(recipe(desk, **setting), ks=[], space=True).space
    assert space is not None
    for number, node in enumerate(space.nodes):
        levels = dict(zip(QUASI, node.levels, strict=True))
        wanted = recipe(desk, **setting, levels=levels)
        if node.holds:
            done = release(wanted, desk / str(number), seed=1, even_if_useless=True)
            assert done.certificate.mechanism["levels"] == list(node.levels)
            assert done.records == 300 - node.records_failing
        else:
            with pytest.raises(UnreachableError):
                release(wanted, desk / str(number), seed=1)


def test_the_command_shows_the_space(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ['[source]\npath = "people.csv"\n[release]\nmethod = "generalize"\nk = 5\ncells = "hierarchy"']
    lines.append('suppress = "cells"\nsuppression = 0.1')
    lines += [f'[attributes.{name}]\nrole = "quasi-identifying"\nhierarchy = "{name}.csv"' for name in QUASI]
    (desk / "recipe.toml").write_text("\n".join(lines) + "\n")
    assert run(["generalize", "space", "recipe.toml", "--json", "--out", "space"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["nodes"]) == 24
    assert sum(node["chosen"] for node in told["nodes"]) == 1
    assert told["nodes"][0]["chosen"]
    assert {Path(p).name for p in told["files"]} == {"space.csv", "space.md", "space.svg", "space.png"}
    assert run(["generalize", "space", "recipe.toml"]) == 0
    assert "nodes hold with at most 90 cells suppressed" in capsys.readouterr().out
    drawn = '[release]\nepsilon = 1.0\n[attributes.sex]\nrole = "quasi-identifying"\ndomain = ["F", "M"]\n'
    (desk / "recipe.toml").write_text(drawn)
    assert run(["generalize", "space", "recipe.toml"]) == 2
    assert "space of solutions" in capsys.readouterr().err


def test_plans_of_every_method(desk: Path) -> None:
    """Each says what its tables are worth, as its release does."""
    quasi = {"role": "quasi-identifying", "domain": ["F", "M"]}
    illness = {"role": "sensitive", "domain": ["none", "flu", "gout"]}
    town = {"role": "quasi-identifying", "domain": [f"t{i}" for i in range(6)]}
    documents: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "retention": ({"method": "retention", "epsilon": 4.0}, {"sex": quasi}),
        "matrix": ({"method": "matrix"}, {"sex": {**quasi, "matrix": [[0.8, 0.2], [0.2, 0.8]]}}),
        "levels": ({"method": "levels", "retention": 0.5}, {"sex": {"role": "insensitive"}, "illness": illness}),
        "invariant": ({"method": "invariant", "xi": 0.5}, {"town": town}),
        "microaggregate": ({"method": "microaggregate", "k": 5}, {"age": {"role": "quasi-identifying"}}),
    }
    for name, (setting, attributes) in documents.items():
        document = {"source": {"path": "people.csv"}, "release": setting, "attributes": attributes}
        wanted = Recipe.parse(document, desk)
        outlook = plan(wanted)
        assert outlook.method == name
        assert outlook.usefulness.tables
        assert outlook.usefulness == release(wanted, desk / name, seed=1).usefulness
        assert outlook.write(desk / f"plan of {name}")
        json.dumps(outlook.to_json(), allow_nan=False)
    with pytest.raises(PramanaError, match="must look at its table"):
        plan(Recipe.parse(document, desk), records=50)
