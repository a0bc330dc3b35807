"""The keyed shuffle: rows in ascending order of a 128-bit tag, the cipher block at the row's own number.

Blocks of distinct counters are distinct, so there are no ties and, the cipher taken as a random permutation,
every order is equally likely. A row's tag depends on no other row: any engine that can sort gives this order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.randomness import _kernels
from pramana.randomness.key import Key, Stream

MOST_ROWS = 2**32 - 1


def tag_stream(key: Key, context: str) -> Stream:
    return key.stream("shuffle", context)


def shuffled_order(key: Key, context: str, rows: int) -> NDArray[np.uint32]:
    """order[i] = the source row that is published at place i."""
    if rows > MOST_ROWS:
        raise ValueError(f"rows must be at most {MOST_ROWS}, got {rows}")
    order = np.empty(rows, np.uint32)
    _kernels.order_of_tags(tag_stream(key, context).blocks(0, rows), order)
    return order


def gathered(values: NDArray[np.unsignedinteger], order: NDArray[np.uint32]) -> NDArray[np.unsignedinteger]:
    out = np.empty(len(order), values.dtype)
    _kernels.gather(values, order, out)
    return out
