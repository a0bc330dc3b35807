"""Forked processes: the program is loaded once, and every point of a fault gets a fresh copy of it."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, negative for a signal, and what it said."""

    code: int
    told: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


@dataclass
class Child:
    """A process that was forked from this one; what it says goes into a file."""

    pid: int
    said: Path

    def wait(self, seconds: float = 60.0) -> Ended | None:
        """How it ended; None where it has not within that time, or was stopped."""
        end = time.monotonic() + seconds
        while True:
            done, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if done and not os.WIFSTOPPED(status):
                told = self.said.read_text("utf-8", "replace")
                return Ended(os.waitstatus_to_exitcode(status), told)
            if done or time.monotonic() > end:
                return None
            time.sleep(0.002)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def fork(work: Callable[[], int], said: Path) -> Child:
    """Run in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return Child(child, said)
    code = 70
    try:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(output, stream)
        code = work()
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        with contextlib.suppress(Exception):
            sys.__stderr__.flush()  # type: ignore[union-attr]
            sys.__stdout__.flush()  # type: ignore[union-attr]
        os._exit(code)


def done_in_child(work: Callable[[], None], said: Path) -> str:
    """What went wrong in a process of its own; "" where nothing did."""

    def run() -> int:
        work()
        return 0

    ended = fork(run, said).wait(120)
    if ended is None:
        return "it did not end"
    told = ended.told[ended.told.rfind("Traceback") :] if "Traceback" in ended.told else ended.told
    return "" if ended.code == 0 else told or f"exit {ended.code}"


def load_what_it_loads(work: Callable[[], int], said: Path) -> None:
    """Let a child do the work once, and load here what it had loaded, so that no later child has to."""

    def run() -> int:
        code = work()
        said.with_suffix(".modules").write_text("\n".join(sys.modules), "utf-8")
        return code

    ended = fork(run, said).wait(120)
    if ended is None or ended.code != 0:
        raise RuntimeError(f"a run without faults must end well: {ended}")
    for name in _loadable(said.with_suffix(".modules").read_text("utf-8").split("\n")):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is loaded now is shared by all children, untouched


def _loadable(names: list[str]) -> Iterator[str]:
    for name in names:
        if name not in sys.modules and not name.startswith(("__", "tests.faults.__")):
            yield name
