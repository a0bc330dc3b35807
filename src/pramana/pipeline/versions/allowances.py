"""What a recipe of levels allows: which levels to whom, and what all versions may come to."""

from __future__ import annotations

from fractions import Fraction

from pramana.errors import RecipeError
from pramana.methods.levels import LevelsSetting
from pramana.theory import Level

_EVERYBODY = "*"


def level_allowances(setting: LevelsSetting) -> dict[str, Level]:
    """The highest level of each recipient; that of "" is everybody's."""
    return {"" if who == _EVERYBODY else who: Level.of(level) for who, level in setting.allowances.items()}


def total_limit(setting: LevelsSetting) -> Fraction | None:
    """The most that all versions about the same people may cost."""
    if setting.total_epsilon is None:
        return None
    if not setting.people:
        raise RecipeError("total_epsilon must say about whom it is", "no people", 'Write people = "...".')
    return Fraction(str(setting.total_epsilon))
