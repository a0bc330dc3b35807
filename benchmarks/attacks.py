"""Every attack of `pramana audit` on honest releases of all methods: how often does it blame one?

    python -m benchmarks.attacks [--rows N] [--into FOLDER]

One generated table, released by every method and setting that the tests keep digests of, as Parquet and as CSV,
each under a key of its own; then several releases of the same people together: three at different epsilons, and
versions at levels of which one is asked for twice. A verdict is wrong with a chance of one in a million.
Intersections of classes are not among them: no certificate promises k of several releases.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from tests.golden.cells import SETTINGS, document, make_tables, path_of

from benchmarks import tables
from pramana import Key, Recipe, create_levels, issue, release
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import AttackReport

RESULTS = Path(__file__).resolve().parent / "results"
EPSILONS = (2.0, 3.0, 4.0)
LEVELS = (("one", "0.5"), ("two", "0.3"), ("three", "0.2"), ("again", "0.5"))
KINDS = ("parquet", "csv")
PRESENCE = SETTINGS["presence flag"]
RELEASES = {  # levels of presence that are chosen in public are nobody's golden setting
    **SETTINGS,
    "presence flag, public levels": ({**PRESENCE[0], "choose": "public"}, PRESENCE[1]),
}


@dataclass(frozen=True)
class Audited:
    """A release, or several together, and what attacks found."""

    name: str
    report: AttackReport
    seconds: float


def key_of(name: str) -> Key:
    """A key of 256 bits that is the same in every run, and no seed's; versions at levels have new ones."""
    return Key(hashlib.sha256(f"attacks on {name}".encode()).digest())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attacks")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--keys", type=int, default=2, help="every release under so many keys")
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_tables(place)
        _cut(place, options.rows)
        done = []
        for number in range(options.keys):
            done += [_single(place, name, kind, number) for name in RELEASES for kind in KINDS]
            done += [_together(place, number), _at_levels(place, number)]
    text = _page(done, options.rows)
    (options.into / "attacks.md").write_text(text)
    sys.stdout.write(text)


def _cut(folder: Path, rows: int) -> None:
    """The first rows of the tables, where fewer are wanted."""
    people = pq.read_table(folder / "people.parquet").slice(0, rows)
    pq.write_table(people, folder / "people.parquet")
    pacsv.write_csv(people, folder / "people.csv")
    everyone = pacsv.read_csv(folder / "everyone.csv").slice(0, rows)
    pacsv.write_csv(everyone, folder / "everyone.csv")
    present = everyone.filter(everyone["here"].cast("bool")).drop_columns(["here"])
    pacsv.write_csv(present, folder / "present.csv")


def _single(folder: Path, name: str, kind: str, number: int) -> Audited:
    chosen, attributes = RELEASES[name]
    recipe = Recipe.parse(document(chosen, attributes, path_of(name, kind), kind), folder)
    title = f"{name}, {kind}, key {number + 1}"
    key = key_of(title)
    release(recipe, folder / title, key=key, even_if_useless=True)
    begun = time.perf_counter()
    public = folder / "everyone.csv" if chosen["method"] == "presence" and "flag" not in name else None
    found = audit_bundle(folder / title, recipe.source.path, key, public=public)
    return _told(title, found, begun)


def _together(folder: Path, number: int) -> Audited:
    key, paths = key_of(f"three {number}"), []
    chosen, attributes = SETTINGS["retention epsilon"]
    for epsilon in EPSILONS:
        recipe = Recipe.parse(
            document({**chosen, "epsilon": epsilon}, attributes, "people.parquet", "parquet"), folder
        )
        paths.append(folder / f"together {epsilon} {number}")
        release(recipe, paths[-1], key=key, even_if_useless=True)
    begun = time.perf_counter()
    found = audit_bundle(paths[0], folder / "people.parquet", key, also=paths[1:])
    return _told(f"retention, three releases together, key {number + 1}", found, begun)


def _at_levels(folder: Path, number: int) -> Audited:
    folder = folder / f"levels {number}"
    folder.mkdir()
    (folder / "levels.toml").write_text(
        '[source]\npath = "../people.csv"\n[release]\nmethod = "levels"\n[attributes.sex]\nrole = "insensitive"\n'
        '[attributes.illness]\nrole = "sensitive"\ndomain = ["none", "flu", "cold", "gout"]\n'
    )
    created = create_levels(folder / "book.ledger", folder / "levels.toml")
    for recipient, level in LEVELS:
        issue(folder / "book.ledger", recipient, level, folder / recipient, even_if_useless=True)
    begun = time.perf_counter()
    names = [recipient for recipient, _ in LEVELS]
    found = audit_bundle(
        folder / names[0], folder.parent / "people.csv", created.key_file,
        also=[folder / name for name in names[1:]],
        ledger=folder / "book.ledger", recipients=names,
    )  # fmt: skip
    return _told(f"levels, four versions together, key {number + 1}", found, begun)


def _told(title: str, found: AttackReport, begun: float) -> Audited:
    sys.stderr.write(f"{title}: {len(found.attacks)} attacks, {_lost(found)} false alarms\n")
    return Audited(title, found, time.perf_counter() - begun)


def _lost(found: AttackReport) -> int:
    return sum(not attack.ok for attack in found.attacks)


def _page(done: list[Audited], rows: int) -> str:
    tried, wrong, host = Counter[str](), Counter[str](), tables.machine()
    for audited in done:
        for attack in audited.report.attacks:
            name = _family(attack.name)
            tried[name] += 1
            wrong[name] += not attack.ok
    releases: list[list[object]] = [
        [a.name, len(a.report.attacks), _lost(a.report), len(a.report.not_run), f"{a.seconds:.1f}"] for a in done
    ]
    attacks: list[list[object]] = [[name, tried[name], wrong[name]] for name in sorted(tried)]
    lines = [
        "# Attacks on honest releases",
        "",
        f"`python -m benchmarks.attacks`, {tables.now()}. {host['processor']}, {host['cores']} cores; load before "
        f"the run {', '.join(map(str, host['load_before']))}. {rows:,} people; what is released is in "
        "`tests/golden/cells.py`.",
        "",
        f"{len(done)} audits of honest releases, {sum(tried.values())} attacks, "
        f"**{sum(wrong.values())} false alarms**. One attack errs with a chance of at most one in a million.",
        "",
        *_table(["release", "attacks", "false alarms", "left out", "s"], releases),
        "",
        *_table(["attack", "times run", "false alarms"], attacks),
    ]
    return "\n".join(lines) + "\n"


def _family(name: str) -> str:
    """Attacks on single attributes go by one name."""
    return "epsilon of an attribute, from its records" if name.endswith(", from its records") else name


def _table(heads: list[str], rows: list[list[object]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


if __name__ == "__main__":
    main()
