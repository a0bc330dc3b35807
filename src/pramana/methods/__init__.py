"""The methods: one folder each, one protocol, one registry; and the recipes that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
from pramana.methods.columns import randomised_attributes
from pramana.methods.protocol import (
    Capabilities,
    Counts,
    Examination,
    Explanation,
    Law,
    Method,
    Plan,
    Publication,
    TableMaker,
    Version,
)
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.registry import METHODS, method_named, restore

if TYPE_CHECKING:
    from pramana.methods.coded import CodedTable
    from pramana.methods.forms import certificate_schema, problems_of, recipe_schema
    from pramana.methods.published_cells import PublishedCells
    from pramana.methods.retention import read_matrix


_MODULE_OF = {  # what few commands need loads on first use
    "CodedTable": "coded",
    "PublishedCells": "published_cells",
    "certificate_schema": "forms",
    "problems_of": "forms",
    "read_matrix": "retention.matrix_file",
    "recipe_schema": "forms",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "METHODS",
    "AnyRecipe",
    "Capabilities",
    "CodedTable",
    "Counts",
    "Examination",
    "Explanation",
    "Law",
    "Method",
    "Plan",
    "Publication",
    "PublishedCells",
    "Recipe",
    "TableMaker",
    "Version",
    "certificate_schema",
    "method_named",
    "problems_of",
    "randomised_attributes",
    "read_matrix",
    "recipe_schema",
    "restore",
]
