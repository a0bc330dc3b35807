"""The methods by name. A new one is a folder beside this module, and a line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pramana.bundle.form import CertificateForm
from pramana.errors import BundleError, InputError, RecipeError
from pramana.files.locations import local_path
from pramana.methods import recipe as recipes
from pramana.schema.sections import AboutSection, ColumnSection, Setting, SurveySection
from pramana.schema.typed import keys_of, near

if TYPE_CHECKING:
    from pramana.bundle.certificate import Certificate
    from pramana.methods.protocol import Method, Plan


_FOLDERS = {
    "retention": "retention",
    "matrix": "retention",
    "invariant": "invariant",
    "levels": "levels",
    "generalize": "generalize",
    "presence": "presence",
    "microaggregate": "microaggregate",
    "swap": "swap",
    "noise": "noise",
}
METHODS = tuple(_FOLDERS)
DEFAULT = "retention"


def method_named(name: str) -> Method[Setting, ColumnSection]:
    """A method; its folder is loaded on first use."""
    if name not in METHODS:
        raise RecipeError(f"release.method must be one of {', '.join(METHODS)}", repr(name), near(name, METHODS))
    folder = importlib.import_module(f"pramana.methods.{_FOLDERS[name]}.method")
    method: Method[Setting, ColumnSection] = folder.METHODS[name]
    return method


def name_of_method(release: Mapping[str, Any]) -> str:
    name = release.get("method", DEFAULT)
    if not isinstance(name, str):
        raise RecipeError(f"release.method must be one of {', '.join(METHODS)}", repr(name))
    return name


def restore(certificate: Certificate) -> Plan:
    """The plan a certificate states, by its own method."""
    if certificate.method not in METHODS:
        raise BundleError(f"The method of a certificate must be one of {', '.join(METHODS)}", certificate.method)
    method, unit = method_named(certificate.method), certificate.unit
    if unit is not None and unit.kind != "row" and not method.counts_people:
        raise BundleError(f"With method {method.name!r} every row must be a person", f"the unit {unit.kind!r}")
    return method.restore(certificate)


def keys_elsewhere(key: str) -> list[str]:
    """The methods whose [release] has a key."""
    return [name for name in METHODS if key in keys_of(method_named(name).setting)]


# The JSON Schemas of recipes and certificates, and all problems of a recipe at once.


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def recipe_schema() -> dict[str, Any]:
    """A recipe is one of as many kinds as there are methods: `release.method` tells which."""
    methods = {name: method_named(name) for name in METHODS}
    kinds = list(recipes.SECTION_TYPES.values())
    for method in methods.values():
        kinds += [method.setting, method.column]
    by_kind, definitions = _components(kinds)
    return {
        "$schema": DIALECT,
        "title": "A Pramana recipe",
        "description": "What to read, what to promise, what each column is, and how to write it.",
        "type": "object",
        "required": ["attributes"],
        "additionalProperties": False,
        "properties": {
            **{name: by_kind[kind] for name, kind in recipes.SECTION_TYPES.items()},
            "release": {"type": "object"},
            "attributes": {"type": "object", "minProperties": 1},
        },
        "allOf": [_only_if(name, by_kind[m.setting], by_kind[m.column]) for name, m in methods.items()],
        "$defs": {name: _without_required_tag(part) for name, part in definitions.items()},
    }


def certificate_schema() -> dict[str, Any]:
    """A certificate; `mechanism` has as many forms as there are methods."""
    forms = {name: method_named(name).statement for name in METHODS}
    by_kind, definitions = _components([CertificateForm, *dict.fromkeys(forms.values())])
    return {
        "$schema": DIALECT,
        "title": "A Pramana certificate, format version 2",
        **by_kind[CertificateForm],
        "allOf": [
            {
                "if": {"properties": {"method": {"const": name}}},
                "then": {"properties": {"mechanism": by_kind[form]}},
            }
            for name, form in forms.items()
        ],
        "$defs": definitions,
    }


def _components(kinds: list[type[msgspec.Struct]]) -> tuple[dict[type[msgspec.Struct], Any], dict[str, Any]]:
    """A reference to each kind, and the definitions that they refer to."""
    references, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return dict(zip(kinds, references, strict=True)), definitions


def _only_if(method: str, setting: dict[str, Any], column: dict[str, Any]) -> dict[str, Any]:
    """What a method's sections look like, where the recipe names it (or names none, for the default)."""
    named: dict[str, Any] = {"properties": {"release": {"properties": {"method": {"const": method}}}}}
    if method != DEFAULT:
        named = {
            "required": ["release"],
            "properties": {"release": {"required": ["method"], "properties": {"method": {"const": method}}}},
        }
    columns = {"type": "object", "additionalProperties": column}
    return {"if": named, "then": {"properties": {"release": setting, "attributes": columns}}}


def _without_required_tag(definition: dict[str, Any]) -> dict[str, Any]:
    """The method may be left out where it is the default; every other method is known by being named."""
    required = [name for name in definition.get("required", []) if name != "method"]
    rest = {key: value for key, value in definition.items() if key != "required"}
    return {**rest, **({"required": required} if required else {})}


def problems_of(recipe: str | Path) -> list[str]:
    """What is wrong with a recipe, section by section; empty where nothing is."""
    path = local_path(recipe, "The recipe", RecipeError)
    try:
        content = recipes.read_toml(path)
    except InputError as error:
        return [str(error)]
    problems: list[str] = []

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except InputError as error:
            if str(error) not in problems:
                problems.append(str(error))

    attempt(lambda: recipes.section_of(AboutSection, "about", _part(content, "about")))
    attempt(lambda: recipes.source_of_section(_part(content, "source"), path.parent))
    attempt(lambda: recipes.output_of(_part(content, "output"), path.parent))
    if "ledger" in content:
        attempt(lambda: recipes.ledger_of(_part(content, "ledger"), path.parent))
    attempt(lambda: recipes.section_of(SurveySection, "survey", _part(content, "survey")))
    try:
        method = method_named(name_of_method(_part(content, "release")))
    except InputError as error:
        return [*problems, str(error)]
    attempt(lambda: recipes.check_setting(_part(content, "release"), method))
    if "unit" in content:
        attempt(lambda: recipes.unit_of(_part(content, "unit"), {}, method))
    for name, body in _part(content, "attributes").items():
        attempt(lambda name=name, body=body: recipes.check_columns({name: body}, method))  # type: ignore[misc]
    if not problems:
        attempt(lambda: recipes.parse(content, path.parent))
    return problems


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    body = content.get(name, {})
    return body if isinstance(body, Mapping) else {}
