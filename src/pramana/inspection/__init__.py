"""A first look at a table: what its columns are, the risk today, and a first recipe.

What drafts recipes loads on first use: it needs the whole pipeline.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pramana.inspection.inspecting import NOTICE, ColumnReport, Inspection, inspect
from pramana.inspection.new_files import write_page

if TYPE_CHECKING:
    from pramana.inspection.drafting import JOBS, DraftedRecipe, draft_recipe, recipe_text
    from pramana.inspection.hierarchies import (
        HierarchyCheck,
        HierarchyPlan,
        HierarchyPreview,
        build_hierarchy,
        check_hierarchy,
        preview_hierarchy,
    )

_MODULE_OF = {
    "HierarchyCheck": "hierarchies",
    "HierarchyPlan": "hierarchies",
    "HierarchyPreview": "hierarchies",
    "JOBS": "drafting",
    "DraftedRecipe": "drafting",
    "build_hierarchy": "hierarchies",
    "check_hierarchy": "hierarchies",
    "draft_recipe": "drafting",
    "preview_hierarchy": "hierarchies",
    "recipe_text": "drafting",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.inspection' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.inspection.{_MODULE_OF[name]}"))[name]


__all__ = [
    "JOBS",
    "NOTICE",
    "ColumnReport",
    "DraftedRecipe",
    "HierarchyCheck",
    "HierarchyPlan",
    "HierarchyPreview",
    "Inspection",
    "build_hierarchy",
    "check_hierarchy",
    "draft_recipe",
    "inspect",
    "preview_hierarchy",
    "recipe_text",
    "write_page",
]
