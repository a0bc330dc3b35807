"""Releases with method generalize: what is published is k-anonymous by an independent count, and reads back."""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana import crosstab, release, verify
from pramana.bundle.certificate import Certificate
from pramana.errors import PramanaError, RecipeError, SchemaError, SourceError, UnreachableError
from pramana.methods.published_cells import PublishedCells
from pramana.methods.recipe import Recipe
from pramana.randomness.key import Key
from pramana.schema.hierarchy import hierarchy_of_intervals, hierarchy_of_tree

NATIONS = {"America": ["Canada", "Peru", "USA"], "Europe": ["Britain", "France", "Italy"]}


def world(folder: Path, rows: int = 400, seed: int = 1) -> Path:
    """A table with hierarchies beside it."""
    rng = np.random.default_rng(seed)
    nations = [n for part in NATIONS.values() for n in part]
    hierarchy_of_tree(NATIONS).write(folder / "nation.csv")
    hierarchy_of_intervals(range(20, 60), [5, 10, 20]).write(folder / "age.csv")
    hierarchy_of_tree({"physical": ["flu", "ulcer"], "mental": ["grief", "panic"]}).write(folder / "illness.csv")
    with (folder / "people.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["name", "nation", "age", "illness", "town"])
        for i in range(rows):
            nation = nations[min(int(rng.exponential(1.6)), 5)]
            age = 20 + min(int(rng.exponential(9)), 39)
            illness = ["flu", "ulcer", "grief", "panic"][int(rng.integers(0, 4))]
            out.writerow([f"p{i}", nation, age, illness, f"t{int(rng.integers(0, 9))}"])
    return folder


def recipe(folder: Path, release_lines: str, output: str = "parquet", **changes: str) -> Path:
    sections = {
        "name": 'role = "identifying"',
        "nation": 'role = "quasi-identifying"\nhierarchy = "nation.csv"',
        "age": 'role = "quasi-identifying"\nhierarchy = "age.csv"',
        "illness": 'role = "sensitive"',
        "town": 'role = "insensitive"',
        **changes,
    }
    text = f'[source]\npath = "people.csv"\n[release]\nmethod = "generalize"\n{release_lines}\n'
    text += "".join(f"[attributes.{name}]\n{body}\n" for name, body in sections.items())
    text += f'[output]\nformat = "{output}"\n'
    (folder / "recipe.toml").write_text(text)
    return folder / "recipe.toml"


def shown(bundle: Path) -> list[tuple[str, ...]]:
    """What a reader sees of each record's quasi-identifiers, with plain tools."""
    if (bundle / "data.parquet").exists():
        rows = pq.read_table(bundle / "data.parquet").to_pylist()
    else:
        with (bundle / "data.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
    names = ["class"] if "class" in rows[0] else ["nation", "age"]
    return [tuple(json.dumps(row[name], sort_keys=True) for name in names) for row in rows]


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("cells", ["pdf", "set", "interval", "hierarchy"])
@pytest.mark.parametrize("algorithm", ["incognito", "mondrian", "kl"])
def test_every_release_is_k_anonymous_and_verifies_and_reads_back(
    tmp_path: Path, algorithm: str, cells: str, output: str
) -> None:
    world(tmp_path)
    lines = f'k = 6\nalgorithm = "{algorithm}"\ncells = "{cells}"'
    if algorithm == "incognito":
        lines += "\nsuppression = 0.03"
    done = release(recipe(tmp_path, lines, output), tmp_path / "out", seed=1)
    sizes = Counter(shown(tmp_path / "out"))
    k = next(g["value"] for g in done.guarantees if g["notion"] == "k-anonymity")
    assert min(sizes.values()) == k >= 6
    assert sum(sizes.values()) == done.records >= 388
    found = verify(tmp_path / "out", source=tmp_path / "people.csv", seed=1)
    assert found.valid, [c for c in found.checks if not c.ok]
    opened = PublishedCells.open(tmp_path / "out")
    assert opened.records == done.records
    assert opened.sizes.min() >= 6
    again = opened.reconstruct(Key.from_seed(2))
    assert again.num_rows == done.records
    assert set(again.column("nation").to_pylist()) <= {n for part in NATIONS.values() for n in part}
    assert opened.expected(["nation", "age"]).sum() == pytest.approx(done.records)
    assert again.column_names == ["nation", "age", "illness", "town"]


def test_pdf_cells_keep_the_marginals_exactly(tmp_path: Path) -> None:
    world(tmp_path)
    release(recipe(tmp_path, "k = 10"), tmp_path / "out", seed=1)
    opened = PublishedCells.open(tmp_path / "out")
    with (tmp_path / "people.csv").open(newline="") as file:
        truth = Counter(row["nation"] for row in csv.DictReader(file))
    expected = opened.expected(["nation"])
    for name, count in zip(opened.leaves[opened.names.index("nation")], expected, strict=True):
        assert count == pytest.approx(truth[name])


def test_l_and_t_are_reached_and_certified(tmp_path: Path) -> None:
    world(tmp_path)
    for kind, value in (("distinct", 3), ("entropy", 2.5), ("recursive", 2)):
        lines = f'k = 4\nl = {value}\nl_kind = "{kind}"\nt = 0.35\ncells = "set"'
        lines += "\nc = 3.0" if kind == "recursive" else ""
        out = tmp_path / kind
        done = release(recipe(tmp_path, lines), out, seed=1)
        notions = {g["notion"]: g["value"] for g in done.guarantees}
        assert notions["l-diversity"]["l"] >= value
        assert notions["t-closeness"]["t"] <= 0.35
        groups: dict[tuple[str, ...], list[str]] = {}
        rows = pq.read_table(out / "data.parquet").column("illness").to_pylist()
        for cell, illness in zip(shown(out), rows, strict=True):
            groups.setdefault(cell, []).append(illness)
        whole = Counter(rows)
        far = max(sum(abs(g.count(v) / len(g) - whole[v] / len(rows)) for v in whole) / 2 for g in groups.values())
        assert notions["t-closeness"]["t"] == pytest.approx(far, abs=1e-8)
        if kind == "distinct":
            assert notions["l-diversity"]["l"] == min(len(set(g)) for g in groups.values())
        assert verify(out).valid
    for algorithm in ("mondrian", "kl"):
        lines = f'k = 4\nl = 3\nt = 0.5\nt_distance = "hierarchical"\nalgorithm = "{algorithm}"'
        tree = 'role = "sensitive"\nhierarchy = "illness.csv"'
        done = release(recipe(tmp_path, lines, illness=tree), tmp_path / algorithm, seed=1)
        notions = {g["notion"]: g["value"] for g in done.guarantees}
        assert notions["l-diversity"]["l"] >= 3
        assert notions["t-closeness"]["t"] <= 0.5
        assert verify(tmp_path / algorithm).valid


def test_risks_and_the_journalists_population(tmp_path: Path) -> None:
    world(tmp_path)
    text = (tmp_path / "people.csv").read_text()
    (tmp_path / "everyone.csv").write_text(text + "".join(text.splitlines(keepends=True)[1:]))
    release(recipe(tmp_path, 'k = 8\npopulation = "everyone.csv"'), tmp_path / "out", seed=1)
    stated = json.loads((tmp_path / "out" / "certificate.json").read_text())["mechanism"]["measured"]
    sizes = Counter(shown(tmp_path / "out"))
    assert stated["prosecutor"] == pytest.approx(1 / min(sizes.values()))
    assert stated["journalist"] == pytest.approx(1 / (2 * min(sizes.values())))
    assert stated["marketer"] == pytest.approx(len(sizes) / 2 / sum(sizes.values()))


def test_a_solution_is_applied_to_new_rows(tmp_path: Path) -> None:
    world(tmp_path)
    release(recipe(tmp_path, 'k = 6\ncells = "hierarchy"\nsuppression = 0.05'), tmp_path / "first", seed=1)
    labels = set(shown(tmp_path / "first"))
    world(tmp_path, rows=300, seed=2)
    lines = 'k = 4\ncells = "hierarchy"\nsuppression = 0.1\nsolution = "first"'
    done = release(recipe(tmp_path, lines), tmp_path / "second", seed=1)
    sizes = Counter(shown(tmp_path / "second"))
    assert min(sizes.values()) >= 4
    assert len(set(sizes) & labels) > len(sizes) / 2  # the same levels: mostly the same labels
    levels = [
        json.loads((tmp_path / name / "certificate.json").read_text())["mechanism"]["levels"]
        for name in ("first", "second")
    ]
    assert levels[0] == levels[1]
    assert verify(tmp_path / "second", source=tmp_path / "people.csv", seed=1).valid
    assert done.records <= 300
    with pytest.raises(UnreachableError, match="levels must suppress at most"):
        release(recipe(tmp_path, 'k = 40\nsolution = "first"'), tmp_path / "third", seed=1)
    with pytest.raises(RecipeError, match="incognito"):
        release(recipe(tmp_path, 'k = 4\nsolution = "first"\nalgorithm = "kl"'), tmp_path / "third", seed=1)


def test_a_changed_cell_is_found(tmp_path: Path) -> None:
    world(tmp_path)
    release(recipe(tmp_path, 'k = 5\ncells = "hierarchy"', "csv"), tmp_path / "out", seed=1)
    data = tmp_path / "out" / "data.csv"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join([lines[0], lines[1].replace(lines[1].split(",")[0], '"Nowhere"', 1), *lines[2:]]))
    assert "digest data.csv" in {c.name for c in verify(tmp_path / "out").checks if not c.ok}
    # a forger who also writes the new digest into the certificate is caught by the count and the content
    place = tmp_path / "out" / "certificate.json"
    stated = json.loads(place.read_text())
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    stated["files"]["data.csv"] = {"sha256": digest, "bytes": data.stat().st_size}
    place.write_text(Certificate.from_json(stated).text())
    failed = {c.name: c.detail for c in verify(tmp_path / "out").checks if not c.ok}
    assert "must be of its domain" in failed["data"]
    # and one who takes a label that the column has, by count and content
    other = lines[1].split(",")[0] if lines[2].split(",")[0] != lines[1].split(",")[0] else '"*"'
    data.write_text("".join([*lines[:2], lines[2].replace(lines[2].split(",")[0], other, 1), *lines[3:]]))
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    stated["files"]["data.csv"] = {"sha256": digest, "bytes": data.stat().st_size}
    place.write_text(Certificate.from_json(stated).text())
    assert {"content", "data"} & {c.name for c in verify(tmp_path / "out").checks if not c.ok}


def test_the_certificate_claims_no_epsilon(tmp_path: Path) -> None:
    world(tmp_path)
    done = release(recipe(tmp_path, "k = 5"), tmp_path / "out", seed=1)
    assert {g["scope"] for g in done.guarantees} == {"this table"}
    assert not any("differential" in g["notion"] for g in done.guarantees)


@pytest.mark.parametrize(
    ("lines", "changes", "error", "words"),
    [
        (
            "k = 5",
            {"age": 'role = "quasi-identifying"\ndomain = "from-data"'},
            RecipeError,
            "must have a hierarchy",
        ),
        ("k = 401", {}, UnreachableError, "at most the number of rows, 400"),
        ("k = 2.5", {}, RecipeError, "whole number"),
        ("k = 5\nl = 5", {}, UnreachableError, "allow more suppression"),
        ('k = 5\nalgorithm = "best"', {}, RecipeError, "incognito"),
        ('k = 5\ncells = "colour"', {}, RecipeError, "pdf"),
        ("k = 5\nsuppression = 1.5", {}, RecipeError, "share of the rows"),
        (
            'k = 5\nsuppression = 0.1\nalgorithm = "mondrian"',
            {},
            RecipeError,
            "suppresses nothing.*Remove suppression",
        ),
        ('k = 5\nl = 2\nl_kind = "recursive"', {}, RecipeError, "must state c"),
        ("k = 5\nl = 2", {"illness": 'role = "insensitive"'}, RecipeError, "sensitive column"),
        ("k = 5\nintermediate = [4, 3]", {}, RecipeError, "intermediate"),
        ("k = 5\nweights = { planet = 2 }", {}, RecipeError, "planet"),
        ('k = 5\nt = 0.5\nt_distance = "hierarchical"', {}, RecipeError, "hierarchy for the sensitive"),
        ("k = 5", {"nation": 'role = "quasi-identifying"\nhierarchy = "bad.csv"'}, SchemaError, "again in line 2"),
        ("k = 5", {"nation": 'role = "quasi-identifying"\nhierarchy = "age.csv"'}, SourceError, "rows outside it"),
    ],
)
def test_bad_recipes_are_one_clear_error(
    tmp_path: Path, lines: str, changes: dict[str, Any], error: type[PramanaError], words: str
) -> None:
    world(tmp_path)
    (tmp_path / "bad.csv").write_text("USA;America;*\nUSA;Europe;*\n")
    with pytest.raises(error, match=words) as caught:
        release(recipe(tmp_path, lines, **changes), tmp_path / "out", seed=1)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


ODD = st.sampled_from(
    [0, 1, 5, -1, 2.5, True, "kl", "incognito", "pdf", "entropy", "", [1, 3], [3, 1], {"age": 2}, {"age": "x"}]
)
KEYS = ["k", "algorithm", "cells", "suppression", "measure", "weights", "l", "l_kind", "t", "t_distance", "c"]


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from([*KEYS, "intermediate", "population", "solution"]), ODD, max_size=5))
def test_whatever_the_options_there_is_a_release_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any]
) -> None:
    folder = world(tmp_path_factory.mktemp("odd"), rows=60)
    content = tomllib.loads(recipe(folder, "k = 3").read_text())
    content["release"] |= options
    try:
        done = release(Recipe.parse(content, folder), folder / "out", seed=1)
    except PramanaError as error:
        assert "\n" not in str(error)
        assert not (folder / "out").exists()
    else:
        assert min(Counter(shown(folder / "out")).values()) == done.guarantees[0]["value"]


