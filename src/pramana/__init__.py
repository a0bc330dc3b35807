"""Publish person-level data with a privacy guarantee: stated first, reached by calculation, verifiable after.

The public names; everything else may change. They load on first use, so that `import pramana` and
`pramana --help` stay quick.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pramana.audit import anonymity_of_table as anonymity_of_table
    from pramana.audit import collude as collude
    from pramana.audit import k_of_table as k_of_table
    from pramana.calibration import Wanted as Wanted
    from pramana.calibration import calibrate as calibrate
    from pramana.errors import PramanaError as PramanaError
    from pramana.ledger import Ledger as Ledger
    from pramana.mechanisms import Circumstances as Circumstances
    from pramana.mechanisms import Dense as Dense
    from pramana.mechanisms import Product as Product
    from pramana.mechanisms import RecordRetention as RecordRetention
    from pramana.mechanisms import Retention as Retention
    from pramana.mechanisms import guarantees_of as guarantees_of
    from pramana.randomness import Key as Key
    from pramana.release import Bundle as Bundle
    from pramana.release import create_levels as create_levels
    from pramana.release import crosstab as crosstab
    from pramana.release import issue as issue
    from pramana.release import make_signing_key as make_signing_key
    from pramana.release import open_study as open_study
    from pramana.release import plan as plan
    from pramana.release import plan_for_records as plan_for_records
    from pramana.release import randomise_record as randomise_record
    from pramana.release import read_matrix as read_matrix
    from pramana.release import release as release
    from pramana.release import report as report
    from pramana.release import verify as verify
    from pramana.rows import LocalEngine as LocalEngine
    from pramana.rows import SparkEngine as SparkEngine
    from pramana.schema import Hierarchy as Hierarchy
    from pramana.schema import Recipe as Recipe

_ROOM_OF = {
    "Bundle": "release",
    "Circumstances": "mechanisms",
    "Dense": "mechanisms",
    "Hierarchy": "schema",
    "Key": "randomness",
    "Ledger": "ledger",
    "LocalEngine": "rows",
    "PramanaError": "errors",
    "Product": "mechanisms",
    "Recipe": "schema",
    "RecordRetention": "mechanisms",
    "Retention": "mechanisms",
    "SparkEngine": "rows",
    "Wanted": "calibration",
    "calibrate": "calibration",
    "collude": "audit",
    "create_levels": "release",
    "crosstab": "release",
    "guarantees_of": "mechanisms",
    "issue": "release",
    "anonymity_of_table": "audit",
    "k_of_table": "audit",
    "make_signing_key": "release",
    "open_study": "release",
    "plan": "release",
    "plan_for_records": "release",
    "randomise_record": "release",
    "read_matrix": "release",
    "release": "release",
    "report": "release",
    "verify": "release",
}
_MODULES = {"datasets": "pramana.datasets", "models": "pramana.estimate.models"}
__all__ = [*_ROOM_OF, *_MODULES, "__version__"]


class _Front(ModuleType):
    """Keeps `pramana.release` the function although a room of that name is imported below it."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _ROOM_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(_MODULES[name])
        if name not in _ROOM_OF:
            raise AttributeError(f"module 'pramana' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"pramana.{_ROOM_OF[name]}"), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return __all__


sys.modules[__name__].__class__ = _Front
