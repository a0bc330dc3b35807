"""How anonymous a table is as it stands, whatever made it. Rows stream through: only combinations take room."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pramana.errors import InputError
from pramana.generalize import Combinations, SensitiveCounts
from pramana.sources import Numbering, Source
from pramana.stores import located

_ROWS = 1 << 18


@dataclass(frozen=True)
class TableAnonymity:
    """The k of a table and, where a sensitive column was named, its l (distinct and by entropy) and t (equal)."""

    records: int
    classes: int
    k: int
    l: int | None = None  # noqa: E741 - the field's name for it
    entropy_l: float | None = None
    t: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def anonymity_of_table(
    data: Any,
    columns: Sequence[str],
    sensitive: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> TableAnonymity:
    """k, and l and t of one sensitive column, of a table (a path or a data frame) on these columns.

    Missing values count as one more value. The table is read twice, batch by batch.

    >>> pramana.audit.anonymity_of_table("people.csv", ["sex", "age"]).k  # doctest: +SKIP
    3
    """
    if not columns:
        raise InputError("At least one quasi-identifying column must be named", "none")
    if twice := [name for i, name in enumerate(columns) if name in columns[:i]]:
        raise InputError("Every quasi-identifying column must be named once", f"{twice[0]!r} twice")
    names = [*columns, *([] if sensitive is None else [sensitive])]
    if sensitive in columns:
        raise InputError("The sensitive column must not be among the quasi-identifying ones", repr(sensitive))
    source = Source(frame=data)
    if isinstance(data, str | os.PathLike):
        source = Source(path=located(data), encoding=encoding, delimiter=delimiter)
    numbering = {name: Numbering() for name in names}
    for batch in source.batches(names, _ROWS):
        for name in names:
            numbering[name].number(batch.column(name))
    combinations = Combinations([len(numbering[name].labels) for name in names])
    records = 0
    for batch in source.batches(names, _ROWS):
        records += batch.num_rows
        combinations.update([numbering[name].number(batch.column(name)) for name in names])
    found = combinations.merged()
    if sensitive is None:
        return TableAnonymity(records, len(found), int(found.sizes.min()))
    counts = SensitiveCounts.of_combinations(found)
    return TableAnonymity(
        records, len(counts.sizes), int(counts.sizes.min()), counts.distinct_l, counts.entropy_l, counts.t()
    )


def k_of_table(data: Any, columns: Sequence[str]) -> int:
    """The k of k-anonymity of a table (a path or a data frame) on these columns.

    Paper 1, Theorem 2: for a table made by a deterministic method it is also the k of Pk-anonymity.
    """
    return anonymity_of_table(data, columns).k
