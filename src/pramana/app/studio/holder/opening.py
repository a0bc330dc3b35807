"""Open: a table of the folder, a database, an upload or a recipe."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import ACTION, Desk, Form
from pramana.app.studio.work import Upload
from pramana.errors import InputError, PramanaError

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
