"""The columns of a table: which of them are wanted, and whether their values can be coded."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pramana.errors import SourceError
from pramana.schema import near


def select(present: Sequence[str], wanted: Sequence[str] | None, where: str) -> list[str]:
    """A file without a header has a record in its place: names that were not asked for stay unsaid."""
    place: dict[str, int] = {}
    for number, name in enumerate(present, 1):
        if (first := place.setdefault(name, number)) != number:
            raise SourceError(
                f"The columns of {where} must have distinct names", f"one name for columns {first} and {number}"
            )
    for name in wanted or ():
        if name not in place:
            hint = near(name, present) or f"Its header must name its columns, {len(present)} in all."
            raise SourceError(f"{where} must have the column {name!r}", "no such column", hint)
    return list(present if wanted is None else wanted)


def checked(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """These columns, which must hold values that can be coded; text in the forms that every step can work with."""
    columns = {}
    for name in names:
        column = table.column(name)
        check_type(name, column.type)
        columns[name] = column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column
    return pa.table(columns)


def check_type(name: str, kind: pa.DataType) -> None:
    """Whether a column's values can be written one way, and so be coded."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise SourceError(f"The column {name!r} must hold single values", "nested ones")
    if not any(is_kind(kind) for is_kind in _KINDS):
        raise SourceError(f"The column {name!r} must hold texts, numbers, dates or truth values", "others")


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes that need not be text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_KINDS = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
    pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_date, pa.types.is_time,
    pa.types.is_timestamp, pa.types.is_duration, pa.types.is_null, is_bytes,
)  # fmt: skip
