"""The recipe as a document: the one state of a journey. Every page edits a section of it and shows it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana import Recipe
from pramana.errors import RecipeError
from pramana.inspection import recipe_text
from pramana.methods import AnyRecipe

_FILES = {"source": ("path",), "release": ("public", "population", "solution")}  # [section]: keys that name files
_COLUMN_FILES = ("hierarchy", "matrix")
_DATABASES = (("source", "url"), ("output", "url"))
_ORDER = ("about", "source", "unit", "release", "attributes", "output", "ledger")
JOB_OF = {
    "retention": "publish",
    "invariant": "frequencies",
    "levels": "levels",
    "generalize": "k-anonymity",
    "presence": "presence",
    "microaggregate": "microaggregate",
}
_PROMISES = ("k", "epsilon", "xi", "delta", "retention")  # what a dial turns, the first that is stated


@dataclass
class RecipeDocument:
    """What a recipe file holds, as nested tables."""

    content: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> RecipeDocument:
        try:
            return cls(tomllib.loads(text))
        except (ValueError, RecursionError):
            raise RecipeError("A recipe must be valid TOML", "something else") from None

    def section(self, name: str) -> dict[str, Any]:
        body = self.content.get(name, {})
        return body if isinstance(body, dict) else {}

    def set(self, name: str, body: Mapping[str, Any]) -> None:
        """A section; an empty one is none."""
        self.content[name] = dict(body)
        if not body:
            del self.content[name]
        self.content = {key: self.content[key] for key in _ORDER if key in self.content} | self.content

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        return {str(n): b for n, b in self.section("attributes").items() if isinstance(b, dict)}

    def column(self, name: str) -> dict[str, Any]:
        return self.columns.get(name, {})

    @property
    def roles(self) -> dict[str, str]:
        return {name: str(body.get("role", "")) for name, body in self.columns.items()}

    @property
    def method(self) -> str:
        return str(self.section("release").get("method", "retention")) if "release" in self.content else ""

    @property
    def job(self) -> str:
        return JOB_OF.get(self.method, "")

    @property
    def promise(self) -> str:
        """Which number the release turns on."""
        stated = self.section("release")
        return next((name for name in _PROMISES if name in stated), "")

    @property
    def text(self) -> str:
        return recipe_text(self.content)

    def recipe(self, folder: Path, ledger: Callable[[str], Path] | None = None) -> AnyRecipe:
        """Typed and checked; a ledger's file is where the allowed folder has it."""
        content = copy.deepcopy(self.content)
        place = self.section("ledger").get("path")
        if isinstance(place, str) and not place.startswith("env:") and ledger is not None:
            content["ledger"]["path"] = str(ledger(place))
        return Recipe.parse(content, folder)

    def hierarchies(self) -> list[str]:
        return [str(b["hierarchy"]) for b in self.columns.values() if isinstance(b.get("hierarchy"), str)]

    def bring_in(self, link: Callable[[str], str]) -> None:
        """Every file that the recipe names, by what `link` calls it from now on; databases by variable only."""
        for section, keys in _FILES.items():
            body = self.section(section)
            for key in keys:
                if isinstance(body.get(key), str):
                    body[key] = link(body[key])
        for body in self.columns.values():
            for key in _COLUMN_FILES:
                if isinstance(body.get(key), str):
                    body[key] = link(body[key])
        for section, key in _DATABASES:
            url = self.section(section).get(key)
            if url is not None and not str(url).startswith("env:"):
                raise RecipeError(
                    f"{section}.{key} must name an environment variable here", "another url", "Write env:NAME."
                )
