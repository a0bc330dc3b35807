"""The published JSON Schemas are those of the code, and say yes and no where the code does."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.docs.reference_pages import RESULTS, pages, returned_classes
from tests.golden.cells import SETTINGS, document, make_tables, path_of
from tests.reference import FOLDER, schemas

import pramana
from pramana import Recipe, release
from pramana.app.main import COMMANDS
from pramana.errors import InputError

NOT_SHOWN = {
    "Path",
    "AnyPath",  # a path, or what a URL of a store becomes
    "None",
    "DrawnLaw",
    "Guarantee",
    "RandomisedPlan",
}  # given on to other functions, or Python's own
RECIPES = jsonschema.Draft202012Validator(json.loads((FOLDER / "recipe.schema.json").read_text()))
CERTIFICATES = jsonschema.Draft202012Validator(json.loads((FOLDER / "certificate.schema.json").read_text()))


@pytest.mark.parametrize("name", ["recipe.schema.json", "certificate.schema.json"])
def test_the_stored_schema_is_that_of_the_code(name: str) -> None:
    stored = (FOLDER / name).read_text()
    assert stored == schemas()[name], "python -m tests.reference writes it again"
    jsonschema.Draft202012Validator.check_schema(json.loads(stored))


def test_pages_of_the_reference_are_those_of_the_code() -> None:
    for name, text in pages().items():
        assert (FOLDER / name).read_text() == text, f"{name}: python -m tests.reference writes it again"


def test_every_command_option_and_public_name_is_there() -> None:
    commands, names = (FOLDER / "commands.md").read_text(), (FOLDER / "api.md").read_text()
    for command in COMMANDS:
        assert f"## pramana {command}\n" in commands
    for name in set(pramana.__all__) - {"__version__", "datasets", "models"}:
        assert f"::: pramana.{name}\n" in names
    shown = {name.rpartition(".")[2] for name in RESULTS}
    assert returned_classes() - NOT_SHOWN == shown - {"Questions"}  # the base of what studies answer
    for path in RESULTS:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path


@pytest.mark.parametrize("name", SETTINGS)
def test_recipes_and_certificates_of_every_method_fit(name: str, tmp_path: Path) -> None:
    make_tables(tmp_path)
    recipe = document(*SETTINGS[name], path_of(name, "csv"), "csv")
    RECIPES.validate(recipe)
    bundle = release(Recipe.parse(recipe, tmp_path), tmp_path / "out", seed=7).bundle
    certificate = json.loads((bundle / "certificate.json").read_text())
    CERTIFICATES.validate(certificate)
    for key in certificate["mechanism"]:
        damaged = {**certificate, "mechanism": {**certificate["mechanism"], key: object.__name__}}
        if key not in ("out_of", "flag", "public"):  # texts, which may be others
            assert not CERTIFICATES.is_valid(damaged), key


WRONG: list[dict[str, Any]] = [
    {"release": {"method": "generalize", "k": 5, "epsilon": 0.1}},
    {"release": {"method": "invariant", "xi": 0.1, "retention": 7.0}},
    {"release": {"method": "levels", "retention": 0.3, "xi": 0.1}},
    {"release": {"k": 0.5}},
    {"release": {"k": 2}, "more": {}},
    {"release": {"k": 2}, "attributes": {"a": {"role": "secret"}}},
    {"release": {"k": 2}, "attributes": {"a": {"role": "sensitive", "weight": 2}}},
]


@pytest.mark.parametrize("change", WRONG)
def test_what_the_code_refuses_the_schema_refuses(change: dict[str, Any]) -> None:
    recipe = {"attributes": {"a": {"role": "quasi-identifying", "domain": ["x", "y"]}}, **change}
    assert not RECIPES.is_valid(recipe)
    with pytest.raises(InputError):
        Recipe.parse(recipe)
