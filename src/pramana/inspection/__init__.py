"""A first look at a table: what its columns are, the risk today, and a first recipe.

What drafts recipes loads on first use: it needs the whole pipeline.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pramana.inspection.inspecting import NOTICE, ColumnReport, Inspection, inspect
from pramana.inspection.new_files import write_page

if TYPE_CHECKING:
    from pramana.inspection.drafting import JOBS, DraftedRecipe, draft_recipe

_DRAFTING = ("JOBS", "DraftedRecipe", "draft_recipe")


def __getattr__(name: str) -> object:
    if name not in _DRAFTING:
        raise AttributeError(f"module 'pramana.inspection' has no attribute {name!r}")
    return vars(importlib.import_module("pramana.inspection.drafting"))[name]


__all__ = [
    "JOBS",
    "NOTICE",
    "ColumnReport",
    "DraftedRecipe",
    "Inspection",
    "draft_recipe",
    "inspect",
    "write_page",
]
