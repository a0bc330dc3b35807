"""The last step of a run: a publication becomes a bundle, whole or not at all.

Published rows are drawn while they are written: `Publication.pieces` is called here, once, and nowhere before.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import msgspec
import pyarrow as pa

from pramana import __version__
from pramana.bundle.bundle import Bundle, published_batches
from pramana.bundle.certificate import Certificate
from pramana.bundle.parts import PartSet
from pramana.errors import RefusedError, SourceError
from pramana.files.atomic import named_when_whole, open_regular
from pramana.files.folder import new_parts, whole_folder
from pramana.files.store_path import AnyPath, StorePath
from pramana.io.formats import DATA_FILES
from pramana.io.survey import Variable
from pramana.io.writing import WrittenTable, digest_of_written, formula_columns, write_table, write_tables
from pramana.methods.protocol import Counts, Explanation, Publication
from pramana.methods.recipe import AnyRecipe
from pramana.notions.guarantee import Guarantee
from pramana.pages.rendering import html_of, load_templates
from pramana.randomness.key import Key
from pramana.randomness.samplers import available_cores
from pramana.reporting.page import PageMaterial, load_estimation, page_of
from pramana.rows.engines import ahead
from pramana.rows.protocol import Columns, SpreadPieces
from pramana.run.codebook import codebook_of, write_copy
from pramana.schema.sections import OutputSection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pramana.io.database import Database, TableName


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


class Origin(Protocol):
    """Where published rows come from, as a certificate tells it: a source of rows, or people's devices."""

    def to_json(self) -> dict[str, Any]: ...

    def variables(self, names: Sequence[str]) -> Mapping[str, Variable]: ...


@dataclass(frozen=True)
class BundleWriter:
    """A publication with the guarantees that were reconciled, on its way into a bundle."""

    recipe: AnyRecipe
    source: Origin
    publication: Publication
    guarantees: Sequence[Guarantee]
    to: Destination

    def write(self) -> Certificate:
        """The bundle in its folder, and its new key, if there is one."""
        if self.recipe.output.url is None:
            with self._folder(None) as folder:
                return self._fill(folder)
        with TableCopy(self.recipe.output) as copy, self._folder(copy.commit) as folder:
            certificate = self._fill(folder)
            copy.fill(Bundle(folder, certificate).data_path)
        return certificate

    def _folder(self, commit: Callable[[], None] | None) -> contextlib.AbstractContextManager[Path]:
        to = self.to
        if to.compared and isinstance(to.out, StorePath):
            from pramana.files.upload import compared_upload

            return compared_upload(to.out)
        new_key = None if to.key is None or to.key_file is None else to.key.to_file(to.key_file)
        return whole_folder(to.out, new_key, commit)

    def _fill(self, folder: Path) -> Certificate:
        """All files of the bundle, the certificate last."""
        certificate = self._write_files(folder)
        if not self.to.is_wanted(certificate.content):
            raise RefusedError(
                "A release made again must have the same content", f"the digest {certificate.content[:12]}..."
            )
        if self.to.signing is not None:
            certificate = certificate.signed(self.to.signing)
        (folder / "certificate.json").write_text(certificate.text(), "utf-8")
        return certificate

    def _write_files(self, folder: Path) -> Certificate:
        """The data is written while the report is prepared."""
        output, plan = self.recipe.output, self.publication.plan

        def prepare() -> tuple[Certificate, Explanation]:
            load_templates()
            load_estimation(plan.law)
            return self._certificate(), plan.explain()

        with ThreadPoolExecutor(1) as pool:
            pieces = self.publication.pieces()  # the coins of published rows are thrown as these are taken
            # Start after the first piece: a thread that never waits would starve those that randomise (GIL).
            many = output.rows_of_parts(plan.records) is not None
            pieces, preparing = _after_first(pieces, lambda: pool.submit(prepare), many)
            data = _write_data(folder, output, self.publication, pieces, self.to)
            formulas = data.formulas
            for extra, table in self.publication.extra.items():
                write_table(table, folder / extra, "csv", output.escape_formulas)
                if not output.escape_formulas:
                    formulas += tuple(f"{name} of {extra}" for name in formula_columns(table))
            self.to.tell_formulas(formulas)
            certificate, explanation = preparing[0].result()
        certificate = replace(certificate, content=data.content, parts=data.parts)
        if variables := self.source.variables([a.name for a in plan.attributes]):
            certificate = replace(certificate, codebook=codebook_of(Bundle(folder, certificate), variables))
        if output.synthetic:
            from pramana.recipient.synthesis import write_companion  # few releases have one

            write_companion(Bundle(folder, certificate))
        if output.copy_format is not None:
            write_copy(Bundle(folder, certificate), output.copy_format)
        signer = None if self.to.signing is None else self.to.signing.public_key().public_bytes_raw().hex()
        usefulness = self.publication.usefulness
        material = PageMaterial(
            certificate, plan, data.counts, explanation=explanation, signer=signer, usefulness=usefulness
        )
        (folder / "report.html").write_text(html_of(page_of(material)), "utf-8")
        written = {} if data.entry is None else {DATA_FILES[output.data_format]: data.entry}  # digested already
        files = (path for path in sorted(folder.iterdir()) if path.is_file())
        return replace(
            certificate, files={path.name: written.get(path.name) or file_entry(path) for path in files}
        )

    def _certificate(self) -> Certificate:
        """What is known of the release before its rows are drawn."""
        plan, key, output = self.publication.plan, self.to.key, self.recipe.output
        committed = {} if key is None else {"commitment": self.publication.commitment}
        seeded = key is not None and key.seeded
        return Certificate(
            pramana=__version__,
            method=self.recipe.method,
            records=plan.records,
            attributes=plan.attributes,
            dropped=plan.dropped,
            mechanism=plan.statement(),
            source={**self.source.to_json(), **committed},
            output=output.data_format,
            about=msgspec.to_builtins(self.recipe.about),
            escaped=output.escape_formulas,
            shuffled=plan.shuffled,
            guarantees=tuple(guarantee.to_json() for guarantee in self.guarantees),
            warnings=plan.warnings(seeded),
            key=None if key is None else {"commitment": key.commitment(), "seeded": seeded},
            files={},
            content="0" * 64,
            dataset=plan.dataset,
            unit=plan.unit,
        )


