"""The last runs on the page of trust, written from the stored results; a test holds the page to them.

python -m tests.docs.trust
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.judges.classes import disagreements

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "trust.md"
BEGIN = "<!-- figures: `python -m tests.docs.trust` writes these lines from the stored results -->"
END = "<!-- end of figures -->"


def figures() -> str:
    lines = ["| what | command | last run | result |", "|---|---|---|---|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in (*_attacks(), *_judges(), *_fuzzing()))])


def _attacks() -> list[tuple[str, ...]]:
    text = (DOCS / "experiments" / "attacks.md").read_text()
    date = re.search(r"last run (.*?),", text)
    found = re.search(r"^\d+ of \d+ honest audits stand; \d+ of \d+ broken releases are noticed\.$", text, re.M)
    assert date and found
    told = found.group(0).rstrip(".")
    return [("[attacks](experiments/attacks.md)", "`make attacks`", date.group(1), told)]


def _judges() -> list[tuple[str, ...]]:
    stored: dict[str, Any] = json.loads((DOCS / "experiments" / "judges" / "judges.json").read_text())
    rows: list[tuple[str, ...]] = []
    told: dict[str, Callable[[Any], str]] = {
        "releases": lambda found: _singling_out(found["judges"]["anonymeter defaults"]),
        "epsilons": lambda found: f"{_agreed(found)} figures agree",
        "classes": lambda found: (
            f"{len(found['rows'])} tables: all agrees but {', '.join(disagreements(found))}, explained"
        ),
        "optima": lambda found: (
            f"{sum(r['ARX'] == r['loss'] for r in found['rows'])} of {len(found['rows'])} agree"
        ),
    }
    for part, words in told.items():
        if part in stored:
            names = ", ".join(stored[part]["found"]["versions"])
            rows.append((f"[judges](experiments/judges/README.md): {names}", "`make judges`", stored[part]["date"],
                         words(stored[part]["found"])))  # fmt: skip
    return rows


def _singling_out(rows: dict[str, dict[str, float]]) -> str:
    return "singling out: " + ", ".join(f"{name} {row['singling out']:.3f}" for name, row in rows.items())


def _agreed(found: dict[str, Any]) -> str:
    rows = [row for part in ("local", "central", "together") for row in found[part]]
    return f"{sum(row['agrees'] for row in rows)} of {len(rows)}"


def _fuzzing() -> list[tuple[str, ...]]:
    stored: dict[str, Any] = json.loads((DOCS / "experiments" / "fuzzing.json").read_text())
    names = {
        "guided": "fuzzing, guided by coverage",
        "chance": "fuzzing, by chance",
        "edits": "edits of certificates",
        "kernels": "kernels under sanitizers, random calls",
        "sanitized": "tests under sanitizers",
    }
    rows: list[tuple[str, ...]] = []
    for part, name in names.items():
        if part not in stored:
            continue
        lines = stored[part]["lines"].values()
        done, word = sum(n.get("executions", n.get("passed", 0)) for n in lines), "executions"
        if part == "sanitized":
            word = "tests passed"
        findings = sum(n["findings"] for n in lines)
        rows.append((f"[{name}](experiments/fuzzing.md)", f"`{stored[part]['command']}`", stored[part]["date"],
                     f"{done:,} {word}, {findings} findings"))  # fmt: skip
    return rows


def with_figures(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{figures()}\n\n{END}{after}"


def main() -> None:
    PAGE.write_text(with_figures(PAGE.read_text()))


if __name__ == "__main__":
    main()
