"""A bundle that also holds its data for another program: certified, checked, readable there with its labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import pramana
from pramana.app.main import run
from pramana.datasets.survey import survey
from pramana.errors import PramanaError
from pramana.run.write import file_entry

FORMS = ("dta", "xlsx", "arrow")
RECIPE = """
[source]
path = "{path}"
[unit]
row = true
[release]
{release}
[output]
format = "{form}"
[attributes.sex]
role = "quasi-identifying"
domain = ["male", "female"]
[attributes.health]
role = "sensitive"
missing = ["99"]
"""
CLASSES = 'method = "generalize"\nk = 2\nalgorithm = "mondrian"\ncells = "set"'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(3)
    sex, health = draw.choice(["male", "female"], 500), draw.choice(["good", "bad"], 500)
    pq.write_table(pa.table({"sex": sex, "health": health}), tmp_path / "s.parquet")
    return tmp_path


def write(folder: Path, form: str, release: str = "k = 20", path: str = "s.parquet") -> Path:
    recipe = folder / f"{form}.toml"
    recipe.write_text(RECIPE.format(form=form, release=release, path=path))
    return recipe


def test_every_form_is_certified_and_made_again(folder: Path) -> None:
    plain = pramana.release(write(folder, "parquet"), folder / "plain", seed=1)
    for form in FORMS:
        released = pramana.release(write(folder, form), folder / form, seed=1)
        name = f"data.{form}"
        assert {p.name for p in (folder / form).iterdir()} == {
            "certificate.json",
            "data.parquet",
            "report.html",
            name,
        }
        assert released.certificate.files[name] == file_entry(folder / form / name)
        assert released.certificate.files["data.parquet"] == plain.certificate.files["data.parquet"]
        pramana.export(folder / "plain", folder / name)
        assert (folder / name).read_bytes() == (folder / form / name).read_bytes()
        checked = pramana.verify(folder / form, source=folder / "s.parquet", seed=1)
        assert checked.valid, checked.checks
        details = {check.name: check.detail for check in checked.checks}
        assert details[f"copy {name}"] == "made again from the data, byte for byte"


def test_labels_are_there_for_independent_readers(folder: Path) -> None:
    survey(500, seed=3).write_sav(folder / "s.sav")
    pramana.release(write(folder, "sav", path="s.sav"), folder / "one", seed=1)
    metadata = pyreadstat.read_sav(folder / "one" / "data.sav")[1]
    assert metadata.variable_value_labels["sex"] == {1: "male", 2: "female"}
    published = pramana.Bundle.open(folder / "one").column("sex").cast(pa.string()).to_pylist()
    assert pd.read_spss(folder / "one" / "data.sav")["sex"].tolist() == published
    told = {check.name: check.detail for check in pramana.verify(folder / "one").checks}
    assert told["copy data.sav"] == "made again from the data, byte for byte"


@pytest.mark.parametrize("form", ["xlsx", "arrow"])
def test_a_copy_that_says_something_else_is_found(form: str, folder: Path) -> None:
    """The holder's other table, under a digest that is right."""
    released = pramana.release(write(folder, form), folder / "out", seed=1)
    pramana.release(write(folder, "parquet"), folder / "other", seed=2)
    place = folder / "out" / f"data.{form}"
    place.unlink()
    pramana.export(folder / "other", place)
    files = {**released.certificate.files, place.name: file_entry(place)}
    (folder / "out" / "certificate.json").write_text(replace(released.certificate, files=files).text())
    failed = [check.name for check in pramana.verify(folder / "out").checks if not check.ok]
    assert failed == [f"copy {place.name}"]


def test_what_is_only_digested_is_said_to_be(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pramana.release(write(folder, "xlsx"), folder / "out", seed=1)
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    (check,) = (c for c in pramana.verify(folder / "out").checks if c.name == "copy data.xlsx")
    assert check.ok and not check.derived
    assert "pip install 'pramana-privacy[formats]'" in check.detail
    with pytest.raises(PramanaError, match=r"pip install 'pramana-privacy\[formats\]'"):
        pramana.release(write(folder, "xlsx"), folder / "again", seed=1)
    assert not (folder / "again").exists()


def test_what_a_copy_cannot_hold_is_refused_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(folder.iterdir())
    recipe = write(folder, "sav", CLASSES)
    assert run(["release", str(recipe), "--out", "out", "--even-if-useless"]) == 2
    assert "one value in each cell" in capsys.readouterr().err
    assert run(["release", str(write(folder, "sav")), "--out", "out", "--memory", "600MB"]) == 2
    assert "must be of a table in memory" in capsys.readouterr().err
    assert set(folder.iterdir()) == before | {recipe}
