"""Where data meets a mechanism, under a key: `Rows`, and their homes in memory, spooled and on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.rows.ahead import ahead
from pramana.rows.batch import LEAST_MEMORY, BatchEngine
from pramana.rows.digest import Column, ContentDigest, commitment_to, digest_of_columns
from pramana.rows.local import LocalEngine
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import (
    NO_UNITS,
    ROW_NUMBER,
    ColumnReading,
    Columns,
    Lines,
    Progress,
    Rows,
    SpreadPieces,
    Summand,
    WholeRows,
    Work,
    chunks_of,
    no_progress,
)
from pramana.rows.scratch import Scratch
from pramana.rows.spooled import SpooledRows
from pramana.rows.units import HOUSEHOLD, PERSON, Owners, UnitShape

if TYPE_CHECKING:
    from pramana.rows.spark import SparkEngine, SparkRows


def __getattr__(name: str) -> object:  # Spark loads for those who use it
    if name in ("SparkEngine", "SparkRows"):
        from pramana.rows import spark

        return {"SparkEngine": spark.SparkEngine, "SparkRows": spark.SparkRows}[name]
    raise AttributeError(f"module 'pramana.rows' has no attribute {name!r}")


__all__ = [
    "HOUSEHOLD",
    "LEAST_MEMORY",
    "NO_UNITS",
    "PERSON",
    "ROW_NUMBER",
    "BatchEngine",
    "Column",
    "ColumnReading",
    "Columns",
    "ContentDigest",
    "Lines",
    "LocalEngine",
    "MemoryRows",
    "Owners",
    "Progress",
    "Rows",
    "Scratch",
    "SparkEngine",
    "SparkRows",
    "SpooledRows",
    "SpreadPieces",
    "Summand",
    "UnitShape",
    "WholeRows",
    "Work",
    "ahead",
    "chunks_of",
    "commitment_to",
    "digest_of_columns",
    "no_progress",
]
