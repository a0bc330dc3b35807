from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def split(
    mass: Array, rows: Array, row_shares: Array, columns: Array, column_shares: Array, times: float, out: Array, /
) -> None: ...
