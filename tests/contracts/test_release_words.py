"""The words of every method's certificate and report are those of the table of sentences."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden.cells import SETTINGS, make_tables, released
from tests.notions.word_checks import overclaims_in, problems_of

from pramana.methods.registry import METHODS
from pramana.notions.registry import NOTIONS, explanation_of


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release of every setting of every method."""
    folder = tmp_path_factory.mktemp("words")
    make_tables(folder)
    made: dict[str, Path] = {}
    for name in SETTINGS:
        before = set(folder.iterdir())
        released(name, folder, "parquet", "parquet")
        (made[name],) = set(folder.iterdir()) - before
    return made


def certificate_of(bundle: Path) -> dict[str, Any]:
    statement: dict[str, Any] = json.loads((bundle / "certificate.json").read_text())
    return statement


def test_certificates_and_reports_say_no_more_than_they_may(bundles: dict[str, Path]) -> None:
    for bundle in bundles.values():
        certificate = certificate_of(bundle)
        page = html.unescape((bundle / "report.html").read_text())
        unchanged = {a["name"] for a in certificate["attributes"] if a.get("domain") is None}
        assert certificate["guarantees"]
        for guarantee in certificate["guarantees"]:
            assert problems_of(guarantee) == []
            assert guarantee["words"] in page
            assert explanation_of(guarantee["notion"]).title in page
            assert set(guarantee["uncovered"]) <= unchanged
        assert not any(overclaims_in(warning) for warning in certificate["warnings"])
        assert not any(phrase in page for phrase in ("picked out", "stays unlikely", "grows little", "stands out"))


def test_columns_released_unchanged_are_named_by_every_guarantee_that_leaves_them_out(
    bundles: dict[str, Path],
) -> None:
    expected = {
        "retention k": set(),
        "retention epsilon": {"income"},
        "levels": {"sex"},
        "invariant": {"sex"},
        "invariant strata": set(),  # the bound holds for someone who knows the stratum
        "generalize pdf": {"illness", "income"},
        "presence flag": {"illness"},
        "microaggregate": {"illness"},
        "swap rank": {"town", "illness"},
        "noise": {"town", "illness"},
    }
    assert {SETTINGS[name][0]["method"] for name in expected} >= set(METHODS) - {"matrix"}
    for name, columns in expected.items():
        for guarantee in certificate_of(bundles[name])["guarantees"]:
            assert set(guarantee["uncovered"]) == columns
    labels = certificate_of(bundles["generalize labels"])["guarantees"]
    (diversity,) = (g for g in labels if g["notion"] == "l-diversity")
    assert diversity["uncovered"] == ["income"]  # l is about illness, and says so


def test_all_notions_are_met_in_some_release(bundles: dict[str, Path]) -> None:
    """So that the contract above is about each of them."""
    certificates = map(certificate_of, bundles.values())
    assert {g["notion"] for c in certificates for g in c["guarantees"]} == set(NOTIONS)
