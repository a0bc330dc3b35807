"""One small bundle for every golden setting, and certificates as a forger writes them: digests made again."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from tests.golden.cells import SETTINGS, make_tables, path_of

from pramana import Recipe, release, verify
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import canonical
from pramana.errors import PramanaError
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import restore
from pramana.pages.rendering import html_of
from pramana.randomness.key import Key
from pramana.reporting.page import PageMaterial, page_of
from pramana.run.verify import Verification

ROWS = 300
KEY = Key(bytes(range(1, 33)))
CASES = [(name, kind) for name in SETTINGS for kind in ("parquet", "csv")]
Json = dict[str, Any]


def make_small_tables(folder: Path) -> None:
    """The golden tables, cut to their first rows."""
    make_tables(folder)
    everyone = pacsv.read_csv(folder / "everyone.csv").slice(0, ROWS)
    pacsv.write_csv(everyone, folder / "everyone.csv")
    present = sum(everyone["here"].to_pylist())
    pacsv.write_csv(pacsv.read_csv(folder / "present.csv").slice(0, present), folder / "present.csv")
    people = pq.read_table(folder / "people.parquet").slice(0, ROWS)
    pq.write_table(people, folder / "people.parquet")
    pacsv.write_csv(people, folder / "people.csv")


def recipe_of(name: str, kind: str, folder: Path, **output: Any) -> AnyRecipe:
    chosen, attributes = SETTINGS[name]
    statement = {
        "source": {"path": path_of(name, kind), "dataset": "golden"},
        "release": dict(chosen),
        "attributes": dict(attributes),
        "output": {"format": kind, **output},
    }
    return Recipe.parse(statement, folder)


@cache
def made(name: str, kind: str, folder: Path) -> Path:
    """The bundle of a setting, under a key that is no seed's."""
    out = folder / f"{name} {kind}"
    release(
        recipe_of(name, kind, folder), out, key=KEY, threads=1, even_if_useless=True
    )  # some of 300 records tell nothing
    return out


def copied(bundle: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(bundle, to)
    return to


# ---------------------------------------------------------------- what a forger does


def statement_of(bundle: Path) -> Json:
    statement: Json = json.loads((bundle / "certificate.json").read_text())
    statement.pop("digest", None)
    return statement


def certificate_text(statement: Mapping[str, Any]) -> str:
    """The file with its digest made again, where the statement has a canonical form at all."""
    whole = dict(statement)
    try:
        whole["digest"] = hashlib.sha256(canonical(statement)).hexdigest()
    except (ValueError, TypeError):
        whole["digest"] = "0" * 64
    return json.dumps(whole, indent=2, sort_keys=True) + "\n"


def entry(path: Path) -> Json:
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def write_statement(bundle: Path, statement: Mapping[str, Any], files: bool = False) -> None:
    """The certificate; with `files`, the digests of the files as they lie there."""
    if files:
        names = sorted(p.name for p in bundle.iterdir() if p.name != "certificate.json")
        statement = {**statement, "files": {name: entry(bundle / name) for name in names}}
    (bundle / "certificate.json").write_text(certificate_text(statement))


def content_of(bundle: Path) -> str | None:
    """The content digest that verification computes of the data, as the forger's own copy of Pramana tells it."""
    from unittest import mock

    from pramana.methods import cell_table, coded
    from pramana.rows.digest import ContentDigest

    seen: list[str] = []

    class Telling(ContentDigest):
        def hexdigest(self, *order: Any) -> str:
            seen.append(super().hexdigest(*order))
            return seen[-1]

    with (
        mock.patch.object(coded, "ContentDigest", Telling),
        mock.patch.object(cell_table, "ContentDigest", Telling),
        contextlib.suppress(PramanaError),
    ):
        opened = Bundle.open(bundle)
        restore(opened.certificate).examine(opened)
    return seen[-1] if seen else None


def write_report_again(bundle: Path) -> bool:
    """The report of the certificate as it now is, if one can be made of it."""
    try:
        opened = Bundle.open(bundle)
        plan = restore(opened.certificate)
        examined = plan.examine(opened)
        page = page_of(PageMaterial(opened.certificate, plan, examined.counts, usefulness=examined.usefulness))
        (bundle / "report.html").write_text(html_of(page))
    except PramanaError:
        return False
    write_statement(bundle, statement_of(bundle), files=True)
    return True


def shown_texts(bundle: Path) -> frozenset[str]:
    """Every text of a CSV's cells; nothing of a Parquet file."""
    data = bundle / "data.csv"
    if not data.exists():
        return frozenset()
    return frozenset(text for row in csv.reader(data.read_text().splitlines()) for text in row)


def failed(bundle: Path, **options: Any) -> set[str]:
    """The names of the checks that failed; {"refused"} where the bundle was no bundle."""
    try:
        return failures(verify(bundle, threads=1, **options))
    except PramanaError as error:
        assert str(error).count("\n") == 0
        return {"refused"}


def failures(verification: Verification) -> set[str]:
    return {check.name for check in verification.checks if not check.ok}
