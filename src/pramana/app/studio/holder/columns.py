"""Columns: whose privacy is meant, what each column is, and hierarchies built by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form, is_ready
from pramana.app.studio.work.journey import Journey
from pramana.errors import InputError, PramanaError
from pramana.holder.hierarchies import HierarchyPlan, HierarchyPreview
from pramana.ledger.ledger import Ledger
from pramana.schema.connection import shown_url
from pramana.schema.domain import Role

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


# What a person must look at before a release: nothing here is new, it is what recipe, plan and ledger say.


@dataclass(frozen=True)
class Finding:
    """Something to look at. `good`: it needs no decision."""

    title: str
    words: str
    good: bool = False


def findings_of(journey: Journey) -> list[Finding]:
    return [*_unit(journey), *_columns(journey), *_promise(journey), *_ledger(journey)]


def _unit(journey: Journey) -> Iterator[Finding]:
    unit = journey.recipe().unit
    if unit is None or unit.row:
        yield Finding(
            "Whose privacy",
            "Every row is one person. The promises are for one row: someone with several has less.",
            True,
        )
        return
    who = [f"rows with the same {unit.person} are one person's"] if unit.person else []
    who += [f"rows with the same {unit.household} are one household's"] if unit.household else []
    yield Finding("Whose privacy", f"In this table {' and '.join(who)}. The promises are for them.", True)


def _columns(journey: Journey) -> Iterator[Finding]:
    recipe = journey.recipe()
    read = [name for name, column in recipe.published.items() if column.from_data]
    if read:
        yield Finding(
            "Domains read from the data",
            f"The values of {_names(read)} are taken from the table, which tells which of them occur. List them "
            "in the recipe if that must not be known.",
        )
    else:
        yield Finding("Domains", "No list of values is read from the data.", True)
    unchanged = [name for name, body in journey.document.columns.items() if _is_unchanged(journey, body)]
    if unchanged:
        yield Finding(
            "Published unchanged",
            f"{_names(unchanged)}: outside every promise. Nobody must be found by these.",
        )
    else:
        yield Finding("Published unchanged", "No column.", True)
    left = [n for n in recipe.dropped if journey.roles.get(n) != "identifying"]
    if left:
        yield Finding("Left out", f"{_names(left)}: with these the promise would leave nothing to learn.")
    dropped = [n for n in recipe.dropped if n not in left]
    if dropped:
        yield Finding("Dropped", f"{_names(dropped)}: they name people.", True)


def _is_unchanged(journey: Journey, body: dict[str, object]) -> bool:
    """By the recipe alone: a column that is published, and that its method does not protect."""
    role = body.get("role")
    if role == Role.IDENTIFYING.value:
        return False
    perturbed = Role.SENSITIVE.value if journey.document.method == "levels" else Role.QUASI_IDENTIFYING.value
    return not bool(body.get("randomise", role == perturbed))


def _promise(journey: Journey) -> Iterator[Finding]:
    if not journey.document.promise:
        return
    setting = journey.dial().at(journey.value)
    if setting.refused:
        yield Finding("The promise", setting.refused)
        return
    for words in setting.words:
        yield Finding("Promised", words, True)
    worth = setting.usefulness
    if worth.useless:
        yield Finding(
            "Usefulness", "Nothing can be learned at this promise. Turn the dial, or protect fewer columns."
        )
    elif worth.tables:
        yield Finding("Usefulness", " ".join(worth.sentences()), good=not worth.hopeless)
    for warning in setting.warnings:
        yield Finding("Note", warning)


def _ledger(journey: Journey) -> Iterator[Finding]:
    section = journey.recipe().ledger
    if section is None:
        yield Finding(
            "Earlier releases",
            "No ledger is named, so nobody adds up what was released about these people before. Name one below.",
        )
        return
    try:
        known = Ledger.open(section.path)
        try:
            total = known.total(section.people)
        finally:
            known.close()
    except PramanaError as error:
        yield Finding("Earlier releases", f"{shown_url(section.path)}: {error}")
        return
    count = "1 release" if total.releases == 1 else f"{total.releases} releases"
    words = f"{count} about {section.people} before this one: {total.words()}."
    yield Finding("Earlier releases", words, good=not total.releases)


def _names(names: list[str]) -> str:
    shown = names[:12]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(shown) + more
