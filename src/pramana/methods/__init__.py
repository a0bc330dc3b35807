"""The methods: one folder each, one protocol, one registry; and the recipes that name them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pramana.methods.protocol import (
    Capabilities,
    Counts,
    Explanation,
    Law,
    Method,
    Plan,
    Publication,
    PublishedTable,
)
from pramana.methods.recipe import Recipe
from pramana.methods.registry import METHODS, method_named, restore

if TYPE_CHECKING:
    from pramana.methods.published_cells import PublishedCells
    from pramana.methods.recipe_form import problems_of, recipe_schema
    from pramana.methods.retention import read_matrix


_MODULE_OF = {  # what few commands need loads on first use
    "PublishedCells": "published_cells",
    "problems_of": "recipe_form",
    "read_matrix": "retention",
    "recipe_schema": "recipe_form",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.methods' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.methods.{_MODULE_OF[name]}"))[name]


__all__ = [
    "METHODS",
    "Capabilities",
    "Counts",
    "Explanation",
    "Law",
    "Method",
    "Plan",
    "Publication",
    "PublishedCells",
    "PublishedTable",
    "Recipe",
    "method_named",
    "problems_of",
    "read_matrix",
    "recipe_schema",
    "restore",
]
