"""Versions at many levels: the keyed process, multi-pert with its history, and independent perturbation by NumPy.

    python benchmarks/levels.py [--levels 10000] [--rows 600000] [--many 10000000]

All times are CPU time on one core. The history that multi-pert starts from has been led through every level on
20,000 rows and is then repeated to the number of rows timed: the same work, without days of preparation; use
--full to issue every level on every row instead. NumPy's version is an independent release, which collusion
undoes, drawn with floats: it is here as a yardstick of speed alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from pramana.mechanisms.history import History, RecordedLevels
from pramana.mechanisms.levels import KeyedLevels, LevelDesign, Uniform
from pramana.randomness.key import Key
from pramana.theory.levels import GRID, Level

SIZE = 50


def milliseconds(work: Callable[[], object], times: int = 5) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(1000 * (time.process_time() - start))
    return min(found)


def numpy_version(codes: np.ndarray, rho: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(codes)) < rho, codes, rng.integers(0, SIZE, len(codes), np.uint8))


def history_after(levels: list[Level], codes: np.ndarray, rows: int, full: bool) -> History:
    followed = codes[: rows if full else min(rows, 20_000)]
    source = RecordedLevels(LevelDesign({"a": Uniform(SIZE)}), len(followed))
    for level in levels:
        source.version(level, {"a": followed})
    known = source.histories["a",]
    times = rows // len(followed)
    numbers = np.tile(known.numbers, times)
    return History(known.steps, np.tile(known.counts, times), numbers, np.tile(known.values, times))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--levels", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--many", type=int, default=10_000_000)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    codes = rng.integers(0, SIZE, given.rows).astype(np.uint8)
    key, design = Key.from_seed(1), LevelDesign({"a": Uniform(SIZE)})
    keyed = KeyedLevels(design, lambda purpose, column: key.stream(purpose, "", column))

    print(f"{given.rows:,} rows, {SIZE} values, CPU ms of one version")
    print(f"{'level':>8} {'process':>10} {'NumPy, independent':>20} {'ratio':>7}")
    for text in ("0.5", "0.3", "0.1", "0.01", "0.001", "0"):
        level = Level.of(text)
        mine = milliseconds(lambda at=level: keyed.version(at, {"a": codes}))
        theirs = milliseconds(lambda rho=float(text): numpy_version(codes, rho, rng))
        print(f"{text:>8} {mine:10.1f} {theirs:20.1f} {mine / theirs:7.2f}")

    steps = np.unique(rng.integers(GRID // 1000, GRID // 2, given.levels))
    rng.shuffle(steps)
    asked = [Level(int(k)) for k in steps]
    fresh = Level.of("0.2345")
    print(f"\nafter m versions at levels drawn from [.001, .5], level {fresh}")
    print(f"{'m':>8} {'process':>10} {'bytes/row':>10} {'multi-pert':>12} {'bytes/row':>10} {'entries':>8}")
    for m in sorted({1, 10, 100, 1000, given.levels}):
        if m > len(asked) and m != given.levels:
            continue
        history = history_after(asked[:m], codes, given.rows, given.full)
        source = RecordedLevels(design, given.rows, histories={("a",): history})
        theirs = milliseconds(lambda s=source: s.version(fresh, {"a": codes}), 1)
        mine = milliseconds(lambda: keyed.version(fresh, {"a": codes}))
        size = history.nbytes / given.rows
        print(f"{m:>8} {mine:10.1f} {0:10} {theirs:12.1f} {size:10.1f} {history.entries_per_row:8.2f}")

    many = rng.integers(0, SIZE, given.many).astype(np.uint8)
    spent = milliseconds(lambda: keyed.version(Level.of("0.001"), {"a": many}), 2)
    print(f"\n{given.many:,} rows at level 0.001: {spent / 1000:.2f} s")


if __name__ == "__main__":
    main()
