"""The collector's pages. Respondents get one and send a record; the organiser sees results and closes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from pramana import __version__
from pramana.app.collector.closing import CollectionFolder, CollectionResults, close_collection, results_of
from pramana.app.collector.store import Arrivals, CollectionStore, Outcome
from pramana.app.collector.submission import AddressLimit, Submission
from pramana.app.collector.survey import Survey, interface_words
from pramana.app.web.guard import Guard, Visitor
from pramana.app.web.serving import Asset, Assets, Listener, Pages
from pramana.errors import CollectionError, PramanaError, SourceError
from pramana.pages.content import Bars, Legend, Section
from pramana.recipient.answers import Crosstab, interval_bar
from pramana.theory import rounding

_STATUS = {Outcome.STORED: 201, Outcome.ALREADY: 409, Outcome.UNINVITED: 403, Outcome.CLOSED: 410}
_WAIT = {"retry-after": "60"}
_SCRIPTS = ("survey.js", "organiser.js", "survey.css")
_READABLE = ("randomise.js", "survey.js", "survey.css", "report.css", "web.css")


@dataclass(frozen=True)
class SurveyPage:
    """The page of a survey, the same for everyone: an invitation is in the part of a link that is never sent."""

    survey: Survey

    @cached_property
    def assets(self) -> Assets:
        return Assets(
            Asset.of_package("pramana.app.collector", "randomiser/lib/randomise.js"),
            *(Asset.of_package("pramana.app.collector", f"static/{name}") for name in _SCRIPTS),
        )

    @cached_property
    def pages(self) -> Pages:
        return Pages(self.assets, "pramana.app.collector")

    @cached_property
    def definition(self) -> bytes:
        return json.dumps(self.survey.definition(), ensure_ascii=True, allow_nan=False).encode()

    @cached_property
    def content(self) -> bytes:
        first = self.survey.languages[0]
        page = self.pages.html(
            "survey.html",
            language=first,
            title=self.survey.title[first],
            words=interface_words(first),
            definition=Markup(_harmless(self.definition.decode())),
        )
        return page.encode()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def files(self) -> list[Asset]:
        """What the page loads, and anyone may read."""
        return [self.assets[name] for name in _READABLE]


def _harmless(text: str) -> str:
    """JSON that cannot end the element it stands in."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# The organiser's results in the blocks of the report.


def results_context(survey: Survey, results: CollectionResults) -> dict[str, Any]:
    """What the template shows. Numbers of promises are rounded against ourselves."""
    language = survey.languages[0]
    return {
        "title": survey.title[language],
        "results": results,
        "k_now": rounding.shown_down(results.k, 4),
        "k_planned": None if results.k_planned is None else rounding.shown_down(results.k_planned, 4),
        "epsilon": rounding.shown_up(results.epsilon, 4),
        "legend": Legend(estimated=True),
        "tables": [_section(survey, table, language) for table in results.tables],
    }


def _section(survey: Survey, table: Crosstab, language: str) -> Section:
    names = [axis.name for axis in table.axes]
    bars = [
        interval_bar([survey.words_of(name, cell[name], language) for name in names], cell)
        for cell in table.cells()
    ]
    title = survey.question(names[0]).text[language] if len(names) == 1 else " by ".join(names)
    return Section(title, [Bars(bars, ["answer"] if len(names) == 1 else names)], part=True)


def openapi_of(survey: Survey) -> dict[str, Any]:
    """The interface between a device and the store, value by value: for other people's apps, and for tests.

    The law by which to draw what is sent is in /survey.json.
    """
    described: dict[str, Any] = json.loads(files(__package__).joinpath("openapi.json").read_text("utf-8"))
    described["info"]["version"] = __version__
    content = described["paths"]["/records"]["post"]["requestBody"]["content"]
    record = content["application/json"]["schema"]
    answers = {
        a.name: {"enum": [*a.coded.labels, None], "description": "A randomised answer; null is no answer."}
        for a in survey.plan.attributes
    }
    record["properties"]["answers"] |= {"required": list(answers), "properties": answers}
    if survey.invitations is None:
        del record["properties"]["invitation"]
    else:
        record["required"].append("invitation")
    return described


