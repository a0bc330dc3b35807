from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def pack(codes: Array, keys: Array, words: int, word: int, shift: int, /) -> None: ...
def roll(
    keys: Array,
    counts: Array | None,
    columns: int,
    keep: Array,
    ops: Array,
    tables: Array,
    out_keys: Array,
    out_counts: Array,
    index: Array | None,
    /,
) -> int: ...
def tally(
    keys: Array, words: int, counts: Array, columns: int, held: Array, fields: Array, tables: Array, sums: Array, /
) -> tuple[int, int, float]: ...
def draw(words: Array, class_of: Array, first: Array, upto: Array, values: Array, out: Array, /) -> None: ...
