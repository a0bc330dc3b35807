"""One thing that a user does, and what must be true of the desk after it was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

from tests.faults.desk import Desk, in_folder, key_of

from pramana.app.main import run
from pramana.randomness.key import Key

BEFORE, AFTER, NEXT = (
    "before",
    "after",
    "next",
)  # how a desk is before a run, after it, and after that of attempt 2


def command(*words: str, attempt: int = 1) -> int:
    """A command line, whose new key is the one of the attempt."""
    with patch.object(Key, "create", classmethod(lambda _: key_of(attempt))):
        return run(list(words))


def must(code: int, *words: str, attempt: int = 2) -> None:
    found = command(*words, attempt=attempt)
    assert found == code, f"pramana {' '.join(words)} ended with {found}, not {code}"


@dataclass(frozen=True)
class Scenario:
    """`act` is interrupted. `check` looks at once; `again` is the owner's next run, after which all is well."""

    name: str
    about: str  # which part of the program, in the table of results
    prepare: Callable[[Desk], None]
    act: Callable[[Desk, int], int]
    check: Callable[[Desk, str], str]  # what was found, in a word for the table of results
    again: Callable[[Desk], None]
    postgresql: bool = False
    most: int = 0  # points of a fault, evenly spread, where a run takes long; 0 for all

    def run(self, desk: Desk, attempt: int = 1) -> int:
        with in_folder(desk.folder):
            return self.act(desk, attempt)

    def look(self, desk: Desk, told: str) -> str:
        """Right after the fault, before anything else has run."""
        with in_folder(desk.folder):
            desk.check_nothing_before_is_lost(BEFORE)
            desk.check_nothing_in_the_clear()
            return self.check(desk, told)

    def go_on(self, desk: Desk) -> None:
        """The owner's next run."""
        with in_folder(desk.folder):
            self.again(desk)
            desk.check_nothing_before_is_lost(BEFORE)
            desk.check_nothing_in_the_clear()
            desk.check_nothing_is_left_over()