@dataclass
class Collector:
    """One survey being collected."""

    survey: Survey
    page: SurveyPage
    store: CollectionStore
    folder: CollectionFolder
    listener: Listener
    limit: AddressLimit
    sign: str | None = None
    visitor: Visitor = field(default_factory=lambda: Visitor("/organiser"))

    def __post_init__(self) -> None:
        self._arrivals = Arrivals(self.store)
        self._results: CollectionResults | None = None
        self._closed = self.store.is_closed
        self._closing = asyncio.Lock()

    def application(self) -> ASGIApp:
        routes = [
            Route("/", self._survey),
            Route("/source", self._source),
            Route("/survey.json", self._definition),
            Route("/openapi.json", self._openapi),
            Route("/records", self._record, methods=["POST"]),
            Route("/organiser", self._organiser),
            Route("/organiser/close", self._close, methods=["POST"]),
            self.page.assets.route(),
        ]
        handler = self.page.pages.handler
        handlers = {
            404: handler(404, "There is no such page", "The survey is at the address without a path."),
            500: handler(500, "Something went wrong here", "Nothing was stored. Try again later."),
        }
        return Guard(
            Starlette(routes=routes, lifespan=self._running, exception_handlers=handlers), self.listener.hosts
        )

    @contextlib.asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        async with self._arrivals.running():
            yield
        self.store.close()

    # ------------------------------------------------------------ respondents

    async def _survey(self, _: Request) -> Response:
        if self._closed or self.folder.out.exists():
            words = list(dict.fromkeys(w["not_sent_closed"] for w in self.survey.definition()["words"].values()))
            title = self.survey.title[self.survey.languages[0]]
            return self.page.pages.answer("closed.html", 410, title=title, closed=words)
        return HTMLResponse(self.page.content)

    async def _source(self, _: Request) -> Response:
        return self.page.pages.answer(
            "source.html",
            page=self.page.digest,
            files=self.page.files,
            base=self.listener.base,
            invited=self.survey.invitations is not None,
        )

    async def _definition(self, _: Request) -> Response:
        return Response(self.page.definition, media_type="application/json")

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(openapi_of(self.survey))

    async def _record(self, request: Request) -> Response:
        if not self.limit.allows(None if request.client is None else request.client.host):
            return JSONResponse({"outcome": "busy"}, 429, _WAIT)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return JSONResponse({"outcome": "refused", "reason": "What is sent must be JSON"}, 415)
        try:
            submission = Submission.read(self.survey, await request.body())
        except SourceError as error:
            return JSONResponse({"outcome": "refused", "reason": str(error)}, 400)
        try:
            outcome = await self._arrivals.submit(submission)
        except CollectionError:
            return JSONResponse({"outcome": "not stored"}, 503, _WAIT)
        return JSONResponse({"outcome": outcome.value}, _STATUS[outcome])

    # ------------------------------------------------------------ the organiser

    async def _organiser(self, request: Request) -> Response:
        if (entrance := self.visitor.entrance(request, self.listener.secure)) is not None:
            return entrance
        if not self.visitor.admits(request):
            return self._no_entry()
        return await self._show()

    async def _close(self, request: Request) -> Response:
        form = parse_qs((await request.body()).decode("ascii", "replace"))
        if not self.visitor.sent(request, "close", form.get("token", [""])[0]):
            return self._no_entry()
        async with self._closing:
            try:
                await asyncio.to_thread(self._publish)
            except PramanaError as error:
                return await self._show(problem=str(error))
        return await self._show()

    def _publish(self) -> None:
        if self.folder.out.exists():
            return
        self.store.tidy()
        try:
            close_collection(self.survey, self.store, self.page.digest, self.folder.out, sign=self.sign)
        finally:
            self._closed = self.store.is_closed

    async def _show(self, problem: str = "") -> Response:
        results = await asyncio.to_thread(self._current)
        out: Path = self.folder.out
        return self.page.pages.answer(
            "organiser.html",
            409 if problem else 200,
            **results_context(self.survey, results),
            page=self.page.digest,
            survey_url=f"{self.listener.base}/",
            open=not out.exists(),
            bundle=str(out) if out.exists() else "",
            problem=problem,
            invitations=str(self.folder.invitations) if self.survey.invitations else "",
            close_token=self.visitor.form_token("close"),
        )

    def _current(self) -> CollectionResults:
        """Results as of now; they are worked out again when a record has come."""
        if self._results is None or self._results.records != self.store.count():
            self._results = results_of(self.survey, self.store.records())
        return self._results

    # ------------------------------------------------------------ everything else

    def _no_entry(self) -> Response:
        words = "The link on the screen where the collector was started opens this page, once."
        return self.page.pages.fault(403, "This page is for the organiser", words)
