"""What every method of the registry keeps: one suite, run on each of them in every setting of the golden cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conftest import snapshot
from tests.golden.cells import GENERAL, SETTINGS, make_tables, path_of

from pramana import Bundle, plan_for_records, release, verify
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, PramanaError, RecipeError
from pramana.io.source import Source
from pramana.methods.protocol import Capabilities, Plan
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.registry import METHODS, method_named, restore
from pramana.rows.engines import LEAST_MEMORY

HISTORY = {"method": "levels", "retention": 0.4, "history": True}  # for a ledger alone, and never streamed
STREAMING = {
    **SETTINGS,
    "levels history": (HISTORY, SETTINGS["levels"][1]),
    "generalize local": ({"method": "generalize", "k": 5, "algorithm": "local", "l": 2}, GENERAL),
    "generalize relaxed": ({"method": "generalize", "k": 5, "algorithm": "mondrian-relaxed"}, GENERAL),
}


def recipe(name: str, folder: Path, **changes: Any) -> AnyRecipe:
    stated, attributes = STREAMING[name]
    content = {
        "source": {"path": path_of(name, "parquet"), "dataset": "golden"},
        "release": {**stated, **changes},
        "attributes": dict(attributes),
    }
    return Recipe.parse(content, folder)


def able(name: str) -> Capabilities:
    stated = recipe(name, Path())
    return method_named(stated.method).capabilities(stated.release)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_tables(folder)
    return folder


@pytest.fixture(scope="module", params=list(SETTINGS))
def bundle(request: pytest.FixtureRequest, world: Path) -> Bundle:
    """A fresh release, read back from its folder."""
    out = world / f"{request.param} out"
    release(recipe(request.param, world), out, seed=7)
    return Bundle.open(out)


def name_of(bundle: Bundle) -> str:
    return bundle.path.name.removesuffix(" out")


def as_json(statement: object) -> Any:
    return json.loads(json.dumps(statement))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_method_of_the_registry_is_run() -> None:
    assert {stated["method"] for stated, _ in SETTINGS.values()} == set(METHODS)
    for name in METHODS:
        assert method_named(name).name == name
        assert method_named(name).setting.__struct_config__.tag == name


# ---------------------------------------------------------------- types


@pytest.mark.parametrize("method", METHODS)
def test_settings_and_columns_forbid_unknown_keys(method: str) -> None:
    """The types themselves, and the recipe that names them."""
    of = method_named(method)
    setting, columns = next(value for value in SETTINGS.values() if value[0]["method"] == method)
    name, column = next(iter(columns.items()))
    for kind, content in ((of.setting, setting), (of.column, column)):
        msgspec.convert(content, kind)
        with pytest.raises(msgspec.ValidationError, match="unknown field `no_such_key`"):
            msgspec.convert({**content, "no_such_key": 1}, kind)
    for release_, attributes in (
        ({**setting, "no_such_key": 1}, columns),
        (setting, {**columns, name: {**column, "no_such_key": 1}}),
    ):
        with pytest.raises(RecipeError, match=f"with method '{method}', got 'no_such_key'"):
            Recipe.parse({"release": release_, "attributes": attributes})


def test_a_statement_forbids_unknown_keys(bundle: Bundle) -> None:
    stated = bundle.certificate.to_json()
    stated["mechanism"] = {**stated["mechanism"], "no_such_key": 1}
    with pytest.raises(BundleError, match="known keys only, got 'no_such_key'"):
        restore(Certificate.from_json(stated))


# ---------------------------------------------------------------- plans


def test_a_certificate_gives_its_plan_back(bundle: Bundle) -> None:
    certificate = bundle.certificate
    plan = restore(certificate)
    assert as_json(plan.statement()) == certificate.mechanism
    assert as_json([g.to_json() for g in plan.guarantees(seeded=True)]) == list(certificate.guarantees)
    assert plan.warnings(seeded=True) == certificate.warnings
    assert plan.attributes == certificate.attributes
    assert (plan.records, plan.shuffled, plan.output) == (
        certificate.records,
        certificate.shuffled,
        certificate.output,
    )
    assert all(check.ok for check in plan.examine(bundle).checks)


def test_a_seed_is_told_in_the_warnings_of_every_plan(bundle: Bundle) -> None:
    plan = restore(bundle.certificate)
    told = set(plan.warnings(seeded=True)) - set(plan.warnings(seeded=False))
    assert any("seed that anyone can guess" in warning for warning in told)


def test_every_column_is_explained(bundle: Bundle) -> None:
    plan: Plan = restore(bundle.certificate)
    treatments: Mapping[str, Mapping[str, object]] = plan.explain().treatments
    assert set(treatments) == {a.name for a in bundle.certificate.attributes}
    for name in plan.raw_names():
        assert str(treatments[name]["treatment"]).startswith("released unchanged")
    for a in bundle.certificate.attributes:
        told = str(treatments[a.name]["treatment"])
        assert a.raw or (told and not told.startswith("released unchanged"))


def test_publishing_twice_gives_the_same_bytes(bundle: Bundle, world: Path, tmp_path: Path) -> None:
    name = name_of(bundle)
    release(recipe(name, world), tmp_path / "again", seed=7)
    assert files(tmp_path / "again") == files(bundle.path)
    release(recipe(name, world), tmp_path / "other", seed=8)
    assert files(tmp_path / "other")["certificate.json"] != files(bundle.path)["certificate.json"]


def test_the_restored_plan_publishes_the_same_bytes(bundle: Bundle, world: Path) -> None:
    source = world / path_of(name_of(bundle), "parquet")
    found = {check.name: check for check in verify(bundle.path, source=source, seed=7).checks}
    assert found["made again"].detail == "byte for byte"
    assert all(check.ok for check in found.values())


# ---------------------------------------------------------------- capabilities


@pytest.mark.parametrize("name", [name for name in STREAMING if able(name).streams])
def test_a_method_that_streams_gives_the_bytes_it_gives_in_memory(name: str, world: Path, tmp_path: Path) -> None:
    stated = recipe(name, world)
    release(stated, tmp_path / "whole", seed=7)
    release(stated, tmp_path / "streamed", seed=7, memory=LEAST_MEMORY)
    assert files(tmp_path / "streamed") == files(tmp_path / "whole")


@pytest.mark.parametrize("name", [name for name in STREAMING if not able(name).streams])
def test_a_method_that_does_not_stream_is_refused_by_name(
    name: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = recipe(name, world).with_source("nowhere.csv")  # what is refused before all else is never found out
    before = snapshot(world)
    for read in ("read", "batches"):
        monkeypatch.setattr(Source, read, lambda *_: pytest.fail("rows were read"))
    with pytest.raises(RecipeError, match=f"must have a method that streams, got method '{stated.method}'"):
        release(stated, tmp_path / "out", memory=LEAST_MEMORY)
    assert not list(tmp_path.iterdir()) and snapshot(world) == before


@pytest.mark.parametrize("name", [name for name in STREAMING if not able(name).spark])
def test_a_method_that_does_not_run_on_spark_is_refused_by_name(
    name: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = recipe(name, world).with_source("nowhere.csv")
    for read in ("read", "batches"):
        monkeypatch.setattr(Source, read, lambda *_: pytest.fail("rows were read"))
    with pytest.raises(RecipeError, match=f"must have a method that runs there, got {stated.method}"):
        release(stated, tmp_path / "out", engine="spark")
    assert not list(tmp_path.iterdir())


# the lines of the table in docs/guide/scale.md, and a setting of the kind that each is about
WHERE = {
    "`retention`, `matrix`, `invariant`": ("retention k", "matrix", "invariant"),
    "`levels`, from": ("levels", "levels together"),
    "`levels` with": ("levels history",),
    "`generalize`, `incognito`": ("generalize pdf", "generalize models"),
    "`generalize`, `mondrian` and": ("generalize mondrian", "generalize local"),
    "`generalize`, `mondrian-relaxed`": ("generalize relaxed", "generalize kl"),
    "`presence`": ("presence flag", "presence labels"),
    "`microaggregate`": ("microaggregate", "microaggregate optimal"),
    "`swap`": ("swap rank", "swap record"),
    "`noise`": ("noise", "noise correlated"),
}


def test_the_guide_says_what_works_where() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "scale.md").read_text("utf-8")
    table = guide.partition("## What works where")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(WHERE) + 1 and lines[-1][0].startswith("any of them with a `[unit]`")
    for beginning, names in WHERE.items():
        [cells] = [line for line in lines if line[0].startswith(beginning)]
        for name in names:
            can = able(name)
            assert (cells[2].startswith("yes"), cells[3].startswith("yes")) == (can.streams, can.spark), name


@pytest.mark.parametrize("name", [name for name in SETTINGS if able(name).single_records])
def test_single_records_have_the_law_of_the_recipe(name: str, world: Path) -> None:
    stated = recipe(name, world, records=3_000)
    plan = plan_for_records(stated)
    assert plan.records == 3_000 and {a.name for a in plan.attributes} == set(stated.published)


@pytest.mark.parametrize("name", [name for name in SETTINGS if not able(name).single_records])
def test_single_records_are_for_methods_that_can(name: str, world: Path) -> None:
    stated = recipe(name, world)
    with pytest.raises(PramanaError, match=f"Single records .* got {stated.method}"):
        plan_for_records(stated)


def test_the_plan_of_a_certificate_can_do_what_its_method_could(bundle: Bundle) -> None:
    method, plan = able(name_of(bundle)), restore(bundle.certificate).capabilities
    assert (plan.streams, plan.spark) == (method.streams, method.spark)
