"""kill -9 and races: either no bundle or a whole one, no key without a bundle after the next run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pramana import create_levels, verify
from pramana.app.main import run
from pramana.errors import BundleError, KeyFileError
from pramana.files.folder import sweep, whole_folder
from pramana.randomness.key import Key

# Stops itself with SIGKILL at the n-th call into the file system that changes something.
KILLED = """
import os, signal, sys
left = int(sys.argv[1])
def counted(call):
    def wrapped(*args, **more):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **more)
    return wrapped
import pramana.app.commands.releases, pramana.run.release, pramana.io.writing, pyarrow.parquet as pq
if sys.argv[2] == "mac":
    del os.O_TMPFILE
for name in ("mkdir", "rename", "link", "unlink", "utime", "fsync", "chmod"):
    setattr(os, name, counted(getattr(os, name)))
pq.ParquetWriter.write_table = counted(pq.ParquetWriter.write_table)
from pramana.app.main import run
sys.exit(run(["release", "recipe.toml", "--out", "out", "--threads", "1"]))
"""


# Linux, at every call: tests/faults/test_points.py. Here is a system without files that have no name.
CASES = [("mac", moment) for moment in (2, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24)]


@pytest.mark.parametrize(("system", "moment"), CASES)
def test_a_killed_release_is_whole_or_absent_and_the_next_one_succeeds(
    desk: Path, system: str, moment: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(moment), system], capture_output=True, timeout=60, check=False
    )
    out, key = desk / "out", desk / "out.key"
    assert done.returncode in (-9, 0), done.stderr
    if out.exists():
        secret = key.read_bytes().strip()
        copies = [path for path in desk.rglob("*") if path.is_file() and secret in path.read_bytes()]
        assert copies == [key], "the key is in its place alone"
    if out.exists():
        assert Key.read(key)
        assert verify(out, source=desk / "people.csv", key=key).valid
        assert run(["release", "recipe.toml", "--out", "out"]) == 2
    else:
        assert run(["release", "recipe.toml", "--out", "out"]) == 0
        assert verify(out, source=desk / "people.csv", key=key).valid
    assert not list(desk.glob(".*")), "the left-over of the killed run is swept by the next"
    assert done.returncode == -9 or moment > 20, "the moment must come before the end, or nothing was tested"


def test_two_at_once_exactly_one_wins(desk: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "pramana", "release", "recipe.toml", "--out", "out"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in both]
    assert sorted(code for *_, code in ends) == [0, 2]
    loser = next(error for _, error, code in ends if code == 2)
    assert "already exists" in loser.splitlines()[-1]  # progress may stand before it on a busy machine
    assert verify(desk / "out", source=desk / "people.csv", key=desk / "out.key").valid
    assert not list(desk.glob(".out*"))


def test_a_live_writer_is_left_alone_and_a_dead_one_swept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with whole_folder(out) as first:
        (first / "a").write_text("a")
        with pytest.raises(BundleError, match="already exists"), whole_folder(out) as second:
            assert first.exists(), "its writer lives"
            (second / "b").write_text("b")
            out.mkdir()
        out.rmdir()
    assert [p.name for p in out.iterdir()] == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_key_of_an_earlier_release_survives_a_killed_remake(desk: Path) -> None:
    """Only a key that the killed run itself had made may go."""
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    key = (desk / "out.key").read_bytes()
    (desk / "out").rename(desk / "elsewhere")
    left = desk / ".out.partial-00000000"
    left.mkdir()
    (left / "certificate.json").write_bytes((desk / "elsewhere/certificate.json").read_bytes())
    assert run(["release", "recipe.toml", "--out", "out"]) == 2
    assert (desk / "out.key").read_bytes() == key
    assert run(["release", "recipe.toml", "--out", "out", "--key", "out.key"]) == 0
    assert (desk / "out.key").read_bytes() == key
    same = (desk / "elsewhere/data.parquet").read_bytes()
    assert (desk / "out/data.parquet").read_bytes() == same


def test_a_failure_while_writing_leaves_no_key(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "rename", broken)
    before = sorted(p.name for p in desk.iterdir())
    assert run(["release", "recipe.toml", "--out", "out"]) == 2
    assert sorted(p.name for p in desk.iterdir()) == before


# ---------------------------------------------------------------- folders that many may write to

NOBODY = 65534


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp, in which anyone may make files and remove their own alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can make files that are another user's")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def planted(path: Path) -> Path:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


def test_nobody_else_can_have_the_holders_key_swept(shared: Path) -> None:
    """The holder's bundle was moved away; its key is still in its place."""
    out, key = shared / "out", Key.create()
    key.write(shared / "out.key")
    folders = [shared / f".out.partial-{i:08x}" for i in range(4)]
    for folder in folders:
        folder.mkdir()
    for folder in folders[:3]:
        planted(folder)
    link = shared / ".out.partial-00000000.key"  # leads to the very key it is compared with
    link.symlink_to(shared / "out.key")
    copy = shared / ".out.partial-00000001.key"  # the commitment stands in every certificate
    copy.write_text(key.commitment())
    other = shared / ".out.partial-00000002.key"
    other.write_text(key.commitment())
    own = shared / ".out.partial-00000003.key"  # beside what a killed run of the holder's left
    own.write_text(key.commitment())
    for path in (link, copy, other, own):
        planted(path)
    with whole_folder(out) as folder:
        (folder / "a").write_text("a")
    assert Key.read(shared / "out.key") == key
    assert all(folder.exists() for folder in folders[:3]), "they are not the holder's to remove"
    assert not folders[3].exists() and link.is_symlink()


