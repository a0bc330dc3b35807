"""The key of a dataset, its folder of versions, and bundles that a run left behind."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from tests.ledger.flow import end_of, start

from pramana import Ledger, create_levels, issue
from pramana.errors import BundleError, KeyFileError, LedgerError, PramanaError, RefusedError
from pramana.ledger import ledger as ledger_module
from pramana.ledger import store
from pramana.ledger.state import COMMITTED, DATASET, REPEATED, Entry
from pramana.randomness.key import Key

RECIPE = """
[source]
path = "people.csv"
[release]
method = "levels"
history = {history}
[attributes.income]
role = "sensitive"
domain = ["low", "mid", "high"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("income\n" + "low\nmid\nhigh\n" * 40)
    (tmp_path / "recipe.toml").write_text(RECIPE.format(history="false"))
    return tmp_path


def check_key(ledger: Path, key_file: Path) -> None:
    assert Key.read(key_file).commitment() == Ledger.open(ledger).dataset().key


def failing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the disk is full whenever an entry of a kind is written."""
    real = store.append

    def append(connection: Any, entry: Entry) -> Entry:
        if entry.kind == kind:
            raise OperationalError("INSERT", {}, Exception("database or disk is full"))
        return real(connection, entry)

    monkeypatch.setattr(ledger_module, "append", append)


# ---------------------------------------------------------------- two at once


def test_the_loser_of_two_leaves_the_winners_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other run comes between this one's key and its entry."""
    ledger, real = folder / "ledger.db", Ledger.add_dataset

    def overtaken(self: Ledger, *arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(Ledger, "add_dataset", real)
        create_levels(ledger, folder / "recipe.toml")
        return real(self, *arguments, **more)

    monkeypatch.setattr(Ledger, "add_dataset", overtaken)
    with pytest.raises(RefusedError, match="registered once"):
        create_levels(ledger, folder / "recipe.toml")
    check_key(ledger, folder / "ledger.db.key")
    issue(ledger, "anna", "0.3", folder / "out")


def test_several_processes_register_at_once(folder: Path) -> None:
    """One of them wins, and the key in its place is the one that is registered."""
    for turn in range(5):
        ledger = folder / f"{turn}.db"

        def work(ledger: Path = ledger) -> None:
            try:
                create_levels(ledger, folder / "recipe.toml")
            except PramanaError:
                os._exit(7)

        ends = sorted(end_of(child) for child in [start(work) for _ in range(3)])
        assert ends == [0, 7, 7]
        check_key(ledger, folder / f"{turn}.db.key")
    assert not list(folder.glob(".*"))


def test_an_adopted_key_that_vanishes_is_not_registered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run finds the key of another that has not registered it yet, and loses it when that one gives up."""
    ledger, place, real = folder / "ledger.db", folder / "ledger.db.key", Ledger.add_dataset
    Key.create().write(place)

    def removed(self: Ledger, *arguments: Any, **more: Any) -> Any:
        place.unlink()
        return real(self, *arguments, **more)

    monkeypatch.setattr(Ledger, "add_dataset", removed)
    with pytest.raises(KeyFileError):
        create_levels(ledger, folder / "recipe.toml")
    assert not Ledger.open(ledger).state().datasets


def test_a_key_goes_with_the_run_that_wrote_it_and_was_not_registered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = folder / "ledger.db"
    with monkeypatch.context() as patched:
        failing(DATASET, patched)
        with pytest.raises(LedgerError, match="a full disk"):
            create_levels(ledger, folder / "recipe.toml")
    assert not (folder / "ledger.db.key").exists()
    Key.create().write(folder / "own.key")
    with monkeypatch.context() as patched:
        failing(DATASET, patched)
        with pytest.raises(LedgerError, match="a full disk"):
            create_levels(ledger, folder / "recipe.toml", key=folder / "own.key")
    assert (folder / "own.key").exists(), "this one was there before"
    create_levels(ledger, folder / "recipe.toml", key=folder / "own.key")
    check_key(ledger, folder / "own.key")


def test_registering_killed_at_every_call_into_the_file_system(folder: Path) -> None:
    """The next run always succeeds, unless all was done; an empty key would keep every run from it."""
    moment, ended = 0, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        moment += 1
        assert moment < 60
        ledger = folder / f"{moment}.db"

        def work(moment: int = moment, ledger: Path = ledger) -> None:
            left = moment

            def counted(call: Callable[..., Any]) -> Callable[..., Any]:
                def wrapped(*arguments: Any, **more: Any) -> Any:
                    nonlocal left
                    left -= 1
                    if left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return call(*arguments, **more)

                return wrapped

            for name in ("open", "fdopen", "fsync", "link", "unlink"):
                setattr(os, name, counted(getattr(os, name)))
            create_levels(ledger, folder / "recipe.toml")

        ended = end_of(start(work))
        try:
            create_levels(ledger, folder / "recipe.toml")
        except RefusedError as refused:
            assert "registered once" in str(refused)
        check_key(ledger, folder / f"{moment}.db.key")
    assert ended == 0 and moment > 5


# ---------------------------------------------------------------- a bundle that was left behind


@pytest.fixture
def left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle whose run could not commit it."""
    create_levels(folder / "ledger.db", folder / "recipe.toml")
    with monkeypatch.context() as patched:
        failing(COMMITTED, patched)
        with pytest.raises(LedgerError, match="a full disk"):
            issue(folder / "ledger.db", "anna", "0.3", folder / "out")
    assert (folder / "out" / "data.parquet").exists()
    return folder / "out"


def swapped(out: Path) -> None:
    """Other rows under the same certificate."""
    data = out / "data.parquet"
    data.write_bytes(data.read_bytes().replace(b"mid", b"low"))


def more(out: Path) -> None:
    (out / "notes.txt").write_text("by the way")


def less(out: Path) -> None:
    (out / "report.html").unlink()


def linked(out: Path) -> None:
    data = out / "data.parquet"
    data.rename(out.parent / "data.parquet")
    data.symlink_to(out.parent / "data.parquet")


def other_report(out: Path) -> None:
    (out / "report.html").write_text("<p>A better promise</p>")


@pytest.mark.parametrize("damage", [swapped, more, less, linked, other_report])
def test_a_left_behind_bundle_is_not_taken_at_its_word(left_behind: Path, damage: Callable[[Path], None]) -> None:
    ledger = left_behind.parent / "ledger.db"
    damage(left_behind)
    with pytest.raises(BundleError, match="already exists"):
        issue(ledger, "anna", "0.3", left_behind)
    assert [r.status for r in Ledger.open(ledger).releases()] == ["reserved"]
    assert not list(left_behind.parent.glob(".*"))
    shutil.rmtree(left_behind)
    assert issue(ledger, "anna", "0.3", left_behind).release.status == "committed"


@pytest.mark.parametrize("memory", [None, 1 << 29])
def test_a_left_behind_bundle_is_taken_up_where_it_is_what_would_be_made(
    left_behind: Path, memory: int | None
) -> None:
    ledger = left_behind.parent / "ledger.db"
    before = {path.name: (path.read_bytes(), path.stat().st_ino) for path in left_behind.iterdir()}
    assert issue(ledger, "anna", "0.3", left_behind, memory=memory).release.status == "committed"
    assert {path.name: (path.read_bytes(), path.stat().st_ino) for path in left_behind.iterdir()} == before
    assert not list(left_behind.parent.glob(".*"))


@pytest.mark.parametrize("kind", [COMMITTED, REPEATED])
def test_a_bundle_that_the_ledger_does_not_have_is_spoken_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """It lies there, and nobody may read that nothing was written."""
    create_levels(folder / "ledger.db", folder / "recipe.toml")
    if kind == REPEATED:
        issue(folder / "ledger.db", "anna", "0.3", folder / "first")
    failing(kind, monkeypatch)
    with pytest.raises(LedgerError) as refused:
        issue(folder / "ledger.db", "anna", "0.3", folder / "out")
    assert (folder / "out" / "certificate.json").exists()
    said = str(refused.value)
    assert "a full disk" in said and f"The bundle {folder / 'out'} is made" in said
    assert "othing was written" not in said


# ---------------------------------------------------------------- who can read what


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_everything_beside_the_ledger_is_for_its_owner_alone(folder: Path, no_umask: None) -> None:
    assert no_umask is None
    (folder / "recipe.toml").write_text(RECIPE.format(history="true"))
    create_levels(folder / "ledger.db", folder / "recipe.toml")
    issue(folder / "ledger.db", "anna", "0.3", folder / "out")
    secret = [path for path in folder.rglob("*") if path.relative_to(folder).parts[0].startswith("ledger.db")]
    assert len(secret) == 5, "the ledger, the key, the folder of versions, the dataset's and a history"
    assert [path for path in secret if path.stat().st_mode & 0o077] == []
    (folder / "ledger.db.versions").chmod(0o755)  # as earlier programs made it
    issue(folder / "ledger.db", "bert", "0.2", folder / "other")
    assert (folder / "ledger.db.versions").stat().st_mode & 0o077 == 0


def test_a_ledger_made_in_an_empty_file_is_for_its_owner_alone(tmp_path: Path, no_umask: None) -> None:
    assert no_umask is None
    (tmp_path / "ledger.db").touch(0o644)
    Ledger.create(tmp_path / "ledger.db")
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0
