"""Everything else that writes files: each file is there whole or not at all, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.faults.desk import Desk, in_folder
from tests.faults.scenarios.releases import RELEASE, RETENTION, with_people
from tests.faults.scenarios.scenario import AFTER, NEXT, Scenario, command, must

Prepare = Callable[[Desk], None]


def _acted(words: tuple[str, ...], desk: Desk, attempt: int) -> int:
    del desk
    return command(*words, attempt=attempt)


def _check(names: tuple[str, ...], desk: Desk, _: str) -> str:
    """Each of the files is as a run without a fault leaves it, or as it was before."""
    whole = 0
    for name in names:
        path = desk.folder / name
        before = desk.base / "before" / name
        if not path.exists():
            assert not before.exists(), f"{name} is gone"
            continue
        content = path.read_bytes()
        made = any(content == (desk.base / after / name).read_bytes() for after in (AFTER, NEXT))
        assert made or (before.exists() and content == before.read_bytes()), f"{name} is half of itself"
        whole += made
    return "whole" if whole == len(names) else "nothing" if not whole else f"{whole} of {len(names)} files"


def _again(words: tuple[str, ...], names: tuple[str, ...], replaces: bool, desk: Desk) -> None:
    """The same command again: it makes what is missing, and refuses what is there."""
    there = all((desk.folder / name).exists() for name in names)
    must(2 if there and not replaces else 0, *words)
    assert _check(names, desk, "") == "whole"


def _files(
    name: str,
    about: str,
    prepare: Prepare,
    words: str,
    names: tuple[str, ...],
    replaces: bool = False,
    most: int = 0,
) -> Scenario:
    command_line = tuple(words.split())
    return Scenario(
        name,
        about,
        prepare,
        partial(_acted, command_line),
        partial(_check, names),
        partial(_again, command_line, names, replaces),
        most=most,
    )


def _people(desk: Desk) -> None:
    with_people(desk, RETENTION)


def _published(desk: Desk) -> None:
    with_people(desk, RETENTION)
    with in_folder(desk.folder):
        must(0, *RELEASE, attempt=1)


def _with_report(desk: Desk) -> None:
    _published(desk)
    with in_folder(desk.folder):
        must(0, "report", "out", "--table", "sex,age")
    desk.changed.add("out.report.html")


FILES = (
    _files("key-new", "key new", lambda _: None, "key new new.key", ("new.key",)),
    _files(
        "init",
        "init",
        _people,
        "init people.csv --job k-anonymity --out first.toml",
        ("first-sex.csv", "first-ill.csv", "first.toml"),
    ),
    _files("inspect", "inspect --html", _people, "inspect people.csv --html page.html", ("page.html",)),
    _files(
        "hierarchy",
        "hierarchy build",
        _people,
        "hierarchy build people.csv --column sex --kind mask --out sex.csv",
        ("sex.csv",),
    ),
    _files(
        "report", "report, in the place of an earlier one", _with_report, "report out", ("out.report.html",), True
    ),
    _files(
        "report-private",
        "report --source (private)",
        _published,
        "report out --source people.csv",
        ("out.private-report.html",),
        True,
    ),
    _files(
        "synthesise",
        "synthesise",
        _published,
        "synthesise out --out drawn.csv",
        ("drawn.csv", "drawn.csv.certificate.json"),
    ),
    _files("export-spss", "export (SPSS)", _published, "export out --out out.sav", ("out.sav",), most=12),
    _files("export-excel", "export (Excel)", _published, "export out --out out.xlsx", ("out.xlsx",), most=40),
    _files(
        "audit",
        "audit --html",
        _published,
        "audit out --source people.csv --key out.key --html attacks.html",
        ("attacks.html",),
    ),
)
