"""What is proved, where it is computed, and which test holds it to brute force or to the paper's own numbers.

The table is `statements.toml`: `pramana theorems` prints it and docs/papers.md is written from it; a test keeps
both in step.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Statement:
    """A line of a paper, the function that computes it (room:name) and a test (file::name)."""

    paper: int
    name: str
    says: str
    function: str
    test: str


_TABLE = tomllib.loads(Path(__file__).with_name("statements.toml").read_text("utf-8"))["papers"]
PAPERS: dict[int, str] = {paper["number"]: paper["title"] for paper in _TABLE}
STATEMENTS = tuple(
    Statement(paper["number"], **statement) for paper in _TABLE for statement in paper["statements"]
)


def as_markdown() -> str:
    """docs/papers.md."""
    lines = [
        "# The papers, statement by statement",
        "",
        "Where each statement is computed and which test holds it to brute force or to the paper's own numbers.",
        "Written from `pramana.theory.statements`; `pramana theorems` prints the same. Symbols, proofs of what is",
        "ours, and corrections stand beside the code: `src/pramana/theory/*.md`.",
    ]
    for paper, title in PAPERS.items():
        lines += [
            "",
            f"## Paper {paper}. {title}",
            "",
            "| statement | says | function | test |",
            "|---|---|---|---|",
        ]
        for s in STATEMENTS:
            if s.paper == paper:
                says = s.says.replace("|", "\\|").replace("*", "\\*")  # a product is no emphasis
                lines.append(f"| {s.name} | {says} | `pramana.{s.function.replace(':', '.')}` | `{s.test}` |")
    return "\n".join(lines) + "\n"
