"""The rooms of the house: imports go one way, and across rooms only through public names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pramana"
ROOMS = [  # each may import those above it
    "errors",
    "randomness",
    "theory",
    "schema",
    "sources",
    "mechanisms",
    "datasets",
    "calibration",
    "generalize",
    "ledger",
    "rows",
    "estimate",
    "pages",
    "release",
    "audit",
    "experiments",
    "app",
]
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE)


def imported(path: Path) -> list[tuple[str, list[str]]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pramana":
            found.append((node.module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names if alias.name.split(".")[0] == "pramana"]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down_and_through_public_names(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    for module, names in imported(path):
        parts = module.split(".")[1:]
        if not parts:  # `from pramana import ...`: the app's way in, and `errors` or the version for the others
            assert room == "app" or set(names) <= {"__version__", "errors"}, f"{path}: {module} {names}"
            continue
        if parts[0] == room:
            continue
        assert ROOMS.index(parts[0]) < ROOMS.index(room), f"{path} must not import {module}"
        assert len(parts) == 1, f"{path} must import {module} through the room's public names"


def test_only_the_spark_engine_knows_spark() -> None:
    users = [p for p in SOURCE.rglob("*.py") if "pyspark" in p.read_text()]
    assert users == [p for p in users if p.parent.name == "rows"]
