"""First recipes: what `pramana init` writes."""

from pramana.inspection.drafting.jobs import JOBS
from pramana.inspection.drafting.recipe import DraftedRecipe, draft_recipe

__all__ = ["JOBS", "DraftedRecipe", "draft_recipe"]
