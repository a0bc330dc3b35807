"""A studio in a process of its own, started, spoken to and killed by tests; and tables to open in it."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REGIONS = ("north", "south", "east", "west")


@dataclass
class RunningStudio:
    """Where a studio is, and its process."""

    process: subprocess.Popen[str]
    url: str
    folder: Path

    @property
    def base(self) -> str:
        return self.url.partition("/?")[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)


def people(path: Path, records: int = 1500, seed: int = 1) -> Path:
    """A generated table: a number, traits that others know, and something sensitive."""
    draw = random.Random(seed)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["person_id", "sex", "region", "age", "illness"])
        for number in range(records):
            ill = draw.choices(["none", "flu", "diabetes"], [7, 2, 1])[0]
            out.writerow([100_000 + number, draw.choice("FM"), draw.choice(REGIONS), draw.randint(18, 89), ill])
    return path


@contextlib.contextmanager
def studio(folder: Path, **environment: str) -> Iterator[RunningStudio]:
    command = [sys.executable, "-m", "pramana", "studio", "--no-browser", "--data", str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.stderr.read())
        told = json.loads(line)
        assert set(told) == {"url"}
        yield RunningStudio(process, told["url"], folder)
    finally:
        process.kill()
        process.wait(30)
        for pipe in (process.stdout, process.stderr):
            pipe.close()
