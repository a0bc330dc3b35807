"""Several columns of codes as one, and back: mixed radix, the last column fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
