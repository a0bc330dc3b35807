"""What was read from the data is flagged wherever a reader looks: in domains, assumptions and warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pramana import Recipe, release
from pramana.bundle.certificate import Certificate

PEOPLE = "sex,town\n" + "".join(f"{'FM'[i % 2]},{'' if i % 10 == 3 else 'abc'[i % 3]}\n" for i in range(200))
TELLS = "which tells which values occur"
HAS = "missing"
METHODS: dict[str, dict[str, Any]] = {
    "retention": {"method": "retention", "retention": 0.5},
    "record": {"method": "retention", "retention": 0.5, "coin": "record"},
    "levels": {"method": "levels", "retention": 0.5},
    "invariant": {"method": "invariant", "xi": 0.5},
}


def certified(folder: Path, method: str, **town: Any) -> Certificate:
    (folder / "people.csv").write_text(PEOPLE)
    role = "sensitive" if method == "levels" else "quasi-identifying"
    statement = {
        "source": {"path": "people.csv"},
        "release": METHODS[method],
        "attributes": {"sex": {"role": role, "domain": ["F", "M"]}, "town": {"role": role, **town}},
    }
    return release(Recipe.parse(statement, folder), folder / "out", even_if_useless=True).certificate


def said(certificate: Certificate, words: str) -> tuple[list[str], list[bool]]:
    """The warnings with these words that name the town, and for each guarantee whether it assumes so."""
    warnings = [w for w in certificate.warnings if words in w and "town" in w]
    assumed = [any(words in a and "town" in a for a in g["assumptions"]) for g in certificate.guarantees]
    return warnings, assumed


@pytest.mark.parametrize("method", METHODS)
def test_a_domain_read_from_the_data_is_flagged(method: str, tmp_path: Path) -> None:
    certificate = certified(tmp_path, method, domain="from-data", missing="category")
    sex, town = certificate.attributes
    assert (sex.coded.origin, town.coded.origin) == ("declared", "from-data")
    assert town.to_json()["domain"]["origin"] == "from-data"
    warnings, assumed = said(certificate, TELLS)
    assert len(warnings) == 1
    assert all(assumed) or method == "invariant", "whose promises are about this table anyway"
    assert not [w for w in certificate.warnings if TELLS in w and "sex" in w]


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_category_read_from_the_data_is_flagged(method: str, tmp_path: Path) -> None:
    certificate = certified(tmp_path, method, domain=["a", "b", "c"])
    town = certificate.attributes[1].coded
    assert (town.origin, town.missing, town.missing_from_data) == ("declared", True, True)
    assert town.to_json()["missing_from_data"] is True
    warnings, assumed = said(certificate, HAS)
    assert len(warnings) == 1
    assert all(assumed) or method == "invariant"


@pytest.mark.parametrize("method", METHODS)
def test_what_the_recipe_states_is_no_flag(method: str, tmp_path: Path) -> None:
    certificate = certified(tmp_path, method, domain=["a", "b", "c"], missing="category")
    town = certificate.attributes[1].coded
    assert (town.origin, town.missing, town.missing_from_data) == ("declared", True, False)
    for words in (TELLS, HAS):
        warnings, assumed = said(certificate, words)
        assert warnings == [] and not any(assumed)
