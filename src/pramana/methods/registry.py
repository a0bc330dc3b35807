"""The methods by name. A new one is a folder beside this module, and a line here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pramana.errors import BundleError, RecipeError
from pramana.schema import ColumnSection, Setting, keys_of, near

if TYPE_CHECKING:
    from pramana.bundle import Certificate
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
    folder = importlib.import_module(f"pramana.methods.{_FOLDERS[name]}")
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
