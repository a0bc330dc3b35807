"""Exact integer samplers: uniform 64-bit words and true codes in, published codes out.

Laws are integers out of ONE = 2^62. No float takes part. `out` may be `codes` itself.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.randomness import _kernels

ONE = 1 << 62
_NEAR = 1 << 18  # bytes of a table that the cache next to a core holds beside codes and keystream
_LARGE_PAGES = 1 << 21

Codes = NDArray[np.unsignedinteger]


def code_dtype(size: int) -> type[np.unsignedinteger]:
    """The smallest unsigned integer that holds codes 0 .. size-1."""
    if size <= 1 << 8:
        return np.uint8
    return np.uint16 if size <= 1 << 16 else np.uint32


def alias_table(weights: NDArray[np.int64]) -> tuple[NDArray[np.uint64], int]:
    """The table `draw_from_table` reads, and its `bits`, for rows of integer weights that sum to ONE.

    Row by row, 2^bits slots of capacity 2^(62-bits); a slot's word is (chances kept << bits) | other value.
    Built in integers by Walker's method.
    """
    rows, size = weights.shape
    bits = (size - 1).bit_length()
    table = np.empty(rows << bits, np.uint64)
    _kernels.fill_alias(np.ascontiguousarray(weights, np.int64), size, table, bits)
    return table, bits


def brief_table(table: NDArray[np.uint64], bits: int) -> NDArray[np.uint32] | None:
    """The upper bits of a table too large for the near cache, for `draw_from_table` to look at first."""
    if table.nbytes <= _NEAR:
        return None
    # NumPy asks for large pages from four MiB on; without them half of the time goes into finding addresses
    brief = np.empty(max(len(table), _LARGE_PAGES), np.uint32)[: len(table)]
    _kernels.shorten_alias(table, brief, bits)
    return brief


# Several columns of codes as one, and back: mixed radix, the last column fastest.


def joint_codes(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], dtype: type[np.integer[Any]] = np.int64
) -> NDArray[Any]:
    """One code for the codes of each row; the order is that of the rows of values.

    Codes must lie below their sizes, which nobody looks at here. `dtype` must hold every combination: 32 bits
    take half of the time where they suffice.
    """
    combinations = math.prod(sizes)
    if combinations - 1 > int(np.iinfo(dtype).max):
        raise ValueError(f"columns coded together must have at most {np.iinfo(dtype).max} combinations")
    joint = columns[0].astype(dtype)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        joint *= dtype(size)
        joint += column if np.can_cast(column.dtype, dtype) else column.astype(dtype)
    return joint


def split_codes(joint: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """The columns that `joint_codes` was given."""
    reversed_columns = []
    for size in reversed(sizes[1:]):
        joint, last = np.divmod(joint, joint.dtype.type(size))
        reversed_columns.append(last)
    return [joint, *reversed(reversed_columns)]


# How many processor cores this process may use.


def available_cores() -> int:
    """Those the process is bound to, where the system says so, as Linux does; else all there are."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
