"""`make mutants`: every mistake of the list is made once, and a test must notice.

    python -m tests.mutants                  all of them
    python -m tests.mutants NAME ...         these alone; other lines of the table stay as they are

The table goes to docs/experiments/mutants.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.injecting import Outcome, inject
from tests.mutants.mutant import Mutant, MutantError, mutants_of
from tests.mutants.table import TABLE, renewed

__all__ = ["TABLE", "main"]


def main(arguments: Sequence[str], root: Path = Path()) -> int:
    """0 where every mutant that was tried was caught, 1 where one was not, or does not apply."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Mistakes that tests must catch.")
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="how many at a time")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes
    try:
        mutants = mutants_of(root)
        outcomes = inject(root, _chosen(mutants, asked.names), asked.jobs, _tell)
    except MutantError as error:
        _say(str(error))
        return 1
    missed = [outcome for outcome in outcomes if outcome.verdict != "caught"]
    _say(f"{len(outcomes) - len(missed)} of {len(outcomes)} mutants were caught.")
    for outcome in missed:
        _say(f"{outcome.verdict}: {outcome.mutant.name} ({outcome.mutant.wrong}) {outcome.detail}")
    (root / TABLE).write_text(renewed(root, mutants, outcomes), "utf-8")
    return 1 if missed else 0


def _chosen(mutants: list[Mutant], names: Sequence[str]) -> list[Mutant]:
    known = {mutant.name: mutant for mutant in mutants}
    if unknown := [name for name in names if name not in known]:
        raise MutantError(f"no such mutants: {', '.join(unknown)}")
    return [known[name] for name in names] if names else mutants


def _tell(outcome: Outcome) -> None:
    _say(f"{outcome.seconds:6.1f} s  {outcome.verdict:<9}  {outcome.mutant.name}  {outcome.by or outcome.detail}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
