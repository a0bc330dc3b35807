"""What is proved, where it is computed, and which test holds it to brute force or to the paper's own numbers.

The table is `statements.toml`: `pramana theorems` prints it. tests/theory/test_statements.py writes docs/papers.md
from it and keeps both in step.
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
