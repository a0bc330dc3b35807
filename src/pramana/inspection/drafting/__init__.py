"""First recipes: what `pramana init` writes."""

from pramana.inspection.drafting.jobs import JOBS
from pramana.inspection.drafting.recipe import DraftedRecipe, draft_recipe
from pramana.inspection.drafting.toml_text import recipe_text

__all__ = ["JOBS", "DraftedRecipe", "draft_recipe", "recipe_text"]
