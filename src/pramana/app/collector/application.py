"""The collector's addresses. Respondents get a page and send a record; the organiser sees results and closes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from pramana import __version__
from pramana.app.collector.closing import CollectionPlace, CollectionResults, close_collection, results_of
from pramana.app.collector.pages import SurveyPage, results_context
from pramana.app.collector.store import Arrivals, CollectionStore, Outcome
from pramana.app.collector.submission import AddressLimit, Submission
from pramana.app.collector.survey import Survey
from pramana.app.web.guard import Guard, Visitor
from pramana.app.web.serving import Listener
from pramana.errors import CollectionError, PramanaError, SourceError

# The interface between a device and the store, as OpenAPI: for other people's apps, and for tests.


_HEX = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_OUTCOMES = {
    "201": "stored",
    "400": "refused",
    "403": "uninvited",
    "409": "already",
    "410": "closed",
    "413": "too large",
    "415": "refused",
    "421": "asked for under another name",
    "429": "busy",
    "503": "not stored",
}
_WORDS = {
    "201": "The record is on disk.",
    "400": "What was sent is not a record of this survey; nothing was stored.",
    "403": "The invitation is unknown or was used, or the request came from another site; nothing was stored.",
    "409": "A record with this id was stored before; nothing was stored again.",
    "410": "The survey is closed; nothing was stored.",
    "413": "What was sent is too large; nothing was stored.",
    "415": "What was sent is not JSON; nothing was stored.",
    "421": "The server is asked for under a name that is not its own.",
    "429": "Too much comes from this network at the moment; nothing was stored.",
    "503": "The record could not be stored; try again with the same id.",
}
_PLAIN = ("413", "421")


def openapi_of(survey: Survey) -> dict[str, Any]:
    """What may be sent, value by value; the law by which to draw it is in /survey.json."""
    answers = {
        a.name: {"enum": [*a.coded.labels, None], "description": "A randomised answer; null is no answer."}
        for a in survey.plan.attributes
    }
    record: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["id", "answers"],
        "properties": {
            "id": {**_HEX, "description": "Drawn on the device; what is sent twice under it is stored once."},
            "answers": {
                "type": "object",
                "additionalProperties": False,
                "required": list(answers),
                "properties": answers,
            },
        },
    }
    if survey.invitations is not None:
        record["required"].append("invitation")
        record["properties"]["invitation"] = {**_HEX, "description": "The part of the link after #."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pramana collector", "version": __version__},
        "paths": {
            "/survey.json": {
                "get": {
                    "summary": "The survey: questions, words, and the law by which answers are randomised.",
                    "responses": {"200": _answer("The definition.", {"type": "object"}), "421": _refusal("421")},
                }
            },
            "/records": {
                "post": {
                    "summary": "Send a record that was randomised on this device.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": record}}},
                    "responses": {status: _refusal(status) for status in _OUTCOMES},
                }
            },
        },
    }


def _refusal(status: str) -> dict[str, Any]:
    if status in _PLAIN:
        return {"description": _WORDS[status], "content": {"text/plain": {"schema": {"type": "string"}}}}
    outcome = {"const": _OUTCOMES[status]}
    schema = {
        "type": "object",
        "required": ["outcome"],
        "properties": {"outcome": outcome, "reason": {"type": "string"}},
    }
    return _answer(_WORDS[status], schema)


def _answer(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


_STATUS = {Outcome.STORED: 201, Outcome.ALREADY: 409, Outcome.UNINVITED: 403, Outcome.CLOSED: 410}
_WAIT = {"retry-after": "60"}


@dataclass
class Collector:
    """One survey being collected."""

    survey: Survey
    page: SurveyPage
    store: CollectionStore
    place: CollectionPlace
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
        handlers = {404: self._not_found, 500: self._fault}
        return Guard(Starlette(routes=routes, lifespan=self._running, exception_handlers=handlers), self.hosts)

    @property
    def hosts(self) -> frozenset[str]:
        return self.listener.hosts

    @contextlib.asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        async with self._arrivals.running():
            yield
        self.store.close()

    # ------------------------------------------------------------ respondents

    async def _survey(self, _: Request) -> Response:
        if self._closed or self.place.out.exists():
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
        token = request.query_params.get("token")
        if token is not None:
            session = self.visitor.enter(token)
            if session is not None:
                answer = RedirectResponse("/organiser", 303)
                self.visitor.give(answer, session, self.listener.secure)
                return answer
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
        if self.place.out.exists():
            return
        self.store.tidy()
        try:
            close_collection(self.survey, self.store, self.page.digest, self.place.out, sign=self.sign)
        finally:
            self._closed = self.store.is_closed

    async def _show(self, problem: str = "") -> Response:
        results = await asyncio.to_thread(self._current)
        out: Path = self.place.out
        return self.page.pages.answer(
            "organiser.html",
            409 if problem else 200,
            **results_context(self.survey, results),
            page=self.page.digest,
            survey_url=f"{self.listener.base}/",
            open=not out.exists(),
            bundle=str(out) if out.exists() else "",
            problem=problem,
            invitations=str(self.place.invitations) if self.survey.invitations else "",
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

    async def _not_found(self, _: Request, __: Exception) -> Response:
        return self.page.pages.fault(404, "There is no such page", "The survey is at the address without a path.")

    async def _fault(self, _: Request, __: Exception) -> Response:
        return self.page.pages.fault(500, "Something went wrong here", "Nothing was stored. Try again later.")
