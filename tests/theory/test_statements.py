"""Every statement names a function and a test that exist, and docs/papers.md is what the table says."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from pramana.theory.statements import STATEMENTS, Statement, as_markdown

ROOT = Path(__file__).parents[2]


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
