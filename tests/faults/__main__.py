"""`python -m tests.faults`: every fault at every point, or at some of the points; a table, or JSON."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FOLDER = "FAULTS_FOLDER"  # set in the process that has the shim


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="A scenario; all, without.")
    parser.add_argument(
        "--fault", action="append", default=[], help="kill, tear, full or read_only; all, without."
    )
    parser.add_argument("--points", type=int, default=0, help="So many points of each fault, evenly spread.")
    parser.add_argument("--json", action="store_true", help="Results as JSON.")
    parser.add_argument("--no-postgresql", action="store_true", help="Leave out what needs a server.")
    wanted = parser.parse_args()
    from tests.faults.shim import build, why_not

    if (reason := why_not()) is not None:
        sys.stderr.write(f"skipped: {reason}\n")
        return 3
    if _FOLDER not in os.environ:
        with tempfile.TemporaryDirectory(prefix="pramana-faults-", dir="/tmp") as folder:
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

    start = time.monotonic()
    tallies = run_all(
        Path(os.environ[_FOLDER]), wanted.only, wanted.fault, wanted.points, not wanted.no_postgresql
    )
    seconds = time.monotonic() - start
    failures = [failure for tally in tallies for failure in tally.failures]
    if wanted.json:
        sys.stdout.write(json.dumps({"seconds": round(seconds, 1), "tallies": [t.to_json() for t in tallies]}))
    for tally in tallies:
        told = ", ".join(f"{number} {word}" for word, number in sorted(tally.outcomes.items()))
        sys.stderr.write(f"{tally.scenario} {tally.fault}: {tally.points} points: {told}\n")
        for failure in tally.failures:
            sys.stderr.write(f"  FAILED {failure}\n")
    sys.stderr.write(f"{sum(t.points for t in tallies)} points, {len(failures)} failures, {seconds:.0f} s\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
