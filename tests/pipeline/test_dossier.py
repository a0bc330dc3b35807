"""The dossier for data protection officers: complete for every method, in the certificate's words, no stronger."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from tests.golden import cells
from tests.notions.word_checks import overclaims_in

import pramana
from pramana import Recipe
from pramana.app.main import run
from pramana.bundle.bundle import Bundle
from pramana.bundle.form import AboutKey
from pramana.errors import BundleError, InputError
from pramana.notions.registry import NOTIONS
from pramana.pages.rendering import html_of
from pramana.reporting.attacks import RISKS, AuditResult
from pramana.reporting.dossier import ASKED, LISTED, dossier_page, techniques

ONE_OF_EACH = (
    "retention k", "retention epsilon", "matrix", "invariant", "levels", "generalize models",
    "generalize mondrian", "presence noised", "microaggregate", "swap rank", "noise",
)  # fmt: skip
PRIVATE = {"retention k", "retention epsilon", "matrix", "levels"}  # those that are differentially private
HOSTILE = '<script>alert("1")</script>\u202e'
ABOUT = {"title": HOSTILE, "holder": "Office & Co", "storage_period": "ten years", "release_model": "public file"}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of each method, side by side."""
    folder = tmp_path_factory.mktemp("dossier")
    cells.make_tables(folder)
    for name in ONE_OF_EACH:
        recipe = cells.document(*cells.SETTINGS[name], cells.path_of(name, "csv"), "csv")
        pramana.release(Recipe.parse({**recipe, "about": ABOUT}, folder), folder / name, seed=7)
    return folder


def words_of(page: str) -> str:
    page = re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def part(text: str, title: str, end: str) -> str:
    """From one heading of the page to another; the list of contents has the titles as well, before them."""
    start = text.index(title, text.index("Who answers for it", text.index("Who answers for it") + 1))
    return text[start : text.index(end, start)]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_method_has_its_dossier_in_the_certificates_words(name: str, released: Path) -> None:
    path = pramana.report(released / name, dossier=True)
    assert path == released / f"{name}.dossier.html"
    page = path.read_text()
    text = words_of(page)
    certificate = Bundle.open(released / name).certificate
    for guarantee in certificate.guarantees:
        assert text.count(" ".join(str(guarantee["words"]).split())) >= 2, "above, and under a risk"
        for assumption in guarantee["assumptions"]:
            assert assumption in text
    for warning in certificate.warnings:
        assert warning in text
    assert text.count("Not measured: no results") == len(RISKS) + 1  # and of side channels
    assert ("None: no promise of this certificate is differential privacy" in text) == (name not in PRIVATE)
    assert overclaims_in(text.replace("Whether the data are anonymous in the sense of a law", "")) == []
    assert "Recipients: not stated" in text and "Retention: ten years" in text
    assert "Controller: Office & Co" in text
    assert "<script" not in page and "\u202e" not in page and "http" not in page and "NOT FOR RELEASE" not in page


@pytest.mark.parametrize("name", ["swap rank", "noise"])
def test_what_bounds_nothing_says_so(name: str, released: Path) -> None:
    text = words_of(pramana.report(released / name, dossier=True).read_text())
    singling = part(text, "Singling out", "Linkability")
    assert "a description, no bound" in singling and "None of these bounds what can be done." in singling
    for title, end in (("Linkability", "Inference"), ("Inference", "Evaluation of differential privacy")):
        assert "Nothing: no promise of the certificate is about this." in part(text, title, end)


def test_a_k_of_classes_stands_under_singling_out_alone(released: Path) -> None:
    text = words_of(pramana.report(released / "microaggregate", dossier=True).read_text())
    assert "k-anonymity" in part(text, "Singling out", "Linkability")
    assert "Nothing: no promise" in part(text, "Linkability", "Inference")
    assert "Nothing: no promise" in part(text, "Inference", "Evaluation of differential privacy")


def test_whatever_the_holder_may_say_of_the_release_stands_in_it() -> None:
    assert {"title", *ASKED} == set(get_args(AboutKey))


def test_every_notion_stands_under_a_risk() -> None:
    assert {notion for risk in RISKS for notion in risk.notions} == set(NOTIONS)


def test_names_of_techniques_are_of_the_list_or_said_to_be_ours(released: Path) -> None:
    for name in ONE_OF_EACH:
        certificate = Bundle.open(released / name).certificate
        for done, called in techniques(certificate):
            assert called in LISTED or called == "(no name in the list)", done
    named = {name: dict(techniques(Bundle.open(released / name).certificate)) for name in ONE_OF_EACH}
    assert "permutation" in named["swap rank"].values() and "noise addition" in named["noise"].values()
    assert "microaggregation" in named["microaggregate"].values()
    assert "local generalization" in named["generalize mondrian"].values()
    assert "generalization techniques" in named["presence noised"].values()
    for name in ("retention k", "matrix", "levels", "invariant"):
        assert "randomization techniques" in named[name].values()


