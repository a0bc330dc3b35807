"""Tools that some tests need: how each is looked for, and how to install it.

Where one is missing the test is skipped and says why. With PRAMANA_REQUIRE_ALL=1, which `.ci/run` sets, it
fails for the same reason. Tests say `@pytest.mark.needs("node")`, fixtures call `program("node")`.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

REQUIRE_ALL = "PRAMANA_REQUIRE_ALL"
ROOT = Path(__file__).parents[1]
NODE_MODULES = ROOT / "node_modules"


def skip_or_fail(reason: str) -> NoReturn:
    """Leave a test that cannot run here."""
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{reason}; {REQUIRE_ALL}=1 asks for every test", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def require(tool: str) -> None:
    """Skip the test, or fail it, where the tool is missing."""
    if reason := why_missing(tool):
        skip_or_fail(reason)


def program(tool: str) -> str:
    """The path of a program that a test starts."""
    require(tool)
    path = _path_of(tool)
    assert path is not None, f"{tool} is not a program"
    return path


def package(name: str) -> Any:
    """An imported Python package that tests can do without."""
    if find_spec(name.partition(".")[0]) is None:
        skip_or_fail(f"the Python package {name.partition('.')[0]} is not installed (make setup)")
    return importlib.import_module(name)


@functools.cache
def why_missing(tool: str) -> str | None:
    """The reason why a tool cannot be used, and how to install it; None where it can."""
    return _CHECKS[tool]()


_PROGRAMS = {  # the names under which a program is looked for, and Debian's package
    "cc": (("cc",), "gcc"),
    "chromium": (("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "java": (("java",), "openjdk-17-jre-headless"),
    "node": (("node",), "nodejs"),
    "prlimit": (("prlimit",), "util-linux"),
    "Rscript": (("Rscript",), "r-base-core"),
    "strace": (("strace",), "strace"),
}


def _path_of(tool: str) -> str | None:
    return next(filter(None, map(shutil.which, _PROGRAMS[tool][0])), None)


def _program(tool: str) -> str | None:
    if _path_of(tool) is None:
        return f"{tool} is not installed (Debian: apt-get install {_PROGRAMS[tool][1]})"
    return None


def _java() -> str | None:
    return None if os.environ.get("JAVA_HOME") else _program("java")


def _r() -> str | None:
    if reason := _program("Rscript"):
        return reason
    asked = ["Rscript", "-e", "library(jsonlite)"]
    if subprocess.run(asked, capture_output=True, timeout=120, check=False).returncode:
        return "R has no package jsonlite (Debian: apt-get install r-cran-jsonlite)"
    return None


def _node_module(name: str) -> str | None:
    if reason := _program("node"):
        return reason
    return None if (NODE_MODULES / name).exists() else f"{name} is not installed (npm ci)"


_CHECKS: dict[str, Callable[[], str | None]] = {
    **{tool: functools.partial(_program, tool) for tool in _PROGRAMS},
    **{name: functools.partial(_node_module, name) for name in ("axe-core", "azurite", "typescript")},
    "java": _java,
    "Rscript": _r,
}
