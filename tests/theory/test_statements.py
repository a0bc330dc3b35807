"""Every statement names a function and a test that exist, and docs/papers.md is what the table says."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from pramana.theory.statements import PAPERS, STATEMENTS, Statement

ROOT = Path(__file__).parents[2]


def as_markdown() -> str:
    """docs/papers.md as the table has it; `python -m tests.theory.test_statements` writes it."""
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


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: f"{s.paper} {s.name}")
def test_function_and_test_exist(statement: Statement) -> None:
    room, _, name = statement.function.partition(":")
    module, _, function = name.rpartition(".")
    assert callable(getattr(importlib.import_module(".".join(["pramana", room, module]).rstrip(".")), function))
    file, _, test = statement.test.partition("::")
    functions = {n.name for n in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(n, ast.FunctionDef)}
    assert test in functions


def test_docs_are_written_from_the_table() -> None:
    assert (ROOT / "docs" / "papers.md").read_text() == as_markdown()


if __name__ == "__main__":
    (ROOT / "docs" / "papers.md").write_text(as_markdown(), "utf-8")
