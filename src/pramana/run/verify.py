"""Verification: guarantees derived again, digests taken again and, with source and key, the data made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check, first_names
from pramana.bundle.signing import read_public_key
from pramana.errors import BundleError, InputError, SourceError
from pramana.files.atomic import PARTS
from pramana.files.locations import path_text
from pramana.io.formats import COPIES, DATA_FILES
from pramana.io.writing import formula_columns
from pramana.methods.protocol import Examination, Plan, Publication
from pramana.methods.registry import restore
from pramana.pages.rendering import html_of
from pramana.randomness.key import Key
from pramana.reporting.page import PageMaterial, page_of
from pramana.rows.engines import bytes_of
from pramana.rows.protocol import Progress, no_progress
from pramana.run.codebook import check_codebook, check_copies, codebook_of
from pramana.run.config import ExecutionConfig, certified_source
from pramana.run.parts import ComparedParts, check_one_part, check_parts, write_parts
from pramana.run.run import Run
from pramana.run.write import extra_digests, file_entry

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


@dataclass(frozen=True)
class Verification:
    """All checks of a bundle; it is valid when every one holds.

    Validity is not privacy: `warnings` is what the certificate itself warns of, such as a seed anyone can guess.
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    signed: bool = False
    part: str | None = None  # that alone was looked at; None where all of the bundle was

    @property
    def verdict(self) -> str:
        """In words: whether every check holds, whether anyone answers for it, and what was not looked at."""
        what = "The bundle" if self.part is None else f"The part {self.part}"
        words = "is NOT valid" if not self.valid else "is valid"
        if self.valid and not self.signed:
            words += ", UNSIGNED: anyone could have made it"
        rest = "" if self.part is None else " The rest of the bundle was not looked at."
        return f"{what} {words}.{rest}"

    @property
    def valid(self) -> bool:
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, object]:
        return {
            "valid": self.valid,
            "signed": self.signed,
            "part": self.part,
            "stated_only": sum(not check.derived for check in self.checks),
            "checks": [check.to_json() for check in self.checks],
            "warnings": list(self.warnings),
        }


def verify(
    bundle: str | Path | Bundle,
    *,
    source: object = None,
    key: Key | str | Path | None = None,
    seed: int | None = None,
    public_key: str | Path | None = None,
    part: str | None = None,
    threads: int = 0,
    memory: int | str | None = None,
    engine: str | SparkEngine = "local",
    progress: Progress = no_progress,
) -> Verification:
    """Check a bundle. With `source` and `key` the data is made again, byte for byte.

    Args:
        bundle: A folder, the URL of a bundle in a store, or an opened bundle.
        source: The private table: a path, a data frame, or the recipe, where the table is in a database. On Spark
            it may be a Spark DataFrame.
        key: The release's key, or its file.
        seed: The seed of a release that was made from one.
        public_key: The file of the holder's public key, which the signature must be by.
        part: Of data that is a set of files, the one part that is checked, against the certificate alone; the
            others may be missing.
        threads: How many threads to use; 0 for as many as there are cores.
        memory: A bound in bytes, or text such as "2 GB", within which the table streams through.
        engine: "local", "spark" for the active Spark session (or a new one), or a SparkEngine.
        progress: Called with the stage, how much of it is done, and how much there is.

    Returns:
        All checks; `valid` is true where every one holds.

    Raises:
        BundleError: The bundle cannot be read, or only one of source and key is given.
        SourceError: The source cannot be read.

    >>> import pramana
    >>> pramana.verify("published").valid
    True
    """
    if (source is None) != (key is None and seed is None):
        given = "key" if source is None else "source"
        raise BundleError("To make the data again both the source and the key must be given", f"only the {given}")
    opened = Bundle.open(bundle)
    if part is not None:
        if source is not None:
            raise BundleError(
                "Data must be made again as a whole",
                "source and key for one part",
                "Leave out the part, or the source and the key.",
            )
        name = path_text(part, "A part", BundleError)
        return _verify_part(replace(opened, only=name), name, public_key)
    config = ExecutionConfig(engine, bytes_of(memory), threads, opened.path.absolute().parent, progress)
    config.spark()  # refuses what is no engine
    if opened.certificate.on_devices and source is not None:
        raise BundleError(
            "Data can be made again where its holder has source and key",
            "records that people randomised on their own devices",
            "Leave out source and key: nobody has them.",
        )
    plan, law = _restored(opened)
    if plan is None:
        return Verification((_certificate(opened), *_files(opened), _signature(opened, public_key), law))
    if source is not None:
        config.check(opened.certificate.method, plan.capabilities)
    secret = Key.from_seed(seed) if seed is not None else key
    with config.reading(opened) as there:
        checks = [_certificate(there), *_files(there), _signature(there, public_key), law]
        checks += [*_companions(there, plan), *_devices(there, plan)]
        whole = all(check.ok for check in checks)
        checks += [*_guarantees(there, plan), _seed(there)]
        checks += _contents(there, plan) if whole else [Check("data", False, _NOT_READ)]
        if secret is not None and whole:
            secret = secret if isinstance(secret, Key) else Key.read(secret)
            checks += _remade(there, plan, source, secret, config)
    return Verification(tuple(checks), opened.certificate.warnings, opened.certificate.signature is not None)


