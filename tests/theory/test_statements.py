"""Every statement names a function and a test that exist, and docs/papers.md is what the table says."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from pramana.theory import STATEMENTS, Statement
from pramana.theory.statements import as_markdown

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: f"{s.paper} {s.name}")
def test_function_and_test_exist(statement: Statement) -> None:
    room, _, name = statement.function.partition(":")
    found = importlib.import_module(f"pramana.{room}")
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
    file, _, test = statement.test.partition("::")
    functions = {n.name for n in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(n, ast.FunctionDef)}
    assert test in functions


def test_docs_are_written_from_the_table() -> None:
    assert (ROOT / "docs" / "papers.md").read_text() == as_markdown()
