"""Analyse: a bundle is checked and explained, then asked for tables, comparisons and files by clicking.

A bundle that someone was given is a folder, or a zip file that is unpacked within bounds. It is hostile.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pramana.app.studio.desk import Desk, Form, attachment, chosen
from pramana.app.studio.folders import Upload
from pramana.app.studio.release_pages import report_answer
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, InputError, PramanaError
from pramana.pages.content import Bars, Legend
from pramana.recipient.analysis import open_study
from pramana.recipient.answers import Crosstab, interval_bar
from pramana.recipient.cell_study import CellStudy
from pramana.recipient.filters import Filter
from pramana.recipient.study import Study
from pramana.recipient.synthesis import synthesise
from pramana.run.verify import Verification, verify
from pramana.schema.domain import Axis

STUDY = "/study"
_NO_QUERY: dict[str, Any] = {"row": "", "column": "", "shares": "", "only": {}, "compared": None, "drawn": ""}
_INTERVAL = ("estimate", "low", "high")
_MOST_LABELS = 60  # of a column that are offered for clicking
_MOST_BARS = 400
_MOST_CELLS = 4000  # of a table that is asked for
_MOST_REPORT = 64 << 20
_FOLDER = "received"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,99}")
_MOST_ENTRIES = 40
_MOST_BYTES = 2 << 30  # unpacked
_PIECE = 1 << 20
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, ValueError, OSError, EOFError)


@dataclass
class ReceivedBundle:
    """One bundle, verified, and ready for questions where its method allows them."""

    title: str
    path: Path
    certificate: Certificate
    verification: Verification
    study: Study | CellStudy | None = None
    why_not: str = ""  # why no tables can be asked for

    @classmethod
    def open(cls, path: Path, title: str) -> ReceivedBundle:
        bundle = cls(title, path, Bundle.open(path).certificate, verify(path))
        try:
            bundle.study = open_study(path)
        except PramanaError as error:
            bundle.why_not = str(error)
        return bundle

    def crosstab(self, by: Sequence[str], only: Mapping[str, Sequence[str]], shares: bool) -> Crosstab:
        """A table by some columns, among records with one of the values chosen in others."""
        study = self.questions()
        cells = math.prod(study.axis(name).size for name in by)
        if cells > _MOST_CELLS:
            raise InputError(f"A table must have at most {_MOST_CELLS:,} cells", f"{cells:,}")
        terms = [with_values(study.axis(name), values) for name, values in only.items() if values]
        return study.crosstab(by, reduce(and_, terms) if terms else None, shares=shares)

    def questions(self) -> Study | CellStudy:
        """The study; refused where the bundle's method has none."""
        if self.study is None:
            raise BundleError("Tables must be asked of a bundle that allows them", self.why_not)
        return self.study


