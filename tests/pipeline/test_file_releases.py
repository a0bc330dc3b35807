"""From the file that an office has to a release, and back into the programs of its recipients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import pramana
from pramana.app.main import run
from pramana.datasets.survey import CODES, LABELS, OfficeSurvey, survey
from pramana.errors import BundleError, InputError

RECIPE = """
[source]
path = "{path}"
{source}
[unit]
row = true
[release]
k = 20
[attributes.person]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
domain = {sex}
[attributes.born]
role = "insensitive"
kind = "date"
[attributes.region]
role = "quasi-identifying"
domain = ["Nordküste", "Östliche Höhen", "Mittelland", "Südtäler", "Hauptstadt"]
[attributes.marital]
role = "quasi-identifying"
domain = {marital}
missing = ["99"]
[attributes.income]
role = "quasi-identifying"
bins = [0, 1500, 2500, 4000, 1000000]
missing = ["99"]
[attributes.health]
role = "sensitive"
missing = ["99"]
[attributes.weight]
role = "insensitive"
"""
CODED = {"sex": "[1, 2]", "marital": "[1, 2, 3, 4]", "source": 'decimal = ","\nthousands = "."'}
LABELLED = {"sex": '["male", "female"]', "marital": '["single", "married", "divorced", "widowed"]', "source": ""}
WRITERS: dict[str, tuple[Callable[[OfficeSurvey, Path], None], dict[str, str]]] = {
    "s.csv": (lambda s, path: s.write_csv(path), CODED),
    "s.sav": (lambda s, path: s.write_sav(path), LABELLED),
    "s.dta": (lambda s, path: s.write_dta(path), LABELLED),
}


@pytest.fixture(scope="module")
def panel() -> OfficeSurvey:
    return survey(2_000, seed=3)


@pytest.fixture(params=WRITERS)
def recipe(request: pytest.FixtureRequest, panel: OfficeSurvey, tmp_path: Path) -> Path:
    return write(request.param, panel, tmp_path)


def write(name: str, panel: OfficeSurvey, folder: Path) -> Path:
    writer, words = WRITERS[name]
    writer(panel, folder / name)
    path = folder / "recipe.toml"
    path.write_text(RECIPE.format(path=name, **words), "utf-8")
    return path


def test_the_file_as_it_is_becomes_a_valid_release_in_every_home(recipe: Path, tmp_path: Path) -> None:
    """In memory and within a bound, the bytes are the same; and with source and key they are made again."""
    whole = pramana.release(recipe, tmp_path / "whole", seed=1)
    streamed = pramana.release(recipe, tmp_path / "streamed", seed=1, memory=1 << 29)
    assert whole.notes == streamed.notes
    for name in ("data.parquet", "certificate.json", "report.html"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "streamed" / name).read_bytes(), name
    source = next(p for p in tmp_path.iterdir() if p.suffix in (".csv", ".sav", ".dta"))
    for given in (source, recipe):
        found = pramana.verify(tmp_path / "whole", source=given, seed=1)
        assert found.valid, [check for check in found.checks if not check.ok]
    born = pramana.Bundle.open(tmp_path / "whole").column("born").cast(pa.string()).to_pylist()
    assert all(len(day) == 10 and day[4] == "-" for day in born)


def test_the_bundle_tells_no_count_of_what_was_trimmed(
    panel: OfficeSurvey, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write("s.csv", panel, tmp_path)
    assert run(["release", str(recipe), "--out", str(tmp_path / "out"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("region (2,000)" in note for note in notes) and any("cp1252" in note for note in notes)
    told = (tmp_path / "out" / "certificate.json").read_text() + (tmp_path / "out" / "report.html").read_text()
    assert "trimmed" not in told
    certificate = pramana.Bundle.open(tmp_path / "out").certificate
    assert certificate.source["columns"]["marital"] == {"missing": ["99"]}
    assert certificate.source["decimal"] == "," and certificate.source["encoding"] == "cp1252"
    assert not any("missing" in warning for warning in certificate.warnings)  # codes settle it beforehand


def test_spss_and_stata_come_back_with_their_labels_in_independent_readers(
    panel: OfficeSurvey, tmp_path: Path
) -> None:
    recipe = write("s.sav", panel, tmp_path)
    released = pramana.release(recipe, tmp_path / "out", seed=1)
    told = released.certificate.codebook
    assert told["sex"] == {"label": "Sex", "codes": {"male": 1, "female": 2}, "ordered": False}
    assert "refused" not in str(told) and "person" not in told and "household" not in told  # not published
    for name in ("r.sav", "r.zsav", "r.dta", "r.xlsx", "r.arrow"):
        assert run(["export", str(tmp_path / "out"), "--out", str(tmp_path / name)]) == 0
    published = pramana.Bundle.open(tmp_path / "out")
    texts = {n: published.column(n).cast(pa.string()).to_pylist() for n in ("sex", "region", "marital", "health")}
    for name in ("r.sav", "r.zsav"):
        data, metadata = pyreadstat.read_sav(tmp_path / name)
        assert metadata.column_names_to_labels["income"] == LABELS["income"]
        assert metadata.variable_value_labels["sex"] == {1: "male", 2: "female"}
        assert set(data["sex"].dropna()) == {1.0, 2.0}  # the codes that the source has
        assert metadata.variable_measure["health"] == "ordinal"
        check_texts(pd.read_spss(tmp_path / name), texts)
    check_texts(pd.read_stata(tmp_path / "r.dta"), texts)
    with pd.io.stata.StataReader(tmp_path / "r.dta") as reader:
        assert reader.variable_labels()["sex"] == "Sex"
        assert reader.value_labels()["sex"] == {1: "male", 2: "female"}
    sheets = pd.read_excel(tmp_path / "r.xlsx", sheet_name=None, engine="openpyxl")
    check_texts(sheets["data"], texts)
    assert ("sex", "female") in set(zip(sheets["codebook"]["column"], sheets["codebook"]["value"], strict=True))
    check_texts(pd.read_feather(tmp_path / "r.arrow"), texts)


def check_texts(frame: pd.DataFrame, texts: dict[str, list[str | None]]) -> None:
    for name, expected in texts.items():
        assert [None if pd.isna(value) else str(value) for value in frame[name].tolist()] == expected, name


def test_the_same_export_twice_is_the_same_file(panel: OfficeSurvey, tmp_path: Path) -> None:
    """No time of day, no name of a machine: a file tells nothing that the bundle does not."""
    pramana.release(write("s.sav", panel, tmp_path), tmp_path / "out", seed=1)
    for ending in ("sav", "zsav", "dta", "xlsx", "arrow"):
        for number in (1, 2):
            pramana.export(tmp_path / "out", tmp_path / f"{number}.{ending}", unverified=True)
        assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes(), ending


def test_a_csv_release_is_exported_with_its_categories_as_labels(panel: OfficeSurvey, tmp_path: Path) -> None:
    pramana.release(write("s.csv", panel, tmp_path), tmp_path / "out", seed=1)
    pramana.export(tmp_path / "out", tmp_path / "r.sav")
    metadata = pyreadstat.read_sav(tmp_path / "r.sav")[1]
    assert metadata.variable_value_labels["region"] == {
        float(code): text for code, text in CODES["region"].items()
    }


def test_exports_are_refused_whole(panel: OfficeSurvey, tmp_path: Path) -> None:
    pramana.release(write("s.csv", panel, tmp_path), tmp_path / "out", seed=1)
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match="must end with one of"):
        pramana.export(tmp_path / "out", tmp_path / "r.doc")
    with pytest.raises(InputError, match="already exists"):
        pramana.export(tmp_path / "out", link(tmp_path / "s.csv"))
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    certificate["records"] += 1
    (tmp_path / "out" / "certificate.json").write_text(json.dumps(certificate))
    with pytest.raises(BundleError, match="must pass verification"):
        pramana.export(tmp_path / "out", tmp_path / "r.sav")
    assert set(tmp_path.iterdir()) - before == {tmp_path / "taken.sav"}


def link(to: Path) -> Path:
    path = to.with_name("taken.sav")
    path.symlink_to(to)
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"sex": {"label": "", "codes": {"refused": 9}, "ordered": False}},
        {"person": {"label": "Number", "codes": {}, "ordered": False}},
        {"health": {"label": "", "codes": {"nobody's": 7}, "ordered": False}},
    ],
)
def test_a_codebook_of_what_is_not_published_is_found(
    change: dict[str, object], panel: OfficeSurvey, tmp_path: Path
) -> None:
    from dataclasses import replace

    released = pramana.release(write("s.sav", panel, tmp_path), tmp_path / "out", seed=1)
    forged = replace(released.certificate, codebook={**released.certificate.codebook, **change})  # type: ignore[dict-item]
    (tmp_path / "out" / "certificate.json").write_text(forged.text())
    failed = [check.name for check in pramana.verify(tmp_path / "out").checks if not check.ok]
    assert "codebook" in failed
