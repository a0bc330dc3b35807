"""What attacks found, as a page for the holder, marked as not for release."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pramana.audit.verdict import AttackReport
from pramana.errors import InputError, KeyFileError
from pramana.pages import Page, html_of
from pramana.pipeline import AuditResult, attack_sections
from pramana.randomness import bundle_around, write_new


def attack_page(report: AttackReport, title: str) -> str:
    """One HTML file that needs no network."""
    found = msgspec.convert(report.to_json(), AuditResult)
    facts = [("Bundle", title), ("Attacks", f"{len(found.attacks)}"), ("Verdict", found.verdict)]
    return html_of(Page(f"Attacks on {title}", facts, sections=attack_sections(found), private=True))


def check_page_name(path: Path) -> None:
    """Refuse a name that is taken, or inside a bundle, before any work is done."""
    if os.path.lexists(path):
        raise InputError(f"{path} must not exist yet", "an existing file", "Choose another name, or move it away.")
    if (bundle := bundle_around(path)) is not None:
        raise InputError(f"{path} must lie outside of every bundle", f"a place inside {bundle}")


def write_attack_page(report: AttackReport, title: str, path: Path) -> None:
    """A new file, readable by its owner alone."""
    check_page_name(path)
    try:
        write_new(path, attack_page(report, title).encode(), 0o600)
    except KeyFileError as error:
        raise InputError(f"{path} must be writable, and new", error.got) from None
