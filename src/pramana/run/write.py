"""The last step of a run: a publication becomes a bundle, whole or not at all.

Published rows are drawn while they are written: `Publication.pieces` is called here, once, and nowhere before.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import msgspec

from pramana import __version__
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import RefusedError
from pramana.files.atomic import named_when_whole
from pramana.files.folder import compared_folder, new_parts, whole_folder
from pramana.files.regular import open_regular
from pramana.files.store_path import AnyPath, StorePath
from pramana.io.formats import DATA_FILES
from pramana.io.writing import TableWriter, digest_of_written, formula_columns, write_table
from pramana.methods.protocol import Counts, Explanation, Plan, Publication
from pramana.methods.recipe import AnyRecipe
from pramana.notions.guarantee import Guarantee
from pramana.pages.rendering import html_of, load_templates
from pramana.randomness.key import Key
from pramana.randomness.samplers import available_cores
from pramana.reporting.columns import load_estimation
from pramana.reporting.page import PageMaterial, page_of
from pramana.rows.engines import ahead
from pramana.rows.protocol import Columns, SpreadPieces
from pramana.run.codebook import Described, codebook_of
from pramana.schema.sections import OutputSection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pramana.bundle.parts import PartSet


T = TypeVar("T")


@dataclass(frozen=True)
class Destination:
    """Where a bundle goes, and what goes with it."""

    out: AnyPath
    key: Key | None  # None where nobody holds the coins
    key_file: Path | None = None  # where a new key is kept
    signing: Ed25519PrivateKey | None = None
    is_wanted: Callable[[str], bool] = lambda _: True  # asked about the digest of the data at the end
    tell_formulas: Callable[[Sequence[str]], None] = lambda _: None  # columns with texts that are run
    threads: int = 0  # that encode the file; as many as the machine has
    compared: bool = False  # with what lies there, in a store, which must be the same

    @property
    def seeded(self) -> bool:
        return self.key is not None and self.key.seeded


class Origin(Described, Protocol):
    """Where published rows come from, as a certificate tells it."""

    def to_json(self) -> dict[str, Any]: ...


def write_bundle(
    recipe: AnyRecipe,
    source: Origin,
    publication: Publication,
    guarantees: Sequence[Guarantee],
    to: Destination,
) -> Certificate:
    """The bundle in its folder, with the guarantees that were reconciled; and its new key, if there is one."""
    if recipe.output.url is None:
        with _folder(to, None) as folder:
            return _fill(folder, recipe, source, publication, guarantees, to)
    from pramana.run.table_copy import table_copy  # few releases go to a database, too

    with table_copy(recipe.output) as copy, _folder(to, copy.commit) as folder:
        certificate = _fill(folder, recipe, source, publication, guarantees, to)
        copy.fill(Bundle(folder, certificate).data_path)
    return certificate


def _folder(to: Destination, commit: Callable[[], None] | None) -> contextlib.AbstractContextManager[Path]:
    if to.compared and isinstance(to.out, StorePath):
        return compared_folder(to.out)
    new_key = None if to.key is None or to.key_file is None else to.key.to_file(to.key_file)
    return whole_folder(to.out, new_key, commit)


def _fill(
    folder: Path,
    recipe: AnyRecipe,
    source: Origin,
    publication: Publication,
    guarantees: Sequence[Guarantee],
    to: Destination,
) -> Certificate:
    """All files of the bundle, the certificate last."""
    certificate = _write(folder, recipe, source, publication, guarantees, to)
    if not to.is_wanted(certificate.content):
        raise RefusedError("A release made again must have the same content", "other content")
    if to.signing is not None:
        certificate = certificate.signed(to.signing)
    (folder / "certificate.json").write_text(certificate.text(), "utf-8")
    return certificate


def _write(
    folder: Path,
    recipe: AnyRecipe,
    source: Origin,
    publication: Publication,
    guarantees: Sequence[Guarantee],
    to: Destination,
) -> Certificate:
    """The data is written while the report is prepared."""
    plan, escape = publication.plan, recipe.output.escape_formulas
    many = recipe.output.rows_of_parts(plan.records) is not None

    def prepare() -> tuple[Certificate, Explanation]:
        load_templates()
        load_estimation(plan.law)
        return _certificate(recipe, source, publication, guarantees, to), plan.explain()

    with ThreadPoolExecutor(1) as pool:
        pieces = publication.pieces()  # the coins of published rows are thrown as these are taken
        # Start after the first piece: a thread that never waits would starve those that randomise (GIL).
        pieces, preparing = _after_first(pieces, lambda: pool.submit(prepare), many)
        data = _write_data(folder, recipe.output, publication, pieces, to)
        formulas = data.formulas
        for extra, table in publication.extra.items():
            write_table(table, folder / extra, "csv", escape)
            formulas += () if escape else tuple(f"{name} of {extra}" for name in formula_columns(table))
        to.tell_formulas(formulas)
        certificate, explanation = preparing[0].result()
    certificate = replace(certificate, content=data.content, parts=data.parts)
    codebook = codebook_of(source, plan.attributes, Bundle(folder, certificate).data_path, escape)
    certificate = replace(certificate, codebook=codebook)
    if recipe.output.synthetic:
        from pramana.recipient.companion import write_companion  # few releases have one

        write_companion(Bundle(folder, certificate))
    if recipe.output.copy_format is not None:
        from pramana.run.codebook import write_copy  # likewise

        write_copy(Bundle(folder, certificate), recipe.output.copy_format)
    signer = None if to.signing is None else to.signing.public_key().public_bytes_raw().hex()
    material = PageMaterial(
        certificate,
        plan,
        data.counts,
        explanation=explanation,
        signer=signer,
        usefulness=publication.usefulness,
    )
    page = page_of(material)
    (folder / "report.html").write_text(html_of(page), "utf-8")
    known = (
        {} if data.entry is None else {DATA_FILES[recipe.output.data_format]: data.entry}
    )  # digested while it was written
    beside = (path for path in sorted(folder.iterdir()) if path.is_file())
    return replace(certificate, files={path.name: known.get(path.name) or file_entry(path) for path in beside})


@dataclass(frozen=True)
class WrittenTable:
    """A data file's entry in a certificate, and the columns of a CSV with texts that a spreadsheet would run."""

    entry: dict[str, object]
    formulas: tuple[str, ...]


