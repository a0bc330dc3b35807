"""Two runs at once, and what one leaves for the other: reservations, folders, half a pair of files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.conftest import snapshot

import pramana
from pramana.app.main import run
from pramana.app.studio.folders import PrivateFolder
from pramana.errors import BundleError, SourceError
from pramana.io.source import Source
from pramana.ledger.ledger import Ledger
from pramana.run.run import Run

LEDGER = '[ledger]\npath = "town.ledger"\npeople = "town"\n'
RELEASE = ["release", "recipe.toml", "--even-if-useless", "--threads", "1", "--out"]


@pytest.fixture
def ledger(desk: Path) -> Ledger:
    with (desk / "recipe.toml").open("a") as recipe:
        recipe.write(LEDGER)
    return Ledger.create(desk / "town.ledger")


def statuses(ledger: Ledger) -> list[str]:
    return [release.status for release in ledger.releases()]


def fails_after(monkeypatch: pytest.MonkeyPatch, happening: object) -> None:
    """Something happens when the release is reserved, and its bundle cannot be written."""

    def write(*_: object) -> None:
        happening()  # type: ignore[operator]
        raise BundleError("The bundle must be written", "nothing")

    monkeypatch.setattr(Run, "write", write)


@pytest.mark.usefixtures("desk")
def test_who_loses_against_another_run_gives_its_reservation_up(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle that stands at its place is the other one's, by its key."""
    write = Run.write

    def other() -> None:
        monkeypatch.setattr(Run, "write", write)
        assert run([*RELEASE, "out"]) == 0

    fails_after(monkeypatch, other)
    assert run([*RELEASE, "out"]) == 2
    assert statuses(ledger) == ["abandoned", "committed"]
    assert ledger.total("town").releases == 1


def test_what_another_run_has_reserved_is_not_given_up_by_one_that_fails(
    desk: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bundle may have left the house: nothing that fails later makes the total smaller."""
    (desk / "kept.key").write_text("ab" * 32 + "\n")
    (desk / "kept.key").chmod(0o600)
    with monkeypatch.context() as killed:
        killed.setattr(Ledger, "abandon", lambda *_: None)  # a run that is killed gives nothing up
        fails_after(killed, lambda: None)
        assert run([*RELEASE, "first", "--key", "kept.key"]) == 2
    assert statuses(ledger) == ["reserved"]
    fails_after(monkeypatch, lambda: None)
    assert run([*RELEASE, "second", "--key", "kept.key"]) == 2
    assert statuses(ledger) == ["reserved"]


def test_a_studio_removes_what_killed_ones_left_and_no_living_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".pramana-studio.partial-00000000"
    left.mkdir(mode=0o700)
    (left / "age.csv").write_text("31.0170017;*\n")
    first = PrivateFolder()
    try:
        assert not left.exists()
        first.write("age.csv", "a")
        second = PrivateFolder()
        second.close()
        assert first.text("age.csv") == "a"
    finally:
        first.close()
    assert list(tmp_path.iterdir()) == []


def test_a_draft_makes_no_file_but_its_own(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not for a moment: a folder that nothing can be written to is enough."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    pramana.draft_recipe("people.csv", "first.toml", job="k-anonymity")
    made = sorted(path.name for path in desk.iterdir())
    assert made == ["first-sex.csv", "first.toml", "people.csv", "recipe.toml"]


def test_records_without_their_certificate_are_not_there_and_one_without_records_is_taken_up(desk: Path) -> None:
    assert run([*RELEASE, "out"]) == 0
    pramana.synthesise("out", "drawn.csv")
    whole = snapshot(desk)
    (desk / "drawn.csv").unlink()
    pramana.synthesise("out", "drawn.csv")  # as after a kill between the two names
    assert snapshot(desk) == whole
    (desk / "drawn.csv").unlink()
    with pytest.raises(BundleError, match="already exists"):
        pramana.synthesise("out", "drawn.csv", 7)  # which is not the run that made it
    (desk / "drawn.csv.certificate.json").write_text("{}")
    with pytest.raises(BundleError, match="already exists"):
        pramana.synthesise("out", "drawn.csv")
    assert not (desk / "drawn.csv").exists()


def test_duckdb_spills_nothing_in_the_clear(tmp_path: Path) -> None:
    """What does not fit in memory is refused, not written beside the database."""
    import duckdb

    file = tmp_path / "people.duckdb"
    connection = duckdb.connect(file)
    connection.execute("CREATE TABLE people AS SELECT i, hash(i) AS h FROM range(300000) AS numbers(i)")
    connection.close()
    settings = "SELECT current_setting('temp_directory') AS place"
    source = Source.from_options({"url": f"duckdb:///{file}", "query": settings})
    assert source.read().column("place").to_pylist() == [""]
    assert [path.name for path in tmp_path.iterdir()] == ["people.duckdb"]


def test_a_sqlite_file_that_ends_within_a_page_is_refused(tmp_path: Path) -> None:
    """SQLite itself takes what is missing for zeros, and its rows for empty ones."""
    import sqlite3

    file = tmp_path / "people.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE people (name text)")
    connection.executemany("INSERT INTO people VALUES (?)", [(f"Person {i}",) for i in range(40)])
    connection.commit()
    connection.close()
    file.write_bytes(file.read_bytes()[:-100])
    source = Source.from_options({"url": f"sqlite:///{file}", "table": "people"})
    with pytest.raises(SourceError, match="ends within a page"):
        source.read()
