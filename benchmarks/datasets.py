"""How fast the generated populations are made, beside plain NumPy drawing as many independent columns.

    python benchmarks/datasets.py [ROWS]

NumPy's columns are drawn uniformly by `Generator.integers`: no correlation, no law of their own, no slices.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from pramana.datasets.census import census, census_chain, salaries, salaries_chain


def seconds(run: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    for name, chain, draw in (("census", census_chain, census), ("salaries", salaries_chain, salaries)):
        start = time.perf_counter()
        chain()
        built = time.perf_counter() - start
        sizes = draw(0).sizes.values()
        random = np.random.default_rng(1)
        plain = seconds(lambda s=sizes, g=random: [g.integers(0, size, rows, np.uint8) for size in s])
        print(
            f"{name}: laws built in {built:.3f} s; NumPy, independent columns: {rows / plain / 1e6:.1f} M rows/s"
        )
        for threads in (1, 2):
            took = seconds(lambda d=draw, t=threads: d(rows, threads=t))
            print(f"  {threads} thread(s): {rows / took / 1e6:.1f} M rows/s, {took / plain:.2f} x NumPy's time")


if __name__ == "__main__":
    main()
