"""Runs inside a peer's environment: reads one order a line, does the work, answers with the seconds it took.

Imports nothing but the peer and NumPy. Tables, clients and compiled functions are made before the clock starts.
Every way has the same law: the true code with probability rho + (1 - rho) / size, any other alike.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

RHO = 0.3


def epsilon_of(size: int) -> float:
    return math.log(1 + size * RHO / (1 - RHO))


def plain_numpy(size: int, codes: np.ndarray) -> Callable[[], Any]:
    rng = np.random.default_rng(1)
    return lambda: np.where(
        rng.random(len(codes)) < RHO, codes, rng.integers(0, size, len(codes), dtype=codes.dtype)
    )


def multi_freq_loop(size: int, codes: np.ndarray) -> Callable[[], Any]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    values, epsilon = codes.tolist(), epsilon_of(size)
    return lambda: [GRR_Client(value, size, epsilon) for value in values]


def multi_freq_compiled(size: int, codes: np.ndarray) -> Callable[[], Any]:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from numba import njit

    @njit
    def every(values: np.ndarray, size: int, epsilon: float, out: np.ndarray) -> None:
        for i in range(len(values)):
            out[i] = GRR_Client(values[i], size, epsilon)

    values, out = codes.astype(np.int64), np.empty(len(codes), np.int64)
    every(values[:10], size, epsilon_of(size), out)
    return lambda: every(values, size, epsilon_of(size), out)


def pure_ldp(size: int, codes: np.ndarray) -> Callable[[], Any]:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client = DEClient(epsilon_of(size), size, index_mapper=lambda value: value)
    values = codes.tolist()
    return lambda: [client.privatise(value) for value in values]


def diffprivlib(size: int, codes: np.ndarray) -> Callable[[], Any]:
    from diffprivlib.mechanisms import Binary, ExponentialCategorical

    names = [f"v{i:04d}" for i in range(size)]
    if size == 2:
        mechanism = Binary(epsilon=epsilon_of(size), value0=names[0], value1=names[1])
    else:  # its utility is the distance between values: 1 for all pairs, so half the epsilon each way
        pairs = [[a, b, 1] for i, a in enumerate(names) for b in names[i + 1 :]]
        mechanism = ExponentialCategorical(epsilon=epsilon_of(size), utility_list=pairs)
    values = [names[code] for code in codes.tolist()]
    return lambda: [mechanism.randomise(value) for value in values]


def pandas_choice(size: int, codes: np.ndarray) -> Callable[[], Any]:
    import pandas as pd

    matrix = np.full((size, size), (1 - RHO) / size) + np.eye(size) * RHO
    column = pd.Series(codes)
    return lambda: column.map(lambda value: np.random.choice(size, p=matrix[value]))


WAYS = {
    "numpy": {"plain": plain_numpy},
    "multi-freq-ldpy": {"loop": multi_freq_loop, "compiled": multi_freq_compiled},
    "pure-ldp": {"client": pure_ldp},
    "diffprivlib": {"mechanism": diffprivlib},
    "pandas": {"choice": pandas_choice},
}


def main(environment: str) -> None:
    ready: dict[str, Callable[[], Any]] = {}
    print(json.dumps({"version": version(environment)}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if line not in ready:
            dtype = np.uint8 if order["size"] <= 256 else np.uint16
            codes = np.random.default_rng(2).integers(0, order["size"], order["values"]).astype(dtype)
            try:
                ready[line] = WAYS[environment][order["way"]](order["size"], codes)
            except Exception as error:  # the row of the table says what the peer said
                print(json.dumps({"error": f"{type(error).__name__}: {error}"[:120]}), flush=True)
                continue
        start = time.perf_counter()
        ready[line]()
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
