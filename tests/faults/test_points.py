"""A sample of the points of `make faults`: the same ones every time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import needs
from tests.faults.shim import build, why_not
from tests.faults.table import PAGE

ROOT = Path(__file__).parents[2]
needs_shim = pytest.mark.usefixtures("preloading")
SAMPLE = ("release-set", "release-with-ledger", "levels-issue-history", "collect", "init")


@pytest.fixture
def preloading() -> None:
    if reason := why_not():
        needs.skip_or_fail(reason)


def injected(folder: Path, *words: str) -> list[dict[str, Any]]:
    result = folder / "result.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--json", str(result), *words],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.exists(), done.stderr
    tallies: list[dict[str, Any]] = json.loads(result.read_text("utf-8"))["tallies"]
    assert done.returncode in (0, 1) and tallies
    return tallies


@needs_shim
def test_a_release_is_killed_at_every_point(tmp_path: Path) -> None:
    [tally] = injected(tmp_path, "--only", "release", "--fault", "kill")
    assert tally["failures"] == []
    assert tally["points"] == tally["of"] > 20 and set(tally["outcomes"]) == {"nothing", "whole"}


@needs_shim
def test_other_commands_are_killed_at_some_of_their_points(tmp_path: Path) -> None:
    chosen = [word for name in SAMPLE for word in ("--only", name)]
    tallies = injected(tmp_path, *chosen, "--fault", "kill", "--points", "4")
    assert [tally["failures"] for tally in tallies] == [[]] * len(SAMPLE)
    for tally in tallies:
        assert tally["points"] == 4 < tally["of"]
        assert "ended before the point" not in tally["outcomes"], "every point was reached"


@needs_shim
def test_torn_full_read_only_and_two_at_once(tmp_path: Path) -> None:
    faults = ["tear", "full", "read_only", "stop", "clock"]
    chosen = [word for fault in faults for word in ("--fault", fault)]
    tallies = injected(tmp_path, "--only", "release", *chosen, "--points", "2")
    assert [tally["fault"] for tally in tallies] == faults
    assert [tally["failures"] for tally in tallies] == [[]] * len(faults)


@needs_shim
def test_the_checks_see_what_they_are_there_for(tmp_path: Path) -> None:
    """A command that writes values in the clear, or half a file, does not pass."""
    [tally] = injected(tmp_path, "--only", "careless", "--fault", "kill")
    found = " ".join(tally["failures"])
    assert "holds values of the source" in found and "half of itself" in found and "holds a key" in found
    assert "left over" in found


@needs_shim
def test_the_shim_sees_every_call_that_the_kernel_sees(tmp_path: Path) -> None:
    """strace counts the calls of one release; none that changes something goes past the shim."""
    strace = needs.program("strace")
    traced = "write,pwrite64,writev,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat," \
        "fsync,fdatasync,ftruncate,chmod,fchmod,fchmodat,utimensat,sendto,sendmsg,openat,open"  # fmt: skip
    environment = {
        **os.environ, "LD_PRELOAD": str(build(tmp_path)), "FAULTS_FOLDER": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [strace, "-f", "-y", "-e", f"trace={traced}", "-o", str(tmp_path / "calls"),
         sys.executable, "-m", "tests.faults.counted"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower() or not (tmp_path / "calls").exists():
        pytest.skip("this machine lets no process be traced")
    counted = json.loads(done.stdout)
    log = (tmp_path / "calls").read_text("utf-8", "replace")
    between = log[log.index("counting-begins") : log.index("counting-ends")]
    seen: dict[str, int] = {}
    for line in between.splitlines()[1:]:
        call = re.match(r"\d+ +(\w+)\(", line)
        if call is not None and _changes_something(call[1], line):
            name = "open" if call[1] == "openat" else call[1].removesuffix("64").removesuffix("at")
            seen[name] = seen.get(name, 0) + 1
    assert seen == counted


def _changes_something(name: str, line: str) -> bool:
    if name in ("write", "writev", "pwrite64"):
        return re.search(r"\((\d+)<(/|socket)", line) is not None and not line.split("(")[1].startswith(
            ("1<", "2<")
        )
    if name in ("open", "openat"):
        flags = line.rpartition('"')[2]
        return '"/dev/' not in line and any(f in flags for f in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))
    return True


def test_the_stored_result_has_500_kill_points_and_no_failure() -> None:
    told = re.search(r"\*\*(\d+) points, (\d+) of them kill -9, (\d+) failures\.\*\*", PAGE.read_text("utf-8"))
    assert told is not None and int(told[2]) >= 500 and int(told[3]) == 0
