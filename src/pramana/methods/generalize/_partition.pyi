from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def partition(
    rows: Array,
    times: Array | None,
    shape: Array,
    labels: Array,
    weights: Array,
    k: int,
    mode: int,
    values: int,
    held: Callable[[bytes], bool] | None,
    class_of: Array,
    /,
) -> int: ...
