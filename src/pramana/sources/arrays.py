"""Arrow arrays from plain buffers and back.

`pa.array`, `pa.scalar` and `to_numpy` load pandas wherever it is installed, which costs a small command more than
its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


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
