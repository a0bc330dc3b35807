"""Verification: guarantees derived again, digests taken again and, with source and key, the data made again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pramana.errors import BundleError, InputError, PramanaError, SourceError
from pramana.randomness import Key
from pramana.release.bundle import CELL_METHODS, Bundle
from pramana.release.certificate import read_public_key
from pramana.release.method import Plan, Published
from pramana.release.publish import file_entry, memory_bound, method_of, source_of
from pramana.release.streamed import StreamedTable, coders_of, read_streamed
from pramana.rows import BatchEngine, ContentDigest, LocalEngine, Progress, no_progress
from pramana.schema import Recipe
from pramana.sources import FILE_NAMES, SUFFIXES, Source, Table, digest_of_written, write_table


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    name: str
    ok: bool
    detail: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail}


@dataclass(frozen=True)
class Verification:
    """All checks of a bundle; it is valid when every one holds.

    Validity is not privacy: `warnings` is what the certificate itself warns of, such as a seed anyone can guess.
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        checks = [check.to_json() for check in self.checks]
        return {"valid": self.valid, "checks": checks, "warnings": list(self.warnings)}


def verify(
    bundle: str | Path,
    *,
    source: Any = None,
    key: Key | str | Path | None = None,
    seed: int | None = None,
    public_key: str | Path | None = None,
    threads: int = 0,
    memory: int | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Check a bundle. With `source` and `key` the data is made again, byte for byte.

    `source` is a path, a data frame, or the recipe, where the table is in a database.
    """
    if (source is None) != (key is None and seed is None):
        raise BundleError("To make the data again both the source and the key must be given", "one of them")
    found = Bundle.open(bundle)
    checks = [_certificate(found), *_files(found), _signature(found, public_key)]
    try:
        plan = method_of(found.certificate.method).plan_from(found.certificate)
    except InputError as error:
        return Verification((*checks, Check("law", False, str(error))))
    checks.append(Check("law", True, _WITHHELD if _withheld(plan) else "as stated, and it fits the domains"))
    whole = all(check.ok for check in checks)
    unread = Check("data", False, "not read, because of what failed above")
    checks += [*_guarantees(found, plan), _data(found, plan) if whole else unread]
    examine = getattr(plan, "examine", None)  # methods whose columns are no codes count again by themselves
    if examine is not None and whole:
        checks += [Check(*line) for line in examine(found)]
    if seed is not None:
        key = Key.from_seed(seed)
    if key is not None and whole:
        secret = key if isinstance(key, Key) else Key.read(key)
        checks += _remade(found, plan, source, secret, threads, memory, progress)
    return Verification(tuple(checks), found.certificate.warnings)


_WITHHELD = "withheld by the holder, who alone can derive the promises again (--source and --key)"


def _withheld(plan: Plan) -> bool:
    """Whether the certificate keeps the law to itself, so that its numbers can be compared and not derived."""
    return bool(getattr(plan, "withheld", False))


def _certificate(bundle: Bundle) -> Check:
    """The certificate is, byte for byte, what it would be written as: its digest of itself included."""
    try:
        same = (bundle.path / "certificate.json").read_bytes() == bundle.certificate.text().encode()
    except (OSError, ValueError, TypeError):
        same = False
    return Check("certificate", same, "as it was written" if same else "damaged or changed")


def _files(bundle: Bundle) -> list[Check]:
    stated, checks = bundle.certificate.files, []
    present = {p.name for p in bundle.path.iterdir()} - {"certificate.json"}
    for name, entry in sorted(stated.items()):
        if name not in present:
            checks.append(Check(f"digest {name}", False, "the file is missing"))
        else:
            same = (bundle.path / name).is_file() and file_entry(bundle.path / name) == entry
            checks.append(
                Check(f"digest {name}", same, "as certified" if same else "differs from the certificate")
            )
    if FILE_NAMES.get(bundle.certificate.output) not in stated:
        checks.append(Check("files", False, "the certificate names no data file"))
    if unknown := sorted(present - set(stated)):
        checks.append(Check("files", False, f"not in the certificate: {', '.join(unknown)}"))
    return checks


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
    seeded = certificate.key.get("seeded") is not False
    derived = [g.to_json() for g in plan.guarantees(seeded)]
    stated = [dict(g) for g in certificate.guarantees]
    checks = []
    for mine in derived:
        same = mine in stated
        value = _in_words(mine["value"])
        how = "as the stated risks have it" if _withheld(plan) else "derived again"
        detail = f"{how}: {value}" if same else f"derived {value}, stated otherwise"
        checks.append(Check(f"guarantee {mine['notion']}", same, detail))
    if len(stated) != len(derived):
        checks.append(Check("guarantees", False, f"{len(stated)} stated, {len(derived)} derived"))
    same = certificate.warnings == plan.warnings(seeded)
    checks.append(Check("warnings", same, "as derived" if same else "differ from what the law calls for"))
    return checks


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_in_words, value))
    return str(value)


def _data(bundle: Bundle, plan: Plan) -> Check:
    """The published values are in their domains, as many as certified, and have the certified content."""
    if bundle.certificate.method in CELL_METHODS:
        return Check("data", True, "read through its digest")
    content, records = ContentDigest(), 0
    try:
        for columns in bundle.pieces():
            content.update(columns)
            records += len(next(iter(columns.values())))
    except PramanaError as error:
        return Check("data", False, str(error))
    if records != plan.records:
        return Check("data", False, f"{plan.records} records certified, {records} found")
    same = content.hexdigest() == bundle.certificate.content
    return Check("data", same, f"{plan.records} records, all in their domains" if same else "other content")


def _remade(
    bundle: Bundle, plan: Plan, source: Any, key: Key, threads: int, memory: int | None, progress: Progress
) -> list[Check]:
    certificate = bundle.certificate
    opened = _source(source, certificate.source)
    if key.commitment() != certificate.key.get("commitment"):
        return [Check("key", False, "not the key of this release")]
    checks = [Check("key", True, "the key of this release")]
    if (beside := getattr(plan, "beside", None)) is not None:  # a second table that lies beside the source
        try:
            plan = beside(opened.path)
        except SourceError as error:
            return [*checks, Check("public table", False, str(error))]
    columns = getattr(plan, "source_columns", None) or [a.name for a in plan.attributes]
    expected = getattr(plan, "source_records", certificate.records)  # some may have been suppressed
    refusal = getattr(plan, "refusal", None)
    bound = memory_bound(opened, certificate.method, memory, refusal)
    batch = None if bound is None else BatchEngine(bound, threads, bundle.path.absolute().parent)
    with _read(opened, columns, plan, batch, progress) as table:
        if table.records != expected:
            return [*checks, Check("source", False, f"{table.records} records, certified are {expected}")]
        try:
            published, digest = _made_again(plan, table, key, batch, threads, certificate.output, progress)
        except SourceError as error:
            return [*checks, Check("source", False, f"another table: {error}")]
    same = published.commitment == certificate.source.get("commitment")
    checks.append(Check("source", same, "the table that was released" if same else "another table"))
    checks += [Check(*found) for found in published.checks]
    if digest == certificate.files[FILE_NAMES[certificate.output]]["sha256"]:
        checks.append(Check("made again", True, "byte for byte"))
    else:
        same = published.content == certificate.content
        detail = "the same rows; the file was written by another version" if same else "other rows"
        checks.append(Check("made again", same, detail))
    for name, write in published.extra.items():  # what stands beside the rows, such as the cells of classes
        same = digest_of_written(write) == certificate.files.get(name, {}).get("sha256")
        checks.append(Check(f"made again {name}", same, "byte for byte" if same else "other contents"))
    return checks


@contextlib.contextmanager
def _read(
    source: Source, columns: list[str], plan: Plan, batch: BatchEngine | None, progress: Progress
) -> Iterator[Table | StreamedTable]:
    if batch is None:
        yield source.read(columns)
        return
    with contextlib.closing(
        read_streamed(source, columns, coders_of(plan.attributes), batch, progress)
    ) as streamed:
        yield streamed


def _made_again(
    plan: Any,
    table: Table | StreamedTable,
    key: Key,
    batch: BatchEngine | None,
    threads: int,
    output: str,
    progress: Progress,
) -> tuple[Published, str]:
    """What the source is published as under the key, and the digest of the file; nothing touches the disk."""
    if isinstance(table, Table):
        published = plan.run(table, key, LocalEngine(threads), progress)
        return published, digest_of_written(lambda sink: write_table(published.table, sink, output))
    table.settle(plan.attributes)
    streamed = plan.stream(table.rows, key, batch, progress)
    found: list[Published] = []
    digest = digest_of_written(lambda sink: found.append(streamed.written(sink, output)))
    return found[0], digest


def _source(source: Any, options: Mapping[str, Any]) -> Source:
    """The source as the certificate says it was read, but where it lies now; of a recipe, the one it names."""
    if not isinstance(source, str | Path):
        return Source(frame=source)
    if Path(source).suffix == ".toml":
        return source_of(Recipe.read(source))
    known = {k: options[k] for k in ("delimiter", "encoding") if isinstance(options.get(k), str)}
    place, missing = Path(source), options.get("missing")
    format_ = options.get("format") if place.suffix.lower() not in SUFFIXES else None
    return Source(
        path=place,
        format=format_ if format_ in FILE_NAMES else None,
        missing=tuple(str(m) for m in missing) if isinstance(missing, list) else ("",),
        **known,
    )
