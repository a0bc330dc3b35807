"""Ledger: who got what, what it adds up to, versions for partners, and what partners could do together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form
from pramana.app.studio.work.allowed import RecipeDocument
from pramana.errors import InputError
from pramana.holder.audit.collusion import Collusion, collude
from pramana.ledger.ledger import Ledger
from pramana.ledger.state import Dataset
from pramana.ledger.turns import whoami
from pramana.methods.recipe import Recipe
from pramana.pages.content import Drawn, Grid
from pramana.pages.results import coalition_picture
from pramana.run.levels import create_levels, issue
from pramana.theory import rounding
from pramana.theory.levels import Level

LEDGER = "/ledger"
_MOST_ROWS = 500
_PEOPLE = re.compile(r"[^\x00-\x1f]{1,200}")


@dataclass
class LedgerPages:
    desk: Desk
    opened: str = ""  # the ledger's name in the allowed folder
    coalition: tuple[list[str], Collusion] | None = None
    told: list[str] = field(default_factory=list)

    def routes(self) -> list[Route]:
        return [
            Route(LEDGER, self._page),
            Route("/ledger/open", self._open, methods=["POST"]),
            Route("/ledger/create", self._create, methods=["POST"]),
            Route("/ledger/register", self._register, methods=["POST"]),
            Route("/ledger/allow", self._allow, methods=["POST"]),
            Route("/ledger/issue", self._issue, methods=["POST"]),
            Route("/ledger/collude", self._collude, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        allowed = self.desk.journey.allowed
        ledgers, recipes = await self.desk.run(lambda: (allowed.ledgers(), allowed.recipes()))
        known: dict[str, Any] = {}
        if self.opened:
            try:
                known = await self.desk.run(self._state)
            except InputError as error:
                self.opened = ""
                self.desk.refuse(error)
        told, self.told = self.told, []
        return self.desk.show(
            "ledger.html", area="ledger", ledgers=ledgers, recipes=recipes, opened=self.opened, told=told,
            folder=str(allowed.root), new_name=allowed.free_name("releases", ".ledger"), **{**_NOTHING, **known},
        )  # fmt: skip

    def _state(self) -> dict[str, Any]:
        known = Ledger.open(self.desk.journey.allowed.find(self.opened))
        try:
            state, releases = known.state(), known.releases()
            totals = [known.total(people) for people in state.everyone()]
            whole = known.is_unbroken()
        finally:
            known.close()
        rows = [
            {
                "dataset": r.dataset,
                "recipient": r.recipient,
                "method": r.method,
                "level": None if r.level is None else str(r.level),
                "epsilon": "none" if r.epsilon is None else rounding.shown_up(r.epsilon),
                "status": r.status,
                "when": r.committed_at or "",
            }
            for r in releases[-_MOST_ROWS:]
        ]
        allowances = [
            {"dataset": dataset, "recipient": who or "everybody else", "highest level": str(level)}
            for (dataset, who), level in state.allowances.items()
        ]
        datasets = list(state.datasets.values())
        held = {d.name: sorted({r.recipient for r in state.live(d.name) if r.level is not None}) for d in datasets}
        return {
            "releases": Grid(rows) if rows else None,
            "allowances": Grid(allowances) if allowances else None,
            "totals": [(t.people, t.releases, t.words(), list(t.notes)) for t in totals],
            "datasets": [(d.name, d.records, d.people, held[d.name]) for d in datasets],
            "whole": whole,
            "coalition": self._drawn(),
        }

    def _drawn(self) -> dict[str, Any] | None:
        if self.coalition is None:
            return None
        names, found = self.coalition
        return {
            "names": names,
            "found": found,
            "picture": Drawn(coalition_picture(found.by_size), "How surely a true value is reconstructed."),
        }

    # ------------------------------------------------------------ acting

    async def _open(self, request: Request) -> Response:
        def work(form: Form) -> str:
            name = form.get("ledger", "")
            Ledger.open(self.desk.journey.allowed.find(name)).close()
            self.opened, self.coalition = name, None
            return LEDGER

        return await self.desk.act(request, work, LEDGER)

    async def _create(self, request: Request) -> Response:
        def work(form: Form) -> str:
            name = form.get("name", "").strip()
            if not name.endswith((".ledger", ".db", ".sqlite")):
                name += ".ledger"
            Ledger.create(self.desk.journey.allowed.new(name)).close()
            self.opened, self.coalition = name, None
            return LEDGER

        return await self.desk.act(request, work, LEDGER)

    async def _register(self, request: Request) -> Response:
        def work(form: Form) -> str:
            allowed = self.desk.journey.allowed
            recipe = allowed.find(form.get("recipe", ""))
            self._check_inside(recipe.read_text("utf-8-sig") if recipe.is_file() else "", recipe.parent)
            name = form.get("dataset", "").strip() or None
            created = create_levels(self._place(), recipe, name=name)
            self.told = [f"{created.records:,} records are registered as {created.dataset}.", *created.warnings]
            self.told.append(f"Its key is {created.key_file.name}: whoever has it can undo every version.")
            return LEDGER

        return await self.desk.act(request, work, LEDGER)

    async def _allow(self, request: Request) -> Response:
        def work(form: Form) -> str:
            known = Ledger.open(self._place())
            try:
                dataset = known.dataset(form.get("dataset", "")).name
                who = form.get("recipient", "").strip()
                known.allow(dataset, who, Level.of(form.get("level", "").strip()), whoami())
            finally:
                known.close()
            return LEDGER

        return await self.desk.act(request, work, LEDGER)

    async def _issue(self, request: Request) -> Response:
        def work(form: Form) -> str:
            recipient = form.get("recipient", "").strip()
            if not _PEOPLE.fullmatch(recipient):
                raise InputError("A recipient must have a name", "none")
            dataset = self._checked_dataset(form.get("dataset", ""))
            out = self.desk.journey.allowed.new(form.get("name", "").strip())
            issued = issue(self._place(), recipient, form.get("level", "").strip(), out, dataset=dataset.name)
            again = ", the same as before" if issued.again else ""
            self.told = [f"The version of {recipient} is in {out.name}{again}."]
            return LEDGER

        return await self.desk.act(request, work, LEDGER)

    async def _collude(self, request: Request) -> Response:
        def work(form: Form) -> str:
            dataset = self._checked_dataset(form.get("dataset", ""))
            known = Ledger.open(self._place())
            try:
                everyone = sorted({r.recipient for r in known.state().live(dataset.name) if r.level is not None})
            finally:
                known.close()
            names = [name for i, name in enumerate(everyone) if form.get(f"member-{i}") == "yes"]
            if not names:
                raise InputError("At least one recipient must be chosen", "none")
            self.coalition = names, collude(self._place(), names, dataset=dataset.name)
            return f"{LEDGER}#coalition"

        return await self.desk.act(request, work, LEDGER)

    def _place(self) -> Path:
        if not self.opened:
            raise InputError("A ledger must be open", "none")
        return self.desk.journey.allowed.find(self.opened)

    def _checked_dataset(self, name: str) -> Dataset:
        """A dataset whose table and key lie in the folder: a ledger can name files anywhere."""
        known = Ledger.open(self._place())
        try:
            dataset = known.dataset(name)
        finally:
            known.close()
        self._inside(Path(dataset.key_file))
        self._check_inside(str(dataset.details.get("recipe", "")), Path(str(dataset.details.get("folder", ""))))
        return dataset

    def _check_inside(self, recipe: str, folder: Path) -> None:
        document = RecipeDocument.parse(recipe)
        document.bring_in(lambda stated: str(self._inside(folder / stated)))
        Recipe.parse(document.content, folder)

    def _inside(self, path: Path) -> Path:
        return self.desk.journey.allowed.find(str(path))


_NOTHING: dict[str, Any] = {
    "releases": None, "allowances": None, "totals": [], "datasets": [], "whole": True, "coalition": None,
}  # fmt: skip
