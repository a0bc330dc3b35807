"""The process that reads SPSS, Stata and SAS files, forked instead of started: many inputs in little time.

What the library does to that process (it may well crash) stays in it, as it does in the product.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from unittest import mock

import pyreadstat  # noqa: F401 - here, so that no fork has to

from pramana.io import survey


class ForkedWorker:
    """As much of a `Popen` as the reader uses."""

    def __init__(self, command: Sequence[str], **_: object) -> None:
        asked, ask = os.pipe()
        tell, told = os.pipe()
        self.status: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _work(command[-2], command[-1], asked, told)
        os.close(asked)
        os.close(told)
        self.stdin, self.stdout = os.fdopen(ask, "wb"), os.fdopen(tell, "rb")

    def wait(self) -> int:
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def kill(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> ForkedWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for pipe in (self.stdin, self.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.wait()


def _work(path: str, kind: str, asked: int, told: int) -> None:
    """Never returns; a crash is this process's own, and no finding of the fuzzer it was forked from."""
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
        signal.signal(number, signal.SIG_DFL)
    status = 1
    try:
        os.dup2(asked, 0)
        os.dup2(told, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        survey.serve(path, kind)
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)


def forked_workers() -> AbstractContextManager[object]:
    return mock.patch("pramana.io.survey.subprocess.Popen", ForkedWorker)