def _restored(bundle: Bundle) -> tuple[Plan | None, Check]:
    """The plan that the certificate states, if it states one."""
    try:
        plan = restore(bundle.certificate)
    except InputError as error:
        return None, Check("law", False, str(error))
    return plan, Check("law", True, _WITHHELD if plan.withheld else "as stated, and it fits the domains")


def _contents(bundle: Bundle, plan: Plan) -> list[Check]:
    """The data, and what was made of it: the report, the codebook, copies and synthetic records."""
    examination = plan.examine(bundle)
    checks = [*examination.checks, _report(bundle, plan, examination), *check_codebook(bundle)]
    if all(check.ok for check in examination.checks):
        checks += [*_formulas(bundle), *_synthetic(bundle), *check_copies(bundle)]
    return checks


def _verify_part(bundle: Bundle, part: str, public_key: str | Path | None) -> Verification:
    """The certificate, the promises that follow from it, and one part of the data; nothing else is read."""
    certificate = bundle.certificate
    plan, law = _restored(bundle)
    checks = [_certificate(bundle), check_one_part(bundle, part), _signature(bundle, public_key), law]
    if plan is None:
        return Verification(tuple(checks), part=part)
    whole = all(check.ok for check in checks)
    checks += [*_guarantees(bundle, plan), _seed(bundle)]
    checks.append(plan.examine_part(bundle) if whole else Check("data", False, _NOT_READ))
    return Verification(tuple(checks), certificate.warnings, certificate.signature is not None, part)


_NOT_READ = "not read, because of what failed above"
_REPORT = "report.html"
_SEEDS = 2048  # that someone might try by hand
_WITHHELD = "withheld by the holder, who alone can derive the promises again (--source and --key)"


def _certificate(bundle: Bundle) -> Check:
    """The certificate is, byte for byte, what it would be written as: its digest of itself included."""
    try:
        same = (bundle.path / "certificate.json").read_bytes() == bundle.certificate.text().encode()
    except (OSError, ValueError, TypeError):
        same = False
    return Check("certificate", same, "as it was written" if same else "damaged or changed")


def _files(bundle: Bundle) -> list[Check]:
    stated, checks = bundle.certificate.files, list[Check]()
    many = bundle.certificate.parts is not None
    present = {p.name for p in bundle.path.iterdir()} - {"certificate.json"} - ({PARTS} if many else set())
    for name, entry in sorted(stated.items()):
        if name not in present:
            checks.append(Check(f"digest {name}", False, "the file is missing"))
        else:
            path = bundle.path / name
            same = not path.is_symlink() and path.is_file() and file_entry(path) == entry
            checks.append(
                Check(f"digest {name}", same, "as certified" if same else "differs from the certificate")
            )
    if many:
        checks += check_parts(bundle)
    elif DATA_FILES.get(bundle.certificate.output) not in stated:
        checks.append(Check("files", False, "the certificate names no data file"))
    if unknown := sorted(present - set(stated)):
        checks.append(Check("files", False, f"not in the certificate: {first_names(unknown)}"))
    return checks


