"""A certificate of a wrong form: the innermost field is named, what must hold, and shortly what stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Refused

from pramana import Bundle, Recipe, release, verify
from pramana.errors import BundleError

WHOLE = "a whole number from"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("forms")
    (folder / "people.csv").write_text("sex\n" + "F\nM\n" * 1000)
    content = {
        "source": {"path": "people.csv"},
        "release": {"epsilon": 3, "delta": 0.001},
        "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}},
        "output": {"files": "many", "part_rows": 1000},
    }
    release(Recipe.parse(content, folder), folder / "x", seed=1)
    return (folder / "x" / "certificate.json").read_text()


def edited(certificate: str, path: tuple[str | int, ...], value: object) -> Any:
    content = json.loads(certificate)
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("parts", "files", 0, "name"), "../report.html",
         "parts.files[0].name must be a name such as part-00000.parquet or part-00000.csv, got '../report.html'"),
        (("parts", "files", 1, "rows"), -60000,
         f"parts.files[1].rows must be {WHOLE} 1 to 134,217,728, got -60000"),
        (("parts", "files", 1, "bytes"), "5", f"parts.files[1].bytes must be {WHOLE} 0 to 9,007,199,254,740,991"),
        (("records",), 0, f"records must be {WHOLE} 1 to 9,007,199,254,740,991, got 0"),
        (("records",), "9" * 500, f"records must be {WHOLE} 1 to 9,007,199,254,740,991, got '9999"),
        (("about",), {"x": "y"}, "every key of about must be one of contact, date,"),
        (("about",), {"title": ""}, "about['title'] must be text of 1 to 500 characters, got ''"),
        (("files", "report.html", "bytes"), -1, "files['report.html'].bytes must be a whole number from 0 to"),
        (("guarantees", 0, "unit"), "x", "guarantees[0].unit must be one of household, person, record, got 'x'"),
        (("guarantees", 0, "zz\x1b"), "x", r"guarantees[0] must have known keys only, got 'zz\x1b'"),
        (("attributes",), [], "attributes must be a list of 1 or more entries, got []"),
        (("warnings",), [5], "warnings[0] must be text, got 5"),
        (("key", "commitment"), "\x1b[31m", r"key.commitment must be 64 hexadecimal digits, got '\x1b[31m'"),
        (("signature",), {"algorithm": "x"}, "signature.algorithm must be one of Ed25519, got 'x'"),
    ],
)  # fmt: skip
def test_the_innermost_field_is_named(
    certificate: str, path: tuple[str | int, ...], value: object, words: str, desk: Path, refused: Refused
) -> None:
    (desk / "x" / "data").mkdir(parents=True)
    (desk / "x" / "certificate.json").write_text(json.dumps(edited(certificate, path, value)))
    told = refused("verify", "x")
    assert f"certificate.json: {words}" in told
    assert len(told) < 400


@pytest.mark.parametrize(("content", "got"), [("null", "null"), ("[]", "a list"), ("5", "a number")])
def test_a_certificate_is_an_object(content: str, got: str, tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(content)
    with pytest.raises(BundleError, match=f"certificate.json must be a JSON object, got {got}"):
        Bundle.open(tmp_path)


def test_what_the_method_states_is_told_as_well(certificate: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "certificate.json").write_text(json.dumps(edited(certificate, ("mechanism", "delta"), 0)))
    law = next(check for check in verify(tmp_path).checks if check.name == "law")
    assert "delta must be a number above 0 and below 1, got 0" in law.detail
