"""Release and Report: progress, a stop that leaves nothing behind, and what is taken away."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form, is_ready
from pramana.app.studio.work.journey import attachment
from pramana.app.studio.work.private import ReleaseJob
from pramana.errors import InputError
from pramana.run.release import Released

RELEASE, REPORT = "/publish/release", "/publish/report"
_STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
_SHUT = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_PIECE = 1 << 20


@dataclass
class ReleasePages:
    desk: Desk

    def routes(self) -> list[Route]:
        return [
            Route(RELEASE, self._page),
            Route(RELEASE, self._start, methods=["POST"]),
            Route("/publish/release/status", self._status),
            Route("/publish/release/stop", self._stop, methods=["POST"]),
            Route(REPORT, self._report),
            Route("/publish/report/page", self._report_page),
            Route("/publish/report/certificate.json", self._certificate),
            Route("/publish/report/bundle.zip", self._bundle),
            Route("/publish/report/key", self._key, methods=["POST"]),
            Route("/publish/recipe.toml", self._recipe),
            Route("/publish/recipe.zip", self._recipe_zip),
            Route("/publish/recipe/save", self._save, methods=["POST"]),
        ]

    # ------------------------------------------------------------ release

    async def _page(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        journey = self.desk.journey
        if not is_ready(journey, "release"):
            return RedirectResponse("/publish/check", 303)
        stem = Path(journey.title.removeprefix("env:")).stem
        name = journey.allowed.free_name(f"{stem}-published")
        return self.desk.show(
            "release.html", "release", job=journey.job, name=name, folder=str(journey.allowed.root),
            uploaded=journey.uploaded,
        )  # fmt: skip

    async def _start(self, request: Request) -> Response:
        def work(form: Form) -> str:
            if not is_ready(self.desk.journey, "release"):
                raise InputError("What is to be checked must be looked at first", "no mark")
            even = form.get("even") == "yes"
            self.desk.journey.release(form.get("name", "").strip(), even)
            return RELEASE

        return await self.desk.act(request, work, RELEASE)

    async def _status(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        job = self.desk.journey.job
        return self.desk.pages.answer("status.html", job=job, form_token=self.desk.visitor.form_token("studio"))

    async def _stop(self, request: Request) -> Response:
        form = await self.desk.form(request)
        if form is None:
            return self.desk.no_entry()
        job = self.desk.journey.job
        if job is not None:
            job.stop()
        return RedirectResponse(RELEASE, 303)

    # ------------------------------------------------------------ report

    def _done(self, request: Request) -> tuple[ReleaseJob, Released] | None:
        job = self.desk.journey.job
        if not self.desk.admits(request) or job is None or job.released is None:
            return None
        return job, job.released

    def _nothing(self, request: Request) -> Response:
        return RedirectResponse("/publish/open", 303) if self.desk.admits(request) else self.desk.no_entry()

    async def _report(self, request: Request) -> Response:
        done = self._done(request)
        if done is None:
            return self._nothing(request)
        job, released = done
        return self.desk.show(
            "released.html", "report", job=job, released=released, guarantees=list(released.guarantees),
            warnings=list(released.certificate.warnings), name=released.bundle.name,
        )  # fmt: skip

    async def _report_page(self, request: Request) -> Response:
        """The bundle's own page, with its own style and nothing else: the policy names that style's digest."""
        done = self._done(request)
        if done is None:
            return self._nothing(request)
        return report_answer((done[1].bundle / "report.html").read_bytes())

    async def _certificate(self, request: Request) -> Response:
        done = self._done(request)
        if done is None:
            return self._nothing(request)
        path = done[1].bundle / "certificate.json"
        return FileResponse(path, media_type="application/json", headers=attachment("certificate.json"))

    async def _bundle(self, request: Request) -> Response:
        done = self._done(request)
        if done is None:
            return self._nothing(request)
        folder = done[1].bundle
        return StreamingResponse(
            zipped(folder), media_type="application/zip", headers=attachment(f"{folder.name}.zip")
        )

    async def _key(self, request: Request) -> Response:
        form = await self.desk.form(request)
        done = self._done(request)
        if form is None or done is None:
            return self.desk.no_entry()
        job, released = done
        key = job.take_key()
        if key is None:
            self.desk.problem = "The key was taken already. It is kept nowhere else."
            return RedirectResponse(REPORT, 303)
        headers = attachment(f"{released.bundle.name}.key")
        return PlainTextResponse(f"{key.secret.hex()}\n", headers=headers)

    # ------------------------------------------------------------ the recipe

    async def _recipe(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        headers = attachment("recipe.toml")
        return Response(self.desk.journey.document.text.encode(), media_type="application/toml", headers=headers)

    async def _recipe_zip(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        texts = await self.desk.run(self.desk.journey.files)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in texts.items():
                file.writestr(name, text)
        return Response(packed.getvalue(), media_type="application/zip", headers=attachment("recipe.zip"))

    async def _save(self, request: Request) -> Response:
        def work(form: Form) -> str:
            self.desk.journey.save(form.get("name", "").strip())
            return "/ledger"

        return await self.desk.act(request, work, RELEASE)


def report_answer(page: bytes) -> Response:
    digests = [base64.b64encode(hashlib.sha256(style).digest()).decode() for style in _STYLE.findall(page)]
    styles = " ".join(f"'sha256-{digest}'" for digest in digests[:1]) or "'none'"
    policy = f"default-src 'none'; style-src {styles}; {_SHUT}"
    return HTMLResponse(page, headers={"content-security-policy": policy})


class _Gathered(io.RawIOBase):
    """What a zip file writes, to be taken away piece by piece; it is never whole in memory."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(memoryview(data))  # type: ignore[arg-type]
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def zipped(folder: Path) -> Iterator[bytes]:
    """A folder of files as a zip file, made while it is sent."""
    out = _Gathered()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            info = zipfile.ZipInfo(f"{folder.name}/{path.name}")
            info.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, packed.open(info, "w", force_zip64=True) as entry:
                while piece := file.read(_PIECE):
                    entry.write(piece)
                    yield out.take()
    yield out.take()
