"""Exact integer samplers: uniform 64-bit words and true codes in, published codes out.

Laws are integers out of ONE = 2^62. No float takes part. `out` may be `codes` itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.randomness import _kernels
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness._kernels import retain, retain_joint

ONE = 1 << 62
_NEAR = 1 << 18  # bytes of a table that the cache next to a core holds beside codes and keystream
_LARGE_PAGES = 1 << 21
__all__ = ["ONE", "alias_table", "brief_table", "code_dtype", "draw_from_table", "retain", "retain_joint"]

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
