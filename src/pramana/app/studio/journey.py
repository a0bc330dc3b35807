"""A holder's journey from a table to a bundle. It keeps the recipe, and calls what the command line calls."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana.app.studio.dial import Dial
from pramana.app.studio.folders import TABLES, AllowedFolder, PrivateFolder, Upload
from pramana.app.studio.recipe import RecipeDocument, ReleaseJob
from pramana.errors import InputError, RecipeError
from pramana.files.folder import whole_folder
from pramana.holder.draft_recipe import draft_recipe
from pramana.holder.hierarchies import HierarchyPlan, HierarchyPreview, build_hierarchy, preview_hierarchy
from pramana.holder.inspect import Inspection, inspect
from pramana.io.source import Source
from pramana.methods.recipe import AnyRecipe

DRAFT = "recipe.toml"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_OPTIONS = ("encoding", "delimiter", "sheet", "decimal")
_HOW = ("domain", "bins", "hierarchy", "level", "round", "bottom", "top")  # how a column states its domain


@dataclass
class Journey:
    """One holder's work: the recipe, and what is known of the table that it is about."""

    allowed: AllowedFolder
    private: PrivateFolder
    document: RecipeDocument = field(default_factory=RecipeDocument)
    inspection: Inspection | None = None
    uploaded: bool = False
    by_hand: bool = False  # the recipe was opened, and not drafted here
    roles: dict[str, str] = field(default_factory=dict)  # as confirmed; a draft may leave out what it cannot keep
    hierarchies: dict[str, dict[str, Any]] = field(default_factory=dict)  # built by hand, by column
    confirm: tuple[str, ...] = ()
    confirmed_columns: bool = False
    looked_at: bool = False  # the page of what to check
    pins: tuple[float, ...] = ()
    job: ReleaseJob | None = None
    _dial: tuple[str, Dial] | None = None

    # ------------------------------------------------------------ open

    def open_file(self, name: str, options: Mapping[str, str]) -> None:
        path = self.allowed.find(name)
        if not (path.is_file() and name.lower().endswith(TABLES)):
            raise InputError(f"A table must be a file that ends in one of {', '.join(TABLES)}", repr(name[:100]))
        self.forget()
        self.private.link(name, path)
        self._begin({"path": name, **{key: options[key] for key in _OPTIONS if options.get(key)}})

    def open_upload(self, upload: Upload) -> None:
        """A file that has arrived."""
        self.uploaded = True
        self._begin({"path": upload.name})

    def new_upload(self, name: str) -> Upload:
        """Under a plain name with the ending it had; what was open before goes."""
        plain = re.sub(r"[^\w.-]+", "-", Path(name).name).strip("-.")[-80:] or "table.csv"
        if not plain.lower().endswith(TABLES):
            raise InputError(f"A table must end in one of {', '.join(TABLES)}", repr(plain))
        self.forget()
        return Upload(self.private, plain)

    def open_database(self, variable: str, table: str, query: str) -> None:
        if not _VARIABLE.fullmatch(variable):
            raise InputError("A database must be named by an environment variable", repr(variable[:100]))
        if variable not in os.environ:
            raise InputError(f"The environment variable {variable} is not set")
        self.forget()
        stated = {"table": table.strip(), "query": query.strip()}
        self._begin({"url": f"env:{variable}", **{key: text for key, text in stated.items() if text}})

    def open_recipe(self, name: str) -> None:
        """A recipe of the folder with every file that it names, all of which must lie inside."""
        path = self.allowed.find(name)
        document = RecipeDocument.parse(_text_of(path))
        self.forget()
        try:
            document.bring_in(lambda stated: self._bring_in(path.parent, stated))
            document.recipe(self.private.path, self.allowed.find)
            self._inspect(document.section("source"))
        except BaseException:
            self.forget()
            raise
        stated = {name: str(body.get("role", "")) for name, body in document.columns.items()}
        self.document = document
        # a column that a recipe does not name is not published
        self.roles = {name: stated.get(name, "identifying") for name in self.roles}
        self.confirmed_columns = self.by_hand = True

    def _bring_in(self, folder: Path, stated: str) -> str:
        target = self.allowed.find(os.path.relpath(folder / stated, self.allowed.root))
        if target.is_dir() and any(entry.is_symlink() for entry in target.rglob("*")):
            raise InputError("A folder that a recipe names must hold files", "symbolic links")
        plain = not Path(stated).is_absolute() and ".." not in Path(stated).parts
        name = stated if plain else target.name
        self.private.link(name, target)
        return name

    def _begin(self, source: dict[str, Any]) -> None:
        try:
            self._inspect(source)
        except BaseException:
            self.forget()
            raise
        self.document = RecipeDocument({"source": source})
        self.document.set("attributes", {name: {"role": role} for name, role in self.roles.items()})

    def _inspect(self, source: Mapping[str, Any]) -> None:
        with self.private.reading():
            self.inspection = inspect(self._named(source))
        self.roles = {column.name: column.role for column in self.inspection.columns if column.name}

    def _named(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """[source] with its file where it lies."""
        named = dict(source)
        if "path" in named:
            named["path"] = str(self.private.path / named["path"])
        return named

    @property
    def source(self) -> Source:
        return Source.from_options(self._named(self.document.section("source")))

    @property
    def title(self) -> str:
        source = self.document.section("source")
        return str(source.get("path") or source.get("table") or source.get("url", ""))

    # ------------------------------------------------------------ columns

    def set_columns(self, unit: Mapping[str, Any], roles: Mapping[str, str]) -> None:
        """Whose privacy is meant, and what each column is; what was drafted before is drafted anew."""
        wanted = {**self.roles, **{name: role for name, role in roles.items() if name in self.roles}}
        for key in ("person", "household"):
            if key in unit:
                wanted[str(unit[key])] = "identifying"
        moved = {name for name, role in wanted.items() if role != self.roles[name]}
        old_unit = self.document.section("unit")
        self.confirmed_columns = True
        if not self.document.method:
            self.roles = wanted
            self.document.set("unit", unit)
            columns = {name: {"role": role, **self.hierarchies.get(name, {})} for name, role in wanted.items()}
            self.document.set("attributes", columns)
        elif moved or (old_unit and dict(unit) != old_unit) or not unit.get("row"):
            self._draft_anew(wanted, moved, unit)
        else:  # that rows are people was taken for granted
            self.document.set("unit", unit)

    def _draft_anew(self, wanted: dict[str, str], moved: set[str], unit: Mapping[str, Any]) -> None:
        """The same job for other roles or another unit. What someone wrote by hand stays where its role does."""
        if not moved and dict(unit) == self.document.section("unit"):
            return
        if not self.document.job:
            raise InputError(
                "Roles and the unit of this recipe must be changed in its file", f"method {self.document.method!r}"
            )
        old, before = self.document, self.roles
        self.roles = wanted
        try:
            self.draft(old.job, old.section("release"), unit)
            for name, body in old.columns.items():
                if self.by_hand and name not in moved and name in self.document.columns:
                    self.document.content["attributes"][name] = body
            self.recipe()
        except BaseException:
            self.document, self.roles = old, before
            raise

    def build(self, column: str, plan: HierarchyPlan, tree: str = "") -> HierarchyPreview:
        """A hierarchy of a column's values, to look at."""
        if column not in self.roles:
            raise InputError("A hierarchy must be of a column of the table", repr(column[:100]))
        if tree:
            self.private.write("tree.toml", tree)
            plan = HierarchyPlan(plan.kind, tree=str(self.private.path / "tree.toml"))
        path = self._hierarchy_path(column)
        path.unlink(missing_ok=True)
        with self.private.reading():
            build_hierarchy(self._named(self.document.section("source")), column, plan, path)
        return preview_hierarchy(path)

    def use_hierarchy(self, column: str, level: int) -> None:
        path = self._hierarchy_path(column)
        if not path.exists():
            raise InputError("Build the hierarchy before you use it")
        self.hierarchies[column] = {"hierarchy": path.name, **({"level": level} if level else {})}
        self._apply_hierarchy(column)
        self._forget_dial()

    def _apply_hierarchy(self, column: str) -> None:
        body = self.document.columns.get(column, {})
        other = {key: value for key, value in body.items() if key not in _HOW}
        self.document.content["attributes"][column] = {**other, **self.hierarchies[column]}

    def _hierarchy_path(self, column: str) -> Path:
        number = list(self.roles).index(column) + 1
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", column)[:40].strip("-") or "column"
        return self.private.path / f"hierarchy-{number}-{plain}.csv"

    # ------------------------------------------------------------ job and dial

    def choose(self, job: str, public: str = "", present: str = "") -> None:
        """A first recipe for a job; the same job again changes nothing that was set since."""
        if job != self.document.job or public or present:
            self.by_hand = False
            self.draft(job, {}, self.document.section("unit"), public, present)

    def draft(
        self, job: str, release: Mapping[str, Any], unit: Mapping[str, Any], public: str = "", present: str = ""
    ) -> None:
        target = self.private.path / DRAFT
        old = self.document
        for path in (*self.private.path.glob("recipe-*.csv"), target):
            path.unlink(missing_ok=True)
        public = public or str(release.get("public", ""))
        if public:
            self.private.link(public, self.allowed.find(public))
        with self.private.reading():
            drafted = draft_recipe(
                self._named(old.section("source")),
                target,
                job=job,
                public=self.private.path / public if public else None,
                present=present or release.get("present") or None,
                roles=self.roles,
                unit=unit or None,
            )
        document = RecipeDocument.parse(target.read_text("utf-8"))
        for name in ("about", "output", "ledger"):
            if old.section(name):
                document.set(name, old.section(name))
        if release and old.job == job:
            document.set("release", {**document.section("release"), **release})
        self.document, self.confirm = document, drafted.confirm
        for column in self.hierarchies:
            if document.columns.get(column, {}).get("role") == "quasi-identifying":
                self._apply_hierarchy(column)
        self.pins, self.looked_at = (), False
        self._forget_dial()

    def recipe(self) -> AnyRecipe:
        return self.document.recipe(self.private.path, self.allowed.find)

    @property
    def value(self) -> float:
        """Where the slider stands."""
        stated = self.document.section("release").get(self.document.promise)
        number = stated[1] if isinstance(stated, list) and len(stated) == 2 else stated
        if not isinstance(number, int | float):
            raise RecipeError("A promise must be a number to be turned", type(number).__name__)
        return float(number)

    def turn(self, value: float) -> None:
        """The slider's new position, into the recipe."""
        promise, release = self.document.promise, dict(self.document.section("release"))
        if value not in self.dial().positions(self.value):
            raise InputError("A position of the slider must be one of its steps", f"{value:g}")
        whole = int(value) if value == int(value) else value
        release[promise] = [release[promise][0], value] if promise == "delta" else whole
        self.document.set("release", release)

    def dial(self) -> Dial:
        """Counted once for a recipe, whatever the slider says."""
        recipe, promise = self.recipe(), self.document.promise
        if not promise:
            raise RecipeError(
                "A recipe must state a promise for the dial", "no k, epsilon, xi, delta or retention"
            )
        content = {**self.document.content, "release": {**self.document.section("release"), promise: 0}}
        print_ = repr(content)
        if self._dial is None or self._dial[0] != print_:
            self._forget_dial()
            with self.private.reading():
                dial = Dial(recipe, promise, self.source)
            self._dial = print_, dial
            dial.prepare(self.value)
        return self._dial[1]

    @property
    def open_dial(self) -> Dial:
        """The dial of the page that is open: nothing is read or compared on a movement."""
        return self.dial() if self._dial is None else self._dial[1]

    def _forget_dial(self) -> None:
        if self._dial is not None:
            self._dial[1].close()
        self._dial = None

    # ------------------------------------------------------------ release

    def set_output(self, about: Mapping[str, str], output: str, ledger: Mapping[str, str]) -> None:
        self.document.set("about", {key: text for key, text in about.items() if text})
        self.document.set("output", {**self.document.section("output"), "format": output})
        if ledger.get("path"):
            if not ledger["path"].startswith("env:"):
                self.allowed.find(ledger["path"])
            self.document.set("ledger", {key: text for key, text in ledger.items() if text})
        else:
            self.document.set("ledger", {})
        self.recipe()

    def release(self, name: str, even_if_useless: bool = False) -> None:
        if self.job is not None and self.job.running:
            raise InputError("Another release is under way", hint="Wait for it, or stop it.")
        self.job = ReleaseJob(self.recipe(), self.allowed.new(name), self.private, even_if_useless)
        self.job.start()

    def files(self) -> dict[str, str]:
        """The recipe, and the hierarchies that it names: what does the same from the command line."""
        return {DRAFT: self.document.text} | {n: self.private.text(n) for n in self.document.hierarchies()}

    def save(self, name: str) -> Path:
        """The recipe and its hierarchies as new files of the folder."""
        stem = name.removesuffix(".toml")
        folder = self.allowed.new(stem)
        if self.uploaded:
            raise InputError("A recipe can be saved beside a table of the folder", "an uploaded table")
        texts = self.files()
        document = RecipeDocument.parse(texts.pop(DRAFT))
        path = document.section("source").get("path")
        if path is not None:
            document.section("source")["path"] = f"../{path}"
        with whole_folder(folder) as partial:
            for file, text in {**texts, DRAFT: document.text}.items():
                (partial / file).write_text(text, "utf-8", newline="")
        return folder / DRAFT

    def forget(self) -> None:
        """Everything but a bundle that is made: the table, what was found in it, and the recipe."""
        if self.job is not None and self.job.running:
            self.job.stop()
            self.job.join(30)
        self.private.clear()
        self.document, self.inspection, self.uploaded = RecipeDocument(), None, False
        self.roles, self.hierarchies, self.confirm, self.pins = {}, {}, (), ()
        self.confirmed_columns = self.looked_at = self.by_hand = False
        self.job = None
        self._forget_dial()


def _text_of(path: Path) -> str:
    try:
        if (size := path.stat().st_size) > 1 << 20:
            raise RecipeError("A recipe must have at most 1,048,576 bytes", f"{size:,}")
        return path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise RecipeError("A recipe must be readable UTF-8 text", type(error).__name__) from None
