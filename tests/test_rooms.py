"""The rooms of the house: imports go one way, and across rooms only through public names."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pramana.methods.registry import METHODS

SOURCE = Path(__file__).parents[1] / "src" / "pramana"
ROOMS = [  # each may import those above it
    "doors",
    "errors",
    "stores",
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
    "pages",
    "estimate",
    "bundle",
    "methods",
    "pipeline",
    "audit",
    "collection",
    "inspection",
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
        own_door = len(parts) == 2 and parts[0] == "methods" and (SOURCE / parts[0] / parts[1]).is_dir()
        assert len(parts) == 1 or own_door, f"{path} must import {module} through the room's public names"


def modules_of(*rooms: str) -> list[Path]:
    return [path for path in MODULES if path.relative_to(SOURCE).parts[0] in rooms]


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text()))


def test_every_room_is_named_here() -> None:
    assert {path.relative_to(SOURCE).parts[0] for path in MODULES} == {*ROOMS} - {"doors", "errors"}


def test_only_the_spark_home_knows_spark() -> None:
    users = [p for p in SOURCE.rglob("*.py") if "pyspark" in p.read_text()]
    assert users
    assert users == [p for p in users if SOURCE / "rows" / "spark" in p.parents]


def test_only_their_room_and_the_pipeline_know_where_rows_are() -> None:
    """A method works on Rows, wherever they are; the public table of presence is in memory always."""
    homes = {"BatchEngine", "LocalEngine", "MemoryRows", "SparkEngine", "SparkRows", "SpooledRows"}
    assert homes <= set(importlib.import_module("pramana.rows").__all__)
    for path in MODULES:
        room, *inner = path.relative_to(SOURCE).parts
        if room in ("rows", "pipeline", "app"):
            continue
        allowed = {"MemoryRows"} if room == "methods" and inner[0] == "presence" else set()
        for module, names in imported(path):
            if module == "pramana.rows":
                assert homes & set(names) <= allowed, f"{path}: {names}"


def own_fields(node: ast.AST) -> set[ast.AST]:
    """The keys of a table under which an object states its fields of the same names."""
    if not isinstance(node, ast.Dict):
        return set()
    return {
        key
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Attribute) and value.attr == key.value
    }


def method_names(path: Path) -> list[str]:
    nodes = list(nodes_of(path))
    fields = {key for node in nodes for key in own_fields(node)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and node not in fields]
    return [f"{path}:{node.lineno} {node.value!r}" for node in constants if node.value in METHODS]


def test_no_method_is_asked_for_by_name_outside_the_methods(tmp_path: Path) -> None:
    assert [
        found for path in modules_of("bundle", "pages", "pipeline", "rows") for found in method_names(path)
    ] == []
    sample = tmp_path / "sample.py"
    sample.write_text(
        'x = {"levels": work, "retention": self.retention}\nif name == "matrix" or name in ("presence",): ...'
    )
    assert [found.split()[-1] for found in method_names(sample)] == ["'levels'", "'matrix'", "'presence'"]


def test_nothing_is_probed_for_its_attributes() -> None:
    """Types say what there is."""
    for path in modules_of("bundle", "methods", "pages", "pipeline", "rows"):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("getattr", "hasattr"), f"{path}:{node.lineno}"


def test_every_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name for p in SOURCE.rglob("*.py") for node in nodes_of(p) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


DOORS = [path for path in MODULES if path.name == "__init__.py" and "_MODULE_OF" in path.read_text()]


@pytest.mark.parametrize("path", DOORS, ids=lambda p: str(p.parent.relative_to(SOURCE)))
def test_what_loads_on_first_use_is_what_types_say_it_is(path: Path) -> None:
    """A door names each thing for the type checker, for its first use and in __all__: the same each time."""
    door = importlib.import_module(".".join(["pramana", *path.parent.relative_to(SOURCE).parts]))
    stated = {name: module for module, names in imported(path) for name in names}
    assert set(vars(door)["_MODULE_OF"]) <= set(stated)
    for name in vars(door)["__all__"]:
        if name in stated:
            assert getattr(door, name) is getattr(importlib.import_module(stated[name]), name), name
        assert name in stated or name in vars(door), name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        door.nothing  # noqa: B018
