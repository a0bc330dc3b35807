"""Exact integer samplers: uniform 64-bit words and true codes in, published codes out.

Laws are integers out of ONE = 2^62. No float takes part. `out` may be `codes` itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness._kernels import retain, retain_joint

ONE = 1 << 62
__all__ = ["ONE", "alias_table", "code_dtype", "draw_from_table", "retain", "retain_joint"]

Codes = NDArray[np.unsignedinteger]


def code_dtype(size: int) -> type[np.unsignedinteger]:
    """The smallest unsigned integer that holds codes 0 .. size-1."""
    if size <= 1 << 8:
        return np.uint8
    return np.uint16 if size <= 1 << 16 else np.uint32


def alias_table(weights: NDArray[np.int64]) -> tuple[NDArray[np.uint64], int]:
    """The table `draw_from_table` reads, and its `bits`, for rows of integer weights that sum to ONE.

    Row by row, 2^bits slots of capacity 2^(62-bits); a slot's word is (chances kept << bits) | other value.
    Built in integers by Walker's method, all rows side by side: each round takes one slot that is too empty
    and one value that has too much.
    """
    rows, size = weights.shape
    bits = (size - 1).bit_length()
    slots = 1 << bits
    capacity = ONE >> bits
    table = np.zeros((rows, slots), np.uint64)
    for row in range(rows):
        left = np.zeros(slots, np.int64)
        left[:size] = weights[row]
        table[row] = _alias_row(left, slots, capacity, bits)
    return table.reshape(-1), bits


def _alias_row(left: NDArray[np.int64], slots: int, capacity: int, bits: int) -> NDArray[np.uint64]:
    share = left.tolist()
    poor = [v for v in range(slots) if share[v] < capacity]
    rich = [v for v in range(slots) if share[v] >= capacity]
    words = [0] * slots
    while poor:
        slot = poor.pop()
        if not rich:  # cannot happen while the weights sum to ONE
            raise ValueError("weights must sum to 2^62")
        donor = rich[-1]
        words[slot] = (share[slot] << bits) | donor
        share[donor] -= capacity - share[slot]
        if share[donor] < capacity:
            rich.pop()
            poor.append(donor)
    for slot in rich:  # exactly full: keep nothing apart, the "other" value is the slot's own
        if share[slot] != capacity:
            raise ValueError("weights must sum to 2^62")
        words[slot] = slot
    return np.array(words, np.uint64)
