"""What all pages of the studio share: who is admitted, forms, the way back after a refusal, work in threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.folders import Upload
from pramana.app.studio.journey import Journey
from pramana.app.web.guard import Visitor
from pramana.app.web.serving import Pages
from pramana.errors import InputError, PramanaError

T = TypeVar("T")
Form = Mapping[str, str]
ACTION = "studio"
OPEN = "/publish/open"
_MOST_FIELDS = 20_000
_LONGEST_NAME = 1000


@dataclass(frozen=True)
class JourneyStep:
    """A page of publishing, and whether it can be gone to."""

    name: str
    title: str
    ready: bool

    @property
    def address(self) -> str:
        return f"/publish/{self.name}"


def steps_of(journey: Journey) -> list[JourneyStep]:
    columns = journey.inspection is not None and journey.confirmed_columns
    drafted = columns and bool(journey.document.method)
    return [
        JourneyStep("open", "Open", True),
        JourneyStep("columns", "Columns", journey.inspection is not None),
        JourneyStep("job", "Job", columns),
        JourneyStep("dial", "Dial", drafted),
        JourneyStep("check", "Check", drafted),
        JourneyStep("release", "Release", drafted and journey.looked_at),
        JourneyStep("report", "Report", journey.job is not None and journey.job.released is not None),
    ]


@dataclass
class Desk:
    """One visitor's place of work."""

    pages: Pages
    visitor: Visitor
    journey: Journey
    problem: str = ""  # said on the next page, once
    connections: int = 0
    last_seen: float = field(default_factory=time.monotonic)
    was_connected: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    # ------------------------------------------------------------ addresses

    def page(
        self, address: str, shown: Callable[[Request], Awaitable[Response]], step: str = "", back: str = OPEN
    ) -> Route:
        """A page for the visitor alone; one of a step that cannot be gone to yet leads `back`."""

        async def answer(request: Request) -> Response:
            if not self.admits(request):
                return self.no_entry()
            if step and not self.is_ready(step):
                return RedirectResponse(back, 303)
            return await shown(request)

        return Route(address, answer)

    def action(self, address: str, work: Callable[[Form], str], back: str) -> Route:
        """Do what a form asks for and go where `work` says; after a refusal go `back` and say why."""

        async def answer(request: Request) -> Response:
            form = await self.form(request)
            if form is None:
                return self.no_entry()
            try:
                to = await self.run(lambda: work(form))
            except PramanaError as error:
                self.refuse(error)
                to = back
            return RedirectResponse(to, 303)

        return Route(address, answer, methods=["POST"])

    def upload(
        self, address: str, new: Callable[[str], Upload], opened: Callable[[Upload, str], None], to: str
    ) -> Route:
        """Take the bytes of a file as they are, into memory: no form that would be spooled to a disk."""

        async def answer(request: Request) -> Response:
            if not self.visitor.sent(request, ACTION, request.headers.get("x-form-token", "")):
                return JSONResponse({"problem": "This studio is someone's own."}, 403)
            name = unquote(request.headers.get("x-file-name", "")[:_LONGEST_NAME], errors="replace")
            try:
                upload = await self.run(lambda: new(name))
                await _receive(request, upload)
                await self.run(lambda: opened(upload, name))
            except PramanaError as error:
                return JSONResponse({"problem": self.message(error)}, 400)
            return JSONResponse({"to": to})

        return Route(address, answer, methods=["POST"])

    # ------------------------------------------------------------ requests and answers

    def is_ready(self, name: str) -> bool:
        return any(step.ready for step in steps_of(self.journey) if step.name == name)

    def admits(self, request: Request) -> bool:
        admitted = self.visitor.admits(request)
        if admitted:
            self.last_seen = time.monotonic()
        return admitted

    def no_entry(self) -> Response:
        words = (
            "The link on the screen where the studio was started opens it, once. Start it again for a new link."
        )
        return self.pages.fault(403, "This studio is someone's own", words)

    async def run(self, work: Callable[[], T]) -> T:
        """In a thread, one after the other."""
        async with self._lock:
            return await asyncio.to_thread(work)

    def show(self, template: str, step: str = "", **context: Any) -> Response:
        problem, self.problem = self.problem, ""
        journey = self.journey
        return self.pages.answer(
            template,
            problem=problem,
            step=step,
            steps=steps_of(journey),
            recipe=journey.document.text if journey.document.content else "",
            has_hierarchies=bool(journey.document.hierarchies()),
            table=journey.title,
            form_token=self.visitor.form_token(ACTION),
            **context,
        )

    async def form(self, request: Request) -> Form | None:
        """The fields of a form of ours; None for any other."""
        text = (await request.body()).decode("utf-8", "replace")
        try:
            fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return None
        plain = {name: values[-1] for name, values in fields.items()}
        if not self.visitor.sent(request, ACTION, plain.get("token", "")):
            return None
        self.last_seen = time.monotonic()
        return plain

    def refuse(self, error: PramanaError) -> None:
        self.problem = self.message(error)

    def message(self, error: PramanaError) -> str:
        """Without the path of private files, which is nobody's concern."""
        return str(error).replace(f"{self.journey.private.path}/", "")


async def _receive(request: Request, upload: Upload) -> None:
    """All of a body; the guard bounds how much that is."""
    try:
        async for piece in request.stream():
            upload.write(piece)
        if upload.is_empty:
            raise InputError("A file must have at least one byte", "an empty file")
    except BaseException as error:
        upload.drop()
        if isinstance(error, ClientDisconnect):
            raise InputError("An upload must arrive whole", "a part of it") from None
        raise
    upload.keep()


def chosen(text: str, options: Sequence[T], what: str) -> T:
    """The option that a form names by its number."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(options)):
        raise InputError(f"{what} must be one of those offered", repr(text[:20]))
    return options[int(text)]


def attachment(name: str) -> dict[str, str]:
    """As which file a browser keeps an answer."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
