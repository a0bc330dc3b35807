"""Job, Dial and Check: what is promised, what it costs, and what a person must look at before."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import ACTION, Desk, Form, is_ready
from pramana.app.studio.holder.columns import findings_of
from pramana.app.studio.jobs import JOBS, recommended, several_rows
from pramana.app.studio.work.dial import Dial, DialSetting
from pramana.app.studio.work.private import Upload
from pramana.errors import InputError, PramanaError
from pramana.methods.usefulness import TableWorth
from pramana.pages.content import Bars, Cell, Grid, Legend, Meter

JOB, DIAL, CHECK = "/publish/job", "/publish/dial", "/publish/check"
MEANING = {
    "k": "Nobody is linked to a record more surely than one in k",
    "epsilon": "A published record is at most e^epsilon times as likely under one true record as under another",
    "xi": "Nobody is matched with a chance above xi",
    "delta": "Nobody is known to be in the table with a chance above this",
    "retention": "This share of values stays as it is by the coin alone",
}
ABOUT = ("title", "holder", "recipient", "purpose")


@dataclass
class PromisePages:
    desk: Desk

    def routes(self) -> list[Route]:
        return [
            Route(JOB, self._job),
            Route(JOB, self._choose, methods=["POST"]),
            Route(DIAL, self._dial),
            Route(DIAL, self._turn, methods=["POST"]),
            Route("/publish/dial/figures", self._figures),
            Route(CHECK, self._check),
            Route(CHECK, self._confirm, methods=["POST"]),
        ]

    def _elsewhere(self, request: Request, step: str) -> Response | None:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        return None if is_ready(self.desk.journey, step) else RedirectResponse("/publish/open", 303)

    # ------------------------------------------------------------ job

    async def _job(self, request: Request) -> Response:
        if (elsewhere := self._elsewhere(request, "job")) is not None:
            return elsewhere
        journey = self.desk.journey
        name, reason = recommended(journey)
        tables = await self.desk.run(journey.allowed.tables)
        return self.desk.show(
            "job.html",
            "job",
            jobs=JOBS,
            several=several_rows(journey),
            recommended=name,
            reason=reason,
            chosen=journey.document.job or name,
            files=tables,
            names=list(journey.roles),
        )

    async def _choose(self, request: Request) -> Response:
        def work(form: Form) -> str:
            journey, names = self.desk.journey, list(self.desk.journey.roles)
            stated = form.get("present", "")
            present = (
                names[int(stated)] if stated.isascii() and stated.isdigit() and int(stated) < len(names) else ""
            )
            job = form.get("job", "")
            presence = job == "presence"
            journey.choose(job, form.get("public", "") if presence else "", present if presence else "")
            return DIAL

        return await self.desk.act(request, work, JOB)

    # ------------------------------------------------------------ dial

    async def _dial(self, request: Request) -> Response:
        if (elsewhere := self._elsewhere(request, "dial")) is not None:
            return elsewhere
        journey = self.desk.journey
        if not journey.document.promise:
            return self.desk.show("dial.html", "dial", promise="", meaning="", places=[], at=0, pins=[])
        try:
            dial, setting = await self.desk.run(lambda: ((d := journey.dial()), d.at(journey.value)))
        except PramanaError as error:
            self.desk.refuse(error)
            return self.desk.show("dial.html", "dial", promise="", meaning="", places=[], at=0, pins=[])
        places = dial.places(journey.value)
        pinned = [figures_of(dial.at(value), dial) for value in journey.pins]
        return self.desk.show(
            "dial.html",
            "dial",
            promise=dial.promise,
            meaning=MEANING[dial.promise],
            places=places,
            at=places.index(journey.value),
            pins=pinned,
            **figures_of(setting, dial),
        )

    async def _figures(self, request: Request) -> Response:
        """What stands under the slider, for one of its places; 202 while that is still worked out."""
        if (elsewhere := self._elsewhere(request, "dial")) is not None:
            return elsewhere
        journey = self.desk.journey
        try:
            dial = await self.desk.run(lambda: journey.open_dial)
            value = _place(request.query_params.get("at", ""), dial, journey.value)
            setting = await self.desk.run(lambda: dial.ready(value))
        except PramanaError as error:
            return self.desk.pages.fault(400, "No such place", self.desk.spoken(error))
        if setting is None:
            return self.desk.pages.answer("figures_later.html", 202, shown=f"{dial.promise} = {value:g}")
        return self.desk.pages.answer("figures.html", **figures_of(setting, dial))

    async def _turn(self, request: Request) -> Response:
        def work(form: Form) -> str:
            journey = self.desk.journey
            dial = journey.dial()
            value = _place(form.get("at", ""), dial, journey.value)
            act = form.get("act", "")
            if act == "unpin":
                journey.pins = ()
                return DIAL
            if act == "pin":
                journey.pins = (*[pin for pin in journey.pins if pin != value], value)[-2:]
                journey.turn(value)
                return DIAL
            journey.turn(value)
            return CHECK

        return await self.desk.act(request, work, DIAL)

    # ------------------------------------------------------------ check

    async def _check(self, request: Request) -> Response:
        if (elsewhere := self._elsewhere(request, "check")) is not None:
            return elsewhere
        journey = self.desk.journey
        try:
            findings = await self.desk.run(lambda: findings_of(journey))
        except PramanaError as error:
            self.desk.refuse(error)
            findings = []
        ledgers = await self.desk.run(journey.allowed.ledgers)
        document = journey.document
        return self.desk.show(
            "check.html",
            "check",
            findings=findings,
            confirm=journey.confirm,
            about={key: str(document.section("about").get(key, "")) for key in ABOUT},
            output=str(document.section("output").get("format", "parquet")),
            ledger={key: str(document.section("ledger").get(key, "")) for key in ("path", "people", "recipient")},
            ledgers=ledgers,
            looked_at=journey.looked_at,
        )

    async def _confirm(self, request: Request) -> Response:
        def work(form: Form) -> str:
            journey = self.desk.journey
            about = {key: form.get(key, "").strip() for key in ABOUT}
            ledger = {"path": form.get("ledger", ""), "people": form.get("people", "").strip()}
            ledger["recipient"] = about["recipient"]
            journey.set_output(about, form.get("format", "parquet"), ledger)
            if form.get("act") == "look":
                return CHECK
            if form.get("confirmed") != "yes":
                raise InputError("What is to be checked must be looked at", "no mark", "Put a mark at the end.")
            journey.looked_at = True
            return "/publish/release"

        return await self.desk.act(request, work, CHECK)


def _place(text: str, dial: Dial, own: float) -> float:
    places = dial.places(own)
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text) < len(places)):
        raise InputError("A place of the slider must be one of its steps", "another one")
    return places[int(text)]


def figures_of(setting: DialSetting, dial: Dial) -> dict[str, Any]:
    """One place of the slider in blocks that pages can draw."""
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


# Open: a table of the folder, a database, an upload or a recipe.


COLUMNS = "/publish/columns"
OPEN = "/publish/open"
_LONGEST_NAME = 1000


@dataclass
class OpenPages:
    desk: Desk
    most_uploaded: int

    def routes(self) -> list[Route]:
        return [
            Route("/publish", self._start),
            Route(OPEN, self._page),
            Route(OPEN, self._open, methods=["POST"]),
            Route("/publish/upload", self._upload, methods=["POST"]),
            Route("/publish/forget", self._forget, methods=["POST"]),
        ]

    async def _start(self, _: Request) -> Response:
        return RedirectResponse(OPEN, 303)

    async def _page(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        allowed = self.desk.journey.allowed
        files, recipes = await self.desk.run(lambda: (allowed.tables(), allowed.recipes()))
        return self.desk.show(
            "open.html",
            "open",
            files=files,
            recipes=recipes,
            folder=str(allowed.root),
            variables=sorted(name for name in os.environ if name.endswith(("_URL", "_DSN"))),
            most_uploaded=self.most_uploaded >> 20,
        )

    async def _open(self, request: Request) -> Response:
        def work(form: Form) -> str:
            journey, kind = self.desk.journey, form.get("kind", "")
            if kind == "file":
                journey.open_file(form.get("file", ""), form)
            elif kind == "database":
                journey.open_database(form.get("variable", ""), form.get("table", ""), form.get("query", ""))
            elif kind == "recipe":
                journey.open_recipe(form.get("recipe", ""))
            else:
                raise InputError("A file, a database or a recipe must be chosen", "none")
            return COLUMNS

        return await self.desk.act(request, work, OPEN)

    async def _forget(self, request: Request) -> Response:
        def work(_: Form) -> str:
            self.desk.journey.forget()
            return OPEN

        return await self.desk.act(request, work, OPEN)

    async def _upload(self, request: Request) -> Response:
        """The bytes of a file as they are, into memory: no form that would be spooled to a disk."""
        if not self.desk.visitor.sent(request, ACTION, request.headers.get("x-form-token", "")):
            return JSONResponse({"problem": "This studio is someone's own."}, 403)
        stated = unquote(request.headers.get("x-file-name", "")[:_LONGEST_NAME], errors="replace")
        journey = self.desk.journey
        try:
            name, upload = await self.desk.run(lambda: journey.new_upload(stated))
            await self._receive(request, upload)
            await self.desk.run(lambda: journey.open_upload(name, {}))
        except PramanaError as error:
            return JSONResponse({"problem": self.desk.spoken(error)}, 400)
        return JSONResponse({"to": COLUMNS})

    async def _receive(self, request: Request, upload: Upload) -> None:
        try:
            async for piece in request.stream():
                upload.write(piece)
                if upload.bytes > self.most_uploaded:
                    raise InputError(f"An upload must have at most {self.most_uploaded >> 20} MB", "more")
            if not upload.bytes:
                raise InputError("A table must have at least one record", "an empty file")
        except ClientDisconnect:
            upload.drop()
            raise InputError("An upload must arrive whole", "a part") from None
        except BaseException:
            upload.drop()
            raise
        upload.keep()