@dataclass(frozen=True)
class WrittenData:
    """What the certificate and the report say of the data that was written: one file, or a set of files."""

    content: str
    counts: Mapping[str, Counts]
    formulas: tuple[str, ...]
    entry: dict[str, object] | None = None  # of the one file
    parts: PartSet | None = None


def _write_data(
    folder: Path, output: OutputSection, publication: Publication, pieces: Iterator[Columns], to: Destination
) -> WrittenData:
    """The data file, or the folder of parts where the recipe or the number of published rows asks for one."""
    form, escape = output.data_format, output.escape_formulas
    rows = output.rows_of_parts(publication.plan.records)
    if rows is None:
        with named_when_whole(folder / DATA_FILES[form]) as path:
            file = _write_file(publication, pieces, path, form, escape, to.threads)
        return WrittenData(publication.table.content(), publication.table.counts(), file.formulas, file.entry)
    from pramana.run.parts import write_parts

    read_here = output.synthetic or output.copy_format is not None or output.url is not None
    spread = isinstance(pieces, SpreadPieces) and not read_here
    target = new_parts(to.out, folder.absolute(), spread)
    target.create()
    written = write_parts(publication, pieces, target, form, escape, rows, to.threads)
    target.finish(written.parts.files, written.files)
    return WrittenData(written.parts.root, written.counts, written.formulas, parts=written.parts)


def write_pieces(
    publication: Publication, sink: Path | BinaryIO, form: str, escape: bool = False, threads: int = 0
) -> WrittenTable:
    """Draw the published rows into one data file."""
    return _write_file(publication, publication.pieces(), sink, form, escape, threads)


def extra_digests(publication: Publication, escape: bool) -> dict[str, str]:
    """By name, the SHA-256 of what stands beside the rows, such as the cells of classes; nothing is written."""
    return {
        name: digest_of_written(partial(write_table, table, format="csv", escape_formulas=escape))
        for name, table in publication.extra.items()
    }


def _write_file(
    publication: Publication,
    pieces: Iterator[Columns],
    sink: Path | BinaryIO,
    form: str,
    escape: bool,
    threads: int,
) -> WrittenTable:
    """The data file, piece by piece; while one is written the next is decoded and digested."""
    writer: TableWriter | None = None
    formulas: dict[str, None] = {}
    with ExitStack() as written:
        for table in ahead(publication.table.table, pieces, 1):  # one thread: pieces in their order
            if writer is None:
                workers = threads or available_cores()
                writer = written.enter_context(TableWriter(sink, form, table.schema, escape, workers))
            writer.write(table)
            if form == "csv" and not escape:
                formulas |= dict.fromkeys(formula_columns(table))
    return WrittenTable({} if writer is None else writer.entry, tuple(formulas))


def _after_first(
    pieces: Iterator[Columns], start: Callable[[], Future[T]], many: bool
) -> tuple[Iterator[Columns], list[Future[T]]]:
    """The same pieces; when the first is there, what `start` returns is put into the list.

    Pieces that are spread, to be written as `many` files, do not come here: it is begun at once.
    """
    begun: list[Future[T]] = []
    if many and isinstance(pieces, SpreadPieces):
        return pieces, [start()]

    def passed() -> Iterator[Columns]:
        for piece in pieces:
            if not begun:
                begun.append(start())
            yield piece

    return passed(), begun


def _certificate(
    recipe: AnyRecipe,
    source: Origin,
    publication: Publication,
    guarantees: Sequence[Guarantee],
    to: Destination,
) -> Certificate:
    plan: Plan = publication.plan
    committed = {} if to.key is None else {"commitment": publication.commitment}
    return Certificate(
        pramana=__version__,
        method=recipe.method,
        records=plan.records,
        attributes=plan.attributes,
        dropped=plan.dropped,
        mechanism=plan.statement(),
        source={**source.to_json(), **committed},
        output=recipe.output.data_format,
        about=msgspec.to_builtins(recipe.about),
        escaped=recipe.output.escape_formulas,
        shuffled=plan.shuffled,
        guarantees=tuple(guarantee.to_json() for guarantee in guarantees),
        warnings=plan.warnings(to.seeded),
        key=None if to.key is None else {"commitment": to.key.commitment(), "seeded": to.seeded},
        files={},
        content="0" * 64,
        dataset=plan.dataset,
        unit=plan.unit,
    )


def file_entry(path: Path) -> dict[str, object]:
    with open_regular(path) as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
