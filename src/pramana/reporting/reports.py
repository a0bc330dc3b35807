"""`pramana report`: the page a recipient makes from a bundle, and the holder's private one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

import numpy as np

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import JsonObject
from pramana.errors import BundleError, InputError
from pramana.files.atomic import replace_whole
from pramana.files.locations import located
from pramana.files.store_path import AnyPath, StorePath, put, store_faults
from pramana.files.upload import check_outside
from pramana.io.codes import Encoder
from pramana.methods.protocol import Counts, Examination, Plan
from pramana.methods.registry import restore
from pramana.pages.rendering import GENERATOR, html_of
from pramana.randomness.shuffle import counted
from pramana.recipient.analysis import open_study, require_valid
from pramana.recipient.answers import Crosstab
from pramana.recipient.cell_study import CellStudy
from pramana.recipient.study import Study
from pramana.reporting.attacks import read_audit
from pramana.reporting.dossier import dossier_page
from pramana.reporting.page import PageMaterial, page_of
from pramana.run.config import ExecutionConfig, certified_source

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


MOST_CELLS = 240  # of a table that is printed in full
MOST_TABLES = 6


class ReportOptions(TypedDict, total=False):
    tables: Sequence[Sequence[str]]
    source: object
    audit: str | Path | JsonObject | None
    dossier: bool
    unverified: bool
    engine: str | SparkEngine


@overload
def report(bundle: str | AnyPath, out: Path | None = None, **options: Unpack[ReportOptions]) -> Path: ...
@overload
def report(bundle: str | AnyPath, out: str | AnyPath | None, **options: Unpack[ReportOptions]) -> AnyPath: ...
def report(
    bundle: str | AnyPath,
    out: str | AnyPath | None = None,
    *,
    tables: Sequence[Sequence[str]] = (),
    source: object = None,
    audit: str | Path | JsonObject | None = None,
    dossier: bool = False,
    unverified: bool = False,
    engine: str | SparkEngine = "local",
) -> AnyPath:
    """Write the one-file HTML report of a bundle.

    With `source` or `audit` the page is the holder's private one: it is marked as not for release, and stays on
    this machine.

    Args:
        bundle: A folder, or the URL of a bundle in a store.
        out: The page, here or in a store; without it, BUNDLE.report.html.
        tables: Tables to reconstruct with intervals; without them, each small pair of attributes.
        source: The private table, a path or a data frame; the page then shows true counts.
        audit: The JSON file that `pramana audit` wrote of this bundle, or its content; the page then shows what
            attacks found.
        dossier: Write BUNDLE.dossier.html instead, for a data protection officer: who answers for the release, and
            singling out, linkability and inference with what is promised, assumed and measured.
        unverified: Go on where the bundle fails verification.
        engine: "local", or "spark" or a SparkEngine to count tables and read the parts of a set of files there.

    Returns:
        The path of the page.

    Raises:
        BundleError: The bundle cannot be read or fails verification, or `out` is a file that is no earlier report.
        InputError: A dossier is asked for together with a source or tables.

    >>> import pramana
    >>> pramana.report("published").name
    'published.report.html'
    """
    opened = Bundle.open(bundle)
    private = source is not None or audit is not None
    if dossier and (source is not None or tables):
        raise InputError("A dossier must be made of the certificate and of attacks alone", "a source or tables")
    target = _target(opened, out, private, ".dossier" if dossier else ".report")
    attacks = None if audit is None else read_audit(audit, opened)
    certificate, config = opened.certificate, ExecutionConfig(engine)
    with config.running():
        if not unverified:
            require_valid(opened, bundle, config)
        if dossier:
            _write(target, html_of(dossier_page(opened, attacks)), private=private)
            return target
        plan = restore(certificate)
        with config.reading(opened) as there:
            examination = _examined(there, plan)
        crosstabs: list[Crosstab] = []
        if plan.law is not None or tables:
            study = open_study(opened, unverified=True, engine=engine)  # verified above
            names = [a.name for a in certificate.attributes if not a.raw]
            crosstabs = _crosstabs(study, tables) if tables else _small_tables(study, names)
    true = {} if source is None else _true_counts(opened, source)
    counts, usefulness = examination.counts, examination.usefulness
    material = PageMaterial(certificate, plan, counts, crosstabs, true, usefulness=usefulness, audit=attacks)
    _write(target, html_of(page_of(material)), private=private)
    return target


def _examined(bundle: Bundle, plan: Plan) -> Examination:
    """As `verify` counts them; a method whose cells are not codes has none."""
    examination = plan.examine(bundle)
    unread = [check for check in examination.checks if not check.ok]
    if unread and plan.law is not None and not examination.counts:
        raise BundleError("The data of a report must be as the certificate says", unread[0].detail)
    return examination


def _write(target: AnyPath, text: str, private: bool) -> None:
    """In the place of an earlier one; true counts are for their owner alone, whatever lay there before."""
    if isinstance(target, StorePath):
        put(target, [text.encode()], BundleError)
        return
    try:
        replace_whole(target, text.encode(), 0o600 if private else 0o666)
    except OSError as error:
        raise BundleError(f"{target} must be writable", error.strerror or "an error of the file system") from None


def _target(bundle: Bundle, out: str | AnyPath | None, private: bool, kind: str) -> AnyPath:
    if out is not None:
        out = located(out, "A report", BundleError)
        if isinstance(out, StorePath):
            _check_object(out, private)
            return out
    inside = bundle.path.absolute()
    ending = f".private-{kind[1:]}.html" if private else f"{kind}.html"
    target = bundle.beside.with_name(inside.name + ending)
    if out is not None:
        target = out.absolute()
    if target.is_relative_to(inside):
        raise BundleError(
            "A report must not be written into the bundle, whose files are certified",
            str(out),
            "Choose a place beside it.",
        )
    if target.is_symlink():  # what it leads to may be anything of anyone's
        raise BundleError(f"{target.name} must be a place for a file", "a symbolic link")
    if target.exists() and (not target.is_file() or GENERATOR not in target.read_text("utf-8", "replace")[:400]):
        raise BundleError(f"{target.name} must not exist, or be an earlier report", "a file of another kind")
    if not target.parent.is_dir():
        raise BundleError("A report must be written into a folder that exists", str(target.parent))
    return target


def _check_object(target: StorePath, private: bool) -> None:
    """As of a file; who may read a bucket is not for this program to say, so true counts do not go there."""
    if private:
        raise BundleError(
            "A private page must be written to this machine",
            "a URL",
            "It tells what only the source's holder knows.",
        )
    check_outside(target)
    target.check_bucket()
    if target.is_file():
        with store_faults(target, BundleError), target.open() as file:
            earlier = GENERATOR.encode() in bytes(file.read(400))
    else:
        earlier = not target.is_dir()
    if not earlier:
        raise BundleError(f"{target} must not exist, or be an earlier report", "an object of another kind")


def _small_tables(study: Study | CellStudy, names: list[str]) -> list[Crosstab]:
    """The first small pairs of attributes; none where the law tells nothing of them."""
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    small = [p for p in pairs if study.axes[p[0]].size * study.axes[p[1]].size <= MOST_CELLS]
    try:
        return _crosstabs(study, small[:MOST_TABLES])
    except InputError:
        return []


def _crosstabs(study: Study | CellStudy, tables: Sequence[Sequence[str]]) -> list[Crosstab]:
    crosstabs = []
    for table in tables:
        crosstab = study.crosstab(list(table))
        if crosstab.estimate.size > MOST_CELLS:
            raise BundleError(
                f"A table in a report must have at most {MOST_CELLS} cells",
                f"{crosstab.estimate.size} for {', '.join(table)}",
                "`pramana crosstab` has no such limit.",
            )
        crosstabs.append(crosstab)
    return crosstabs


def _true_counts(bundle: Bundle, source: object) -> dict[str, Counts]:
    certificate = bundle.certificate
    coded = [a for a in certificate.attributes if not a.raw]
    opened = certified_source(source, certificate)
    encoders = {a.name: Encoder(a.coded, a.name) for a in coded}
    counts, records = {a.name: np.zeros(a.coded.size, np.int64) for a in coded}, 0
    for batch in opened.batches(list(encoders), 1 << 18):
        records += batch.num_rows
        for name, encoder in encoders.items():
            counts[name] += counted(encoder.encode(batch.column(name)), len(counts[name]))
    if records != certificate.records:
        raise BundleError(
            f"The source must have the {certificate.records} records that were released", str(records)
        )
    for encoder in encoders.values():
        encoder.finish()
    return counts
