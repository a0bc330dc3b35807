"""What a recipe with method `presence` asks for, read and checked before the data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pramana.errors import BundleError, RecipeError
from pramana.generalize import PRESENCE_ALGORITHMS, PRESENCE_CELLS, PRESENCE_MEASURES, Presence, PresenceSetting
from pramana.schema import Recipe


def read_presence(recipe: Recipe) -> tuple[Presence, PresenceSetting, str]:
    """The range, the setting, and the measure of the search."""
    options = recipe.options
    if recipe.k is not None or recipe.epsilon is not None:
        raise RecipeError("With method presence a recipe must state delta alone", "k or epsilon")
    if options.get("suppression", 0) != 0:
        raise RecipeError(
            "With method presence nothing may be suppressed: what is left out tells of its people as well",
            f"suppression = {options['suppression']!r}",
        )
    mode = _text(options, "mode", "public")
    if "quantum" in options and mode != "quantised":
        raise RecipeError('quantum must go with mode = "quantised"', f"mode = {mode!r}")
    setting = PresenceSetting(
        _choice(_text(options, "algorithm", "optimal"), PRESENCE_ALGORITHMS, "algorithm"),
        mode,
        _choice(_text(options, "cells", "hierarchy"), PRESENCE_CELLS, "cells"),
        quantum=_whole(options, "quantum", PresenceSetting().quantum),
        epsilon=_number(options, "noise_epsilon"),
    )
    measure = _choice(_text(options, "measure", "loss"), PRESENCE_MEASURES, "measure")
    return _delta(recipe.delta), setting, measure


def read_levels(recipe: Recipe, heights: Mapping[str, int]) -> tuple[int, ...] | None:
    """`levels`: a level for each quasi-identifying column, so that no search looks at who is present."""
    given = recipe.options.get("levels")
    if given is None:
        return None
    if not isinstance(given, dict) or set(given) != set(heights):
        raise RecipeError(
            "levels must give a level for every quasi-identifying column, such as levels = { age = 1, sex = 0 }",
            repr(given)[:80],
        )
    for name, height in heights.items():
        level = given[name]
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < height:
            raise RecipeError(f"The level of {name!r} must be from 0 to {height - 1}", repr(level)[:80])
    return tuple(given[name] for name in heights)


def _delta(value: Any) -> Presence:
    good = isinstance(value, list) and len(value) == 2
    if not good or not all(isinstance(d, int | float) and not isinstance(d, bool) for d in value):
        raise RecipeError("delta must be two numbers, such as delta = [0.01, 0.5]", repr(value)[:80])
    return Presence.of(value[0], value[1])


def _text(options: Mapping[str, Any], key: str, default: str) -> str:
    value = options.get(key, default)
    if not isinstance(value, str):
        raise RecipeError(f"{key} must be text", repr(value)[:80])
    return value


def _choice(value: str, known: tuple[str, ...], key: str) -> str:
    if value not in known:
        raise RecipeError(f"{key} must be one of {', '.join(known)}", repr(value))
    return value


def _whole(options: Mapping[str, Any], key: str, default: int) -> int:
    value = options.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecipeError(f"{key} must be a whole number", repr(value)[:80])
    return value


def _number(options: Mapping[str, Any], key: str) -> float | None:
    value = options.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise RecipeError(f"{key} must be a number", repr(value)[:80])
    return None if value is None else float(value)


def setting_to_json(wanted: Presence, setting: PresenceSetting) -> dict[str, Any]:
    return {"delta": [str(wanted.lowest), str(wanted.highest)], **asdict(setting)}


def setting_from_json(statement: Mapping[str, Any]) -> tuple[Presence, PresenceSetting]:
    rest = dict(statement)
    low, high = rest.pop("delta")
    try:
        return Presence.of(str(low), str(high)), PresenceSetting(**rest)
    except TypeError:
        raise BundleError("The certificate must state how presence was reached", "something else") from None
