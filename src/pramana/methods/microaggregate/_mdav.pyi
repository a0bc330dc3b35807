import numpy as np
from numpy.typing import NDArray

def mdav(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    weights: NDArray[np.float64],
    k: int,
    class_of: NDArray[np.int32],
    /,
) -> int: ...
