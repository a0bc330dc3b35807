"""Publish person-level data with a privacy guarantee: stated first, reached by calculation, verifiable after.

The public names; everything else may change. They load on first use, so that `import pramana` and
`pramana --help` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pramana import datasets as datasets
    from pramana.audit import collude as collude
    from pramana.bundle import Bundle as Bundle
    from pramana.bundle import make_signing_key as make_signing_key
    from pramana.calibration import Wanted as Wanted
    from pramana.calibration import calibrate as calibrate
    from pramana.errors import PramanaError as PramanaError
    from pramana.estimate import models as models
    from pramana.inspection import draft_recipe as draft_recipe
    from pramana.inspection import inspect as inspect
    from pramana.ledger import Ledger as Ledger
    from pramana.mechanisms import Circumstances as Circumstances
    from pramana.mechanisms import guarantees_of as guarantees_of
    from pramana.methods import PublishedCells as PublishedCells
    from pramana.methods import Recipe as Recipe
    from pramana.pipeline import create_levels as create_levels
    from pramana.pipeline import crosstab as crosstab
    from pramana.pipeline import export as export
    from pramana.pipeline import issue as issue
    from pramana.pipeline import open_study as open_study
    from pramana.pipeline import plan as plan
    from pramana.pipeline import plan_for_records as plan_for_records
    from pramana.pipeline import randomise_record as randomise_record
    from pramana.pipeline import release as release
    from pramana.pipeline import report as report
    from pramana.pipeline import synthesise as synthesise
    from pramana.pipeline import verify as verify
    from pramana.randomness import Key as Key
    from pramana.rows import SparkEngine as SparkEngine
    from pramana.schema import Hierarchy as Hierarchy

_ROOM_OF = {
    "Bundle": "bundle",
    "Circumstances": "mechanisms",
    "Hierarchy": "schema",
    "Key": "randomness",
    "Ledger": "ledger",
    "PramanaError": "errors",
    "PublishedCells": "methods",
    "Recipe": "methods",
    "SparkEngine": "rows",
    "Wanted": "calibration",
    "calibrate": "calibration",
    "collude": "audit",
    "create_levels": "pipeline",
    "crosstab": "pipeline",
    "draft_recipe": "inspection",
    "export": "pipeline",
    "guarantees_of": "mechanisms",
    "inspect": "inspection",
    "issue": "pipeline",
    "make_signing_key": "bundle",
    "open_study": "pipeline",
    "plan": "pipeline",
    "plan_for_records": "pipeline",
    "randomise_record": "pipeline",
    "release": "pipeline",
    "report": "pipeline",
    "synthesise": "pipeline",
    "verify": "pipeline",
}
_MODULES = {"datasets": "pramana.datasets", "models": "pramana.estimate.models"}
__all__ = [*_ROOM_OF, *_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'pramana' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"pramana.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
