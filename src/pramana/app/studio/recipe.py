"""The recipe as a document, which every page edits a section of and shows, and its release under way."""

from __future__ import annotations

import copy
import shutil
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from pramana.app.studio.folders import PrivateFolder
from pramana.errors import PramanaError, RecipeError
from pramana.holder.draft_recipe import recipe_text
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.randomness.key import Key
from pramana.run.release import Released, release

_FILES = {"source": ("path",), "release": ("public", "population", "solution")}  # [section]: keys that name files
_COLUMN_FILES = ("hierarchy", "matrix")
_DATABASES = (("source", "url"), ("output", "url"))
_ORDER = ("about", "source", "unit", "release", "attributes", "output", "ledger")
WORDS: dict[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
JOB_OF: dict[str, str] = {job["method"]: job["name"] for job in WORDS["jobs"]}
_PROMISES = ("k", "epsilon", "xi", "delta", "retention")  # what a dial turns, the first that is stated


@dataclass
class RecipeDocument:
    """What a recipe file holds, as nested tables."""

    content: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> RecipeDocument:
        try:
            return cls(tomllib.loads(text))
        except (ValueError, RecursionError) as error:
            syntax = isinstance(error, tomllib.TOMLDecodeError)
            got = str(error) if syntax else "numbers too long, or nesting too deep"
            raise RecipeError("A recipe must be valid TOML", got) from None

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

    def recipe(self, folder: Path, ledger: Callable[[str], Path]) -> AnyRecipe:
        """Typed and checked; a ledger's file is where the allowed folder has it."""
        content = copy.deepcopy(self.content)
        path = self.section("ledger").get("path")
        if isinstance(path, str) and not path.startswith("env:"):
            content["ledger"]["path"] = str(ledger(path))
        return Recipe.parse(content, folder)

    def hierarchies(self) -> list[str]:
        return [str(b["hierarchy"]) for b in self.columns.values() if isinstance(b.get("hierarchy"), str)]

    def bring_in(self, link: Callable[[str], str]) -> None:
        """Every file that the recipe names, by what `link` calls it from now on; databases by variable only."""
        bodies = [(self.section(name), keys) for name, keys in _FILES.items()]
        bodies += [(body, _COLUMN_FILES) for body in self.columns.values()]
        for body, keys in bodies:
            for key in keys:
                if isinstance(body.get(key), str):
                    body[key] = link(body[key])
        for section, key in _DATABASES:
            url = self.section(section).get(key)
            if url is not None and not str(url).startswith("env:"):
                raise RecipeError(
                    f"{section}.{key} must name an environment variable here", "a URL", "Write env:NAME."
                )


class StoppedReleaseError(Exception):
    """Raised inside the work, where it next says how far it is."""


class ReleaseJob:
    """One release in a thread of its own: it can be stopped, and leaves a whole bundle or nothing.

    Its key is kept here until it is taken, once. With a ledger it is kept beside the bundle instead, as on the
    command line: a ledger recognises a table that was released before by the key of that release.
    """

    def __init__(
        self, recipe: AnyRecipe, out: Path, private: PrivateFolder, even_if_useless: bool = False
    ) -> None:
        self.out, self._private = out, private
        self.released: Released | None = None
        self.problem = ""
        self.stage, self.share = "starting", 0.0
        self._key: Key | None = Key.create() if recipe.ledger is None else None
        self._recipe, self._even_if_useless = recipe, even_if_useless
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def has_key(self) -> bool:
        return self.released is not None and self._key is not None

    def take_key(self) -> Key | None:
        """The key, the first time it is asked for."""
        key, self._key = (self._key, None) if self.released is not None else (None, self._key)
        return key

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _progress(self, stage: str, done: int, of: int) -> None:
        if self._stop.is_set():
            raise StoppedReleaseError
        self.stage, self.share = stage, min(1.0, done / of) if of else 0.0

    def _run(self) -> None:
        try:
            with self._private.reading():
                released = release(
                    self._recipe,
                    self.out,
                    key=self._key,
                    progress=self._progress,
                    even_if_useless=self._even_if_useless,
                )
            if self._stop.is_set() and not released.ledger:  # the stop came too late for the work
                shutil.rmtree(self.out, ignore_errors=True)
                raise StoppedReleaseError
            self.released = released
        except StoppedReleaseError:
            self._key = None
        except PramanaError as error:
            self.problem, self._key = str(error), None
        except Exception as error:
            # the words of an unforeseen error may quote the data
            self.problem, self._key = f"internal error ({type(error).__name__})", None
