"""Key files: whole or not at all, for their owner alone, never inside a bundle, and swept by their owner alone."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pramana import create_levels
from pramana.app.main import run
from pramana.errors import KeyFileError
from pramana.files.atomic import sweep_unfinished
from pramana.randomness.key import Key

SECRET = b"ab" * 32 + b"\n"

# Stops itself with SIGKILL at the n-th call into the file system; "mac": without files that have no name.
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
from pathlib import Path
from pramana.randomness.key import Key
if sys.argv[2] == "mac":
    del os.O_TMPFILE
for name in ("open", "fdopen", "fsync", "link", "unlink", "close"):
    setattr(os, name, counted(getattr(os, name)))
Key(bytes(range(32))).write(Path("key"))
"""


@pytest.fixture(params=["linux", "mac"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "mac":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return str(request.param)


def test_a_key_whose_writer_is_killed_is_whole_or_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.chdir(tmp_path)
    moment = 0
    ends: list[int] = []
    while not ends or ends[-1] == -9:
        moment += 1
        assert moment < 40
        done = subprocess.run([sys.executable, "-c", KILLED, str(moment), system], check=False, timeout=60)
        ends.append(done.returncode)
        key = tmp_path / "key"
        if key.exists():
            assert Key.read(key) == Key(bytes(range(32)))
            sweep_unfinished(key)
        else:
            assert run(["key", "new", "key"]) == 0, "the next run is not kept from its work"
            assert Key.read(key)
        assert [path.name for path in tmp_path.iterdir()] == ["key"], "and no other copy is left after it"
        key.unlink()
    assert ends[-1] == 0 and len(ends) > 5, "every moment up to the end was tried"


def test_an_existing_file_is_never_touched(tmp_path: Path, system: str) -> None:
    assert system
    for name in ("file", "dangling"):
        place = tmp_path / name
        if name == "file":
            place.write_bytes(SECRET)
        else:
            place.symlink_to(tmp_path / "nowhere")
        with pytest.raises(KeyFileError, match="already exists"):
            Key.create().write(place)
    assert (tmp_path / "file").read_bytes() == SECRET and not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]


def test_a_file_system_without_links_gets_its_key_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    assert system

    def no_links(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    key = Key.create()
    key.write(tmp_path / "key")
    assert Key.read(tmp_path / "key") == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    with pytest.raises(KeyFileError, match="already exists"):
        key.write(tmp_path / "key")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    assert system

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="No space"):
        Key.create().write(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_the_left_over_of_someone_else_or_of_a_live_writer_stays(tmp_path: Path) -> None:
    """What another user plants is no reason to remove anything, least of all what a link leads to."""
    precious = tmp_path / "precious"
    precious.write_bytes(SECRET)
    link = tmp_path / ".key.00.unfinished"
    link.symlink_to(precious)
    if os.geteuid() == 0:
        other = tmp_path / ".key.01.unfinished"
        other.write_bytes(b"planted")
        os.chown(other, 65534, 65534)
    own = tmp_path / ".key.02.unfinished"
    own.write_bytes(b"")
    live = tmp_path / ".key.03.unfinished"
    live.write_bytes(b"")
    before = {path.name for path in tmp_path.iterdir()}
    with live.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep_unfinished(tmp_path / "key")
    assert {path.name for path in tmp_path.iterdir()} == before - {own.name}
    assert precious.read_bytes() == SECRET


# ---------------------------------------------------------------- who can read it


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "key"
    Key.create().write(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.chmod(mode)
    with pytest.raises(KeyFileError, match=f"owner alone, got mode {mode:o}. Run `chmod 600"):
        Key.read(place)
    place.chmod(0o400)
    assert Key.read(place)


def test_modes_are_not_asked_of_a_file_system_that_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a file made for its owner alone is shown as open to all, like every other."""
    place = tmp_path / "key"
    Key.create().write(place)
    place.chmod(0o755)
    real = tempfile.TemporaryFile

    def shown_open(*arguments: Any, **more: Any) -> Any:
        file = real(*arguments, **more)
        os.fchmod(file.fileno(), 0o755)
        return file

    with pytest.raises(KeyFileError):
        Key.read(place)
    monkeypatch.setattr(tempfile, "TemporaryFile", shown_open)
    assert Key.read(place)


def test_a_key_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, system: str) -> None:
    assert system
    before = os.umask(0)
    try:
        Key.create().write(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


# ---------------------------------------------------------------- where it lies


def test_no_key_is_written_into_a_bundle(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A bundle is given away as a whole, and whoever has the key can undo it."""
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    (desk / "out" / "deep").mkdir()
    (desk / "way").symlink_to(desk / "out" / "deep")
    text = (desk / "recipe.toml").read_text()
    (desk / "levels.toml").write_text(
        text.replace("epsilon = 2", 'method = "levels"').replace('"F", "M"]', '"F", "M"]\nrandomise = true')
    )
    capfd.readouterr()
    before = sorted(desk.rglob("*"))
    for words in (
        ["key", "new", "out/key"],
        ["key", "new", "out/deep/key"],
        ["key", "new", "way/key"],
        ["key", "sign", "out/key"],
        ["release", "recipe.toml", "--out", "out/inner"],
        ["levels", "create", "L.db", "--recipe", "levels.toml", "--key", "out/key"],
        ["levels", "create", "out/L.db", "--recipe", "levels.toml"],
    ):
        assert run(words) == 2, words
        assert "must lie outside of every bundle" in capfd.readouterr().err, words
    assert sorted(desk.rglob("*")) == before
    create_levels(desk / "L.db", desk / "levels.toml", key=desk / "beside")


def test_a_certificate_of_something_else_makes_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text("{}")
    Key.create().write(tmp_path / "key")
    assert Key.read(tmp_path / "key")
