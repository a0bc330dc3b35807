"""A command that does everything wrong, so that the checks can be seen to see it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.faults.desk import NAMES, Desk, key_of
from tests.faults.scenarios.scenario import AFTER, Scenario


def _prepare(desk: Desk) -> None:
    (desk.folder / "people.csv").write_text("name\n" + "\n".join(NAMES))
    desk.sources.add("people.csv")


def _act(desk: Desk, attempt: int) -> int:
    """A copy of the source, a key in the open and a file that is written in pieces, all under names that stay."""
    del desk
    with tempfile.NamedTemporaryFile("w") as copy:
        copy.write(NAMES[0])
        copy.flush()
    note = Path("note.txt")
    note.write_bytes(key_of(attempt).secret)
    note.unlink()
    Path(".working").touch()
    with Path("page.html").open("w") as page:
        for i in range(2):
            page.write(f"part {i}")
            page.flush()
    Path(".working").unlink()
    return 0


def _check(desk: Desk, _: str) -> str:
    page = desk.folder / "page.html"
    assert not page.exists() or page.read_bytes() == (desk.base / AFTER / "page.html").read_bytes(), (
        "page.html is half of itself"
    )
    return "whole" if page.exists() else "nothing"


CARELESS = Scenario("careless", "a careless command", _prepare, _act, _check, lambda _: None)
