from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def write_lines(columns: Sequence[tuple[Array, bytes, Array]], out: Array, /) -> int: ...
def last_end(data: bytes | memoryview, /) -> int: ...
def read_lines(
    data: bytes | memoryview, delimiter: int, wanted: Array, skip_empty: bool, /
) -> tuple[int, list[tuple[bytes, list[bytes]]]] | None: ...
