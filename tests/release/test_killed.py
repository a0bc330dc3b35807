"""kill -9 and races: either no bundle or a whole one, no key without a bundle after the next run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pramana import verify
from pramana.app.main import run
from pramana.errors import BundleError
from pramana.randomness import Key
from pramana.release.folder import whole_folder

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
import pramana.app.releases, pramana.release, pramana.sources.write, pyarrow.parquet as pq
for name in ("mkdir", "rename", "link", "unlink", "utime", "fsync", "chmod"):
    setattr(os, name, counted(getattr(os, name)))
pq.write_table = counted(pq.write_table)
from pramana.app.main import run
sys.exit(run(["release", "recipe.toml", "--out", "out", "--threads", "1"]))
"""


@pytest.mark.parametrize("moment", [1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17])
def test_a_killed_release_is_whole_or_absent_and_the_next_one_succeeds(desk: Path, moment: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(moment)], capture_output=True, timeout=60, check=False
    )
    out, key = desk / "out", desk / "out.key"
    assert done.returncode in (-9, 0), done.stderr
    if out.exists():
        assert Key.read(key)
        assert verify(out, source=desk / "people.csv", key=key).valid
        assert run(["release", "recipe.toml", "--out", "out"]) == 2
    else:
        assert run(["release", "recipe.toml", "--out", "out"]) == 0
        assert verify(out, source=desk / "people.csv", key=key).valid
    assert not list(desk.glob(".out*")), "the left-over of the killed run is swept by the next"
    assert done.returncode == -9 or moment > 14, "the moment must come before the end, or nothing was tested"


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
    assert "must not exist yet" in loser.splitlines()[-1]  # progress may stand before it on a busy machine
    assert verify(desk / "out", source=desk / "people.csv", key=desk / "out.key").valid
    assert not list(desk.glob(".out*"))


def test_a_live_writer_is_left_alone_and_a_dead_one_swept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with whole_folder(out) as first:
        (first / "a").write_text("a")
        with pytest.raises(BundleError, match="must not exist yet"), whole_folder(out) as second:
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
    left = desk / ".out.partial-00"
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
