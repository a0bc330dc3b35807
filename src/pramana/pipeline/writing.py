"""The last step of the pipeline: a publication becomes a bundle, whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pramana import __version__
from pramana.bundle import Certificate, named_when_whole, whole_folder
from pramana.errors import RefusedError
from pramana.methods import AnyRecipe, Plan, Publication
from pramana.pages import Section, drawn, html_of
from pramana.pipeline.page import PageMaterial, page_of
from pramana.pipeline.promises import check_promises
from pramana.pipeline.table_copy import table_copy
from pramana.randomness import Key
from pramana.rows import Columns, ahead
from pramana.sources import FILE_NAMES, Source, TableWriter

T = TypeVar("T")


@dataclass(frozen=True)
class Destination:
    """Where a bundle goes, and what goes with it."""

    out: Path
    key: Key
    key_file: Path | None = None  # where a new key is kept
    signing: Ed25519PrivateKey | None = None
    is_wanted: Callable[[str], bool] = lambda _: True  # asked about the digest of the data at the end


def write_bundle(recipe: AnyRecipe, source: Source, publication: Publication, to: Destination) -> Certificate:
    """The bundle in its folder, and with it the new key, if there is one to keep."""
    with (
        table_copy(recipe.output) as copy,
        whole_folder(to.out, to.key, to.key_file, None if recipe.output.url is None else copy.commit) as folder,
    ):
        certificate = _write(folder, recipe, source, publication, to.key)
        if not to.is_wanted(certificate.content):
            raise RefusedError("A release made again must have the same content", "other content")
        if to.signing is not None:
            certificate = certificate.signed(to.signing)
        (folder / "certificate.json").write_text(certificate.text(), "utf-8")
        copy.fill(folder / FILE_NAMES[recipe.output.format])
    return certificate


def _write(folder: Path, recipe: AnyRecipe, source: Source, publication: Publication, key: Key) -> Certificate:
    """The file is written while the promises are derived and the report is drawn."""
    plan = publication.plan

    def prepare() -> tuple[Certificate, list[Section]]:
        guarantees = plan.guarantees(key.seeded)
        check_promises(recipe.release, guarantees, recipe.release.waived)
        certificate = _certificate(recipe, source, publication, key, [g.to_json() for g in guarantees])
        return certificate, drawn(list(plan.explain().sections))

    with ThreadPoolExecutor(1) as pool:
        # Not before the first piece is there: threads that take turns with the interpreter a thousand times a
        # second, as those that randomise do, wait long for one that never rests.
        pieces, preparing = _after_first(publication.pieces, lambda: pool.submit(prepare))
        with named_when_whole(folder / FILE_NAMES[recipe.output.format]) as file:
            write_pieces(replace(publication, pieces=pieces), file, recipe.output.format)
        for extra, write in publication.extra.items():
            write(folder / extra)
        certificate, sections = preparing[0].result()
    certificate = replace(certificate, content=publication.table.content())
    page = page_of(PageMaterial(certificate, plan, publication.table.counts(), sections=sections))
    (folder / "report.html").write_text(html_of(page), "utf-8")
    return replace(certificate, files={path.name: file_entry(path) for path in sorted(folder.iterdir())})


def write_pieces(publication: Publication, file: Path | BinaryIO, form: str) -> None:
    """The data file, piece by piece; while one is written the next is decoded and digested."""
    writer: TableWriter | None = None
    for table in ahead(publication.table.table, publication.pieces, 1):  # one thread: pieces in their order
        writer = TableWriter(file, form, table.schema) if writer is None else writer
        writer.write(table)
    if writer is not None:
        writer.close()


def _after_first(
    pieces: Iterator[Columns], start: Callable[[], Future[T]]
) -> tuple[Iterator[Columns], list[Future[T]]]:
    """The same pieces; when the first is there, what `start` returns is put into the list."""
    begun: list[Future[T]] = []

    def passed() -> Iterator[Columns]:
        for piece in pieces:
            if not begun:
                begun.append(start())
            yield piece

    return passed(), begun


def _certificate(
    recipe: AnyRecipe, source: Source, publication: Publication, key: Key, guarantees: list[dict[str, Any]]
) -> Certificate:
    plan: Plan = publication.plan
    return Certificate(
        pramana=__version__,
        method=recipe.method,
        records=plan.records,
        attributes=plan.attributes,
        dropped=plan.dropped,
        mechanism=plan.statement(),
        source={**source.to_json(), "commitment": publication.commitment},
        output=recipe.output.format,
        shuffled=plan.shuffled,
        guarantees=tuple(guarantees),
        warnings=plan.warnings(key.seeded),
        key={"commitment": key.commitment(), "seeded": key.seeded},
        files={},
        content="0" * 64,
        dataset=plan.dataset,
    )


def file_entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
