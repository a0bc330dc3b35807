"""What attacks found, as a page for the holder, marked as not for release."""

from __future__ import annotations

import os
from pathlib import Path

from pramana.audit.verdict import Attack, AttackReport
from pramana.errors import InputError, KeyFileError
from pramana.pages import Block, Cell, Grid, Page, Points, Section, Text, html_of
from pramana.randomness import bundle_around, write_new

_LEAD = (
    "Attacks that were run on this release by its holder, who counted right answers with source and key. A claim "
    "counts as broken where the whole interval of what was measured lies beyond it; one such verdict is wrong "
    "with a chance of one in a million. An audit can break a claim. It cannot prove one."
)


def attack_page(report: AttackReport, title: str) -> str:
    """One HTML file that needs no network."""
    lost = sum(not attack.ok for attack in report.attacks)
    verdict = f"{lost} of {len(report.attacks)} claims are broken" if lost else "No attack broke a claim"
    run: list[Block] = [
        Text(f"{verdict}.", note=bool(lost)),
        Text(_LEAD),
        Grid([_row(attack) for attack in report.attacks]),
    ]
    done = Points([f"{attack.name}: {attack.detail}" for attack in report.attacks])
    sections = [
        Section("Attacks that were run", run, anchor="attacks"),
        Section("What was done", [done], anchor="done"),
    ]
    if report.not_run:
        rows: list[dict[str, Cell]] = [
            {"attack": left.name, "not run because": left.reason} for left in report.not_run
        ]
        told = "Nothing is known of what these would have found."
        sections.append(Section("Attacks that were not run", [Text(told), Grid(rows)], anchor="not-run"))
    facts = [("Bundle", title), ("Attacks", f"{len(report.attacks)}"), ("Verdict", verdict)]
    return html_of(Page(f"Attacks on {title}", facts, sections=sections, private=True))


def _row(attack: Attack) -> dict[str, Cell]:
    interval = "" if attack.interval is None else f"{attack.interval[0]:.4g} to {attack.interval[1]:.4g}"
    return {
        "attack": attack.name,
        "verdict": "stands" if attack.ok else "BROKEN",
        "claimed": "nothing" if attack.claimed is None else f"{attack.claimed:.4g}",
        "measured": f"{attack.measured:.4g}",
        "interval": interval,
    }


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
