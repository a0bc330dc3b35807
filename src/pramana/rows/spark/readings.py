"""What one reading of a table on Spark has told, and whether it still holds under other domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pramana.errors import SourceError
from pramana.randomness import code_dtype
from pramana.rows.spark.blocks import Digests
from pramana.rows.spark.steps import RunReport
from pramana.schema import Attribute


@dataclass(frozen=True)
class Summary:
    """What a survey found: values where they were asked for, the columns with missing ones, and their kinds."""

    values: Mapping[str, pa.ChunkedArray]
    missing: frozenset[str]
    kinds: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class Reading:
    """One reading of a whole table as coded by some attributes: digests, faults, and the columns with missing."""

    attributes: tuple[Attribute, ...]
    key: str  # its commitment
    root: str
    missing: frozenset[str]


def codes_alike(read: Sequence[Attribute], settled: Sequence[Attribute]) -> bool:
    """Whether codes read under one set of domains are those of another: nothing but a missing category differs.

    That category has the last code; where no row had it, only the type of the codes can change.
    """
    if len(read) != len(settled):
        return False
    for one, other in zip(read, settled, strict=True):
        if one.name != other.name or one.raw != other.raw:
            return False
        if not one.raw and (
            one.coded.labels != other.coded.labels or code_dtype(one.coded.size) != code_dtype(other.coded.size)
        ):
            return False
    return True


def rows_of(reports: Mapping[int, Any]) -> list[int]:
    """By run, how many rows it has."""
    return [reports[run].rows if run in reports else 0 for run in range(max(reports, default=-1) + 1)]


def changed_rows() -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        "other rows at another reading",
        "A data frame must give its rows in the same order each time; write it to a table first.",
    )


def root_of_runs(reports: Mapping[int, RunReport], secret: bytes, records: int) -> str:
    """The digest of a table from what its runs tell."""
    if sum(seen.rows for seen in reports.values()) != records or any(seen.faults for seen in reports.values()):
        raise changed_rows()
    digests = Digests()
    for seen in reports.values():
        digests.leaves |= seen.digests.leaves
    digests.close(secret, (edge for seen in reports.values() for edge in seen.edges))
    return digests.root(secret, records)