@pytest.mark.parametrize("used", [False, True])
def test_a_key_that_an_earlier_version_noted_is_known_by_its_commitment(tmp_path: Path, used: bool) -> None:
    """It is removed only where nothing was made with it; the key of a table stays, and is reported."""
    out, key = tmp_path / "out", Key.create()
    key.write(tmp_path / "out.key")
    (tmp_path / ".out.partial-00000000").mkdir()
    for ending in (".key", ".used-key")[: 1 + used]:
        (tmp_path / f".out.partial-00000000{ending}").write_text(key.commitment() + "\n")
    if used:
        with pytest.raises(KeyFileError, match="must stay with the table"):
            sweep(out)
        assert Key.read(tmp_path / "out.key") == key
    else:
        sweep(out)
        assert not (tmp_path / "out.key").exists()
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("note", ["", "0" * 64, "of another version"])
def test_a_key_that_no_note_names_stays(tmp_path: Path, note: str) -> None:
    key = Key.create()
    key.write(tmp_path / "out.key")
    (tmp_path / ".out.partial-00000000").mkdir()
    (tmp_path / ".out.partial-00000000.key").write_text(note)
    sweep(tmp_path / "out")
    assert Key.read(tmp_path / "out.key") == key


def test_the_sweep_follows_no_link(shared: Path) -> None:
    precious = shared / "precious"
    precious.mkdir()
    (precious / "data").write_text("all there is")
    link = shared / ".out.partial-00000000"
    link.symlink_to(precious)  # even one of the holder's own
    left = shared / ".out.partial-00000001"
    left.mkdir()
    (left / "inner").symlink_to(precious)
    with whole_folder(shared / "out") as folder:
        (folder / "a").write_text("a")
    assert (precious / "data").read_text() == "all there is"
    assert link.is_symlink() and not left.exists()


def test_a_planted_key_is_not_taken_for_ones_own(shared: Path) -> None:
    """Whoever put it there knows it."""
    (shared / "people.csv").write_text("ill\nyes\nno\n")
    (shared / "recipe.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "levels"\n'
        '[attributes.ill]\nrole = "sensitive"\ndomain = ["no", "yes"]\n'
    )
    Key.create().write(shared / "ledger.db.key")
    planted(shared / "ledger.db.key")
    with pytest.raises(KeyFileError, match="of your own"):
        create_levels(shared / "ledger.db", shared / "recipe.toml")
    (shared / "ledger.db.key").unlink()
    (shared / "elsewhere").mkdir()
    Key.create().write(shared / "elsewhere" / "key")
    (shared / "ledger.db.key").symlink_to(shared / "elsewhere" / "key")
    with pytest.raises(KeyFileError, match="of your own"):
        create_levels(shared / "ledger.db", shared / "recipe.toml")
    (shared / "ledger.db.key").unlink()
    assert create_levels(shared / "ledger.db", shared / "recipe.toml").records == 2
