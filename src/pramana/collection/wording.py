"""The page's own words in the languages that ship with it; another language falls back to English."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def interface_words(language: str) -> Mapping[str, str]:
    """By name; `de-AT` is served by `de`."""
    folder = files("pramana.collection") / "words"
    for name in (language.lower(), language.lower().partition("-")[0], "en"):
        file = folder / f"{name}.json"
        if file.is_file():
            words: dict[str, str] = json.loads(file.read_text("utf-8"))
            return words
    raise AssertionError("English ships with the package")
