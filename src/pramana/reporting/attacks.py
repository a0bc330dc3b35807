"""What `pramana audit` found, read from its JSON file for the holder's report.

The file may have been anywhere since: its form, lengths and numbers are checked, and it must name the very files
of the bundle that the report is about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import JsonObject
from pramana.bundle.parts import PartSet
from pramana.errors import InputError
from pramana.files.atomic import PARTS
from pramana.files.locations import local_path
from pramana.files.regular import open_regular
from pramana.pages.content import Block, Cell, Grid, Points, Section, Text

_MOST_BYTES = 1 << 22
_LEAD = (
    "Attacks that were run on this release by its holder, who counted right answers with source and key. A claim "
    "counts as broken where the whole interval of what was measured lies beyond it; one such verdict is wrong "
    "with a chance of one in a million. An audit can break a claim. It cannot prove one."
)
SMALLER_TABLES = (
    "Where a number of records stands beside a claim, the attack was run on tables of that many, and is held to "
    "what the same law promises there: among fewer records less is promised. Only a figure for as many records as "
    "the release has is about its own promise."
)
AttackName = Annotated[str, Meta(max_length=400)]
Words = Annotated[str, Meta(max_length=4000)]
FileDigest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class AttackLine(msgspec.Struct, frozen=True, kw_only=True):
    """One attack of an audit; what else its line has is not for a page."""

    name: AttackName
    claimed: float | None
    measured: float
    ok: bool
    detail: Words
    interval: tuple[float, float] | None = None
    lower_bound: bool = False  # what was measured is the lower end, by a test of its own
    records: Annotated[int, Meta(ge=1)] | None = None  # a table's, where the claim depends on it

    @property
    def claim(self) -> str:
        """What it is held to. Among fewer records less is promised, so how many there were stands beside it."""
        if self.claimed is None:
            return "nothing"
        return f"{self.claimed:.4g}" + (f" ({self.records:,} records)" if self.records else "")


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An attack that was not run."""

    name: AttackName
    reason: Words


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON object of `pramana audit --json`, as far as it is shown; `bundle` are the digests of its files."""

    attacks: Annotated[list[AttackLine], Meta(min_length=1, max_length=500)]
    not_run: Annotated[list[LeftOut], Meta(max_length=500)]
    bundle: Annotated[dict[AttackName, FileDigest], Meta(max_length=10)]

    @property
    def names(self) -> list[str]:
        """Of the attacks that were run, and of those that were not."""
        return [*(a.name for a in self.attacks), *(a.name for a in self.not_run)]

    @property
    def lost(self) -> int:
        return sum(not attack.ok for attack in self.attacks)

    @property
    def verdict(self) -> str:
        if self.lost:
            return f"{self.lost} of {len(self.attacks)} claims are broken"
        return "No attack broke a claim"


def audited_files(bundle: Bundle) -> dict[str, str]:
    """What was attacked: digests of the certificate and of the data, as they lie there."""
    digests = {}
    parts = bundle.certificate.parts
    for path in (bundle.path / "certificate.json", *bundle.data_files):
        with open_regular(path, follow=False) as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if parts is None:
        return digests
    lying = tuple(replace(part, sha256=digests[part.name]) for part in parts.files)
    return {"certificate.json": digests["certificate.json"], PARTS: PartSet(parts.rows, lying).root}


def read_audit(audit: str | Path | JsonObject, bundle: Bundle) -> AuditResult:
    """The results in a file, or its content; refused where they are of other files than this bundle's."""
    must = f"{'The audit' if isinstance(audit, Mapping) else audit} must be the JSON file of an audit"
    try:
        if isinstance(audit, Mapping):
            found = msgspec.convert(audit, AuditResult)
        else:
            found = msgspec.json.decode(_content(audit, must), type=AuditResult)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InputError(
            must, "something else", "Write it with `pramana audit BUNDLE ... --json > FILE`."
        ) from None
    if found.bundle != audited_files(bundle):
        raise InputError(
            "The audit must be of this bundle, as its files are now", "that of other files", "Audit it again."
        )
    return found


def _content(path: str | Path, must: str) -> bytes:
    try:
        with open_regular(local_path(path, "The audit", InputError)) as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(must, type(error).__name__) from None
    if len(content) > _MOST_BYTES:
        raise InputError(must, f"more than {_MOST_BYTES >> 20} MiB")
    return content


def attack_sections(found: AuditResult) -> list[Section]:
    """The verdicts, what was done, and what was left out."""
    run: list[Block] = [
        Text(f"{found.verdict}.", note=bool(found.lost)),
        Text(_LEAD),
        Grid([_row(attack) for attack in found.attacks]),
    ]
    if any(attack.records for attack in found.attacks):
        run.append(Text(SMALLER_TABLES, quiet=True))
    done = Points([f"{attack.name}: {attack.detail}" for attack in found.attacks])
    sections = [
        Section("Attacks that were run", run, anchor="attacks"),
        Section("What the attacks did", [done], anchor="done"),
    ]
    if found.not_run:
        rows: list[dict[str, Cell]] = [
            {"attack": left.name, "not run because": left.reason} for left in found.not_run
        ]
        told = "Nothing is known of what these would have found."
        sections.append(Section("Attacks that were not run", [Text(told), Grid(rows)], anchor="not-run"))
    return sections


def _row(attack: AttackLine) -> dict[str, Cell]:
    interval = "" if attack.interval is None else f"{attack.interval[0]:.4g} to {attack.interval[1]:.4g}"
    return {
        "attack": attack.name,
        "verdict": "stands" if attack.ok else "BROKEN",
        "claimed": attack.claim,
        "measured": f"{attack.measured:.4g}",
        "interval": interval,
    }
