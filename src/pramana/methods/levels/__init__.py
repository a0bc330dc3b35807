"""`levels`: the sensitive attributes at one level of many, the others as they are (paper 3)."""

from pramana.methods.levels.method import (
    LevelsMethod,
    LevelsRecipe,
    attributes_at_levels,
    design_of,
    version_at,
)
from pramana.methods.levels.plan import LevelPlan
from pramana.methods.levels.setting import LevelsSetting

METHODS = {LevelsMethod.name: LevelsMethod()}

__all__ = [
    "METHODS",
    "LevelPlan",
    "LevelsRecipe",
    "LevelsSetting",
    "attributes_at_levels",
    "design_of",
    "version_at",
]