@dataclass
class RecipientPages:
    """A recipient's work: the bundle that is open, and the last table asked for."""

    desk: Desk
    bundle: ReceivedBundle | None = None
    query: dict[str, Any] = field(default_factory=dict)
    table: Crosstab | None = None

    def routes(self) -> list[Route]:
        desk = self.desk
        return [
            desk.page(STUDY, self._page),
            desk.action(STUDY, self._open, STUDY),
            desk.upload("/study/upload", self._new_upload, self._open_upload, STUDY),
            desk.action("/study/close", self._close, STUDY),
            desk.action("/study/table", self._table, STUDY),
            desk.action("/study/compare", self._compare, STUDY),
            desk.action("/study/synthesise", self._synthesise, STUDY),
            desk.page("/study/table.csv", self._csv),
            desk.page("/study/report", self._report),
        ]

    def forget(self) -> None:
        private = self.desk.journey.private
        private.forget_upload(f"{_FOLDER}.zip")
        shutil.rmtree(private.path / _FOLDER, ignore_errors=True)
        self.bundle, self.table, self.query = None, None, {}

    # ------------------------------------------------------------ opening

    async def _page(self, _: Request) -> Response:
        allowed = self.desk.journey.allowed
        if self.bundle is None:
            bundles = await self.desk.run(allowed.bundles)
            return self.desk.show("study_open.html", area="study", bundles=bundles, folder=str(allowed.root))
        return self.desk.show("study.html", area="study", **await self.desk.run(self._context))

    def _context(self) -> dict[str, Any]:
        bundle, table = self.bundle, self.table
        assert bundle is not None
        axes = [] if bundle.study is None else [(name, bundle.study.axis(name)) for name in bundle.study.axes]
        return {
            "bundle": bundle,
            "checked": bundle.verification,
            "guarantees": list(bundle.certificate.guarantees),
            "warnings": list(bundle.verification.warnings),
            "columns": [
                (i, name, list(axis.labels[:_MOST_LABELS]), axis.size) for i, (name, axis) in enumerate(axes)
            ],
            "asked": {**_NO_QUERY, **self.query},
            "bars": None if table is None else _bars(table, bool(self.query.get("shares"))),
            "legend": Legend(estimated=True),
            "synthetic": self.desk.journey.allowed.free_name("synthetic", ".csv"),
        }

    def _open(self, form: Form) -> str:
        name = form.get("bundle", "")
        path = self.desk.journey.allowed.find(name)
        self.forget()
        if path.is_file():
            path = self._unpacked(path)
        elif any(entry.is_symlink() for entry in path.iterdir()):
            raise BundleError("A bundle must hold files", "symbolic links")
        self.bundle = ReceivedBundle.open(path, name)
        return STUDY

    def _close(self, _: Form) -> str:
        self.forget()
        return STUDY

    def _new_upload(self, _: str) -> Upload:
        self.forget()
        return Upload(self.desk.journey.private, f"{_FOLDER}.zip")

    def _open_upload(self, upload: Upload, title: str) -> None:
        private = self.desk.journey.private
        with private.reading():
            path = self._unpacked(private.path / upload.name)
        private.forget_upload(upload.name)
        self.bundle = ReceivedBundle.open(path, title)

    def _unpacked(self, packed: Path) -> Path:
        """Flat files under plain names, so many and so large at most; one folder around them is fine."""
        folder = self.desk.journey.private.path / _FOLDER
        folder.mkdir(mode=0o700)
        try:
            with zipfile.ZipFile(packed) as file:
                _unpack(file, folder)
        except PramanaError:
            self.forget()
            raise
        except _BAD_ZIP as error:
            self.forget()
            raise BundleError(
                "A bundle must be a folder or a sound zip file", f"a fault in it ({type(error).__name__})"
            ) from None
        return folder

    # ------------------------------------------------------------ asking

    def _opened(self) -> tuple[ReceivedBundle, Study | CellStudy]:
        if self.bundle is None:
            raise InputError("Open a bundle first")
        return self.bundle, self.bundle.questions()

    def _table(self, form: Form) -> str:
        bundle, study = self._opened()
        names = list(study.axes)
        row, column = (chosen(form[key], names, "A column") if form.get(key) else "" for key in ("row", "column"))
        only: dict[str, list[str]] = {}
        for i, name in enumerate(names):
            labels = study.axis(name).labels[:_MOST_LABELS]
            marked = [label for j, label in enumerate(labels) if form.get(f"only-{i}-{j}") == "yes"]
            if marked:
                only[name] = marked
        shares = form.get("shares", "")
        self.query = {"row": row, "column": column, "shares": shares, "only": only, "compared": None}
        self.table = None
        by = list(dict.fromkeys(name for name in (row, column) if name))
        self.table = bundle.crosstab(by, only, shares == "yes")
        return f"{STUDY}#answer"

    def _compare(self, form: Form) -> str:
        _, study = self._opened()
        keys = {key: form.get(key, "") for key in ("first", "second", "share")}
        filters, words = [], []
        for key, text in keys.items():
            column, _, value = text.partition("-")
            axis = study.axis(chosen(column, list(study.axes), f"The column of {key}"))
            label = chosen(value, axis.labels, f"The value of {key}")
            filters.append(with_values(axis, [label]))
            words.append(f"{axis.name} = {label}")
        comparison = study.compare(filters[0], filters[1], share=filters[2]).to_json()
        named = {f"{key}_key": text for key, text in keys.items()}
        self.query = {**self.query, "compared": {**comparison, "words": words, **named}}
        return f"{STUDY}#compared"

    def _synthesise(self, form: Form) -> str:
        """Records drawn from the open bundle, as a new file of the folder with its certificate beside it."""
        name = form.get("name", "").strip()
        if self.bundle is None:
            raise InputError("Open a bundle first")
        if not name.endswith((".csv", ".parquet")):
            raise InputError("The file must end in .csv or .parquet", repr(name[:100]))
        drawn = synthesise(self.bundle.path, self.desk.journey.allowed.new(name))
        files = f"{drawn.path.name}, and what they are in {drawn.certificate.name}"
        self.query = {**self.query, "drawn": f"{drawn.records:,} records are in {files}."}
        return f"{STUDY}#drawn"

    async def _csv(self, _: Request) -> Response:
        table = self.table
        if table is None:
            return RedirectResponse(STUDY, 303)
        text = await self.desk.run(lambda: csv_of(table))
        return Response(text.encode(), media_type="text/csv", headers=attachment("table.csv"))

    async def _report(self, _: Request) -> Response:
        """The page of a stranger's bundle: it may show its style, and run nothing."""
        path = None if self.bundle is None else self.bundle.path / "report.html"
        if path is None or path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_REPORT:
            return RedirectResponse(STUDY, 303)
        return report_answer(path.read_bytes())


