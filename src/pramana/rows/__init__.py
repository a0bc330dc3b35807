"""Where data meets a mechanism, under a key: `Rows`, and their homes in memory, spooled and on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
from pramana.rows.ahead import ahead

if TYPE_CHECKING:
    from pramana.rows.batch import LEAST_MEMORY, BatchEngine
    from pramana.rows.bound import bytes_of
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
    from pramana.rows.spark import SparkEngine, SparkRows
    from pramana.rows.spooled import SpooledRows
    from pramana.rows.units import HOUSEHOLD, PERSON, Owners, UnitShape

_MODULE_OF = {  # a command loads what it uses; Spark is large
    "BatchEngine": "batch",
    "Column": "digest",
    "ColumnReading": "protocol",
    "Columns": "protocol",
    "ContentDigest": "digest",
    "HOUSEHOLD": "units",
    "LEAST_MEMORY": "batch",
    "Lines": "protocol",
    "LocalEngine": "local",
    "MemoryRows": "memory",
    "NO_UNITS": "protocol",
    "Owners": "units",
    "PERSON": "units",
    "Progress": "protocol",
    "ROW_NUMBER": "protocol",
    "Rows": "protocol",
    "Scratch": "scratch",
    "SparkEngine": "spark",
    "SparkRows": "spark",
    "SpooledRows": "spooled",
    "SpreadPieces": "protocol",
    "Summand": "protocol",
    "UnitShape": "units",
    "WholeRows": "protocol",
    "Work": "protocol",
    "bytes_of": "bound",
    "chunks_of": "protocol",
    "commitment_to": "digest",
    "digest_of_columns": "digest",
    "no_progress": "protocol",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
    "bytes_of",
    "chunks_of",
    "commitment_to",
    "digest_of_columns",
    "no_progress",
]
