"""Coverage-guided fuzzing of every reader, by Atheris (extra `fuzz`), from the inputs that are kept.

    python -m tests.security.fuzzing.guided [--seconds 300] [--into FOLDER] [--keep]

Each reader has a process of its own, which the fuzzer ends. An input at which anything else than a refusal of
one line comes out is written to FOLDER and named; put into `tests/security/corpus/NAME` it is a test. With
`--keep` the inputs that reached more of Pramana than the kept ones do are kept, too, the smallest first.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import atheris

with atheris.instrument_imports(include=["pramana"]):
    from tests.security.fuzzing.readers import CORPUS, READERS, Reader

from tests.security.fuzzing.figures import Figures, store
from tests.security.fuzzing.forked import forked_workers

TIMEOUT = 30  # seconds for one input
MEMORY = 3072  # MiB
GRACE = 180  # seconds after its time within which a reader's process must have ended
KEEPING = 600  # seconds to find out which inputs are worth keeping
MOST_KEPT = 40  # inputs of a reader
Line = tuple[str, int]


@dataclass(frozen=True)
class Outcome:
    """What the fuzzer says at its end, and the inputs it stopped at."""

    executions: int
    edges: int
    inputs: int
    seconds: float
    faults: tuple[str, ...]


def fuzzed(name: str, seconds: int, artefacts: Path, corpus: Path) -> Outcome:
    """One reader for so long, in a process of its own, that has its own copy of all that is imported."""
    artefacts.mkdir(parents=True, exist_ok=True)
    before = {path.name for path in artefacts.iterdir()}
    options = [f"-max_total_time={seconds}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", "-seed=1",
               "-print_final_stats=1", f"-max_len={READERS[name].most}", f"-artifact_prefix={artefacts}/",
               str(corpus)]  # fmt: skip
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place:  # the fuzzer ends without tidying up
        told = Path(place) / "told"
        in_a_fork(lambda: _fuzz(READERS[name], options, Path(place), told), seconds + GRACE)
        text = told.read_text(errors="replace")
    faults = sorted({path.name for path in artefacts.iterdir()} - before)
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if faults or counted is None:
        sys.stdout.write(text[-4000:])
    reached = re.findall(r"cov: (\d+) ft: \d+ corp: (\d+)", text)
    edges, inputs = map(int, reached[-1]) if reached else (0, 0)
    executions = int(counted.group(1)) if counted else 0
    ended = () if counted or faults else ("the fuzzer ended early",)
    return Outcome(executions, edges, inputs, time.monotonic() - start, (*faults, *ended))


def in_a_fork(work: Callable[[], None], seconds: float) -> None:
    """Nothing is read in this process itself: threads that a library started would be missing in its forks."""
    process = os.fork()
    if not process:
        try:
            work()
        finally:
            os._exit(0)
    until = time.monotonic() + seconds
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.2)


def _fuzz(reader: Reader, options: list[str], folder: Path, told: Path) -> None:
    """The fuzzer ends the process."""
    output = os.open(told, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)

    def try_input(content: bytes) -> None:
        with forked_workers() if reader.in_a_process else contextlib.nullcontext():
            reader.attempt(content, folder)

    atheris.Setup([sys.argv[0], *options], try_input)
    atheris.Fuzz()


# ---------------------------------------------------------------- which inputs are kept


def lines_of(reader: Reader, content: bytes, folder: Path) -> set[Line]:
    """The lines of Pramana that an input reaches."""
    found: set[Line] = set()

    def within(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            found.add((frame.f_code.co_filename, frame.f_lineno))
        return within

    def called(frame: FrameType, *_: object) -> Any:
        return within if f"{os.sep}pramana{os.sep}" in frame.f_code.co_filename else None

    sys.settrace(called)
    try:
        reader.attempt(content, folder)
    finally:
        sys.settrace(None)
    return found


def reaching_more(reader: Reader, kept: Iterable[Path], found: Iterable[Path]) -> list[bytes]:
    """Of the found inputs those that reach lines which none before reached, the smallest first."""
    known: set[Line] = set()
    more = []
    with tempfile.TemporaryDirectory() as place:
        for path in kept:
            known |= lines_of(reader, path.read_bytes(), Path(place))
        for content in sorted((path.read_bytes() for path in found), key=lambda c: (len(c), c)):
            reached = lines_of(reader, content, Path(place))
            if not reached <= known:
                known |= reached
                more.append(content)
    return more


def keep(name: str, corpus: Path) -> None:
    folder = CORPUS / name
    kept = sorted(folder.iterdir())
    for number, content in enumerate(reaching_more(READERS[name], kept, corpus.iterdir()), len(kept)):
        if number < MOST_KEPT:
            (folder / f"found-{number:02d}").write_bytes(content)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzzing.guided")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--into", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--only", default="", help="readers, separated by commas; nothing is stored then")
    parser.add_argument("--keep", action="store_true", help="keep inputs that reached more")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(READERS)
    figures, failed = Figures("guided", "make fuzz", given.seconds, {"Atheris": version("atheris")}), False
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            for kept in (CORPUS / name).iterdir():
                (Path(place) / kept.name).write_bytes(kept.read_bytes())
            seconds = max(1, int(given.seconds / len(names)))
            outcome = fuzzed(name, seconds, given.into.resolve() / name, Path(place))
            if given.keep and not outcome.faults:
                in_a_fork(partial(keep, name, Path(place)), KEEPING)
        figures.add(name, executions=outcome.executions, edges=outcome.edges, inputs=outcome.inputs,
                    seconds=round(outcome.seconds), findings=len(outcome.faults))  # fmt: skip
        sys.stdout.write(f"{name}: {outcome.executions:,} inputs in {outcome.seconds:.0f} s, "
                         f"{outcome.edges} edges, {len(outcome.faults)} faults\n")  # fmt: skip
        sys.stdout.flush()
        failed |= bool(outcome.faults)
    if not given.only:
        store(figures)
    if failed:
        raise SystemExit(f"inputs that no reader may stop at: {given.into}")


if __name__ == "__main__":
    main()