def _unpack(packed: zipfile.ZipFile, folder: Path) -> None:
    entries = [entry for entry in packed.infolist() if not entry.is_dir()]
    folders = {entry.filename.rpartition("/")[0] for entry in entries}
    if len(entries) > _MOST_ENTRIES or len(folders) > 1:
        got = f"{len(entries)} files in {len(folders)} folders"
        raise BundleError(f"A bundle's zip file must hold one folder of at most {_MOST_ENTRIES} files", got)
    left = _MOST_BYTES
    for entry in entries:
        name = entry.filename.rpartition("/")[2]
        if not _NAME.fullmatch(name):
            raise BundleError("A bundle's files must have plain names", repr(name[:100]))
        with packed.open(entry) as source, (folder / name).open("xb") as out:
            while piece := source.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise BundleError(f"A bundle must unpack to at most {_MOST_BYTES >> 30} GiB")
                out.write(piece)


def with_values(axis: Axis, labels: Sequence[str]) -> Filter:
    """Records with one of these values; the missing one is among an axis's labels, and no value of a filter."""
    values = [label for label in labels if not (axis.missing and label == axis.labels[-1])]
    missing = Filter.missing(axis.name)
    if not values:
        return missing
    among = Filter.among(axis.name, values)
    return among if len(values) == len(labels) else among | missing


def csv_of(table: Crosstab) -> str:
    """The table with its intervals; what a spreadsheet would run as a formula gets an apostrophe before it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    names = [axis.name for axis in table.axes]
    writer.writerow([*map(_harmless, names), *_INTERVAL])
    for cell in table.cells():
        labels = ["" if cell[name] is None else _harmless(str(cell[name])) for name in names]
        writer.writerow([*labels, *(cell[key] for key in _INTERVAL)])
    return text.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _bars(table: Crosstab, shares: bool) -> Bars:
    names = [axis.name for axis in table.axes]
    scale = 100.0 if shares else 1.0  # shares are shown in percent
    bars = []
    for cell in table.cells()[:_MOST_BARS]:
        labels = ["(missing)" if cell[name] is None else str(cell[name]) for name in names]
        bars.append(interval_bar(labels or ["all"], {key: scale * cell[key] for key in _INTERVAL}))
    return Bars(bars, names or ["records"])
