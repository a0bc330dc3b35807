"""`pramana audit` on honest and on deliberately broken releases: who wins where, as a page.

    python -m tests.audit.attacked [--out docs/experiments/attacks.md]

An attack that cannot win proves nothing. Every broken release has one mistake and the certificate of an honest
one; a row says which attacks noticed. Below it every claim stands beside what was measured.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.audit.broken import KEY, RECIPE, broken_release, patched, write_people

import pramana
from pramana import Key, create_levels, issue, release
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import AttackReport

ROOT = Path(__file__).resolve().parents[2]
CLASSES = """\
[source]
path = "people.csv"
[release]
method = "generalize"
k = 5
suppression = 0.1
cells = "hierarchy"
[attributes.sex]
role = "quasi-identifying"
hierarchy = "sex.csv"
[attributes.age]
role = "quasi-identifying"
hierarchy = "age.csv"
"""
LEVELS = """\
[source]
path = "people.csv"
[release]
method = "levels"
[attributes.sex]
role = "quasi-identifying"
[attributes.region]
role = "sensitive"
domain = ["north", "east", "south", "west"]
"""


@dataclass(frozen=True)
class Case:
    """A release, what is wrong with it (nothing, of an honest one), and what its audit found."""

    name: str
    mistake: str
    report: AttackReport

    @property
    def as_it_should(self) -> bool:
        return self.report.ok == (not self.mistake)


def randomised(folder: Path) -> list[Case]:
    write_people(folder / "people.csv")
    write_people(folder / "others.csv", seed=9)
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "weaker.toml").write_text(RECIPE.replace("epsilon = 1", "epsilon = 0.8"))
    for name in ("recipe", "weaker"):
        release(folder / f"{name}.toml", folder / f"honest {name}", key=KEY)

    def audited(bundle: str, key: Key = KEY, **more: Any) -> AttackReport:
        return audit_bundle(folder / bundle, folder / "people.csv", key, **more)

    cases = [
        Case("retention, epsilon 1", "", audited("honest recipe", control=folder / "others.csv")),
        Case("the same, and a second release of epsilon 0.8", "",
             audited("honest recipe", also=[folder / "honest weaker"])),
    ]  # fmt: skip
    guessed = Key(Key.from_seed(7).secret)  # and the certificate does not say so
    release(folder / "recipe.toml", folder / "seeded", key=guessed)
    cases.append(Case("retention", "seed known", audited("seeded", guessed)))
    for mistake in (
        "rows unshuffled",
        "order not keyed",
        "coin of a wrong law",
        "float coin",
        "one epsilon forgotten",
    ):
        broken_release(folder, mistake, mistake)
        cases.append(Case("retention", mistake, audited(mistake)))
    with patched(("pramana.methods.retention.plan.RandomisedPlan.context", lambda *_: "always the same")):
        for name in ("recipe", "weaker"):
            release(folder / f"{name}.toml", folder / f"reused {name}", key=KEY)
        report = audited("reused recipe", also=[folder / "reused weaker"])
    return [*cases, Case("two releases by retention", "coins reused", report)]


def classes(folder: Path) -> list[Case]:
    lines = [f"{'MF'[i * i % 7 % 2]},{min(i * i * 31 % 97 % 41, 39)}\n" for i in range(600)]
    (folder / "people.csv").write_text("sex,age\n" + "".join(lines))
    (folder / "sex.csv").write_text("M;*\nF;*\n")
    (folder / "age.csv").write_text("".join(f"{a};{a // 2};{a // 10};*\n" for a in range(40)))
    (folder / "recipe.toml").write_text(CLASSES)
    for name in ("honest", "left in"):
        release(folder / "recipe.toml", folder / name, key=KEY)
    path = folder / "left in" / "data.parquet"
    table = pq.read_table(path)
    lone = pa.table({"sex": ["M"], "age": ["39"]}).cast(table.schema.remove_metadata())
    pq.write_table(
        pa.concat_tables([table.replace_schema_metadata(None), lone]),
        path,
        compression="none",
        write_statistics=False,
    )

    def audited(bundle: str) -> AttackReport:
        return audit_bundle(folder / bundle, folder / "people.csv", KEY)

    return [
        Case("generalize, k = 5", "", audited("honest")),
        Case("generalize, k = 5", "suppressed rows left in", audited("left in")),
    ]


def levels(folder: Path) -> list[Case]:
    write_people(folder / "people.csv", 3000)
    (folder / "recipe.toml").write_text(LEVELS)
    ledger = folder / "levels.ledger"
    made = create_levels(ledger, folder / "recipe.toml")
    for name, level in (("one", "0.5"), ("two", "0.3"), ("three", "0.2")):
        issue(ledger, name, level, folder / name)

    def by_level(self: Any, commitment: str = "") -> str:
        return f"{commitment} {self.mechanism.level}"  # coins of its own for every level

    def audited() -> AttackReport:
        return audit_bundle(folder / "one", folder / "people.csv", made.key_file, ledger=ledger,
                            recipients=["one", "two", "three"])  # fmt: skip

    honest = audited()
    with patched(("pramana.methods.levels.method.LevelPlan.context", by_level)):
        report = audited()
    return [
        Case("levels, three recipients", "", honest),
        Case("levels, three recipients", "independent levels", report),
    ]


WORLDS: tuple[Callable[[Path], list[Case]], ...] = (randomised, classes, levels)


# ---------------------------------------------------------------- the page


def _row(case: Case) -> str:
    attacks = case.report.attacks
    lost = [a.name for a in attacks if not a.ok]
    verdict = "broken by " + "; ".join(lost) if lost else "stands"
    return f"| {case.name} | {case.mistake or '(honest)'} | {len(lost)} of {len(attacks)} | {verdict} |"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _attacks(case: Case, lost_only: bool) -> list[str]:
    lines = ["| attack | claimed | measured | interval | verdict |", "|---|---:|---:|---:|---|"]
    for a in case.report.attacks:
        if lost_only and a.ok:
            continue
        interval = "" if a.interval is None else f"{a.interval[0]:.4g} to {a.interval[1]:.4g}"
        lines.append(
            f"| {a.name} | {_shown(a.claimed)} | {_shown(a.measured)} | {interval} | "
            f"{'stands' if a.ok else 'BROKEN'} |"
        )
    return lines


def page(cases: list[Case]) -> str:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    broken = [case for case in cases if case.mistake]
    lines = [
        "# Attacks on honest and on broken releases",
        "",
        f"    make attacks    # last run {now}, Pramana {pramana.__version__}",
        "",
        "`pramana audit` on releases of generated people (4,000 in two columns, 600 in classes, 3,000 at "
        "levels). Every "
        "broken one has a single mistake and the certificate of an honest release. An interval errs with "
        "a chance of "
        "one in a million at each end; a claim counts as broken where the whole interval lies beyond it. "
        "What each "
        "attack does is in the [guide](../guide/audit.md).",
        "",
        f"{sum(c.as_it_should for c in cases if not c.mistake)} of {len(cases) - len(broken)} honest "
        "audits stand; "
        f"{sum(c.as_it_should for c in broken)} of {len(broken)} broken releases are noticed.",
        "",
        "| release | mistake | claims broken | verdict |",
        "|---|---|---:|---|",
        *map(_row, cases),
    ]
    for case in cases:
        title = f"{case.name}, {case.mistake}" if case.mistake else f"{case.name}, honest"
        lines += ["", f"## {title}", "", *_attacks(case, bool(case.mistake))]
        left = [f"{one.name} ({one.reason})" for one in case.report.not_run]
        if left and not case.mistake:
            lines += ["", "Not run: " + "; ".join(left) + "."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.audit.attacked")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "experiments" / "attacks.md")
    given = parser.parse_args()
    cases: list[Case] = []
    for world in WORLDS:
        with tempfile.TemporaryDirectory() as place:
            cases += world(Path(place))
        sys.stdout.write(f"{world.__name__}: {[case.as_it_should for case in cases]}\n")
        sys.stdout.flush()
    given.out.write_text(page(cases))
    if not all(case.as_it_should for case in cases):
        raise SystemExit("an honest release fell, or a broken one stands")


if __name__ == "__main__":
    main()
