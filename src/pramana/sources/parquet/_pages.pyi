from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def pack(codes: Array, width: int, ends: Array, lengths: Array, out: Array, sizes: Array, /) -> int: ...
