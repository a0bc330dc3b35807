"""What an attack found beside what was claimed; and which attacks were not run, and why."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pramana.errors import InputError, KeyFileError
from pramana.files.atomic import already_exists, bundle_around
from pramana.files.secret import write_new
from pramana.pages.content import Page
from pramana.pages.rendering import html_of
from pramana.reporting.attacks import AuditResult, attack_sections

CHANCE_OF_FALSE_ALARM = 1e-6  # of one attack, on a release that keeps its claims


@dataclass(frozen=True)
class Attack:
    """One attack: what was claimed, what was measured with its interval, and whether the claim stands.

    A claim is broken where the whole interval lies beyond it. `claimed` is None where nothing is.
    """

    name: str
    claimed: float | None
    measured: float
    ok: bool
    detail: str
    interval: tuple[float, float] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.more,
            "name": self.name,
            "claimed": self.claimed,
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "ok": self.ok,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class NotRun:
    """An attack that was left out: nothing is known of what it would have found."""

    name: str
    reason: str

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "reason": self.reason}


Outcome = Attack | NotRun


@dataclass(frozen=True)
class AttackReport:
    """All attacks on a bundle. It stands when no attack broke a claim; what was not run proves nothing."""

    attacks: tuple[Attack, ...]
    not_run: tuple[NotRun, ...] = ()
    bundle: Mapping[str, str] = field(default_factory=dict)  # digests of its files, by which a report knows it

    @property
    def ok(self) -> bool:
        return all(attack.ok for attack in self.attacks)

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "bundle": dict(self.bundle),
            "chance_of_false_alarm": CHANCE_OF_FALSE_ALARM,
            "attacks": [attack.to_json() for attack in self.attacks],
            "not_run": [attack.to_json() for attack in self.not_run],
        }

    def sentences(self) -> list[str]:
        lines = [f"{'ok  ' if a.ok else 'LOST'}  {a.name}: {a.detail}" for a in self.attacks]
        lines += [f"--    {a.name}: not run, {a.reason}" for a in self.not_run]
        lost = sum(not a.ok for a in self.attacks)
        return [
            *lines,
            f"{lost} of {len(self.attacks)} claims are broken." if lost else "No attack broke a claim.",
        ]


def at_most(
    name: str, claimed: float, right: int, tries: int, what: str, more: Mapping[str, Any] | None = None
) -> Attack:
    """An attack that was right so many times, against a claimed chance that no single try exceeds."""
    low, high = clopper_pearson(right, tries)
    share = right / tries
    words = f"{what}: right {right:,} times of {tries:,} ({share:.4g}); claimed at most {claimed:.4g}"
    return Attack(name, claimed, share, low <= claimed, words, (low, high), more or {})


def clopper_pearson(hits: int, tries: int, alpha: float = CHANCE_OF_FALSE_ALARM) -> tuple[float, float]:
    """The exact interval of a share; each end errs with a chance of at most alpha (Clopper and Pearson 1934)."""
    from scipy import stats

    low = float(stats.beta.ppf(alpha, hits, tries - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.isf(alpha, hits + 1, tries - hits)) if hits < tries else 1.0
    return low, high


# What attacks found, as a page for the holder, marked as not for release.


def attack_page(report: AttackReport, title: str) -> str:
    """One HTML file that needs no network."""
    result = msgspec.convert(report.to_json(), AuditResult)
    facts = [("Bundle", title), ("Attacks", f"{len(result.attacks)}"), ("Verdict", result.verdict)]
    return html_of(Page(f"Attacks on {title}", facts, sections=attack_sections(result), private=True))


def check_page_name(path: Path) -> None:
    """Refuse a name that is taken, or inside a bundle, before any work is done."""
    if os.path.lexists(path):
        raise already_exists(path, InputError, "Choose another name, or move it away.")
    if (bundle := bundle_around(path)) is not None:
        raise InputError(f"{path} must lie outside of every bundle", f"a name inside {bundle}")


def write_attack_page(report: AttackReport, title: str, path: Path) -> None:
    """A new file, readable by its owner alone."""
    check_page_name(path)
    try:
        write_new(path, attack_page(report, title).encode(), 0o600)
    except KeyFileError as error:
        raise InputError(f"{path} must be writable, and new", error.got) from None
