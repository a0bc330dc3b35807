"""Coverage-guided fuzzing of every reader, by Atheris (extra `fuzz`), from the inputs that are kept.

    python -m tests.security.fuzzing.guided [--seconds 300] [--into FOLDER] [--keep]

Each reader has a process of its own, which the fuzzer ends. An input at which anything else than a refusal of
one line comes out is written to FOLDER and named; put into `tests/security/corpus/NAME` it is a test. With `--keep`
what reached new code is added to the kept inputs, the fewest and smallest that reach as much.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.security.fuzzing.figures import ROOT, Figures, store

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
TIMEOUT = 30  # seconds for one input
MEMORY = 3072  # MiB
SLOW_SHARE = 0.5  # of the time that others get


@dataclass(frozen=True)
class Outcome:
    """What the fuzzer says at its end, and the inputs it stopped at."""

    executions: int
    edges: int
    inputs: int
    seconds: float
    faults: tuple[str, ...]


def fuzzed(name: str, seconds: int, into: Path, corpus: Path) -> Outcome:
    """One reader for so long, in a process of its own."""
    artefacts = into / name
    artefacts.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in artefacts.iterdir()}
    options = [f"-max_total_time={seconds}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", "-seed=1",
               "-print_final_stats=1", f"-artifact_prefix={artefacts}/"]  # fmt: skip
    start = time.monotonic()
    told = _run(name, [*options, str(corpus / name)])
    faults = sorted({path.name for path in artefacts.iterdir()} - before)
    if "stat::number_of_executed_units" not in told and not faults:
        raise SystemExit(f"{name}: the fuzzer did not start\n{told[-2000:]}")
    kept = re.findall(r"cov: (\d+) ft: \d+ corp: (\d+)", told)
    edges, inputs = map(int, kept[-1]) if kept else (0, 0)
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", told)
    executions = int(counted.group(1)) if counted else max(map(int, re.findall(r"^#(\d+)", told, re.M)), default=0)
    if faults:
        sys.stdout.write(told[-3000:])
    return Outcome(executions, edges, inputs, time.monotonic() - start, tuple(faults))


def minimised(name: str, found: Path) -> None:
    """The kept inputs, and of the new ones those that reach more."""
    _run(name, ["-merge=1", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", str(CORPUS / name), str(found / name)])


def _run(name: str, options: list[str]) -> str:
    command = [sys.executable, "-m", "tests.security.fuzzing.one", name, *options]
    with tempfile.TemporaryDirectory() as place:  # the fuzzer ends without tidying up
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": place}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace")
    return done.stdout + done.stderr


def main() -> None:
    from tests.security.fuzzing.readers import READERS, SLOW

    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzzing.guided")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--into", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--only", default="", help="readers, separated by commas")
    parser.add_argument("--keep", action="store_true", help="add what reached new code to the kept inputs")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(READERS)
    shares = {name: SLOW_SHARE if name in SLOW else 1.0 for name in names}
    figures, failed = Figures("guided", "make fuzz", given.seconds), False
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            found = Path(place) / "corpus"
            for kept in (CORPUS / name).iterdir():
                (found / name).mkdir(parents=True, exist_ok=True)
                (found / name / kept.name).write_bytes(kept.read_bytes())
            seconds = max(1, int(given.seconds * shares[name] / sum(shares.values())))
            outcome = fuzzed(name, seconds, given.into.resolve(), found)
            figures.add(name, executions=outcome.executions, edges=outcome.edges, inputs=outcome.inputs,
                        seconds=round(outcome.seconds), findings=len(outcome.faults))  # fmt: skip
            sys.stdout.write(f"{name}: {outcome.executions:,} inputs in {outcome.seconds:.0f} s, "
                             f"{outcome.edges} edges, {len(outcome.faults)} faults\n")  # fmt: skip
            sys.stdout.flush()
            failed |= bool(outcome.faults)
            if given.keep and not outcome.faults:
                minimised(name, found)
    store(figures)
    if failed:
        raise SystemExit(f"inputs that no reader may stop at: {given.into}")


if __name__ == "__main__":
    main()
