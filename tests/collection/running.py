"""A collector in a process of its own, started, spoken to and killed by tests."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SURVEY = """\
[about]
title = "Habits"
[release]
epsilon = 4
records = 500
tables = [["smokes", "age"]]
[attributes.smokes]
role = "sensitive"
randomise = true
domain = ["yes", "no"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 30, 60, inf]
"""


@dataclass
class Running:
    """Where a collector is, and its process."""

    process: subprocess.Popen[str]
    survey: str
    organiser: str
    out: Path

    @property
    def base(self) -> str:
        return self.survey.rstrip("/")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def start(folder: Path, *arguments: str, limits: Sequence[str] = ()) -> Running:
    """Start `pramana collect ...` in a folder and wait until it says where it is."""
    command = [*limits, sys.executable, "-m", "pramana", "collect", "--no-browser", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.stderr.read())
    told = json.loads(line)
    assert set(told) == {"survey", "organiser"}
    out = folder / (arguments[arguments.index("--out") + 1] if "--out" in arguments else "collected")
    return Running(process, told["survey"], told["organiser"], out)


@contextlib.contextmanager
def collecting(folder: Path, *arguments: str, limits: Sequence[str] = ()) -> Iterator[Running]:
    running = start(folder, *arguments, limits=limits)
    try:
        yield running
    finally:
        running.kill()
        for pipe in (running.process.stdout, running.process.stderr):
            if pipe is not None:
                pipe.close()


def record(
    identifier: str | None = None, smokes: str | None = "yes", age: str | None = "[0,30)"
) -> dict[str, Any]:
    """A record of SURVEY as a device would send it."""
    return {"id": identifier or secrets.token_hex(16), "answers": {"smokes": smokes, "age": age}}
