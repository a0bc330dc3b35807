from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

def split(
    first: Array, second: Array, mass: Array, first_nodes: Array, second_nodes: Array, out: Array, /
) -> None: ...
def times(
    mass: Array,
    first_nodes: Array,
    second_nodes: Array,
    first: Array,
    second: Array,
    chances: Array,
    new_first_nodes: Array,
    new_second_nodes: Array,
    out: Array,
    /,
) -> None: ...
def sum_of_products(left: Array, right: Array, values: int, out: Array, /) -> None: ...
