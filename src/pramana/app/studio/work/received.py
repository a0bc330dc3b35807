"""A bundle that someone was given: a folder, or a zip file that is unpacked within bounds. It is hostile."""

from __future__ import annotations

import csv
import io
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana.app.studio.work.allowed import AllowedFolder
from pramana.app.studio.work.private import PrivateFolder, Upload
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, InputError, PramanaError
from pramana.recipient.analysis import open_study
from pramana.recipient.answers import Crosstab
from pramana.recipient.cell_study import CellStudy
from pramana.recipient.filters import Filter
from pramana.recipient.study import Study
from pramana.recipient.synthesis import synthesise
from pramana.run.verify import Verification, verify
from pramana.schema.domain import Axis

_FOLDER = "received"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,99}")
_MOST_ENTRIES = 40
_MOST_BYTES = 2 << 30  # unpacked
_MOST_CELLS = 400  # of a table that is shown
_PIECE = 1 << 20
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, ValueError, OSError, EOFError)


@dataclass
class ReceivedBundle:
    """One bundle, verified, and ready for questions where its method allows them."""

    title: str
    path: Path
    certificate: Certificate
    verification: Verification
    study: Study | CellStudy | None
    why_not: str = ""  # why no tables can be asked for

    @classmethod
    def open(cls, path: Path, title: str) -> ReceivedBundle:
        bundle, checked = Bundle.open(path), verify(path)
        study: Study | CellStudy | None = None
        why_not = ""
        try:
            study = open_study(path)
        except PramanaError as error:
            why_not = str(error)
        return cls(title, path, bundle.certificate, checked, study, why_not)

    def crosstab(self, by: Sequence[str], only: Mapping[str, Sequence[str]], shares: bool) -> Crosstab:
        """A table by some columns, among records with one of the values chosen in others."""
        if self.study is None:
            raise BundleError("Tables must be asked of a bundle that allows them", self.why_not)
        terms = [with_values(self.study.axis(name), values) for name, values in only.items() if values]
        where: Filter | None = None
        for term in terms:
            where = term if where is None else where & term
        sizes = 1
        for name in by:
            sizes *= self.study.axis(name).size
        if sizes > _MOST_CELLS * 10:
            raise InputError(f"A table must have at most {_MOST_CELLS * 10:,} cells", f"{sizes:,}")
        return self.study.crosstab(by, where, shares=shares)


@dataclass
class BundleReading:
    """A recipient's work: the bundle that is open, and the last table asked for."""

    allowed: AllowedFolder
    private: PrivateFolder
    bundle: ReceivedBundle | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    table: Crosstab | None = None

    def open(self, name: str) -> None:
        path = self.allowed.find(name)
        self.forget()
        if path.is_file():
            with path.open("rb") as file:
                path = self._unpacked(file)
        elif any(entry.is_symlink() for entry in path.iterdir()):
            raise BundleError("A bundle must hold files", "symbolic links")
        self.bundle = ReceivedBundle.open(path, name)

    def new_upload(self) -> Upload:
        self.forget()
        return self.private.new_upload(f"{_FOLDER}.zip")

    def open_upload(self, title: str) -> None:
        with self.private.reading(), (self.private.path / f"{_FOLDER}.zip").open("rb") as file:
            path = self._unpacked(file)
        self.private.forget_upload(f"{_FOLDER}.zip")
        self.bundle = ReceivedBundle.open(path, title)

    def synthesise(self, name: str) -> str:
        """Records drawn from the open bundle, as a new file of the folder with its certificate beside it."""
        if self.bundle is None:
            raise InputError("Records must be drawn from an open bundle", "none")
        if not name.endswith((".csv", ".parquet")):
            raise InputError("The file must end in .csv or .parquet", "another name")
        drawn = synthesise(self.bundle.path, self.allowed.new(name))
        return (
            f"{drawn.records:,} records are in {drawn.path.name}, and what they are in {drawn.certificate.name}."
        )

    def forget(self) -> None:
        self.private.forget_upload(f"{_FOLDER}.zip")
        shutil.rmtree(self.private.path / _FOLDER, ignore_errors=True)
        self.bundle, self.table, self.asked = None, None, {}

    def _unpacked(self, file: Any) -> Path:
        """Flat files under plain names, so many and so large at most; one folder around them is fine."""
        folder = self.private.path / _FOLDER
        folder.mkdir(mode=0o700)
        left = _MOST_BYTES
        try:
            with zipfile.ZipFile(file) as packed:
                entries = [entry for entry in packed.infolist() if not entry.is_dir()]
                if len(entries) > _MOST_ENTRIES or len({_folder_of(e.filename) for e in entries}) > 1:
                    raise BundleError("A bundle's zip file must hold one folder of few files", "another one")
                for entry in entries:
                    name = entry.filename.rpartition("/")[2]
                    if not _NAME.fullmatch(name):
                        raise BundleError("A bundle's files must have plain names", "another one")
                    with packed.open(entry) as source, (folder / name).open("xb") as out:
                        while piece := source.read(_PIECE):
                            left -= len(piece)
                            if left < 0:
                                raise BundleError(f"A bundle must have at most {_MOST_BYTES >> 30} GiB", "more")
                            out.write(piece)
        except PramanaError:
            self.forget()
            raise
        except _BAD_ZIP:
            self.forget()
            raise BundleError("A bundle must be a folder or a sound zip file", "something else") from None
        return folder


def with_values(axis: Axis, labels: Sequence[str]) -> Filter:
    """Records with one of these values; the missing one is among an axis's labels, and no value of a filter."""
    values = [label for label in labels if not (axis.missing and label == axis.labels[-1])]
    missing = Filter.missing(axis.name)
    if not values:
        return missing
    chosen = Filter.among(axis.name, values)
    return chosen if len(values) == len(labels) else chosen | missing


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def csv_of(table: Crosstab) -> str:
    """The table with its intervals; what a spreadsheet would run as a formula gets an apostrophe before it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    names = [axis.name for axis in table.axes]
    writer.writerow([*map(_harmless, names), "estimate", "low", "high"])
    for cell in table.cells():
        labels = ["" if cell[name] is None else _harmless(str(cell[name])) for name in names]
        writer.writerow([*labels, cell["estimate"], cell["low"], cell["high"]])
    return text.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
