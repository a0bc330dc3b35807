"""What a store lists: within bounds, although it may go on without end, and by names that lead nowhere else.

A listing comes in pages, and whether there is another page is the store's word: Arrow asks on until it says no,
and cannot be told to stop. So it asks in a thread of its own, which is waited for no longer than some minutes, and
while the process has not grown by more than any honest listing needs. A thread that is given up goes on until the
process ends, which for a command is at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pramana.errors import SourceError

T = TypeVar("T")
MOST_SECONDS = 300.0  # a million objects take some two minutes
MOST_GROWTH = 2 << 30  # bytes of this process
_LOOK = 0.1  # seconds between looks at how large it is
_STATUS = Path("/proc/self/status")  # where there is none, time alone is bounded


def within_bounds(name: object, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises; refused where the store does not come to an end."""
    answers: list[T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # raised again where it is waited for
            failures.append(error)

    thread = threading.Thread(target=work, name="pramana-listing", daemon=True)
    end, before = time.monotonic() + MOST_SECONDS, _size()
    thread.start()
    while True:
        thread.join(_LOOK)
        if answers:
            return answers[0]
        if failures:
            raise failures[0]
        if time.monotonic() > end or _size() - before > MOST_GROWTH:
            raise SourceError(
                f"The store's list of what is under {name} must come to an end",
                "ever more of it",
                "Is the store to be trusted? If so, name a prefix with fewer objects.",
            )


def _size() -> int:
    """Bytes of memory that this process has, if the system tells."""
    try:
        told = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(told.split()[1]) << 10
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def name_under(folder: str, path: str) -> str | None:
    """What an object is called within a folder of its store; None where that is no name for a file in a folder.

    Whoever has listed names may make paths of them: none climbs, is absolute, or is another spelling of another.
    """
    start = f"{folder.rstrip('/')}/"
    name = path.removeprefix(start)
    if not path.startswith(start) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        return None
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
