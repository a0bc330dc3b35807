"""What the last runs of `make fuzz` and `make sanitize` found, as JSON, and the page that is made from it."""

from __future__ import annotations

import datetime
import json
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
JSON = ROOT / "docs" / "experiments" / "fuzzing.json"
PAGE = JSON.with_suffix(".md")
COLUMNS = {
    "guided": ("reader", ("executions", "edges", "inputs", "seconds", "findings")),
    "chance": ("input", ("executions", "taken", "findings")),
    "edits": ("certificate", ("executions", "findings")),
    "kernels": ("kernel", ("executions", "findings")),
    "sanitized": ("tests", ("passed", "skipped", "failed", "findings")),
}


@dataclass
class Figures:
    """One part of the page: the command that made it, how long it was given, and a line for each target."""

    part: str
    command: str
    seconds: float
    tools: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, target: str, **numbers: int) -> None:
        self.lines[target] = numbers

    def to_json(self) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        tools = {"Python": platform.python_version(), **self.tools}
        return {"command": self.command, "seconds": round(self.seconds), "date": now, "tools": tools,
                "lines": self.lines}  # fmt: skip


def store(*figures: Figures) -> None:
    """The parts take the place of what was stored of them; the page is written anew."""
    stored: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {}
    stored |= {one.part: one.to_json() for one in figures}
    JSON.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page(stored))


TITLES = {
    "guided": (
        "Guided by coverage",
        "Atheris (libFuzzer) changes the kept inputs of `tests/security/corpus` so that they reach code "
        "of Pramana that "
        "none of them reached. `worker` is the process that reads SPSS, Stata and SAS files, taken over "
        "and saying "
        "whatever the input holds; `sav`, `dta`, `sas7bdat` and `xpt` read each input in a forked one. "
        "Edges: branches of Pramana's Python that were reached. Inputs: how many are kept for it during the run.",
    ),
    "chance": (
        "By chance, from seeds",
        "`tests/security/fuzz.py`: recipes with sections and values replaced, damaged files, and "
        "published bundles with "
        "their digests made again. Taken: inputs that were read without a refusal.",
    ),
    "edits": (
        "Edits of certificates",
        "Keys taken away, values replaced and exchanged, digests made again, as many as the time allows: "
        "`verify` must "
        "notice, where anything that a recipient has can show it.",
    ),
    "kernels": (
        "Kernels under sanitizers",
        "The C kernels, compiled with `-fsanitize=address,undefined`, called with random sizes, edges and "
        "arguments "
        "that do not fit, and compared with an account of the same work in Python "
        "(`tests/security/fuzzing/kernels.py`).",
    ),
    "sanitized": (
        "Tests under sanitizers",
        "The tests that call kernels, with the same build: every read or write outside a buffer, and "
        "every operation "
        "that C leaves undefined, would end them.",
    ),
}


def page(stored: dict[str, Any]) -> str:
    lines = [
        "# Fuzzing and sanitizers: the last runs",
        "",
        "    make fuzz        # FUZZ_SECONDS, ten minutes: guided by coverage, by chance, and edits of "
        "certificates",
        "    make sanitize    # kernels under address and undefined-behaviour sanitizers: tests, and random calls",
        "",
        "A finding is anything but an answer or a refusal of one line: another exception, a crash, a hang "
        "of 30 seconds, "
        "3 GiB of memory; of edits, one that `verify` should have noticed; of kernels, a wrong answer or "
        "a report of "
        "a sanitizer. What was found once is an input in `tests/security/corpus` or a test beside it. "
        "How many inputs a second takes depends on what else the machine has to do.",
    ]
    for part, (title, told) in TITLES.items():
        if part not in stored:
            continue
        found = stored[part]
        heading, columns = COLUMNS[part]
        tools = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
        ran = f"`{found['command']}`, {found['seconds']} s, {found['date']}; {tools}."
        heads = [f"| {heading} | " + " | ".join(columns) + " |", "|---" + "|---:" * len(columns) + "|"]
        lines += ["", f"## {title}", "", ran, "", told, "", *heads]
        for target, numbers in found["lines"].items():
            lines.append(f"| {target} | " + " | ".join(f"{numbers.get(c, 0):,}" for c in columns) + " |")
        total = [sum(n.get(c, 0) for n in found["lines"].values()) for c in columns]
        lines.append(
            "| all | "
            + " | ".join("" if c == "edges" else f"{t:,}" for c, t in zip(columns, total, strict=True))
            + " |"
        )
    return "\n".join(lines) + "\n"
