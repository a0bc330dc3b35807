"""The one folder that a studio may read from and publish into. Links that lead out of it are not followed."""

from __future__ import annotations

import copy
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana.errors import InputError, RecipeError
from pramana.holder.draft_text import recipe_text
from pramana.io.formats import FORMATS
from pramana.methods.recipe import AnyRecipe, Recipe

TABLES = tuple(ending for entry in FORMATS.values() for ending in entry.endings)
_MOST_FILES = 500
_DEEPEST = 4
_MOST_LOOKED_AT = 20_000
_NAME = re.compile(r"[\w][\w .()+-]{0,99}")


@dataclass(frozen=True)
class ListedFile:
    """A file or folder to choose, by its name from the allowed folder on."""

    name: str
    bytes: int

    @property
    def size(self) -> str:
        for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if self.bytes >= least:
                return f"{self.bytes / least:.1f} {unit}"
        return f"{self.bytes} bytes"


@dataclass(frozen=True)
class AllowedFolder:
    """`root` is the folder's real path."""

    root: Path

    @classmethod
    def of(cls, folder: str | Path) -> AllowedFolder:
        try:
            root = Path(folder).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise InputError("The folder of the studio must exist", "none such", "Name it with --data.") from None
        if not root.is_dir():
            raise InputError("The folder of the studio must be a folder", "a file")
        return cls(root)

    def find(self, name: str) -> Path:
        """What a name means, links followed; refused where that lies outside."""
        try:
            path = (self.root / name).resolve(strict=True)
            inside = path.is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):
            inside = False
        if not inside:
            raise InputError("A file must lie in the studio's folder", "one that does not, or none")
        return path

    def new(self, name: str) -> Path:
        """A place for something new: one plain name, directly in the folder."""
        if not _NAME.fullmatch(name) or name.endswith((".", " ")):
            raise InputError("A name must be letters, digits, blanks and . ( ) + - _, at most 100", "another one")
        path = self.root / name
        if os.path.lexists(path):
            raise InputError(f"{name} already exists", hint="Choose another name.")
        return path

    def free_name(self, stem: str, ending: str = "") -> str:
        """A plain name that is not taken."""
        plain = re.sub(r"[^\w-]+", "-", stem).strip("-_") or "table"
        names = (f"{plain[:60]}{'' if i == 1 else f'-{i}'}{ending}" for i in range(1, 10_000))
        return next(name for name in names if not os.path.lexists(self.root / name))

    def tables(self) -> list[ListedFile]:
        return [file for file in self._files() if file.name.lower().endswith(TABLES)]

    def recipes(self) -> list[ListedFile]:
        return [file for file in self._files() if file.name.lower().endswith(".toml")]

    def ledgers(self) -> list[ListedFile]:
        return [file for file in self._files() if file.name.lower().endswith((".db", ".sqlite", ".ledger"))]

    def bundles(self) -> list[ListedFile]:
        """Folders with a certificate, and zip files that may hold one."""
        files = self._files(inside_bundles=True)
        folders = [ListedFile(str(Path(f.name).parent), f.bytes) for f in files if _is_certificate(f.name)]
        zips = [f for f in self._files() if f.name.lower().endswith(".zip")]
        return sorted([f for f in folders if f.name != "."] + zips, key=lambda f: f.name.lower())

    def _files(self, inside_bundles: bool = False) -> list[ListedFile]:
        files = []
        for name, status in self._walk(self.root, "", 0, inside_bundles, [_MOST_LOOKED_AT]):
            files.append(ListedFile(name, status.st_size))
            if len(files) >= _MOST_FILES * 4:
                break
        return sorted(files, key=lambda file: file.name.lower())[: _MOST_FILES * 4]

    def _walk(
        self, folder: Path, prefix: str, depth: int, inside_bundles: bool, left: list[int]
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Regular files; of links those that stay inside. `left` is how many entries may still be looked at."""
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        if not inside_bundles and any(entry.name == "certificate.json" for entry in listed):
            return
        for entry in listed:
            left[0] -= 1
            if left[0] < 0:
                return
            if entry.name.startswith(".") or not _is_text(entry.name):
                continue
            name = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        yield from self._walk(Path(entry.path), f"{name}/", depth + 1, inside_bundles, left)
                elif entry.is_file() and (not entry.is_symlink() or self._is_inside(name)):
                    yield name, entry.stat()
            except OSError:
                continue

    def _is_inside(self, name: str) -> bool:
        try:
            self.find(name)
        except InputError:
            return False
        return True


def _is_certificate(name: str) -> bool:
    return name.rpartition("/")[2] == "certificate.json"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


# The recipe as a document: the one state of a journey. Every page edits a section of it and shows it.


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
