"""Columns: whose privacy is meant, what each column is, and hierarchies built by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form
from pramana.app.studio.steps import is_ready
from pramana.errors import InputError, PramanaError
from pramana.inspection import HierarchyPlan, HierarchyPreview

COLUMNS = "/publish/columns"
ROLES = {
    "identifying": "names people: drop it",
    "quasi-identifying": "others may know it: protect it",
    "sensitive": "what an intruder wants to learn",
    "insensitive": "harmless: publish as it is",
}
KINDS = {
    "intervals": "Intervals of numbers",
    "dates": "Dates: days, months, years",
    "mask": "Masks: hide characters from the end",
    "ordered": "Groups of neighbours",
    "tree": "A tree of your own",
}


@dataclass
class ColumnPages:
    desk: Desk

    def routes(self) -> list[Route]:
        return [
            Route(COLUMNS, self._page),
            Route(COLUMNS, self._save, methods=["POST"]),
            Route("/publish/columns/{number:int}", self._wizard),
            Route("/publish/columns/{number:int}", self._build, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        journey = self.desk.journey
        if not is_ready(journey, "columns") or journey.inspection is None:
            return RedirectResponse("/publish/open", 303)
        found = journey.inspection
        unit = journey.document.section("unit") or _guessed_unit(found.repeated_identifiers)
        return self.desk.show(
            "columns.html",
            "columns",
            found=found,
            columns=list(enumerate(c for c in found.columns if c.name)),
            roles=ROLES,
            chosen=journey.roles,
            built=journey.hierarchies,
            unit=unit,
            names=[c.name for c in found.columns if c.name],
        )

    async def _save(self, request: Request) -> Response:
        def work(form: Form) -> str:
            journey = self.desk.journey
            names = list(journey.roles)
            roles = {}
            for number, name in enumerate(names):
                role = form.get(f"role-{number}", journey.roles[name])
                if role not in ROLES:
                    raise InputError("A role must be one of those offered", "another one")
                roles[name] = role
            journey.set_columns(_unit_of(form, names), roles)
            return "/publish/job"

        return await self.desk.act(request, work, COLUMNS)

    # ------------------------------------------------------------ the wizard

    async def _wizard(self, request: Request) -> Response:
        return await self._shown(request, {"kind": "intervals", "widths": "5, 10, 20", "sizes": "2, 4"}, None)

    async def _shown(self, request: Request, form: Form, preview: HierarchyPreview | None) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        name = self._column(request)
        if name is None:
            return RedirectResponse(COLUMNS, 303)
        keys = ("kind", "widths", "units", "sizes", "order", "levels", "tree", "level")
        return self.desk.show(
            "hierarchy.html",
            "columns",
            number=request.path_params["number"],
            column=name,
            kinds=KINDS,
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
        try:
            if form.get("act") == "use":
                await self.desk.run(lambda: journey.use_hierarchy(name, _whole(form.get("level", "0"), "level")))
                return RedirectResponse(COLUMNS, 303)
            plan, tree = _plan_of(form)
            preview = await self.desk.run(lambda: journey.build(name, plan, tree))
        except PramanaError as error:
            self.desk.refuse(error)
            return await self._shown(request, form, None)
        return await self._shown(request, form, preview)


def _guessed_unit(repeated: tuple[str, ...]) -> dict[str, Any]:
    return {"person": repeated[0]} if repeated else {"row": True}


def _unit_of(form: Form, names: list[str]) -> dict[str, Any]:
    """[unit] from the first question of the page."""
    if form.get("unit", "row") == "row":
        return {"row": True}
    unit: dict[str, Any] = {}
    for key in ("person", "household"):
        stated = form.get(key, "")
        if stated:
            number = _whole(stated, key)
            if number >= len(names):
                raise InputError(f"The {key} must be a column of the table", "another one")
            unit[key] = names[number]
    if form.get("rows", "").strip() and "person" in unit:
        unit["rows"] = _whole(form["rows"], "rows")
    if not unit:
        raise InputError("A column must say which rows are one person's", "none")
    return unit


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", text, re.ASCII):
        raise InputError(f"{what} must be a whole number", "something else")
    return int(text)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _plan_of(form: Form) -> tuple[HierarchyPlan, str]:
    """How to build it; with the text of a tree, which is a file for the library."""
    kind = form.get("kind", "")
    if kind == "intervals":
        widths = tuple(_whole(part, "Every width") for part in _list(form.get("widths", "")))
        return HierarchyPlan(kind, widths=widths), ""
    if kind == "ordered":
        sizes = tuple(_whole(part, "Every size") for part in _list(form.get("sizes", "")))
        return HierarchyPlan(kind, sizes=sizes, order=tuple(_list(form.get("order", "")))), ""
    if kind == "mask":
        stated = form.get("levels", "").strip()
        return HierarchyPlan(kind, levels=_whole(stated, "levels") if stated else None), ""
    if kind == "dates":
        return HierarchyPlan(kind, units=tuple(_list(form.get("units", "")))), ""
    if kind == "tree" and not form.get("tree", "").strip():
        raise InputError("A tree must be written down", "nothing")
    return HierarchyPlan(kind), form.get("tree", "")
