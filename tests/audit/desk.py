"""What the tests of the suite share: a table, an honest release, and which attacks were lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.audit.broken import KEY, RECIPE, write_people

from pramana import Key, release
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import AttackReport


def lay_out(folder: Path) -> Path:
    write_people(folder / "people.csv")
    write_people(folder / "others.csv", seed=9)
    (folder / "recipe.toml").write_text(RECIPE)
    release(folder / "recipe.toml", folder / "honest", key=KEY)
    KEY.write(folder / "key")
    return folder


def audited(desk: Path, bundle: str, key: Key = KEY, **more: Any) -> AttackReport:
    return audit_bundle(desk / bundle, desk / "people.csv", key, **more)


def lost(report: AttackReport) -> set[str]:
    return {attack.name for attack in report.attacks if not attack.ok}
