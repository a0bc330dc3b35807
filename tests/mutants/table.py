"""The stored table: of every mutant which test caught it, and when that was last tried."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.injecting import Outcome
from tests.mutants.mutant import Mutant

TABLE = "docs/experiments/mutants.md"
_WORDS = """\
# Mistakes that the tests must catch

    make mutants

Tests are tested here. Each line is a plausible mistake, kept in `tests/mutants/mistakes` as lines of a source and
what becomes of them, put into a copy of the sources by itself (those in C are compiled) and tried against the
tests that should notice, and that pass without it. The first of them that failed is named. The run ends with 1
where a mutant survives, or where its lines do not stand exactly once in the sources. `python -m tests.mutants
NAME ...` tries some of them and renews their lines. For a new one, write a file as the others are.
"""
_UNTRIED = ("**not tried**", "")


def renewed(root: Path, mutants: Sequence[Mutant], outcomes: Sequence[Outcome]) -> str:
    """The page with the lines of these outcomes made anew, and the others as they were."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = _stored(root / TABLE)
    for outcome in outcomes:
        caught = outcome.verdict == "caught"
        by = f"`{outcome.by.removeprefix('tests/')}`" if caught else f"**{outcome.verdict}**"
        found[outcome.mutant.name] = (by, today)
    lines = []
    for mutant in mutants:
        cells = (mutant.name, mutant.wrong, *found.get(mutant.name, _UNTRIED))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    missed = sum(found.get(mutant.name, _UNTRIED)[0].startswith("**") for mutant in mutants)
    total = f"{len(mutants)} mutants; {missed} not caught."
    head = "| mutant | what is wrong | caught by | on |\n|---|---|---|---|"
    return "\n".join([_WORDS, total, "", head, *lines]) + "\n"


def _stored(page: Path) -> dict[str, tuple[str, str]]:
    """By name of the mutant, the last two cells of its line."""
    if not page.exists():
        return {}
    rows = [
        line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines() if line.startswith("| ")
    ]
    return {row[0]: (row[-2].replace("\\|", "|"), row[-1]) for row in rows if len(row) == 4 and row[0] != "mutant"}
