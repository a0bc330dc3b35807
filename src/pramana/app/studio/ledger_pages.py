"""Ledger: who got what, what it adds up to, versions for partners, and what partners could do together."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form
from pramana.app.studio.folders import LEDGERS, RECIPES
from pramana.app.studio.recipe import RecipeDocument
from pramana.errors import InputError
from pramana.holder.audit.collusion import Collusion, collude
from pramana.ledger.ledger import Ledger
from pramana.ledger.state import Dataset, State
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
    """One ledger of the folder, and what was last done with it."""

    desk: Desk
    opened: str = ""  # the ledger's name in the allowed folder
    coalition: tuple[list[str], Collusion] | None = None
    messages: list[str] = field(default_factory=list)

    def routes(self) -> list[Route]:
        actions = {
            "open": self._open,
            "create": self._create,
            "register": self._register,
            "allow": self._allow,
            "issue": self._issue,
            "collude": self._collude,
        }
        forms = [self.desk.action(f"{LEDGER}/{name}", work, LEDGER) for name, work in actions.items()]
        return [self.desk.page(LEDGER, self._page), *forms]

    async def _page(self, _: Request) -> Response:
        allowed = self.desk.journey.allowed
        ledgers, recipes = await self.desk.run(lambda: (allowed.files(LEDGERS), allowed.files(RECIPES)))
        known: dict[str, Any] = {}
        if self.opened:
            try:
                known = await self.desk.run(self._state)
            except InputError as error:
                self.opened = ""
                self.desk.refuse(error)
        messages, self.messages = self.messages, []
        return self.desk.show(
            "ledger.html", area="ledger", ledgers=ledgers, recipes=recipes, opened=self.opened, messages=messages,
            folder=str(allowed.root), new_name=allowed.free_name("releases", ".ledger"), **known,
        )  # fmt: skip

    def _state(self) -> dict[str, Any]:
        with closing(Ledger.open(self._path())) as ledger:
            state, releases = ledger.state(), ledger.releases()
            totals = [ledger.total(people) for people in state.everyone()]
            whole = ledger.is_unbroken()
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
        datasets = [(d.name, d.records, d.people, _recipients(state, d.name)) for d in state.datasets.values()]
        coalition = None
        if self.coalition is not None:
            names, result = self.coalition
            picture = Drawn(coalition_picture(result.by_size), "How surely a true value is reconstructed.")
            coalition = {"names": names, "result": result, "picture": picture}
        return {
            "releases": Grid(rows) if rows else None,
            "allowances": Grid(allowances) if allowances else None,
            "totals": [(t.people, t.releases, t.words(), list(t.notes)) for t in totals],
            "datasets": datasets,
            "whole": whole,
            "coalition": coalition,
        }

    # ------------------------------------------------------------ acting

    def _open(self, form: Form) -> str:
        name = form.get("ledger", "")
        Ledger.open(self.desk.journey.allowed.find(name)).close()
        self.opened, self.coalition = name, None
        return LEDGER

    def _create(self, form: Form) -> str:
        name = form.get("name", "").strip()
        if not name.endswith(LEDGERS):
            name += ".ledger"
        Ledger.create(self.desk.journey.allowed.new(name)).close()
        self.opened, self.coalition = name, None
        return LEDGER

    def _register(self, form: Form) -> str:
        recipe = self.desk.journey.allowed.find(form.get("recipe", ""))
        self._check_inside(recipe.read_text("utf-8-sig") if recipe.is_file() else "", recipe.parent)
        created = create_levels(self._path(), recipe, name=form.get("dataset", "").strip() or None)
        self.messages = [f"{created.records:,} records are registered as {created.dataset}.", *created.warnings]
        self.messages.append(f"Its key is {created.key_file.name}: whoever has it can undo every version.")
        return LEDGER

    def _allow(self, form: Form) -> str:
        with closing(Ledger.open(self._path())) as ledger:
            dataset = ledger.dataset(form.get("dataset", "")).name
            level = Level.of(form.get("level", "").strip())
            ledger.allow(dataset, form.get("recipient", "").strip(), level, whoami())
        return LEDGER

    def _issue(self, form: Form) -> str:
        recipient = form.get("recipient", "").strip()
        if not _PEOPLE.fullmatch(recipient):
            raise InputError("A recipient must have a name of 1 to 200 characters", f"{len(recipient)}")
        dataset, _ = self._checked_dataset(form.get("dataset", ""))
        out = self.desk.journey.allowed.new(form.get("name", "").strip())
        issued = issue(self._path(), recipient, form.get("level", "").strip(), out, dataset=dataset.name)
        again = ", the same as before" if issued.again else ""
        self.messages = [f"The version of {recipient} is in {out.name}{again}."]
        return LEDGER

    def _collude(self, form: Form) -> str:
        dataset, state = self._checked_dataset(form.get("dataset", ""))
        everyone = _recipients(state, dataset.name)
        names = [name for i, name in enumerate(everyone) if form.get(f"member-{i}") == "yes"]
        if not names:
            raise InputError("Choose at least one recipient")
        self.coalition = names, collude(self._path(), names, dataset=dataset.name)
        return f"{LEDGER}#coalition"

    def _path(self) -> Path:
        if not self.opened:
            raise InputError("Open a ledger first")
        return self.desk.journey.allowed.find(self.opened)

    def _checked_dataset(self, name: str) -> tuple[Dataset, State]:
        """A dataset whose table and key lie in the folder: a ledger can name files anywhere."""
        with closing(Ledger.open(self._path())) as ledger:
            dataset, state = ledger.dataset(name), ledger.state()
        self._inside(Path(dataset.key_file))
        self._check_inside(str(dataset.details.get("recipe", "")), Path(str(dataset.details.get("folder", ""))))
        return dataset, state

    def _check_inside(self, recipe: str, folder: Path) -> None:
        document = RecipeDocument.parse(recipe)
        document.bring_in(lambda stated: str(self._inside(folder / stated)))
        Recipe.parse(document.content, folder)

    def _inside(self, path: Path) -> Path:
        return self.desk.journey.allowed.find(str(path))


def _recipients(state: State, dataset: str) -> list[str]:
    """Who has a version of a dataset."""
    return sorted({r.recipient for r in state.live(dataset) if r.level is not None})
