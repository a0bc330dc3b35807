"""A release in miniature, for the fault tests: reserve, make a file whole or not at all, commit."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Engine, event

from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Request
from pramana.ledger.state import Dataset
from pramana.theory.levels import Level

SOURCE, KEY, DESIGN = "s" * 64, "k" * 64, "d" * 64


def dataset(name: str = "people", **changes: object) -> Dataset:
    known: dict[str, object] = {"source": SOURCE, "key": KEY, "design": DESIGN, "records": 10, "people": "town"}
    return Dataset(name, **{**known, **changes})  # type: ignore[arg-type]


def request(recipient: str, level: str, **changes: object) -> Request:
    known: dict[str, object] = {
        "dataset": "people", "source": SOURCE, "key": KEY, "design": DESIGN,
        "ratio": 1 + 10 * Level.of(level).retention, "who": "test",
    }  # fmt: skip
    return Request(recipient=recipient, level=Level.of(level), **{**known, **changes})  # type: ignore[arg-type]


def ledger_at(place: str) -> Ledger:
    ledger = Ledger.create(place)
    register(ledger, dataset())
    return ledger


def register(ledger: Ledger, new: Dataset, independent: bool = False) -> tuple[str, ...]:
    """Tables of this miniature have one digest under every key."""
    return ledger.add_dataset(new, "test", lambda _: new.source, independent)


def content_of(level: str) -> str:
    return hashlib.sha256(level.encode()).hexdigest()


def issue(place: str, folder: Path, recipient: str, level: str) -> None:
    ledger = Ledger.open(place)
    release = ledger.reserve(request(recipient, level))
    partial = folder / f".{release.id}.{os.getpid()}"
    partial.write_text(content_of(level))
    partial.rename(folder / release.id)
    ledger.commit(release.id, content_of(level), "test")


def start(work: Callable[[], None]) -> int:
    """Run in a process of its own; its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where other threads exist
        child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    return child


def end_of(child: int) -> int:
    """Its exit status, negative for the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(step: int) -> None:
    """From now on this process kills itself at the given step: before or after a statement, or at a commit."""
    count = 0

    def tick(*_: object) -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, name, tick)
