"""The libraries that formats need, loaded when they are, with a hint where they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from pramana.errors import MissingExtraError


def library(name: str, what: str) -> Any:
    """A library of the extra `formats`."""
    try:
        module: ModuleType = importlib.import_module(name)
    except ImportError:
        raise missing_library(name, what) from None
    return module


def missing_library(name: str, what: str) -> MissingExtraError:
    return MissingExtraError(
        f"{name} must be installed for {what}", "no such library", "pip install pramana[formats]"
    )
