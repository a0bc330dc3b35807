"""Where data meets a mechanism, under a key."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pramana.rows.batch import LEAST_MEMORY, BatchEngine, Spool, ahead
from pramana.rows.digest import Column, Commitment, ContentDigest, commitment_to, digest_of_columns
from pramana.rows.local import LocalEngine, Progress, no_progress
from pramana.rows.scratch import Scratch

if TYPE_CHECKING:
    from pramana.rows.spark import SparkEngine, SparkTable
    from pramana.rows.spark_groups import Combinations, combinations, stratify

_MODULE_OF = {  # what only some releases need loads on first use
    "Combinations": "spark_groups",
    "SparkEngine": "spark",
    "SparkTable": "spark",
    "combinations": "spark_groups",
    "stratify": "spark_groups",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.rows' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pramana.rows.{_MODULE_OF[name]}"), name)


__all__ = [
    "LEAST_MEMORY",
    "BatchEngine",
    "Column",
    "Combinations",
    "Commitment",
    "ContentDigest",
    "LocalEngine",
    "Progress",
    "Scratch",
    "SparkEngine",
    "SparkTable",
    "Spool",
    "ahead",
    "combinations",
    "commitment_to",
    "digest_of_columns",
    "no_progress",
    "stratify",
]