def _companions(bundle: Bundle, plan: Plan) -> list[Check]:
    """A certificate may name what its method publishes, and no file besides."""
    known = {_REPORT, f"synthetic.{bundle.certificate.output}", *plan.companions}
    if bundle.certificate.parts is None:
        known.add(DATA_FILES[bundle.certificate.output])
    if bundle.certificate.output == "parquet":
        known |= set(COPIES)
    stated = set(bundle.certificate.files)
    checks = []
    if strange := sorted(stated - known):
        checks.append(Check("files", False, f"none of this method: {first_names(strange)}"))
    if missing := sorted({*plan.companions} - stated):
        checks.append(Check("files", False, f"the certificate does not name {', '.join(missing)}"))
    return checks


def _synthetic(bundle: Bundle) -> list[Check]:
    if f"synthetic.{bundle.certificate.output}" not in bundle.certificate.files:
        return []
    from pramana.recipient.synthesis import check_companion  # few releases have one

    return [check_companion(bundle)]


def _devices(bundle: Bundle, plan: Plan) -> list[Check]:
    """Of records that people randomised themselves, the page that is said to have done it."""
    if not bundle.certificate.on_devices:
        return []
    if not plan.capabilities.single_records:
        return [Check("devices", False, "no single record can be randomised by this method")]
    page = bundle.certificate.source["page"]
    return [Check("page", True, f"SHA-256 {page}, as stated; compare it with the survey's own", derived=False)]


def _signature(bundle: Bundle, public_key: str | Path | None) -> Check:
    certificate = bundle.certificate
    wanted = None if public_key is None else read_public_key(public_key)
    if certificate.signature is None:
        return Check("signature", wanted is None, "none; nothing shows whose certificate this is")
    if certificate.signature_holds(wanted):
        holder = certificate.signature["public_key"]
        return Check("signature", True, f"good, by {holder}" + ("" if wanted else " (compare with the holder's)"))
    return Check("signature", False, "wrong, or not by the given key")


def _guarantees(bundle: Bundle, plan: Plan) -> list[Check]:
    certificate = bundle.certificate
    seeded = certificate.key is not None and certificate.key.get("seeded") is not False
    derived = [g.to_json() for g in plan.guarantees(seeded)]
    stated = [dict(g) for g in certificate.guarantees]
    checks = []
    for number, guarantee in enumerate(derived):
        same = stated[number : number + 1] == [guarantee]
        value = _in_words(guarantee["value"])
        detail = f"{plan.derivation}: {value}" if same else f"derived {value}, stated otherwise"
        checks.append(Check(f"guarantee {guarantee['notion']}", same, detail))
    if len(stated) != len(derived):
        checks.append(Check("guarantees", False, f"{len(stated)} stated, {len(derived)} derived"))
    same = certificate.warnings == plan.warnings(seeded)
    checks.append(Check("warnings", same, "as derived" if same else "differ from what the law calls for"))
    return checks


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_in_words, value))
    return str(value)


def _seed(bundle: Bundle) -> Check:
    """A key that says it is none from a seed, and is: whoever tries a few seeds can undo the release."""
    stated = bundle.certificate.key
    if stated is None:
        return Check(
            "key", True, "none: coins were thrown on people's own devices and kept nowhere", derived=False
        )
    if stated.get("seeded") is True:
        return Check("key", True, "made from a seed, as the certificate says: not private")
    claim = next(
        (seed for seed in range(_SEEDS) if Key.from_seed(seed).commitment() == stated["commitment"]), None
    )
    if claim is None:
        return Check("key", True, f"not made from a seed below {_SEEDS}")
    return Check("key", False, f"made from the seed {claim}: the release can be undone, and is not private")


