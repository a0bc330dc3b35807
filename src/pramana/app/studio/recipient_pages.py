"""Analyse: a bundle is checked and explained, then asked for tables, comparisons and files by clicking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import ACTION, Desk, Form
from pramana.app.studio.holder.releases import report_answer
from pramana.app.studio.work.journey import attachment
from pramana.app.studio.work.private import Upload
from pramana.app.studio.work.received import BundleReading, csv_of, with_values
from pramana.errors import InputError, PramanaError
from pramana.pages.content import Bar, Bars, Legend
from pramana.recipient.answers import Crosstab

STUDY = "/study"
_UNASKED: dict[str, Any] = {"row": "", "column": "", "shares": "", "only": {}, "compared": None, "drawn": ""}
_MOST_LABELS = 60  # of a column that are offered for clicking
_MOST_BARS = 400
_MOST_REPORT = 64 << 20


@dataclass
class RecipientPages:
    desk: Desk
    reading: BundleReading = field(init=False)

    def __post_init__(self) -> None:
        journey = self.desk.journey
        self.reading = BundleReading(journey.allowed, journey.private)

    def routes(self) -> list[Route]:
        return [
            Route(STUDY, self._page),
            Route(STUDY, self._open, methods=["POST"]),
            Route("/study/upload", self._upload, methods=["POST"]),
            Route("/study/close", self._close, methods=["POST"]),
            Route("/study/table", self._table, methods=["POST"]),
            Route("/study/compare", self._compare, methods=["POST"]),
            Route("/study/synthesise", self._synthesise, methods=["POST"]),
            Route("/study/table.csv", self._csv),
            Route("/study/report", self._report),
        ]

    def forget(self) -> None:
        self.reading.forget()

    # ------------------------------------------------------------ opening

    async def _page(self, request: Request) -> Response:
        if not self.desk.admits(request):
            return self.desk.no_entry()
        reading = self.reading
        if reading.bundle is None:
            bundles = await self.desk.run(reading.allowed.bundles)
            return self.desk.show(
                "study_open.html", area="study", bundles=bundles, folder=str(reading.allowed.root)
            )
        return self.desk.show("study.html", area="study", **await self.desk.run(self._context))

    async def _open(self, request: Request) -> Response:
        def work(form: Form) -> str:
            self.reading.open(form.get("bundle", ""))
            return STUDY

        return await self.desk.act(request, work, STUDY)

    async def _close(self, request: Request) -> Response:
        def work(_: Form) -> str:
            self.reading.forget()
            return STUDY

        return await self.desk.act(request, work, STUDY)

    async def _upload(self, request: Request) -> Response:
        if not self.desk.visitor.sent(request, ACTION, request.headers.get("x-form-token", "")):
            return JSONResponse({"problem": "This studio is someone's own."}, 403)
        title = unquote(request.headers.get("x-file-name", "")[:1000], errors="replace")
        try:
            upload: Upload = await self.desk.run(self.reading.new_upload)
            try:
                async for piece in request.stream():
                    upload.write(piece)
            except ClientDisconnect:
                upload.drop()
                raise InputError("An upload must arrive whole", "a part") from None
            except BaseException:
                upload.drop()
                raise
            upload.keep()
            await self.desk.run(lambda: self.reading.open_upload(title))
        except PramanaError as error:
            return JSONResponse({"problem": self.desk.spoken(error)}, 400)
        return JSONResponse({"to": STUDY})

    # ------------------------------------------------------------ asking

    def _context(self) -> dict[str, Any]:
        reading = self.reading
        bundle = reading.bundle
        assert bundle is not None
        study = bundle.study
        columns = [] if study is None else [(name, study.axis(name)) for name in study.axes]
        table = reading.table
        return {
            "bundle": bundle,
            "checked": bundle.verification,
            "guarantees": list(bundle.certificate.guarantees),
            "warnings": list(bundle.verification.warnings),
            "columns": [
                (i, name, list(axis.labels[:_MOST_LABELS]), axis.size) for i, (name, axis) in enumerate(columns)
            ],
            "asked": {**_UNASKED, **reading.asked},
            "bars": None if table is None else _bars(table, bool(reading.asked.get("shares"))),
            "legend": Legend(estimated=True),
            "synthetic": reading.allowed.free_name("synthetic", ".csv"),
        }

    def _names(self) -> list[str]:
        bundle = self.reading.bundle
        if bundle is None or bundle.study is None:
            raise InputError("Tables must be asked of an open bundle that allows them", "none")
        return list(bundle.study.axes)

    async def _table(self, request: Request) -> Response:
        def work(form: Form) -> str:
            reading, names = self.reading, self._names()
            bundle = reading.bundle
            assert bundle is not None and bundle.study is not None
            row, column = _one(form.get("row", ""), names), _one(form.get("column", ""), names)
            by = list(dict.fromkeys(name for name in (row, column) if name))
            only: dict[str, list[str]] = {}
            for i, name in enumerate(names):
                labels = bundle.study.axis(name).labels[:_MOST_LABELS]
                chosen = [label for j, label in enumerate(labels) if form.get(f"only-{i}-{j}") == "yes"]
                if chosen:
                    only[name] = chosen
            reading.asked = {
                "row": row, "column": column, "shares": form.get("shares", ""), "only": only, "compared": None,
            }  # fmt: skip
            reading.table = None
            reading.table = bundle.crosstab(by, only, form.get("shares") == "yes")
            return f"{STUDY}#answer"

        return await self.desk.act(request, work, STUDY)

    async def _compare(self, request: Request) -> Response:
        def work(form: Form) -> str:
            reading, names = self.reading, self._names()
            bundle = reading.bundle
            assert bundle is not None and bundle.study is not None
            study = bundle.study
            filters, words = [], []
            for key in ("first", "second", "share"):
                i, _, j = form.get(key, "").partition("-")
                name = _one(i, names)
                labels = study.axis(name).labels if name else ()
                if not (j.isascii() and j.isdigit() and len(j) < 6 and int(j) < len(labels)):
                    raise InputError("Two groups and a share must be chosen", "fewer")
                filters.append(with_values(study.axis(name), [labels[int(j)]]))
                words.append(f"{name} = {labels[int(j)]}")
            found = study.compare(filters[0], filters[1], share=filters[2]).to_json()
            keys = {key: form.get(key, "") for key in ("first", "second", "share")}
            reading.asked = {
                **reading.asked,
                "compared": {**found, "words": words, **{f"{k}_key": v for k, v in keys.items()}},
            }
            return f"{STUDY}#compared"

        return await self.desk.act(request, work, STUDY)

    async def _synthesise(self, request: Request) -> Response:
        def work(form: Form) -> str:
            told = self.reading.synthesise(form.get("name", "").strip())
            self.reading.asked = {**self.reading.asked, "drawn": told}
            return f"{STUDY}#drawn"

        return await self.desk.act(request, work, STUDY)

    async def _csv(self, request: Request) -> Response:
        table = self.reading.table
        if not self.desk.admits(request):
            return self.desk.no_entry()
        if table is None:
            return RedirectResponse(STUDY, 303)
        text = await self.desk.run(lambda: csv_of(table))
        return Response(text.encode(), media_type="text/csv", headers=attachment("table.csv"))

    async def _report(self, request: Request) -> Response:
        """The page of a stranger's bundle: it may show its style, and run nothing."""
        bundle = self.reading.bundle
        if not self.desk.admits(request):
            return self.desk.no_entry()
        path = None if bundle is None else bundle.path / "report.html"
        if path is None or path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_REPORT:
            return RedirectResponse(STUDY, 303)
        return report_answer(path.read_bytes())


def _one(text: str, names: list[str]) -> str:
    """A column by its number; none where it is left open."""
    if not text:
        return ""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(names)):
        raise InputError("A column must be one of the bundle", "another one")
    return names[int(text)]


def _bars(table: Crosstab, shares: bool) -> Bars:
    names = [axis.name for axis in table.axes]
    scale = 100.0 if shares else 1.0  # shares are shown in percent
    bars = [
        Bar(
            ["(missing)" if cell[name] is None else str(cell[name]) for name in names] or ["all"],
            estimate=scale * cell["estimate"],
            low=scale * cell["low"],
            high=scale * cell["high"],
        )
        for cell in table.cells()[:_MOST_BARS]
    ]
    return Bars(bars, names or ["records"])
