"""The lowest versions that pyproject.toml allows, as constraints for pip.

python -m distribution.floors > floors.txt
pip install --constraint floors.txt '.[dev]'
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LOWEST = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[A-Za-z0-9._,-]+\])?>=(?P<version>[0-9.]+)(?:,<[0-9.]+)?$")
_NOT_TESTED = {"fuzz"}  # has a make target and an environment of its own
_NOT_RUN = {"mypy", "ruff", "pandas-stubs", "scipy-stubs", "types-jsonschema"}  # read sources, and run no test


def floors(pyproject: Path = ROOT / "pyproject.toml") -> dict[str, str]:
    """The lower bound of everything that the product, its extras and its tests ask for."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    lowest: dict[str, str] = {}
    for group, requirements in groups.items():
        for requirement in () if group in _NOT_TESTED else requirements:
            if requirement.startswith("pramana-privacy["):
                continue
            stated = _LOWEST.match(requirement)
            if stated is None:
                raise SystemExit(f"{requirement!r} must have a lower bound, such as name>=1.0,<2")
            name, version = stated["name"].lower(), stated["version"]
            if name in _NOT_RUN:
                continue
            if lowest.setdefault(name, version) != version:
                raise SystemExit(f"{name} must have one lower bound, got {lowest[name]} and {version}")
    return lowest


def main() -> None:
    sys.stdout.write("".join(f"{name}=={version}\n" for name, version in sorted(floors().items())))


if __name__ == "__main__":
    main()