@dataclass(frozen=True)
class WrittenData:
    """What the certificate and the report say of the data that was written: one file, or a set of files."""

    content: str
    counts: Mapping[str, Counts]
    formulas: tuple[str, ...]  # columns of a CSV with texts that a spreadsheet would run
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
) -> None:
    """Draw the published rows into one data file."""
    _write_file(publication, publication.pieces(), sink, form, escape, threads)


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
    """The data file, piece by piece: while one piece is written the next is decoded and digested."""
    tables = ahead(publication.table.table, pieces, 1)  # one thread: pieces in their order
    return write_tables(tables, sink, form, escape, threads or available_cores())


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


def file_entry(path: Path) -> dict[str, object]:
    with open_regular(path) as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}


# The published rows, also as a new table of a database: in one transaction, and only together with the bundle.
#
# The rows are read back from the bundle's data file, batch by batch, so that memory stays flat and the table is
# what the certificate's digest is of. The transaction is committed when nothing but the bundle's rename is left to
# do; should that fail, the table is dropped again. The bundle does not name the table: recipients have no use for
# it.


def check_target(output: OutputSection) -> None:
    """Refuse before any work is done: the table is made, without rows, and taken back."""
    database, name = _database(output)
    with contextlib.closing(database):
        database.create(name, pa.schema([pa.field("rehearsal", pa.int64())]), iter(()))


def _database(output: OutputSection) -> tuple[Database, TableName]:
    """The database that a recipe's [output] names, opened, and the table there."""
    from pramana.io.database import TableName, open_database

    return open_database(output.url or "", "output", writing=True), TableName(output.table or "", output.schema)


class TableCopy:
    """The table that a recipe's [output] names: there if the block ends well, and not if it does not."""

    def __init__(self, output: OutputSection) -> None:
        self._output = output
        self._database: Database | None = None
        self._committed = False

    def fill(self, data: Path) -> None:
        """Write the rows of the bundle's data file; nobody sees them before `commit`."""
        from pramana.io.database import storable, stored

        self._database, name = _database(self._output)
        batches = published_batches(data, escaped=self._output.escape_formulas)
        first = next(batches)
        schema = storable(first.schema)
        self._database.create(name, schema, stored(chain([first], batches), schema))

    def commit(self) -> None:
        if self._database is None:
            return
        try:
            self._database.commit()
        except SourceError as error:  # a connection that is lost now does not tell what became of the table
            hint = "No bundle was made; look whether the table is there, and drop it."
            raise SourceError(error.what, error.got, hint) from None
        self._committed = True

    def __enter__(self) -> TableCopy:
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        if self._database is not None:
            self._database.close()
        if fault is None or not self._committed:
            return  # what was not committed was never there
        try:
            database, name = _database(self._output)
            with contextlib.closing(database):
                database.drop(name)
        except SourceError as error:
            hint = f"No bundle was made, and the table {self._output.table!r} is left over: drop it."
            raise SourceError(error.what, error.got, hint) from None
