"""What reads bytes that somebody else wrote: each reader takes a file, and only Pramana's own errors may come out.

The same functions are fuzzed by coverage (`guided.py`) and replay the stored inputs in the tests.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tests.security.bundles import certificate_text

from pramana import Recipe
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import Survey
from pramana.bundle.certificate import Certificate
from pramana.errors import PramanaError
from pramana.io.source import Source
from pramana.methods.registry import restore
from pramana.methods.retention.setting import read_matrix
from pramana.randomness.key import Key
from pramana.recipient.filters import Filter
from pramana.schema.domain import Axis, Domain
from pramana.schema.hierarchy import Hierarchy

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
AXES = (
    Axis.of_domain("sex", Domain.declared(["F", "M"], missing=True)),
    Axis.of_domain("age", Domain.from_bins([0, 20, 40, float("inf")])),
    Axis.of_domain("day", Domain.declared(["2024-01-01", "2024-02-01"])),
)
SURVEY = {
    "release": {"epsilon": 4, "records": 500},
    "attributes": {
        "smokes": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
        "age": {"role": "quasi-identifying", "bins": [0, 30, 60, float("inf")]},
    },
}
# By the first byte of the input: how the rest is to be read.
DIALECTS: tuple[dict[str, Any], ...] = (
    {"delimiter": ";", "decimal": ","},
    {"delimiter": "\t", "thousands": "'"},
    {"encoding": "utf-16"},
    {"encoding": "windows-1252", "trim": False},
    {"missing": ("", "NA", "99")},
    {"delimiter": "|", "decimal": ",", "thousands": "."},
)


@dataclass(frozen=True)
class Reader:
    """A reader, the ending of its file, how long an input may grow, and whether it starts a process."""

    suffix: str
    read: Callable[[Path], object]
    most: int = 4096
    in_a_process: bool = False

    def attempt(self, content: bytes, folder: Path) -> bool:
        """Whether the bytes were taken. Whatever else than a refusal of one line comes out is a fault."""
        path = folder / f"input{self.suffix}"
        path.write_bytes(content)
        try:
            self.read(path)
        except PramanaError as error:
            if "\n" in str(error) or not str(error).isprintable():
                raise AssertionError("a refusal must be one printable line") from error
            return False
        return True


def _certificate(path: Path) -> None:
    """The digest is made again, as a forger would: without it nothing behind it would be reached."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        statement = json.loads(path.read_bytes())
        if isinstance(statement, dict):
            statement.pop("digest", None)
            path.write_text(certificate_text(statement))
    certificate = Certificate.read(path)
    certificate.signature_holds()
    restore(certificate)


def _key(path: Path) -> None:
    path.chmod(0o600)
    Key.read(path)


def _filter(path: Path) -> None:
    Filter.parse(path.read_bytes().decode("utf-8", "replace")).select(AXES)


@cache
def _survey() -> Survey:
    return Survey.read(Recipe.parse(SURVEY))


def _table(path: Path) -> None:
    """Whole, and in batches; either may refuse, and both must."""
    refusals = 0
    for read in (_whole, _batches):
        try:
            read(Source(path=path))
        except PramanaError as error:
            refusal, refusals = error, refusals + 1
    if refusals:
        raise refusal


def _whole(source: Source) -> None:
    for column in source.read().columns.values():
        column.validate(full=True)


def _batches(source: Source) -> None:
    for batch in source.batches(["sex", "age"], 7):
        batch.validate(full=True)


def _dialect(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[1:])
    _whole(Source(path=path, **DIALECTS[(content[0] if content else 0) % len(DIALECTS)]))


def _worker_says(path: Path) -> None:
    """The process that reads SPSS, Stata and SAS files was taken over, and says what the input holds."""
    start, told = subprocess.Popen, path.with_suffix(".told")
    told.write_bytes(path.read_bytes())
    path.write_bytes(b"$FL2@(#) SPSS DATA FILE".ljust(256))

    def instead(command: object, **options: Any) -> Any:
        del command
        return start(["sh", "-c", 'cat "$0"; exec cat >/dev/null', str(told)], **options)

    with mock.patch("pramana.io.survey.subprocess.Popen", instead):
        _whole(Source(path=path, format="sav"))


READERS: dict[str, Reader] = {
    "recipe": Reader(".toml", Recipe.read),
    "hierarchy": Reader(".csv", Hierarchy.read),
    "certificate": Reader(".json", _certificate, 16_384),
    "matrix": Reader(".csv", read_matrix, 1024),
    "filter": Reader(".txt", _filter, 512),
    "submission": Reader(".json", lambda path: Submission.read(_survey(), path.read_bytes()), 512),
    "key": Reader(".key", _key, 256),
    "csv": Reader(".csv", _table),
    "csv-dialect": Reader(".csv", _dialect),
    "csv-packed": Reader(".csv.gz", _table),
    "parquet": Reader(".parquet", _table, 8192),
    "arrow": Reader(".arrow", _table, 8192),
    "workbook": Reader(".xlsx", _table, 16_384),
    "worker": Reader(".sav", _worker_says, 8192),
    "sav": Reader(".sav", lambda path: _whole(Source(path=path)), 8192, True),
    "dta": Reader(".dta", lambda path: _whole(Source(path=path)), 8192, True),
    "sas7bdat": Reader(".sas7bdat", lambda path: _whole(Source(path=path)), 8192, True),
    "xpt": Reader(".xpt", lambda path: _whole(Source(path=path)), 8192, True),
}
