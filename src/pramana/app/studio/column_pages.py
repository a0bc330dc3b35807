"""Open and Columns: which table, whose privacy is meant, what each column is, and hierarchies built by hand."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import OPEN, Desk, Form, chosen
from pramana.app.studio.folders import RECIPES, TABLES
from pramana.app.studio.recipe import WORDS
from pramana.errors import InputError, PramanaError
from pramana.holder.hierarchies import HierarchyPlan, HierarchyPreview

COLUMNS = "/publish/columns"


@dataclass
class OpenPages:
    """A table of the folder, a database, an upload or a recipe."""

    desk: Desk
    most_uploaded: int

    def routes(self) -> list[Route]:
        desk, journey = self.desk, self.desk.journey
        return [
            Route("/publish", self._start),
            desk.page(OPEN, self._page),
            desk.action(OPEN, self._open, OPEN),
            desk.upload("/publish/upload", journey.new_upload, lambda file, _: journey.open_upload(file), COLUMNS),
            desk.action("/publish/forget", self._forget, OPEN),
        ]

    async def _start(self, _: Request) -> Response:
        return RedirectResponse(OPEN, 303)

    async def _page(self, _: Request) -> Response:
        allowed = self.desk.journey.allowed
        files, recipes = await self.desk.run(lambda: (allowed.files(TABLES), allowed.files(RECIPES)))
        return self.desk.show(
            "open.html",
            "open",
            files=files,
            recipes=recipes,
            folder=str(allowed.root),
            variables=sorted(name for name in os.environ if name.endswith(("_URL", "_DSN"))),
            most_uploaded=self.most_uploaded >> 20,
        )

    def _open(self, form: Form) -> str:
        journey, kind = self.desk.journey, form.get("kind", "")
        if kind == "file":
            journey.open_file(form.get("file", ""), form)
        elif kind == "database":
            journey.open_database(form.get("variable", ""), form.get("table", ""), form.get("query", ""))
        elif kind == "recipe":
            journey.open_recipe(form.get("recipe", ""))
        else:
            raise InputError("Choose a file, a database or a recipe")
        return COLUMNS

    def _forget(self, _: Form) -> str:
        self.desk.journey.forget()
        return OPEN


@dataclass
class ColumnPages:
    """The unit, the role of each column, and a page to build a column's hierarchy."""

    desk: Desk

    def routes(self) -> list[Route]:
        wizard = "/publish/columns/{number:int}"
        return [
            self.desk.page(COLUMNS, self._page, "columns"),
            self.desk.action(COLUMNS, self._save, COLUMNS),
            self.desk.page(wizard, self._wizard),
            Route(wizard, self._build, methods=["POST"]),
        ]

    async def _page(self, _: Request) -> Response:
        journey = self.desk.journey
        table = journey.inspection
        assert table is not None  # else the step is not ready
        repeated = table.repeated_identifiers
        guessed: dict[str, Any] = {"person": repeated[0]} if repeated else {"row": True}
        columns = [column for column in table.columns if column.name]
        return self.desk.show(
            "columns.html",
            "columns",
            inspection=table,
            columns=list(enumerate(columns)),
            roles=WORDS["roles"],
            chosen=journey.roles,
            built=journey.hierarchies,
            unit=journey.document.section("unit") or guessed,
            names=[column.name for column in columns],
        )

    def _save(self, form: Form) -> str:
        journey = self.desk.journey
        roles = {}
        for number, (name, role) in enumerate(journey.roles.items()):
            roles[name] = form.get(f"role-{number}", role)
            if roles[name] not in WORDS["roles"]:
                raise InputError("A role must be one of those offered", repr(roles[name][:40]))
        journey.set_columns(_unit_of(form, list(roles)), roles)
        return "/publish/job"

    async def _wizard(self, request: Request) -> Response:
        return self._shown(request, {"kind": "intervals", "widths": "5, 10, 20", "sizes": "2, 4"}, None)

    def _shown(self, request: Request, form: Form, preview: HierarchyPreview | None) -> Response:
        name = self._column(request)
        if name is None:
            return RedirectResponse(COLUMNS, 303)
        keys = ("kind", "widths", "units", "sizes", "order", "levels", "tree", "level")
        return self.desk.show(
            "hierarchy.html",
            "columns",
            number=request.path_params["number"],
            column=name,
            kinds=WORDS["kinds"],
            form={key: form.get(key, "") for key in keys},
            preview=preview,
        )

    def _column(self, request: Request) -> str | None:
        names = list(self.desk.journey.roles)
        number = request.path_params["number"]
        return names[number] if number < len(names) else None

    async def _build(self, request: Request) -> Response:
        form, name = await self.desk.form(request), self._column(request)
        if form is None:
            return self.desk.no_entry()
        if name is None:
            return RedirectResponse(COLUMNS, 303)
        journey = self.desk.journey
        preview = None
        try:
            if form.get("act") == "use":
                await self.desk.run(lambda: journey.use_hierarchy(name, _whole(form.get("level", "0"), "level")))
                return RedirectResponse(COLUMNS, 303)
            plan, tree = _plan_of(form)
            preview = await self.desk.run(lambda: journey.build(name, plan, tree))
        except PramanaError as error:
            self.desk.refuse(error)
        return self._shown(request, form, preview)


def _unit_of(form: Form, names: list[str]) -> dict[str, Any]:
    """[unit] from the first question of the page."""
    if form.get("unit", "row") == "row":
        return {"row": True}
    unit: dict[str, Any] = {}
    for key in ("person", "household"):
        if form.get(key):
            unit[key] = chosen(form[key], names, f"The column of the {key}")
    if form.get("rows", "").strip() and "person" in unit:
        unit["rows"] = _whole(form["rows"], "rows")
    if not unit:
        raise InputError("Choose the column that says which rows are one person's")
    return unit


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", text, re.ASCII):
        raise InputError(f"{what} must be a whole number", repr(text[:20]))
    return int(text)


def _plan_of(form: Form) -> tuple[HierarchyPlan, str]:
    """How to build it; with the text of a tree, which is a file for the library."""

    def listed(key: str) -> list[str]:
        return [part.strip() for part in form.get(key, "").split(",") if part.strip()]

    kind = form.get("kind", "")
    if kind == "intervals":
        return HierarchyPlan(kind, widths=tuple(_whole(part, "Every width") for part in listed("widths"))), ""
    if kind == "ordered":
        sizes = tuple(_whole(part, "Every size") for part in listed("sizes"))
        return HierarchyPlan(kind, sizes=sizes, order=tuple(listed("order"))), ""
    if kind == "mask":
        stated = form.get("levels", "").strip()
        return HierarchyPlan(kind, levels=_whole(stated, "levels") if stated else None), ""
    if kind == "dates":
        return HierarchyPlan(kind, units=tuple(listed("units"))), ""
    if kind == "tree" and not form.get("tree", "").strip():
        raise InputError("Write down the tree")
    return HierarchyPlan(kind), form.get("tree", "")
