from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def advance(blocks: Array, rows: Array, places: Array, counts: Array, alive: int, bound: int, /) -> int: ...
def uniform(blocks: Array, rows: Array, out: Array, size: int, /) -> int: ...
def weighted(blocks: Array, rows: Array, out: Array, table: Array, bits: int, /) -> None: ...
def look_up(counts: Array, numbers: Array, values: Array, steps: Array, level: int, out: Array, /) -> None: ...
def insert(
    counts: Array,
    numbers: Array,
    values: Array,
    steps: Array,
    fresh: int,
    version: Array,
    has_below: bool,
    below: int,
    lower: Array,
    counts_out: Array,
    numbers_out: Array,
    values_out: Array,
    /,
) -> int: ...
