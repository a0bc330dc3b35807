"""The last step of the pipeline: a publication becomes a bundle, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import msgspec

from pramana import __version__
from pramana.bundle import Bundle, Certificate, compared_folder, new_parts, whole_folder
from pramana.errors import RefusedError
from pramana.methods import AnyRecipe, Counts, Explanation, Plan, Publication
from pramana.pages import html_of, load_templates
from pramana.pipeline.files.codebook import Described, codebook_of
from pramana.pipeline.promises import check_promises
from pramana.pipeline.reporting.page import PageMaterial, page_of
from pramana.pipeline.reporting.page_columns import load_estimation
from pramana.pipeline.table_copy import table_copy
from pramana.randomness import Key, available_cores, named_when_whole
from pramana.rows import Columns, SpreadPieces, ahead
from pramana.schema import OutputSection
from pramana.sources import FILE_NAMES, TableWriter, formula_columns, write_table
from pramana.stores import AnyPath, StorePath, open_regular
from pramana.theory import Guarantee

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pramana.bundle import PartSet

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
    waived: tuple[str, ...] = ()  # promises that need not be kept, besides those that the setting waives
    threads: int = 0  # that encode the file; as many as the machine has
    compared: bool = False  # with what lies there, in a store, which must be the same

    @property
    def seeded(self) -> bool:
        return self.key is not None and self.key.seeded


class Origin(Described, Protocol):
    """Where published rows come from, as a certificate tells it."""

    def to_json(self) -> dict[str, Any]: ...


def write_bundle(recipe: AnyRecipe, source: Origin, publication: Publication, to: Destination) -> Certificate:
    """The bundle in its folder, and with it the new key, if there is one to keep."""
    with table_copy(recipe.output) as copy, _folder(recipe, to, copy.commit) as folder:
        certificate = _write(folder, recipe, source, publication, to)
        if not to.is_wanted(certificate.content):
            raise RefusedError("A release made again must have the same content", "other content")
        if to.signing is not None:
            certificate = certificate.signed(to.signing)
        (folder / "certificate.json").write_text(certificate.text(), "utf-8")
        copy.fill(Bundle(folder, certificate).data_path)
    return certificate


def _folder(
    recipe: AnyRecipe, to: Destination, commit: Callable[[], None]
) -> contextlib.AbstractContextManager[Path]:
    if to.compared and isinstance(to.out, StorePath):
        return compared_folder(to.out)
    return whole_folder(to.out, to.key, to.key_file, None if recipe.output.url is None else commit)


def _write(
    folder: Path, recipe: AnyRecipe, source: Origin, publication: Publication, to: Destination
) -> Certificate:
    """The data is written while the promises are derived and the report is prepared."""
    plan, escape = publication.plan, recipe.output.escape_formulas
    many = recipe.output.rows_of_parts(plan.records) is not None

    @cache
    def kept() -> tuple[Guarantee, ...]:
        guarantees = plan.guarantees(to.seeded)
        check_promises(recipe.release, guarantees, (*recipe.release.waived, *to.waived))
        return guarantees

    def prepare() -> tuple[Certificate, Explanation]:
        load_templates()
        load_estimation(plan.law)
        certificate = _certificate(recipe, source, publication, to, [g.to_json() for g in kept()])
        return certificate, plan.explain()

    if many and isinstance(publication.pieces, SpreadPieces):
        kept()  # first: parts may go to where others can read them before the bundle is whole
    with ThreadPoolExecutor(1) as pool:
        # Not before the first piece is there: threads that take turns with the interpreter a thousand times a
        # second, as those that randomise do, wait long for one that never rests.
        pieces, preparing = _after_first(publication.pieces, lambda: pool.submit(prepare), many)
        data = _write_data(folder, recipe.output, replace(publication, pieces=pieces), to)
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
        from pramana.pipeline.recipient.companion import write_companion  # few releases have one

        write_companion(Bundle(folder, certificate))
    if recipe.output.copy_format is not None:
        from pramana.pipeline.files.copies import write_copy  # likewise

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
        {} if data.entry is None else {FILE_NAMES[recipe.output.data_format]: data.entry}
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


def _write_data(folder: Path, output: OutputSection, publication: Publication, to: Destination) -> WrittenData:
    """The data file, or the folder of parts where the recipe or the number of published rows asks for one."""
    form, escape = output.data_format, output.escape_formulas
    rows = output.rows_of_parts(publication.plan.records)
    if rows is None:
        with named_when_whole(folder / FILE_NAMES[form]) as place:
            file = write_pieces(publication, place, form, escape, to.threads)
        return WrittenData(publication.table.content(), publication.table.counts(), file.formulas, file.entry)
    from pramana.pipeline.files.parts import write_parts

    read_here = output.synthetic or output.copy_format is not None or output.url is not None
    spread = isinstance(publication.pieces, SpreadPieces) and not read_here
    target = new_parts(to.out, folder.absolute(), spread)
    target.create()
    written = write_parts(publication, target, form, escape, rows, to.threads)
    target.finish(written.parts.files, written.files)
    return WrittenData(written.parts.root, written.counts, written.formulas, parts=written.parts)


def write_pieces(
    publication: Publication, place: Path | BinaryIO, form: str, escape: bool = False, threads: int = 0
) -> WrittenTable:
    """The data file, piece by piece; while one is written the next is decoded and digested."""
    writer: TableWriter | None = None
    formulas: dict[str, None] = {}
    with ExitStack() as written:
        for table in ahead(publication.table.table, publication.pieces, 1):  # one thread: pieces in their order
            if writer is None:
                workers = threads or available_cores()
                writer = written.enter_context(TableWriter(place, form, table.schema, escape, workers))
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
    to: Destination,
    guarantees: list[dict[str, object]],
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
        guarantees=tuple(guarantees),
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