def _report(bundle: Bundle, plan: Plan, examination: Examination) -> Check:
    """The page is, byte for byte, the one that the certificate and the published data make."""
    name = "report.html"
    if name not in bundle.certificate.files:
        return Check("report", True, "none", derived=False)
    try:
        counts, usefulness = examination.counts, examination.usefulness
        material = PageMaterial(bundle.certificate, plan, counts, usefulness=usefulness)
        page = html_of(page_of(material)).encode()
        path = bundle.path / name
        same = path.stat().st_size == len(page) and path.read_bytes() == page
    except (OSError, InputError):
        same = False
    words = "says what certificate and data say"
    return Check("report", same, words if same else "says something else than the certificate and the data")


def _formulas(bundle: Bundle) -> list[Check]:
    """For who opens the CSV in a spreadsheet: nothing is wrong with the data, but its texts may be run."""
    if bundle.certificate.output != "csv":
        return []
    if bundle.certificate.escaped:  # else they would not have been read
        return [Check("spreadsheets", True, "texts that one would run have an apostrophe before them")]
    columns: dict[str, None] = {}
    for batch in bundle.batches():
        columns |= dict.fromkeys(formula_columns(pa.table(batch)))
    words = f"may run as formulas there: texts of {', '.join(columns)}; read it with another program"
    return [Check("spreadsheets", True, words if columns else "no text that one would run")]


def _made_again(bundle: Bundle, run: Run, publication: Publication, threads: int) -> Check:
    """Whether the data, made again, is the published data; nothing is written."""
    certificate = bundle.certificate
    form, escaped = certificate.output, certificate.escaped
    if certificate.parts is not None:
        compared = ComparedParts(bundle)
        rows = certificate.parts.rows
        again = write_parts(publication, publication.pieces(), compared, form, escaped, rows, threads)
        return compared.check(again.parts)
    if run.digest(publication, form, escaped, threads) == certificate.files[DATA_FILES[form]]["sha256"]:
        return Check("made again", True, "byte for byte")
    same = publication.table.content() == certificate.content
    return Check(
        "made again", same, "the same rows; the file was written by another version" if same else "other rows"
    )


def _remade(bundle: Bundle, plan: Plan, source: object, key: Key, config: ExecutionConfig) -> list[Check]:
    """The run once more: the source opened, the stated plan published, and written nowhere."""
    certificate = bundle.certificate
    opened = certified_source(source, certificate)
    if certificate.key is None or key.commitment() != certificate.key.get("commitment"):
        return [Check("key", False, "not the key of this release")]
    checks = [Check("key", True, "the key of this release")]
    try:
        plan = plan.beside(opened.path)
    except SourceError as error:
        return [*checks, Check("public table", False, str(error))]
    with Run.of_plan(plan, certificate.method, opened, key, config) as run:
        records = run.rows.records
        if records != plan.source_records:
            return [*checks, Check("source", False, f"{records} records, certified are {plan.source_records}")]
        try:
            publication = run.publish(plan)
            again = _made_again(bundle, run, publication, config.threads)
        except SourceError as error:
            return [*checks, Check("source", False, f"another table: {error}")]
    same = publication.commitment == certificate.source.get("commitment")
    checks.append(Check("source", same, "the table that was released" if same else "another table"))
    checks += publication.checks
    if opened.has_labels:
        same = codebook_of(bundle, opened.variables([a.name for a in plan.attributes])) == certificate.codebook
        checks.append(Check("codebook made again", same, "as the source has it" if same else "other labels"))
    checks.append(again)
    for name, digest in extra_digests(publication, certificate.escaped).items():
        same = digest == certificate.files.get(name, {}).get("sha256")
        checks.append(Check(f"made again {name}", same, "byte for byte" if same else "other contents"))
    return checks
