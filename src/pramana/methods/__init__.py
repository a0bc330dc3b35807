"""The methods: one folder each, one protocol, one registry; and the recipes that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.methods.columns import randomised_attributes
from pramana.methods.protocol import (
    Capabilities,
    Counts,
    Explanation,
    Law,
    Method,
    Plan,
    Publication,
    TableMaker,
    WriteFile,
)
from pramana.methods.recipe import Recipe
from pramana.methods.registry import METHODS, method_named, restore

if TYPE_CHECKING:
    from pramana.methods.published_cells import PublishedCells
    from pramana.methods.retention import read_matrix


def __getattr__(name: str) -> object:  # what few releases need loads on first use
    if name == "PublishedCells":
        from pramana.methods.published_cells import PublishedCells

        return PublishedCells
    if name == "read_matrix":
        from pramana.methods.retention import read_matrix

        return read_matrix
    raise AttributeError(f"module 'pramana.methods' has no attribute {name!r}")


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
    "Recipe",
    "TableMaker",
    "WriteFile",
    "method_named",
    "randomised_attributes",
    "read_matrix",
    "restore",
]
