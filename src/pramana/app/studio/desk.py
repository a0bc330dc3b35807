"""What all pages of the studio share: who is admitted, forms, the way back after a refusal, work in threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from pramana.app.studio.work.journey import Journey
from pramana.app.web.guard import Visitor
from pramana.app.web.serving import Pages
from pramana.errors import PramanaError

# The steps of publishing, and which of them can be gone to.


ROOT = "/publish"


@dataclass(frozen=True)
class JourneyStep:
    """A page of the journey."""

    name: str
    title: str
    ready: bool

    @property
    def address(self) -> str:
        return f"{ROOT}/{self.name}"


def steps_of(journey: Journey) -> list[JourneyStep]:
    opened, chosen = journey.inspection is not None, bool(journey.document.method)
    columns = opened and journey.confirmed_columns
    drafted = columns and chosen
    job = journey.job
    return [
        JourneyStep("open", "Open", True),
        JourneyStep("columns", "Columns", opened),
        JourneyStep("job", "Job", columns),
        JourneyStep("dial", "Dial", drafted),
        JourneyStep("check", "Check", drafted),
        JourneyStep("release", "Release", drafted and journey.looked_at),
        JourneyStep("report", "Report", job is not None and job.released is not None),
    ]


def is_ready(journey: Journey, name: str) -> bool:
    return any(step.ready for step in steps_of(journey) if step.name == name)


T = TypeVar("T")
Form = Mapping[str, str]
ACTION = "studio"
_MOST_FIELDS = 20_000


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

    def show(self, template: str, step: str = "", status: int = 200, **context: Any) -> Response:
        problem, self.problem = self.problem, ""
        journey = self.journey
        return self.pages.answer(
            template,
            status,
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

    async def act(self, request: Request, work: Callable[[Form], str], back: str) -> Response:
        """Do what a form asks for and go where `work` says; after a refusal go back and say why."""
        form = await self.form(request)
        if form is None:
            return self.no_entry()
        try:
            to = await self.run(lambda: work(form))
        except PramanaError as error:
            self.refuse(error)
            to = back
        return RedirectResponse(to, 303)

    def refuse(self, error: PramanaError) -> None:
        self.problem = self.spoken(error)

    def spoken(self, error: PramanaError) -> str:
        """Without the place of private files, which is nobody's concern."""
        return str(error).replace(f"{self.journey.private.path}/", "")
