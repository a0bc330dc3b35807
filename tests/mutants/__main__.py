"""`make mutants`: every mistake of the list is made once, and a test must notice.

    python -m tests.mutants                  all of them; the table goes to docs/experiments/mutants.md
    python -m tests.mutants NAME ...         these alone, and no table
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.injecting import Outcome, inject
from tests.mutants.mutant import Mutant, PatchError, mutants_of

TABLE = "docs/experiments/mutants.md"


def main(arguments: Sequence[str], root: Path = Path()) -> int:
    """0 where every mutant was caught, 1 where one was not, or does not apply."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Mistakes that tests must catch.")
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many at a time")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes
    start = time.monotonic()
    try:
        mutants = _chosen(mutants_of(root), asked.names)
        outcomes = inject(root, mutants, asked.jobs, _tell)
    except PatchError as error:
        _say(str(error))
        return 1
    missed = [outcome for outcome in outcomes if outcome.verdict != "caught"]
    _say(f"{len(outcomes) - len(missed)} of {len(outcomes)} mutants were caught.")
    for outcome in missed:
        _say(f"{outcome.verdict}: {outcome.mutant.name} ({outcome.mutant.wrong}) {outcome.detail}")
    if not asked.names:
        (root / TABLE).write_text(page_of(outcomes, time.monotonic() - start, asked.jobs), "utf-8")
    return 1 if missed else 0


def page_of(outcomes: Sequence[Outcome], seconds: float, jobs: int) -> str:
    """The table as Markdown."""
    compiled = sum(outcome.mutant.compiled for outcome in outcomes)
    missed = sum(outcome.verdict != "caught" for outcome in outcomes)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        "# Mistakes that the tests must catch",
        "",
        "    make mutants",
        "",
        "Tests are tested here: each line is a plausible mistake, kept as a small patch in `tests/mutants/patches`, put "
        "into a copy of the sources by itself (those in C are compiled) and tried against the tests that should notice. "
        "The first of them that failed is named. The run fails where a mutant survives or a patch does not apply.",
        "",
        f"Last run {today}, Python {platform.python_version()}, {jobs} at a time, {seconds / 60:.0f} minutes: "
        f"{len(outcomes)} mutants, {compiled} of them in C; {missed} not caught.",
        "",
        "| mutant | what is wrong | where | caught by |",
        "|---|---|---|---|",
    ]
    for outcome in outcomes:
        where = ", ".join(path.removeprefix("src/pramana/") for path in outcome.mutant.changed)
        by = f"`{outcome.by.removeprefix('tests/')}`" if outcome.verdict == "caught" else f"**{outcome.verdict}**"
        cells = (outcome.mutant.name, outcome.mutant.wrong, f"`{where}`", by)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _chosen(mutants: list[Mutant], names: Sequence[str]) -> list[Mutant]:
    known = {mutant.name: mutant for mutant in mutants}
    if unknown := [name for name in names if name not in known]:
        raise PatchError(f"no such mutants: {', '.join(unknown)}")
    return [known[name] for name in names] if names else mutants


def _tell(outcome: Outcome) -> None:
    _say(f"{outcome.seconds:6.1f} s  {outcome.verdict:<9}  {outcome.mutant.name}  {outcome.by or outcome.detail}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
