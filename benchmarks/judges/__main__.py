"""Runs the judges, and writes what they said: judges.json, and README.md made from it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.judges import classes, epsilons, optima, releases
from benchmarks.judges.verdicts import VERDICTS, summary

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = {
    "releases": "Releases before anonymeter, sdmetrics and syntheval",
    "epsilons": "Epsilons by dp-accounting and OpenDP",
    "classes": "k, l and t by pycanon",
    "optima": "ARX's optima on Adult",
}
LINES: dict[str, Callable[[Any], list[str]]] = {
    "releases": releases.lines_of,
    "epsilons": epsilons.lines_of,
    "classes": classes.lines_of,
    "optima": optima.lines_of,
}


def page(stored: dict[str, Any]) -> str:
    lines = [
        "# Judges who are not us",
        "",
        "    make judges ADULT=adult.csv HIERARCHIES=folder    # without Adult all but ARX's optima",
        "",
        "Each judge is a program of other people, in an environment of its own. It is asked three things: what it "
        "measures, whether it has power here (does it object to the original, or to a release that was broken on "
        "purpose?), and whether it agrees. All figures are in `judges.json`; synthetic records before such judges "
        "are in [another experiment](../synthesis.md).",
        "",
        *summary(stored),
    ]
    for part, title in HEADINGS.items():
        if part in stored:
            lines += ["", f"## {title}", "", f"{stored[part]['date']}; " + ", ".join(
                f"{name} {version}" for name, version in stored[part]["found"]["versions"].items()
            ) + ".", "", *LINES[part](stored[part]["found"]), "", *VERDICTS[part]]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judges")
    parser.add_argument("--adult", type=Path, default=None, help="Adult as a CSV with a header")
    parser.add_argument("--hierarchies", type=Path, default=None, help="the folder of ARX's hierarchies of it")
    parser.add_argument("--only", choices=[*HEADINGS, "page"], default=None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "experiments" / "judges")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    place = given.out / "judges.json"
    stored: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "epsilons": epsilons.judged,
        "classes": classes.judged,
        "releases": releases.judged,
    }
    if given.adult is not None and given.hierarchies is not None:
        work["optima"] = lambda: optima.judged(given.adult, given.hierarchies)
    for part, judged in work.items():
        if given.only in (None, part):
            stored[part] = {"date": tables.now(), "found": judged()}
            place.write_text(json.dumps(stored, indent=1) + "\n")
    stored = json.loads(place.read_text())  # as it will be read again
    (given.out / "README.md").write_text(page(stored))


if __name__ == "__main__":
    main()
