"""How anonymous a table is as it stands, whatever made it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pramana.generalize import k_anonymity
from pramana.sources import Source, domain_from_data, encode


def k_of_table(data: Any, columns: Sequence[str]) -> int:
    """The k of k-anonymity of a table (a path or a data frame) on these columns.

    Paper 1, Theorem 2: for a table made by a deterministic method it is also the k of Pk-anonymity. Missing
    values count as one more value.
    """
    source = Source(path=Path(data)) if isinstance(data, str | Path) else Source(frame=data)
    table = source.read(list(columns))
    codes = []
    for name in columns:
        column = table.column(name)
        codes.append(encode(column, domain_from_data(column).with_missing(), name))
    return k_anonymity(codes)