def test_a_certain_link_is_no_bound(released: Path) -> None:
    bundle = Bundle.open(released / "retention k")
    stated = [
        {**g, "value": 1.0 if g["notion"] == "pk-anonymity" else None} for g in bundle.certificate.guarantees
    ]
    weak = replace(bundle, certificate=replace(bundle.certificate, guarantees=tuple(stated[:2])))
    text = words_of(html_of(dossier_page(weak, None)))
    assert "a bound" not in text.replace("no bound", "") and "no bound at this value" in text
    assert "differential privacy model" not in text and "None: no promise of this certificate is" in text


def test_attacks_stand_where_they_belong_and_every_one_is_shown(released: Path) -> None:
    bundle = Bundle.open(released / "retention k")
    lines: list[dict[str, object]] = [
        {"name": "linkage, best matching", "interval": [0.001, 0.04], "claimed": 0.2, "records": 400},
        {"name": "epsilon of the record, in one run", "lower_bound": True, "claimed": 3.3},
        {"name": "rows, places", "interval": [0.0, 0.01], "claimed": 0.1},
        {"name": "epsilon together", "claimed": 2.0},
        {"name": "of a later version", "claimed": None, "detail": "<b>"},
    ]
    attacks = [{"measured": 0.005, "ok": True, "detail": "d", **line} for line in lines]
    attacks[1]["ok"] = False
    left = [{"name": "l and t", "reason": "counted again"}]
    found = {"attacks": attacks, "not_run": left, "bundle": {}}
    page = html_of(dossier_page(bundle, pramana_audit(found)))
    text = words_of(page)
    assert "0.001 to 0.04" in part(text, "Singling out", "Linkability")
    linkability = part(text, "Linkability", "Inference")
    assert "0.001 to 0.04" in linkability and "0.2 (400 records)" in linkability
    assert "among fewer records less is promised" in linkability
    inference = part(text, "Inference", "Evaluation of differential privacy")
    assert "among fewer records" not in inference
    assert "this or more" in inference and "IS BROKEN" in inference and "counted again" in inference
    assert "rows, places" in part(text, "Measured of side channels", "Measured of composition")
    assert "epsilon together" in part(text, "Measured of composition", "Techniques, by name")
    assert "of a later version" in part(text, "Other attacks", "What the attacks did") and "<b>" not in page
    assert "Not measured" not in text and "NOT FOR RELEASE" in text


def pramana_audit(found: dict[str, object]) -> AuditResult:
    import msgspec

    return msgspec.convert(found, AuditResult)


def test_by_command_with_attacks_that_are_run_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells.make_tables(tmp_path)
    recipe = cells.document(*cells.SETTINGS["swap rank"], "people.csv", "csv")
    done = pramana.release(Recipe.parse(recipe, tmp_path), tmp_path / "out")
    bundle, source, key = str(done.bundle), str(tmp_path / "people.csv"), str(done.key_file)
    capsys.readouterr()
    assert run(["report", bundle, "--dossier", "--source", source, "--key", key, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"path": str(tmp_path / "out.private-dossier.html"), "private": True}
    text = words_of(Path(told["path"]).read_text())
    assert Path(told["path"]).stat().st_mode & 0o777 == 0o600
    assert "rows, places" in text and "Not measured: no results" not in text and "NOT FOR RELEASE" in text
    for options in (["--source", source], ["--key", key], ["--source", source, "--key", key, "--audit", "x.json"]):
        assert run(["report", bundle, "--dossier", *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert run(["report", bundle, "--source", source, "--key", key]) == 2


def test_what_a_dossier_cannot_have_is_refused(released: Path, tmp_path: Path) -> None:
    bundle = released / "retention k"
    with pytest.raises(InputError, match="of the certificate and of attacks alone"):
        pramana.report(bundle, tmp_path / "d.html", dossier=True, tables=[["sex"]])
    with pytest.raises(InputError, match="of the certificate and of attacks alone"):
        pramana.report(bundle, tmp_path / "d.html", dossier=True, source=released / "people.csv")
    with pytest.raises(InputError, match="JSON file of an audit"):
        pramana.report(bundle, tmp_path / "d.html", dossier=True, audit={"attacks": []})
    with pytest.raises(BundleError, match="must not be written into the bundle"):
        pramana.report(bundle, bundle / "d.html", dossier=True)
    assert not any(tmp_path.iterdir())
