"""Job, Dial and Check: what is promised, what it costs, and what a person must look at before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form, chosen
from pramana.app.studio.dial import Dial, DialSetting
from pramana.app.studio.folders import LEDGERS, TABLES
from pramana.app.studio.journey import Journey
from pramana.app.studio.recipe import WORDS
from pramana.errors import InputError, PramanaError
from pramana.ledger.ledger import Ledger
from pramana.methods.usefulness import TableWorth
from pramana.pages.content import Bars, Cell, Grid, Legend, Meter
from pramana.schema.connection import shown_url
from pramana.schema.domain import Role

JOB, DIAL, CHECK = "/publish/job", "/publish/dial", "/publish/check"
ABOUT = ("title", "holder", "recipient", "purpose")
_NO_DIAL: dict[str, Any] = {"promise": "", "meaning": "", "positions": [], "at": 0, "pins": []}
_FEW = 1000  # records below which randomised tables tell little


@dataclass
class PromisePages:
    """From what the release is for to the mark that everything was looked at."""

    desk: Desk

    def routes(self) -> list[Route]:
        desk = self.desk
        return [
            desk.page(JOB, self._job, "job"),
            desk.action(JOB, self._choose, JOB),
            desk.page(DIAL, self._dial, "dial"),
            desk.action(DIAL, self._turn, DIAL),
            desk.page("/publish/dial/figures", self._figures, "dial"),
            desk.page(CHECK, self._check, "check"),
            desk.action(CHECK, self._confirm, CHECK),
        ]

    # ------------------------------------------------------------ job

    async def _job(self, _: Request) -> Response:
        journey = self.desk.journey
        name, reason = recommended(journey)
        unit = journey.document.section("unit")
        return self.desk.show(
            "job.html",
            "job",
            jobs=WORDS["jobs"],
            several=not unit.get("row", not unit),
            recommended=name,
            reason=reason,
            chosen=journey.document.job or name,
            files=await self.desk.run(lambda: journey.allowed.files(TABLES)),
            names=list(journey.roles),
        )

    def _choose(self, form: Form) -> str:
        journey, job = self.desk.journey, form.get("job", "")
        public = present = ""
        if job == "presence":
            public = form.get("public", "")
            if form.get("present"):
                present = chosen(form["present"], list(journey.roles), "The column that marks who is in")
        journey.choose(job, public, present)
        return DIAL

    # ------------------------------------------------------------ dial

    async def _dial(self, _: Request) -> Response:
        journey = self.desk.journey
        if not journey.document.promise:
            return self.desk.show("dial.html", "dial", **_NO_DIAL)
        try:
            dial, setting = await self.desk.run(lambda: ((d := journey.dial()), d.at(journey.value)))
        except PramanaError as error:
            self.desk.refuse(error)
            return self.desk.show("dial.html", "dial", **_NO_DIAL)
        positions = dial.positions(journey.value)
        return self.desk.show(
            "dial.html",
            "dial",
            promise=dial.promise,
            meaning=WORDS["meaning"][dial.promise],
            positions=positions,
            at=positions.index(journey.value),
            pins=[figures_of(dial.at(value), dial) for value in journey.pins],
            **figures_of(setting, dial),
        )

    async def _figures(self, request: Request) -> Response:
        """What stands under the slider, for one of its positions; 202 while that is still worked out."""
        journey = self.desk.journey
        try:
            dial = await self.desk.run(lambda: journey.open_dial)
            value = _position(request.query_params.get("at", ""), dial, journey.value)
            setting = await self.desk.run(lambda: dial.ready(value))
        except PramanaError as error:
            return self.desk.pages.fault(400, "No such position", self.desk.message(error))
        if setting is None:
            return self.desk.pages.answer("figures_later.html", 202, shown=f"{dial.promise} = {value:g}")
        return self.desk.pages.answer("figures.html", **figures_of(setting, dial))

    def _turn(self, form: Form) -> str:
        journey = self.desk.journey
        value = _position(form.get("at", ""), journey.dial(), journey.value)
        act = form.get("act", "")
        if act == "unpin":
            journey.pins = ()
            return DIAL
        if act == "pin":
            journey.pins = (*[pin for pin in journey.pins if pin != value], value)[-2:]
        journey.turn(value)
        return DIAL if act == "pin" else CHECK

    # ------------------------------------------------------------ check

    async def _check(self, _: Request) -> Response:
        journey, findings = self.desk.journey, list[Finding]()
        try:
            findings = await self.desk.run(lambda: findings_of(journey))
        except PramanaError as error:
            self.desk.refuse(error)
        section = journey.document.section
        return self.desk.show(
            "check.html",
            "check",
            findings=findings,
            confirm=journey.confirm,
            about={key: str(section("about").get(key, "")) for key in ABOUT},
            output=str(section("output").get("format", "parquet")),
            ledger={key: str(section("ledger").get(key, "")) for key in ("path", "people", "recipient")},
            ledgers=await self.desk.run(lambda: journey.allowed.files(LEDGERS)),
            looked_at=journey.looked_at,
        )

    def _confirm(self, form: Form) -> str:
        journey = self.desk.journey
        about = {key: form.get(key, "").strip() for key in ABOUT}
        ledger = {"path": form.get("ledger", ""), "people": form.get("people", "").strip()}
        ledger["recipient"] = about["recipient"]
        journey.set_output(about, form.get("format", "parquet"), ledger)
        if form.get("act") == "look":
            return CHECK
        if form.get("confirmed") != "yes":
            raise InputError('Please tick "I have looked at all of this"')
        journey.looked_at = True
        return "/publish/release"


def recommended(journey: Journey) -> tuple[str, str]:
    """A job for this table, and why."""
    records = 0 if journey.inspection is None else journey.inspection.records
    roles = journey.roles.values()
    if records < _FEW:
        return "k-anonymity", (
            f"With {records:,} records, values changed by chance would tell little; coarser values still do."
        )
    if "quasi-identifying" not in roles and "sensitive" in roles:
        return "levels", "No column can be used to find people, so only the sensitive ones need to be changed."
    return "publish", (
        f"{records:,} records are enough to estimate tables well, and it is the only promise here that holds "
        "whatever an intruder knows."
    )


def _position(text: str, dial: Dial, own: float) -> float:
    return chosen(text, dial.positions(own), "A position of the slider")


def figures_of(setting: DialSetting, dial: Dial) -> dict[str, Any]:
    """One position of the slider in blocks that pages can draw."""
    worth: list[dict[str, Cell]] = [
        {"table": table.title, "known to within": Meter(_within(table), min(1.0, table.ratio), risk=True)}
        for table in setting.usefulness.shown
    ]
    return {
        "setting": setting,
        "shown": f"{dial.promise} = {setting.value:g}",
        "records": dial.records,
        "worth": Grid(worth, "A full bar is no better than a guess that ignores the data.") if worth else None,
        "treated": Grid(list(setting.treatments)) if setting.treatments else None,
        "legend": Legend(published=True, estimated=True),
        "preview": Bars(list(setting.preview), [setting.previewed]) if setting.preview else None,
    }


def _within(table: TableWorth) -> str:
    if table.error == 0:
        return "exact"
    return "no better than a guess" if table.hopeless else table.shown(table.within)


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
            f"{_names(unchanged)}: outside every promise. Make sure nobody can be recognised by these columns.",
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
        with closing(Ledger.open(section.path)) as ledger:
            total = ledger.total(section.people)
    except PramanaError as error:
        yield Finding("Earlier releases", f"{shown_url(section.path)}: {error}")
        return
    count = "1 release" if total.releases == 1 else f"{total.releases} releases"
    words = f"{count} about {section.people} before this one: {total.words()}."
    yield Finding("Earlier releases", words, good=not total.releases)


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
