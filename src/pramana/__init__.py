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
    from pramana.bundle.bundle import Bundle as Bundle
    from pramana.bundle.signing import make_signing_key as make_signing_key
    from pramana.errors import PramanaError as PramanaError
    from pramana.holder.audit.collusion import collude as collude
    from pramana.holder.draft_recipe import draft_recipe as draft_recipe
    from pramana.holder.inspect import inspect as inspect
    from pramana.ledger.ledger import Ledger as Ledger
    from pramana.mechanisms.guarantees import Circumstances as Circumstances
    from pramana.mechanisms.guarantees import guarantees_of as guarantees_of
    from pramana.methods.published_cells import PublishedCells as PublishedCells
    from pramana.methods.recipe import Recipe as Recipe
    from pramana.methods.retention.calibration import Wanted as Wanted
    from pramana.methods.retention.calibration import calibrate as calibrate
    from pramana.randomness.key import Key as Key
    from pramana.recipient import models as models
    from pramana.recipient.analysis import crosstab as crosstab
    from pramana.recipient.analysis import open_study as open_study
    from pramana.recipient.synthesis import synthesise as synthesise
    from pramana.reporting.exporting import export as export
    from pramana.reporting.reports import report as report
    from pramana.rows.spark.rows import SparkEngine as SparkEngine
    from pramana.run.devices import plan_for_records as plan_for_records
    from pramana.run.devices import randomise_record as randomise_record
    from pramana.run.levels import create_levels as create_levels
    from pramana.run.levels import issue as issue
    from pramana.run.planning import plan as plan
    from pramana.run.release import release as release
    from pramana.run.verify import verify as verify
    from pramana.schema.hierarchy import Hierarchy as Hierarchy

_ROOM_OF = {
    "Bundle": "bundle.bundle",
    "Circumstances": "mechanisms.guarantees",
    "Hierarchy": "schema.hierarchy",
    "Key": "randomness.key",
    "Ledger": "ledger.ledger",
    "PramanaError": "errors",
    "PublishedCells": "methods.published_cells",
    "Recipe": "methods.recipe",
    "SparkEngine": "rows.spark.rows",
    "Wanted": "methods.retention.calibration",
    "calibrate": "methods.retention.calibration",
    "collude": "holder.audit.collusion",
    "create_levels": "run.levels",
    "crosstab": "recipient.analysis",
    "draft_recipe": "holder.draft_recipe",
    "export": "reporting.exporting",
    "guarantees_of": "mechanisms.guarantees",
    "inspect": "holder.inspect",
    "issue": "run.levels",
    "make_signing_key": "bundle.signing",
    "open_study": "recipient.analysis",
    "plan": "run.planning",
    "plan_for_records": "run.devices",
    "randomise_record": "run.devices",
    "release": "run.release",
    "report": "reporting.reports",
    "synthesise": "recipient.synthesis",
    "verify": "run.verify",
}
_MODULES = {"datasets": "pramana.datasets", "models": "pramana.recipient.models"}
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
