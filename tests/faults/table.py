"""`python -m tests.faults.table RESULT.json ...`: what the runs found, as docs/experiments/faults.md."""

from __future__ import annotations

import datetime
import json
import platform
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "experiments" / "faults.md"
WHAT = {
    "kill": "kill -9 before the call",
    "tear": "kill -9 when half of the bytes are written",
    "stop": "two at once: one stands still at the call, another runs, the first goes on",
    "full": "full disk from the call on",
    "small_disk": "full disk: a small file system with 0 to 256 KiB left",
    "read_only": "read-only disk",
    "clock": "the clock goes back by an hour whenever it is read",
}
_HEAD = """# Faults

    make faults

A library that is preloaded counts every call by which a command changes something outside of its process:
writing, opening for writing, renaming, linking, removing, making, truncating and flushing files and folders,
and sending to a database. Each command is then run once for every such call (or as many of them as the table
says, evenly spread), and at that call the fault happens: so the points are systematic, not random. After each
of them must hold:

- no bundle, report or file is at its place unless it is whole, byte for byte what a run without a fault makes;
- everything that was there before is there, byte for byte;
- no file in the folder, in the folder for temporary files or in a Parquet file there holds a value of the
  source (names and exact ages that occur nowhere else are looked for, also as numbers in binary), and none but
  a key file holds a key;
- the owner's next run succeeds, or says what is there, and removes every left-over;
- a ledger is unbroken; what is published is in it, once; a reservation without a bundle is taken up or given up
  as the guide says, and the total is then that of one release; every answer that a survey acknowledged is
  there, once.

`tests/faults` holds the library, the commands and the checks; a sample of the points runs with every test.
Files with a bit changed or without their end (ledgers, stores of answers, databases, keys) are in
`tests/faults/test_damage.py`, bundles in `tests/bundle/test_damage.py`, recipes and tables in
`tests/app/test_random_damage.py`. The collector is killed at a hundred random moments under load, and
PostgreSQL with kill -9 under it, in `tests/collection/test_faults.py`.
"""


def main(results: list[str]) -> None:
    read = [json.loads(Path(name).read_text("utf-8")) for name in results]
    tallies = [tally for result in read for tally in result["tallies"]]
    seconds = sum(result["seconds"] for result in read)
    PAGE.write_text("\n".join(lines(tallies, seconds)), "utf-8")


def lines(tallies: list[dict[str, Any]], seconds: float) -> list[str]:
    killed = sum(t["points"] for t in tallies if t["fault"] in ("kill", "tear"))
    points, failures = sum(t["points"] for t in tallies), sum(len(t["failures"]) for t in tallies)
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    told = [
        _HEAD,
        f"Last run: {when}, Python {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{seconds:.0f} s in all.",
        f"**{points} points, {killed} of them kill -9, {failures} failures.**",
        "Where fewer points were tried than there are, they are evenly spread (`--points`); the time is of all.",
    ]
    for fault, words in WHAT.items():
        rows = [t for t in tallies if t["fault"] == fault]
        if rows:
            told += ["", f"## {words[0].upper()}{words[1:]}", "", "| command | points | of | found | failures |"]
            told += ["|---|---:|---:|---|---:|", *map(_row, rows)]
    return [*told, ""]


def _row(tally: dict[str, Any]) -> str:
    found = ", ".join(f"{word}: {number}" for word, number in sorted(tally["outcomes"].items()))
    return f"| {tally['about']} | {tally['points']} | {tally['of']} | {found} | {len(tally['failures'])} |"


if __name__ == "__main__":
    main(sys.argv[1:])