def test_domains_read_from_the_data_are_flagged(tmp_path: Path) -> None:
    world(tmp_path)
    nation = 'role = "quasi-identifying"\ndomain = "from-data"'
    done = release(recipe(tmp_path, 'k = 6\nalgorithm = "mondrian"', nation=nation), tmp_path / "out")
    words = "Domains read from the data, which tells which values occur in it: nation."
    assert words in done.certificate.warnings
    assert words in (tmp_path / "out" / "report.html").read_text()
    assert verify(tmp_path / "out").valid
    done = release(recipe(tmp_path, 'k = 6\nalgorithm = "mondrian"'), tmp_path / "hierarchies")
    assert not any("Domains read" in w for w in done.certificate.warnings)


@pytest.mark.parametrize("output", ["parquet", "csv"])
def test_that_a_missing_sensitive_value_counts_as_a_value_is_assumed(tmp_path: Path, output: str) -> None:
    """Classes of flu and gaps are 2-diverse only because of that; without gaps nothing is assumed of them."""
    world(tmp_path)
    with (tmp_path / "people.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    for i, row in enumerate(rows):
        row[3] = "" if i % 3 == 0 else "flu"
    words = "a missing value of illness counts as a value of its own"
    lines = "k = 4\nl = 2\nt = 0.5"
    done = release(recipe(tmp_path, lines, output), tmp_path / "whole", seed=1)
    assert not any(words in g["assumptions"] for g in done.guarantees)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    done = release(recipe(tmp_path, lines, output), tmp_path / "gaps", seed=1)
    said = {g["notion"]: words in g["assumptions"] for g in done.guarantees}
    assert said == {"k-anonymity": False, "l-diversity": True, "t-closeness": True}
    assert next(g["value"]["l"] for g in done.guarantees if g["notion"] == "l-diversity") == 2
    assert verify(tmp_path / "gaps").valid


@pytest.mark.parametrize("cells", ["pdf", "set", "hierarchy"])
def test_who_asks_for_a_table_gets_expected_counts(tmp_path: Path, cells: str) -> None:
    world(tmp_path)
    release(recipe(tmp_path, f'k = 6\ncells = "{cells}"'), tmp_path / "out", seed=1)
    counts = crosstab(tmp_path / "out", ["nation"])
    assert counts.estimate.tolist() == pytest.approx(PublishedCells.open(tmp_path / "out").expected(["nation"]))
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("PublishedCells.open(BUNDLE).expected" in page) == (cells != "hierarchy")
    assert PublishedCells.open(tmp_path / "out").expected(["nation"]).sum() == pytest.approx(400)


def test_levels_that_share_a_label_are_one_class_to_whoever_reads_it(tmp_path: Path) -> None:
    """With local recoding one class shows the town of Rome and another the region of Rome: both say Rome."""
    (tmp_path / "place.csv").write_text("Rome;Rome;*\nOstia;Rome;*\nTivoli;Rome;*\nLyon;France;*\nNice;France;*\n")
    rows = ["Rome,F"] * 6 + ["Ostia,F"] * 2 + ["Tivoli,F"] * 2 + ["Lyon,F"] * 5 + ["Nice,M"] * 4 + ["Rome,M"] * 5
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n")
    (tmp_path / "people.csv").write_text("\n".join(["place,sex", *rows]) + "\n")
    columns = {n: {"role": "quasi-identifying", "hierarchy": f"{n}.csv"} for n in ("place", "sex")}
    for k in (3, 4):
        setting = {"method": "generalize", "k": k, "algorithm": "local", "cells": "hierarchy"}
        stated = {"source": {"path": "people.csv"}, "release": setting, "attributes": columns}
        out = tmp_path / str(k)
        release(Recipe.parse(stated, tmp_path), out, seed=1)
        found = verify(out, source=tmp_path / "people.csv", seed=1)
        assert found.valid, [check for check in found.checks if not check.ok]
