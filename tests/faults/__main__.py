"""`python -m tests.faults`: every fault at every point, or at some of the points; a table, or JSON."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.injecting import Tally

ROOT = Path(__file__).parents[2]
_FOLDER = "FAULTS_FOLDER"  # set in the process that has the shim


def _place() -> str:
    """In memory, if there is room: a process is killed, not the machine, and what it flushes is then no wait."""
    memory = Path("/dev/shm")
    return str(memory) if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30 else "/tmp"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="A scenario; all, without.")
    parser.add_argument(
        "--fault", action="append", default=[], help="kill, tear, full or read_only; all, without."
    )
    parser.add_argument("--points", type=int, default=0, help="So many points of each fault, evenly spread.")
    parser.add_argument("--json", default=None, help="A file for the results.")
    parser.add_argument("--no-postgresql", action="store_true", help="Leave out what needs a server.")
    wanted = parser.parse_args()
    from tests.faults.shim import build, why_not

    if (reason := why_not()) is not None:
        sys.stderr.write(f"skipped: {reason}\n")
        return 3
    if _FOLDER not in os.environ:
        with tempfile.TemporaryDirectory(prefix="pramana-faults-", dir=_place()) as folder:
            environment = {
                **os.environ,
                "LD_PRELOAD": str(build(Path(folder))),
                _FOLDER: folder,
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            }
            again = [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
            return subprocess.run(again, env=environment, check=False).returncode
    from tests.faults.running import run_all

    start, tallies = time.monotonic(), []
    place = Path(os.environ[_FOLDER])
    for tally in run_all(place, wanted.only, wanted.fault, wanted.points, not wanted.no_postgresql):
        tallies.append(tally)
        _tell(tally)
        if wanted.json is not None:  # after each: a long run that is stopped has told what it found
            seconds = round(time.monotonic() - start, 1)
            content = {"seconds": seconds, "tallies": [tally.to_json() for tally in tallies]}
            Path(wanted.json).write_text(json.dumps(content, indent=1), "utf-8")
    failures = sum(len(tally.failures) for tally in tallies)
    points = sum(tally.points for tally in tallies)
    sys.stderr.write(f"{points} points, {failures} failures, {time.monotonic() - start:.0f} s\n")
    return 1 if failures else 0


def _tell(tally: Tally) -> None:
    found = ", ".join(f"{number} {word}" for word, number in sorted(tally.outcomes.items()))
    sys.stderr.write(f"{tally.scenario} {tally.fault}: {tally.points} of {tally.of} points: {found}\n")
    for failure in tally.failures:
        sys.stderr.write(f"  FAILED {failure}\n")


if __name__ == "__main__":
    sys.exit(main())
