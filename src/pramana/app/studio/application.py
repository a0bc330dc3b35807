"""The studio's addresses, and when its private files go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from pramana.app.studio.column_pages import ColumnPages, OpenPages
from pramana.app.studio.desk import Desk
from pramana.app.studio.folders import AllowedFolder, PrivateFolder
from pramana.app.studio.journey import Journey
from pramana.app.studio.ledger_pages import LedgerPages
from pramana.app.studio.promise_pages import PromisePages
from pramana.app.studio.recipient_pages import RecipientPages
from pramana.app.studio.release_pages import ReleasePages
from pramana.app.web.guard import Guard, Visitor
from pramana.app.web.serving import Asset, Assets, Pages

MOST_UPLOADED = 512 << 20
_MOST_FORM = 4 << 20
_BEAT = 10.0  # seconds
_LONGEST_STREAM = 300.0


class Studio:
    """One person's studio over one folder. `closed_after`: seconds without a browser until private files go."""

    def __init__(
        self, folder: AllowedFolder, hosts: frozenset[str], secure: bool = False, closed_after: float = 90.0
    ) -> None:
        assets = Assets(
            *(Asset.of_package("pramana.app.studio", f"static/{name}") for name in ("studio.js", "studio.css"))
        )
        self._assets, self._hosts, self._secure, self._closed_after = assets, hosts, secure, closed_after
        self.visitor = Visitor("/")
        self.private = PrivateFolder()
        pages = Pages(assets, "pramana.app.studio")
        self.desk = Desk(pages, self.visitor, Journey(folder, self.private))
        self._recipient = RecipientPages(self.desk)

    def application(self) -> ASGIApp:
        desk = self.desk
        routes = [
            Route("/", self._home),
            Route("/alive", self._alive),
            *OpenPages(desk, MOST_UPLOADED).routes(),
            *ColumnPages(desk).routes(),
            *PromisePages(desk).routes(),
            *ReleasePages(desk).routes(),
            *LedgerPages(desk).routes(),
            *self._recipient.routes(),
            self._assets.route(),
        ]
        handler = desk.pages.handler
        words = "The studio begins at the address without a path."
        not_found = handler(404, "There is no such page", words)
        again = "Nothing was published. Go back and try again; if it stays, start the studio anew."
        handlers = {
            404: not_found,
            405: not_found,
            413: handler(413, "That is too large", "Put the file into the studio's folder instead."),
            500: handler(500, "Something went wrong here", again),
        }
        app = Starlette(routes=routes, lifespan=self._running, exception_handlers=handlers)
        return Guard(app, self._hosts, lambda path: MOST_UPLOADED if path in _UPLOADS else _MOST_FORM)

    def close(self) -> None:
        self._forget()
        self.private.close()

    @contextlib.asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.to_thread(self.close)

    async def _watch(self) -> None:
        """Private files go when the browser has gone. A page that is open keeps a connection."""
        while True:
            await asyncio.sleep(min(5.0, self._closed_after / 3))
            desk = self.desk
            gone = desk.was_connected and not desk.connections
            if gone and time.monotonic() - desk.last_seen > self._closed_after:
                desk.was_connected = False
                await desk.run(self._forget)

    def _forget(self) -> None:
        self._recipient.forget()
        self.desk.journey.forget()

    async def _home(self, request: Request) -> Response:
        if (entrance := self.visitor.entrance(request, self._secure)) is not None:
            return entrance
        if not self.desk.admits(request):
            return self.desk.no_entry()
        return self.desk.show("home.html", folder=str(self.desk.journey.allowed.root))

    async def _alive(self, request: Request) -> Response:
        """A connection that lasts as long as a page is open."""
        if not self.desk.admits(request):
            return PlainTextResponse("", 403)
        return StreamingResponse(self._beats(), media_type="text/event-stream")

    async def _beats(self) -> AsyncIterator[str]:
        desk, end = self.desk, time.monotonic() + _LONGEST_STREAM
        desk.connections += 1
        desk.was_connected = True
        try:
            while time.monotonic() < end:
                yield ": here\n\n"
                await asyncio.sleep(_BEAT)
        finally:
            desk.connections -= 1
            desk.last_seen = time.monotonic()


_UPLOADS = ("/publish/upload", "/study/upload")
