"""Strata of a table that need not fit in memory: the same numbers as for one that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pramana.randomness import code_dtype
from pramana.release.invariant_law import joined_strata, stratum_domain, stratum_of
from pramana.release.invariant_setting import InvariantSetting
from pramana.rows import Column, Spool
from pramana.sources import encode

if TYPE_CHECKING:
    from pramana.rows import SparkTable


def strata_of_spool(rows: Spool | SparkTable, setting: InvariantSetting) -> int | None:
    """How many strata there are, after making their codes a column of the spool; None where none are asked."""
    if not setting.strata:
        return None
    if not isinstance(rows, Spool):
        from pramana.release.spread import strata_of_spread

        return strata_of_spread(rows, setting)
    seen: dict[str, list[pa.Array]] = {name: [] for name in setting.strata}
    for block in rows.blocks:
        for name, column in rows.read(block, setting.strata).items():
            seen[name] = [pa.chunked_array([*seen[name], column]).unique()]
    domains = {name: stratum_domain(pa.chunked_array(values)) for name, values in seen.items()}

    def joint(columns: dict[str, Column]) -> Column:
        coded = {name: encode(pa.chunked_array([columns[name]]), domains[name], name) for name in domains}
        return joined_strata(coded, domains)

    found = np.empty(0, np.int64)
    for block in rows.blocks:
        found = np.union1d(found, joint(rows.read(block, setting.strata)))
    kind = code_dtype(len(found))
    for group in setting.groups:
        rows.derived[stratum_of(group)] = (
            setting.strata,
            lambda columns: np.searchsorted(found, joint(columns)).astype(kind),
        )
    return len(found)
