"""`pramana synthesise`: records drawn from what a bundle tells of the truth, with a small certificate beside them.

Nothing but the bundle is read, so the records cost no privacy that the bundle has not cost already, whatever is
done with them; what the bundle guarantees, they keep. Where no key is given it comes from the bundle's own
content: the coins are no secret here, and anyone with the bundle makes the same records.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pramana import __version__
from pramana.bundle.bundle import Bundle, published_batches
from pramana.bundle.certificate import canonical
from pramana.bundle.form import Check
from pramana.errors import BundleError, InputError, PramanaError
from pramana.files.atomic import check_free, flush, named_when_whole, own_file, write_whole
from pramana.files.folder import scratch_beside
from pramana.files.locations import located, path_here
from pramana.files.store_path import AnyPath, StorePath, put_file
from pramana.files.upload import check_new_object
from pramana.io.formats import DATA_FILES, kind_by_name
from pramana.io.parquet import check_parquet
from pramana.io.writing import TableWriter
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.randomness.samplers import available_cores
from pramana.recipient.analysis import BundleAxes, require_valid, study_of
from pramana.recipient.model import ModelledRecords, PublishedRecords, RecordSource, fit_records
from pramana.rows.protocol import Progress, no_progress
from pramana.run.config import ExecutionConfig
from pramana.run.write import file_entry
from pramana.schema.domain import MISSING

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


FORMAT, VERSION = "pramana-synthetic", 1
ENDING = ".certificate.json"  # of the certificate, after the name of the records
MOST_RECORDS = 2**32 - 1
_LONGEST = 1 << 24  # bytes of a certificate
POST_PROCESSING = (
    "These records were made from the bundle alone. Whatever they tell of a person the bundle tells as well, so "
    "what the bundle guarantees holds for them, at no further cost; they promise nothing beyond it."
)


@dataclass(frozen=True)
class Synthesised:
    """Where the records and their certificate lie."""

    out: AnyPath
    records: int
    model: str  # joint, graphical, cells or published

    @property
    def path(self) -> Path:
        """The records, where they are a file of this machine."""
        return path_here(self.out, "The file")

    @property
    def certificate(self) -> Path:
        return _certificate_path(self.path)

    def to_json(self) -> dict[str, object]:
        return {
            "path": str(self.out),
            "records": self.records,
            "certificate": f"{self.out}{ENDING}",
            "model": self.model,
        }


def synthesise(
    bundle: str | AnyPath | Bundle,
    out: str | AnyPath,
    records: int | None = None,
    key: Key | str | Path | None = None,
    *,
    unverified: bool = False,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
) -> Synthesised:
    """Write records drawn from what a bundle tells of the private table.

    The same bundle, key and number of records give the same file. OUT.certificate.json beside it says what it is
    and which guarantees it keeps.

    Args:
        bundle: A folder, a URL or an opened bundle.
        out: A new CSV or Parquet file by its name, here or in a store.
        records: How many; without it, as many as the bundle has.
        key: The key that records are drawn by; without it, a fresh one.
        unverified: Go on where the bundle fails verification.
        engine: "local", or "spark" or a SparkEngine to verify and count the parts of a set of files there.
        progress: Called with the stage, how much of it is done, and how much there is.

    Returns:
        Where the file lies, and how many records it has.

    Raises:
        BundleError: The bundle cannot be read or fails verification, or the file exists already.
        InputError: The number of records is out of its range, or the file has another ending.

    >>> import pramana
    >>> pramana.synthesise("published", "synthetic.csv").records
    2000
    """
    target = located(out, "A file of synthetic records", BundleError)
    form = _form(target)
    if isinstance(target, StorePath):
        with objects_of_records(target) as copy:
            here = synthesise(bundle, copy, records, key, unverified=unverified, engine=engine, progress=progress)
        return replace(here, out=target)
    opened = Bundle.open(bundle)
    check_free([target], BundleError)
    if not (left := _left_behind(target)):
        check_free([_certificate_path(target)], BundleError)
    wanted = opened.certificate.records if records is None else records
    if isinstance(wanted, bool) or not isinstance(wanted, Integral) or not 1 <= wanted <= MOST_RECORDS:
        must = f"The number of records must be a whole number from 1 to {MOST_RECORDS:,}"
        raise InputError(must, str(records)[:80])
    secret = None if key is None else key if isinstance(key, Key) else Key.read(key)
    config = ExecutionConfig(engine)
    with config.running():
        if not unverified:
            require_valid(opened, bundle, config)
        source = records_of(opened, config)
    with _said_plainly(target), contextlib.ExitStack() as undo:
        with named_when_whole(target.absolute()) as data:
            write_records(opened, source, data, form, secret, wanted, progress)
            entry = file_entry(data)
            statement = _statement(opened, source, secret, wanted, target.name, entry)
            text = (json.dumps(statement, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()
            if left is None:
                write_whole(_certificate_path(target.absolute()), text, 0o666)  # first: no records are without it
                undo.callback(_take_back, target, entry)
            elif left != text:
                check_free([_certificate_path(target)], BundleError)
            flush(data)
        undo.pop_all()
    return Synthesised(target, wanted, source.statement()["kind"])


def records_of(bundle: Bundle, config: ExecutionConfig | None = None) -> RecordSource:
    """What the records of a bundle are drawn from; the bundle may still be on its way to its place."""
    plan, axes = restore(bundle.certificate), BundleAxes(bundle)
    study = study_of(plan, axes, None if config is None else config.spark())
    if study is None:
        return PublishedRecords(bundle, plan)
    return ModelledRecords(axes, fit_records(study, list(axes)))


def write_records(
    bundle: Bundle,
    source: RecordSource,
    path: Path,
    form: str,
    key: Key | None,
    records: int,
    progress: Progress = no_progress,
) -> None:
    """Write the records to a file, piece by piece."""
    if key is None:  # one that everyone with the bundle has, for coins that are no secret
        own = f"pramana synthetic records of {bundle.certificate.content}"
        key = Key(hashlib.sha256(own.encode()).digest(), seeded=True)
    writer: TableWriter | None = None
    done = 0
    with contextlib.ExitStack() as written:
        for piece in source.pieces(key, records):
            if writer is None:
                escape, workers = bundle.certificate.escaped, available_cores()
                writer = written.enter_context(TableWriter(path, form, piece.schema, escape, workers))
            writer.write(piece)
            done += piece.num_rows
            progress("synthesising", done, records)


def _statement(
    bundle: Bundle, source: RecordSource, key: Key | None, records: int, name: str, file: dict[str, object]
) -> dict[str, Any]:
    certificate = bundle.certificate
    statement: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "pramana": __version__,
        "bundle": {
            "certificate": hashlib.sha256((bundle.path / "certificate.json").read_bytes()).hexdigest(),
            "content": certificate.content,
            "dataset": certificate.dataset,
            "method": certificate.method,
            "records": certificate.records,
        },
        "about": dict(certificate.about),
        "statement": POST_PROCESSING,
        "guarantees": [dict(g) for g in certificate.guarantees],
        "warnings": list(certificate.warnings),
        "model": source.statement(),
        "records": records,
        "columns": [a.name for a in certificate.attributes],
        "key": "the bundle's content" if key is None else key.commitment(),
        "file": {"name": name, **file},
    }
    return {**statement, "digest": hashlib.sha256(canonical(statement)).hexdigest()}


def _form(target: AnyPath) -> str:
    form = kind_by_name(target)
    if form not in DATA_FILES or target.suffix.lower() != f".{form}":
        raise InputError("Synthetic records must go to a file named .csv or .parquet", f"{target.suffix!r}")
    return form


def _certificate_path(target: Path) -> Path:
    return target.with_name(target.name + ENDING)


def _take_back(target: Path, entry: dict[str, object]) -> None:
    """Remove the certificate, unless the same run beside this one has made its records and goes by it."""
    with contextlib.suppress(OSError):
        if file_entry(target) == entry:
            return
    _certificate_path(target).unlink(missing_ok=True)


def _left_behind(target: Path) -> bytes | None:
    """What a certificate without its records says, as a killed run leaves it: the same run takes it up again."""
    path = _certificate_path(target)
    if os.path.lexists(target) or path.is_symlink() or not path.is_file():
        return None
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(_LONGEST)
    return None


@contextlib.contextmanager
def _said_plainly(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        check_free([target, _certificate_path(target)], BundleError)
        raise
    except OSError as error:
        raise BundleError(f"{target} must be writable", error.strerror or "an error of the file system") from None


# Synthetic records in a store: two objects, the certificate first, so that no records are without it.


@contextlib.contextmanager
def objects_of_records(target: StorePath) -> Iterator[Path]:
    """A path on this machine for the records, with their certificate next to it; both go up when all is well.

    A certificate without records, as a killed run leaves it, is taken up by the run that makes the same one.
    """
    stored = target.with_name(target.name + ENDING)
    check_new_object(target)
    if not (left := stored.again().is_file()):
        check_new_object(stored)
    with contextlib.ExitStack() as stack:
        try:  # locked while this process lives: the next one removes what a killed one left
            folder = stack.enter_context(scratch_beside(Path(tempfile.gettempdir()).resolve() / "pramana-records"))
        except OSError as error:
            raise BundleError("There must be a folder for temporary files", error.strerror) from None
        records = folder / target.name
        yield records
        certificate = _certificate_path(records)
        if left and not _is(stored, certificate.read_bytes()):
            check_new_object(stored)
        check_new_object(target)
        if not left:
            put_file(stored, certificate, BundleError)
        try:
            put_file(target, records, BundleError)
        except BaseException:
            # Only what this run has put goes, and only where the store says that there are no records: its
            # answer to them may be all that was lost.
            with contextlib.suppress(PramanaError):
                if not left and not target.again().exists():
                    stored.unlink()
            raise


def _is(path: StorePath, content: bytes) -> bool:
    now = path.again()
    return now.is_file() and now.stat().st_size == len(content) and now.read_bytes(len(content)) == content


# Synthetic records that the holder puts into the bundle: covered by its certificate, and checked.


def write_companion(bundle: Bundle) -> None:
    """Write as many records as the bundle has, by coins that everyone with the bundle can throw again."""
    certificate = bundle.certificate
    path = bundle.path / f"synthetic.{certificate.output}"
    write_records(bundle, records_of(bundle), path, certificate.output, None, certificate.records)


def check_companion(bundle: Bundle) -> Check:
    """Check that the synthetic records are as many as the bundle's, and in their domains.

    Their digest was taken with those of the other files. They are not drawn again: a model is fitted in floating
    point, which another machine may round otherwise.
    """
    certificate = bundle.certificate
    path = bundle.path / f"synthetic.{certificate.output}"
    attributes, records = certificate.attributes, 0
    domains = {a.name: {*a.coded.labels, *([MISSING] if a.coded.missing else [])} for a in attributes if not a.raw}
    strange: dict[str, None] = {}
    try:
        _check_file(bundle, path)
        for batch in published_batches(path, [a.name for a in attributes], certificate.escaped):
            records += batch.num_rows
            for name, labels in domains.items():
                column = batch.column(name)
                plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
                if not {None if v is None else str(v) for v in plain.unique().to_pylist()} <= labels | {None}:
                    strange[name] = None
    except PramanaError as error:
        return Check("synthetic records", False, str(error))
    if records != certificate.records:
        return Check("synthetic records", False, f"{certificate.records} expected, {records} found")
    detail = f"outside of their domains: {', '.join(strange)}" if strange else f"{records}, all in their domains"
    return Check("synthetic records", not strange, detail)


def _check_file(bundle: Bundle, path: Path) -> None:
    """Refuse, before a row is read, a file that is not the certified number of rows of the bundle's columns."""
    if bundle.certificate.output != "parquet":
        return
    own_file(path)
    try:
        columns = {a.name: None if a.raw else pa.string() for a in bundle.certificate.attributes}
        check_parquet(path, bundle.certificate.records, columns)
    except OSError:  # Arrow's word for a footer that it cannot decode
        raise BundleError(f"{path.name} must be a readable parquet file", "damaged data") from None
