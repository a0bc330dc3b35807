"""Synthetic records of bundles of every method: their certificate, their key, their place, and in the bundle."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.golden.cells import SETTINGS, document, make_tables, path_of

from pramana import Bundle, Key, Recipe, crosstab, datasets, release, synthesise, verify
from pramana.app.main import run
from pramana.bundle.certificate import canonical
from pramana.errors import InputError, PramanaError


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_tables(folder)
    return folder


def bundle_of(world: Path, name: str, form: str = "csv", out: Path | None = None, **output: Any) -> Path:
    place = out or world / f"{name.replace(' ', '-')}-{form}"
    if not place.exists():
        recipe = document(*SETTINGS[name], path_of(name, form), form)
        recipe["output"] |= output
        release(Recipe.parse(recipe, world), place, seed=7)
    return place


@pytest.mark.parametrize("name", SETTINGS)
def test_every_method_gives_records_of_its_columns_and_domains(name: str, world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, name)
    certificate = Bundle.open(bundle).certificate
    done = synthesise(bundle, tmp_path / "people.parquet", 4000)
    table = pq.read_table(done.path)
    assert done.records == table.num_rows == 4000
    assert table.column_names == [a.name for a in certificate.attributes]
    for attribute in certificate.attributes:
        values = {v for v in table.column(attribute.name).to_pylist() if v is not None}
        if attribute.raw:
            with (bundle / "data.csv").open(newline="") as file:
                assert {str(v) for v in values} <= {row[attribute.name] for row in csv.DictReader(file)}
        else:
            assert values <= {*attribute.coded.labels, "(missing)"}
    told = json.loads(done.certificate.read_text())
    assert told["guarantees"] == [dict(g) for g in certificate.guarantees]
    assert told["warnings"] == list(certificate.warnings)
    assert told["model"]["kind"] == done.model
    assert told["bundle"]["content"] == certificate.content


def test_its_certificate_says_whose_it_is_and_what_it_keeps(world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, "retention k")
    done = synthesise(bundle, tmp_path / "people.csv")
    told = json.loads((tmp_path / "people.csv.certificate.json").read_text())
    digest = told.pop("digest")
    assert digest == hashlib.sha256(canonical(told)).hexdigest()
    assert told["bundle"]["certificate"] == hashlib.sha256((bundle / "certificate.json").read_bytes()).hexdigest()
    assert told["file"]["sha256"] == hashlib.sha256(done.path.read_bytes()).hexdigest()
    assert told["file"]["name"] == "people.csv" and told["records"] == done.records == 3000
    assert "made from the bundle alone" in told["statement"]
    assert "seed" in " ".join(told["warnings"])  # that the bundle is not private is carried over


def test_the_same_bundle_and_key_give_the_same_file(world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, "retention epsilon")
    Key(bytes(range(32))).write(tmp_path / "own.key")
    files = {}
    for name, key in {"a": None, "b": None, "c": tmp_path / "own.key", "d": Key(bytes(range(32)))}.items():
        files[name] = synthesise(bundle, tmp_path / f"{name}.csv", 500, key).path.read_bytes()
    assert files["a"] == files["b"] != files["c"] == files["d"]
    longer = synthesise(bundle, tmp_path / "longer.csv", 700).path.read_bytes()
    assert longer.startswith(files["a"])  # a row does not depend on how many there are
    told = json.loads((tmp_path / "c.csv.certificate.json").read_text())
    assert told["key"] == Key(bytes(range(32))).commitment()


@pytest.mark.parametrize("name", ["generalize set t", "microaggregate optimal", "invariant"])
def test_published_records_are_taken_equally_often(name: str, world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, name)
    own = Bundle.open(bundle).certificate.records
    raw = next(a.name for a in Bundle.open(bundle).certificate.attributes if a.raw)
    published = pacsv.read_csv(bundle / "data.csv").column(raw).to_pylist()
    drawn = pq.read_table(synthesise(bundle, tmp_path / "p.parquet", 2 * own).path).column(raw).to_pylist()
    assert sorted(map(str, drawn[:own])) == sorted(map(str, published))
    assert sorted(map(str, drawn[own:])) == sorted(map(str, published))
    assert drawn[:own] != drawn[own:]


def test_cells_are_drawn_by_their_distribution(world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, "generalize pdf")
    many = pq.read_table(synthesise(bundle, tmp_path / "p.parquet", 90_000).path)
    expected = crosstab(bundle, ["age"]).estimate
    ages = np.bincount(np.array(many.column("age").to_pylist(), int), minlength=100) / 30
    assert abs(ages - expected).max() < 5 * np.sqrt(expected.max() / 30)
    assert abs(np.roll(ages, 1) - expected).max() > 5 * np.sqrt(expected.max() / 30)  # another law is noticed


def people(rows: int) -> pa.Table:
    draw = np.random.default_rng(3)
    job = draw.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    pay = np.where(draw.random(rows) < 0.7, job // 2, draw.integers(0, 3, rows))
    return pa.table(
        {
            "job": [f"j{j}" for j in job],
            "pay": [f"p{p}" for p in pay],
            "region": draw.choice(["west", "east", "south"], rows),
            "hours": draw.integers(1, 2000, rows) + 1000 * pay,
        }
    )


QUASI: Mapping[str, Any] = {"role": "quasi-identifying"}
PEOPLE = {
    "attributes": {
        "job": {**QUASI, "domain": [f"j{i}" for i in range(5)]},
        "pay": {**QUASI, "domain": ["p0", "p1", "p2"]},
        "region": {"role": "insensitive"},
        "hours": {"role": "insensitive"},
    }
}


@pytest.mark.parametrize("coin", ["attribute", "record"])
def test_records_are_near_the_truth_where_the_face_value_is_not(coin: str, tmp_path: Path) -> None:
    table = people(40_000)
    recipe = Recipe.parse({"release": {"retention": 0.5, "coin": coin}, **PEOPLE})
    release(recipe, tmp_path / "out", data=table, seed=1)
    made = pq.read_table(synthesise(tmp_path / "out", tmp_path / "p.parquet").path)
    shown = pq.read_table(tmp_path / "out" / "data.parquet")

    def apart(other: pa.Table, names: tuple[str, str]) -> float:
        tables = []
        for one in (table, other):
            pairs = list(zip(*(one.column(n).cast(pa.string()).to_pylist() for n in names), strict=True))
            tables.append({pair: pairs.count(pair) / len(pairs) for pair in set(pairs)})
        return sum(abs(tables[0].get(p, 0) - tables[1].get(p, 0)) for p in tables[0].keys() | tables[1].keys()) / 2

    assert apart(made, ("job", "pay")) < 0.05 < 0.2 < apart(shown, ("job", "pay"))
    assert apart(made, ("job", "region")) < 0.05
    high = [
        h
        for h, p in zip(made.column("hours").to_pylist(), made.column("pay").to_pylist(), strict=True)
        if p == "p2"
    ]
    true = np.array(table.column("hours"))[np.array(table.column("pay").to_pylist()) == "p2"]
    assert abs(np.mean(high) - true.mean()) < 200 < abs(np.array(table.column("hours")).mean() - true.mean())
    assert set(made.column("hours").to_pylist()) <= set(table.column("hours").to_pylist())


@pytest.mark.parametrize("name", ["retention k", "generalize pdf", "presence flag", "microaggregate", "levels"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_holder_puts_records_into_the_bundle(name: str, form: str, world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, name, form, tmp_path / "out", synthetic=True)
    companion = bundle / f"synthetic.{form}"
    assert companion.name in Bundle.open(bundle).certificate.files
    checks = {c.name: c for c in verify(bundle, source=world / path_of(name, form), seed=7).checks}
    assert all(c.ok for c in checks.values()) and "synthetic records" in checks
    plain = bundle_of(world, name, form)
    assert (plain / f"data.{form}").read_bytes() == (bundle / f"data.{form}").read_bytes()
    alone = synthesise(plain, tmp_path / f"alone.{form}").path
    assert alone.read_bytes() == companion.read_bytes()  # anyone with the bundle makes the same records
    companion.write_bytes(companion.read_bytes()[:-1])
    assert not verify(bundle).valid


def test_records_of_another_table_are_noticed_in_a_bundle(world: Path, tmp_path: Path) -> None:
    """Whoever can write the certificate can name any file; its rows are still looked at."""
    from dataclasses import replace

    from pramana.run.write import file_entry

    bundle = bundle_of(world, "retention k", "csv", tmp_path / "out", synthetic=True)
    companion = bundle / "synthetic.csv"
    text = companion.read_text()
    for changed, words in ((text.replace("F", "X", 1), "sex"), ("".join(text.splitlines(True)[:-1]), "found")):
        companion.write_text(changed)
        certificate = Bundle.open(bundle).certificate
        forged = replace(certificate, files={**certificate.files, companion.name: file_entry(companion)})
        (bundle / "certificate.json").write_text(forged.text())
        check = next(c for c in verify(bundle).checks if c.name == "synthetic records")
        assert not check.ok and words in check.detail


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "p.xlsx"], "named .csv or .parquet"),
        (["--out", "there.csv"], "already exists"),
        (["--out", "no/p.csv"], "does not exist"),
        (["--out", "p.csv", "--records", "0"], "0"),
        (["--out", "p.csv", "--key", "no.key"], "key file"),
        (["--out", "{bundle}/p.csv"], "outside of every bundle"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    options: list[str], words: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    bundle = bundle_of(world, "retention k")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    before = sorted(tmp_path.iterdir()), sorted(bundle.iterdir())
    assert run(["synthesise", str(bundle), *(o.format(bundle=bundle) for o in options)]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert (sorted(tmp_path.iterdir()), sorted(bundle.iterdir())) == before
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_bundle_that_fails_verification_is_refused(world: Path, tmp_path: Path) -> None:
    bundle = bundle_of(world, "retention k", "csv", tmp_path / "out")
    with (bundle / "data.csv").open("a") as file:
        file.write("F,[0,10)\n")
    with pytest.raises(PramanaError, match="must pass verification"):
        synthesise(bundle, tmp_path / "p.csv")
    with pytest.raises(InputError, match="from 1 to"):
        synthesise(bundle, tmp_path / "p.csv", 2**33)
    assert not (tmp_path / "p.csv").exists()


def test_the_command_answers_in_json(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = bundle_of(world, "retention k")
    out = tmp_path / "people.parquet"
    assert run(["synthesise", str(bundle), "--out", str(out), "--records", "123", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(out) and told["records"] == 123 == pq.read_table(out).num_rows


def test_the_goal_of_quality_is_met_at_k_2_with_four_columns(tmp_path: Path) -> None:
    """The overlap of single columns and of pairs, as sdmetrics' quality report has it for categories."""
    people = datasets.census(100_000, seed=1)
    names = ["sex", "age", "worked_last_year", "income"]
    columns = {n: {**QUASI, "domain": list(people.domain(n))} for n in names}
    table = pa.table({n: [people.domain(n)[c] for c in people.column(n)] for n in names})
    release(Recipe.parse({"release": {"k": 2}, "attributes": columns}), tmp_path / "out", data=table, seed=1)
    made = pq.read_table(synthesise(tmp_path / "out", tmp_path / "p.parquet").path)
    shown = pq.read_table(tmp_path / "out" / "data.parquet")

    def counted(one: pa.Table, of: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
        sizes = [len(people.domain(n)) for n in of]
        codes = [np.searchsorted(np.sort(people.domain(n)), np.array(one.column(n).to_pylist())) for n in of]
        counts = np.bincount(np.ravel_multi_index(codes, sizes), minlength=int(np.prod(sizes)))
        return np.asarray(counts / one.num_rows)

    def quality(one: pa.Table) -> float:
        parts: list[list[tuple[str, ...]]] = [[(n,) for n in names], [*combinations(names, 2)]]
        overlaps = [[1 - abs(counted(one, s) - counted(table, s)).sum() / 2 for s in part] for part in parts]
        return float(np.mean([np.mean(part) for part in overlaps]))

    assert quality(made) > 0.95 > 0.8 > quality(shown)
