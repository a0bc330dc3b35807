"""A first look at a table: what its columns are, the risk today, and a first recipe.

What drafts recipes loads on first use: it needs the whole pipeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
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

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
