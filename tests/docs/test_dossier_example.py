"""The stored example of a dossier is the one that the program makes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.dossier import STORED, make_example


def without_digits(page: str) -> str:
    """Figures of attacks come from floats, whose last digits another machine may round otherwise."""
    return re.sub(r"\d[\d.,e-]*", "0", page)


def test_the_stored_dossier_is_the_one_that_is_made(tmp_path: Path) -> None:
    made = make_example(tmp_path)
    assert without_digits(STORED.read_text()) == without_digits(made), (
        "python -m tests.docs.dossier writes it again"
    )
    for lacking in ("IS BROKEN", "not stated", "not measured", "not run."):
        assert lacking not in made and lacking not in made.lower(), "the example is filled in"
