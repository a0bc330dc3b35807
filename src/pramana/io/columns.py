"""The columns of a table: which are wanted, whether their values can be coded; Arrow arrays from plain buffers."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import SourceError


def select(present: Sequence[str], wanted: Sequence[str] | None, where: str, hint: str | None = None) -> list[str]:
    """The wanted columns, which must be there. `hint`: what a reader knows better of one that is not."""
    first_at: dict[str, int] = {}
    for number, name in enumerate(present, 1):
        if (first := first_at.setdefault(name, number)) != number:
            raise SourceError(
                f"The columns of {where} must have distinct names", f"one name for columns {first} and {number}"
            )
    for name in wanted or ():
        if name not in first_at:
            advice = hint or _near(name, present, wanted or ())
            advice = advice or f"Its header must name its columns, {len(present)} in all."
            raise SourceError(f"{where} must have the column {name!r}", "no such column", advice)
    return list(present if wanted is None else wanted)


def _near(name: str, present: Sequence[str], wanted: Sequence[str]) -> str | None:
    """A hint at a near name: by its place, or by itself where it is a name for certain.

    A file without a header has a record in its place. It is a header if two of the other wanted columns, and most
    of them, are there by their exact names, of which a record knows nothing, and none of it is empty or a number.
    """
    close = difflib.get_close_matches(name, present, 1)
    if not close:
        return None
    others = [other for other in wanted if other != name]
    there = sum(other in present for other in others)
    if there >= 2 and 2 * there > len(others) and all(_like_a_name(text) for text in present):
        return f"Did you mean {close[0]!r}?"
    return f"Did you mean its column {present.index(close[0]) + 1}?"


def _like_a_name(text: str) -> bool:
    return any(c.isalpha() for c in text) and not text[0].isdigit()


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
    kind = plain_type(kind)
    if pa.types.is_nested(kind):
        raise SourceError(f"The column {name!r} must hold single values", "nested ones")
    if not any(is_kind(kind) for is_kind in _KINDS):
        raise SourceError(f"The column {name!r} must hold texts, numbers, dates or truth values", str(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Of the values themselves, where a dictionary holds them."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes that need not be text."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


_KINDS = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
    pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_date, pa.types.is_time,
    pa.types.is_timestamp, pa.types.is_duration, pa.types.is_null, is_bytes,
)  # fmt: skip


class _Compute:
    """Arrow's functions, loaded when one is used: that takes as long as a million rows take to be read."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("pyarrow.compute"), name)


compute: Any = _Compute()


# ---------------------------------------------------------------- plain buffers
# `pa.array`, `pa.scalar` and `to_numpy` load pandas where it is installed, which takes a small command longer than
# its work.


def numbers(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """An Arrow array over these numbers, null where `valid` is false."""
    values = np.ascontiguousarray(values)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bitmap, pa.py_buffer(values)])


def texts(values: Sequence[str]) -> pa.Array:
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def values_of(array: pa.Array) -> Any:
    """The numbers of an array without a copy, anything at all where it has nulls."""
    bare = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], 0, array.offset)
    return np.from_dlpack(bare)


def flags_of(array: pa.Array) -> NDArray[np.bool_]:
    return np.from_dlpack(array.cast(pa.uint8())).astype(np.bool_)
