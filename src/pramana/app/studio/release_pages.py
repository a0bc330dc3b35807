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

from pramana.app.studio.desk import ACTION, Desk, Form, attachment
from pramana.errors import InputError
from pramana.run.release import Released

RELEASE, REPORT = "/publish/release", "/publish/report"
_STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
_SHUT = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_PIECE = 1 << 20


@dataclass
class ReleasePages:
    """A release under way, the bundle that it made, and the recipe."""

    desk: Desk

    def routes(self) -> list[Route]:
        desk = self.desk
        return [
            desk.page(RELEASE, self._page, "release", "/publish/check"),
            desk.action(RELEASE, self._start, RELEASE),
            desk.page("/publish/release/status", self._status),
            Route("/publish/release/stop", self._stop, methods=["POST"]),
            desk.page(REPORT, self._report, "report"),
            desk.page("/publish/report/page", self._report_page, "report"),
            desk.page("/publish/report/certificate.json", self._certificate, "report"),
            desk.page("/publish/report/bundle.zip", self._bundle, "report"),
            Route("/publish/report/key", self._key, methods=["POST"]),
            desk.page("/publish/recipe.toml", self._recipe),
            desk.page("/publish/recipe.zip", self._recipe_zip),
            desk.action("/publish/recipe/save", self._save, RELEASE),
        ]

    # ------------------------------------------------------------ release

    async def _page(self, _: Request) -> Response:
        journey = self.desk.journey
        stem = Path(journey.title.removeprefix("env:")).stem
        name = journey.allowed.free_name(f"{stem}-published")
        return self.desk.show(
            "release.html", "release", job=journey.job, name=name, folder=str(journey.allowed.root),
            uploaded=journey.uploaded,
        )  # fmt: skip

    def _start(self, form: Form) -> str:
        if not self.desk.is_ready("release"):
            raise InputError("Look at what is to be checked first")
        self.desk.journey.release(form.get("name", "").strip(), form.get("even") == "yes")
        return RELEASE

    async def _status(self, _: Request) -> Response:
        token = self.desk.visitor.form_token(ACTION)
        return self.desk.pages.answer("status.html", job=self.desk.journey.job, form_token=token)

    async def _stop(self, request: Request) -> Response:
        """Not in the queue of work: it is to stop now."""
        if await self.desk.form(request) is None:
            return self.desk.no_entry()
        if self.desk.journey.job is not None:
            self.desk.journey.job.stop()
        return RedirectResponse(RELEASE, 303)

    # ------------------------------------------------------------ report

    @property
    def _released(self) -> Released:
        job = self.desk.journey.job
        assert job is not None and job.released is not None  # else the step is not ready
        return job.released

    async def _report(self, _: Request) -> Response:
        released = self._released
        return self.desk.show(
            "released.html", "report", job=self.desk.journey.job, released=released,
            guarantees=list(released.guarantees), warnings=list(released.certificate.warnings),
            name=released.bundle.name,
        )  # fmt: skip

    async def _report_page(self, _: Request) -> Response:
        """The bundle's own page, with its own style and nothing else: the policy names that style's digest."""
        return report_answer((self._released.bundle / "report.html").read_bytes())

    async def _certificate(self, _: Request) -> Response:
        path = self._released.bundle / "certificate.json"
        return FileResponse(path, media_type="application/json", headers=attachment("certificate.json"))

    async def _bundle(self, _: Request) -> Response:
        folder = self._released.bundle
        headers = attachment(f"{folder.name}.zip")
        return StreamingResponse(zipped(folder), media_type="application/zip", headers=headers)

    async def _key(self, request: Request) -> Response:
        job = self.desk.journey.job
        if await self.desk.form(request) is None or job is None or job.released is None:
            return self.desk.no_entry()
        key = job.take_key()
        if key is None:
            self.desk.problem = "The key was taken already. It is kept nowhere else."
            return RedirectResponse(REPORT, 303)
        return PlainTextResponse(f"{key.secret.hex()}\n", headers=attachment(f"{job.released.bundle.name}.key"))

    # ------------------------------------------------------------ the recipe

    async def _recipe(self, _: Request) -> Response:
        headers = attachment("recipe.toml")
        return Response(self.desk.journey.document.text.encode(), media_type="application/toml", headers=headers)

    async def _recipe_zip(self, _: Request) -> Response:
        texts = await self.desk.run(self.desk.journey.files)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            for name, text in texts.items():
                file.writestr(name, text)
        return Response(packed.getvalue(), media_type="application/zip", headers=attachment("recipe.zip"))

    def _save(self, form: Form) -> str:
        self.desk.journey.save(form.get("name", "").strip())
        return "/ledger"


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
