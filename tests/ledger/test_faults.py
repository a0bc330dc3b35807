"""Killed at every step, two writers at once, a full disk: nothing is lost and nothing is doubled."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledger.flow import content_of, dataset, end_of, issue, killed_at, ledger_at, register, request, start

from pramana.errors import LedgerError
from pramana.ledger.ledger import Ledger


def check_nothing_lost_or_doubled(place: str, folder: Path, wanted: dict[tuple[str, str], int]) -> None:
    ledger = Ledger.open(place)
    assert ledger.is_unbroken()
    found = Counter((r.recipient, str(r.level)) for r in ledger.releases())
    assert found == wanted
    for release in ledger.releases():
        assert release.status == "committed" and release.content == content_of(str(release.level))
        assert (folder / release.id).read_text() == release.content
    kinds = Counter(entry.kind for entry in ledger.entries())
    assert kinds["reserved"] == kinds["committed"] == sum(wanted.values())


def test_killed_at_every_step(place: str, tmp_path: Path) -> None:
    ledger_at(place)
    step, killed, wanted = 0, -signal.SIGKILL, {}
    while killed == -signal.SIGKILL:
        step += 1
        who = f"recipient {step}"

        def run(step: int = step, who: str = who) -> None:
            killed_at(step)
            issue(place, tmp_path, who, "0.3")

        killed = end_of(start(run))
        before = [r.status for r in Ledger.open(place).releases() if r.recipient == who]
        assert before in ([], ["reserved"], ["committed"])
        issue(place, tmp_path, who, "0.3")  # the same request takes it up, whatever was left
        wanted[who, "0.3"] = 1
    assert killed == 0 and step > 12  # the last run was not killed: every step was tried
    check_nothing_lost_or_doubled(place, tmp_path, wanted)


def test_killed_while_the_ledger_is_made(place: str, tmp_path: Path) -> None:
    step, killed = 0, -signal.SIGKILL
    while killed == -signal.SIGKILL:
        step += 1

        def run(step: int = step) -> None:
            killed_at(step)
            Ledger.create(place)

        killed = end_of(start(run))
    assert killed == 0 and step > 1
    ledger = Ledger.create(place)
    register(ledger, dataset())
    issue(place, tmp_path, "anna", "0.3")
    check_nothing_lost_or_doubled(place, tmp_path, {("anna", "0.3"): 1})


def test_several_writers_at_once(place: str, tmp_path: Path) -> None:
    """Four processes ask for the same and for their own versions; each exists once."""
    ledger_at(place)
    children = []
    for writer in range(4):

        def run(writer: int = writer) -> None:
            for i in range(5):
                issue(place, tmp_path, "shared", f"0.{i + 1}")
                issue(place, tmp_path, f"writer {writer}", f"0.{i + 1}")

        children.append(start(run))
    assert [end_of(child) for child in children] == [0] * 4
    names = ["shared", *(f"writer {w}" for w in range(4))]
    check_nothing_lost_or_doubled(place, tmp_path, {(n, f"0.{i + 1}"): 1 for n in names for i in range(5)})


# ---------------------------------------------------------------- full disk


def fill(place: str) -> int:
    """Reserve until the disk is full: the error is one line, and what was written before stays."""
    ledger, done = Ledger.open(place), 0
    with pytest.raises(LedgerError, match="a full "):
        for done in range(100_000):
            ledger.reserve(request(f"{done} " + os.urandom(90).hex(), "0.3"))
    return done


def test_full_disk_on_sqlite(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    ledger_at(place)
    size = Path(place).stat().st_size

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, size + 40_000))
        done = fill(place)
        assert done > 5 and Ledger.open(place).is_unbroken() and len(Ledger.open(place).releases()) == done

    assert end_of(start(run)) == 0
    assert Ledger.open(place).is_unbroken()
    issue(place, tmp_path, "anna", "0.2")  # with room again, it goes on


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pramana-small-", dir="/tmp"))
    command = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=0777", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def test_full_disk_on_sqlite_with_a_small_file_system(small_disk: Path, tmp_path: Path) -> None:
    place = str(small_disk / "ledger.db")
    ledger_at(place)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(12 * 2**20 - 200_000))
    done = fill(place)
    assert Ledger.open(place).is_unbroken() and len(Ledger.open(place).releases()) == done
    ballast.unlink()
    issue(place, tmp_path, "anna", "0.2")
    assert Ledger.open(place).is_unbroken()


def test_full_disk_on_postgresql(small_disk: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("postgresql")
    server.execute(
        f"CREATE TABLESPACE small LOCATION '{_owned(small_disk / 'space', server.user)}'",
        "CREATE DATABASE small TABLESPACE small",
    )
    place = server.url("small")
    ledger_at(place)
    free = os.statvfs(small_disk)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - 150_000)))
    done = fill(place)
    assert Ledger.open(place).is_unbroken() and len(Ledger.open(place).releases()) == done
    ballast.unlink()
    issue(place, tmp_path, "anna", "0.2")
    assert Ledger.open(place).is_unbroken()
    server.execute("DROP DATABASE small", "DROP TABLESPACE small")


def _owned(folder: Path, user: str | None) -> Path:
    folder.mkdir()
    if user is not None:
        shutil.chown(folder, user)
    return folder


def test_a_crash_of_the_server_loses_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("postgresql")
    place = server.database("crash")
    ledger_at(place)
    issue(place, tmp_path, "anna", "0.3")
    server.stop("immediate")  # no goodbye: what a power cut leaves
    with pytest.raises(LedgerError, match="reachable"):
        Ledger.open(place)
    server.start()
    check_nothing_lost_or_doubled(place, tmp_path, {("anna", "0.3"): 1})
