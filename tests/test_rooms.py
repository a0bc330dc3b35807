"""The rooms of the house: imports go down, and name the module that has what they need."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pramana.methods.registry import METHODS

SOURCE = Path(__file__).parents[1] / "src" / "pramana"
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE)


def test_imports_go_down() -> None:
    """Each room imports those below it: the contract is in pyproject.toml."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"
    command = [sys.executable, "-c", lint]
    checked = subprocess.run(command, cwd=SOURCE.parents[1], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def imported(path: Path) -> list[tuple[str, list[str]]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pramana":
            found.append((node.module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names if alias.name.split(".")[0] == "pramana"]
    return found


FRONT = {
    SOURCE / "__init__.py",
    SOURCE / "datasets" / "__init__.py",
}


def test_rooms_have_no_doors() -> None:
    """Names are imported from the module that has them; the public front alone gives them on."""
    rooms = set(SOURCE.rglob("__init__.py")) - FRONT
    assert [str(path) for path in sorted(rooms) if len(ast.parse(path.read_text()).body) > 1] == []


def modules_of(*rooms: str) -> list[Path]:
    return [path for path in MODULES if path.relative_to(SOURCE).parts[0] in rooms]


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text()))


def test_only_the_spark_home_knows_spark() -> None:
    users = [p for p in SOURCE.rglob("*.py") if "pyspark" in p.read_text()]
    assert users
    assert users == [p for p in users if SOURCE / "rows" / "spark" in p.parents]


def test_only_their_room_and_the_run_know_where_rows_are() -> None:
    """A method works on Rows, wherever they are; the public table of presence is in memory always."""
    homes = {"BatchEngine", "LocalEngine", "MemoryRows", "SparkEngine", "SparkRows", "SpooledRows"}
    for path in MODULES:
        room, *inner = path.relative_to(SOURCE).parts
        if room in ("rows", "run", "recipient", "reporting"):
            continue
        allowed = {"SparkEngine"} if room == "app" else set()  # which users name
        if room == "methods" and inner[0] == "presence":
            allowed = {"MemoryRows"}
        for module, names in imported(path):
            if module.startswith("pramana.rows."):
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
        found
        for path in modules_of("bundle", "pages", "recipient", "reporting", "rows", "run")
        for found in method_names(path)
    ] == []
    sample = tmp_path / "sample.py"
    sample.write_text(
        'x = {"levels": work, "retention": self.retention}\nif name == "matrix" or name in ("presence",): ...'
    )
    assert [found.split()[-1] for found in method_names(sample)] == ["'levels'", "'matrix'", "'presence'"]


def test_nothing_is_probed_for_its_attributes() -> None:
    """Types say what there is: nobody reads a field that may be missing."""
    for path in modules_of("bundle", "methods", "pages", "recipient", "reporting", "rows", "run"):
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                probing = node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)
                assert not probing, f"{path}:{node.lineno}"


def test_every_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name for p in SOURCE.rglob("*.py") for node in nodes_of(p) if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []
