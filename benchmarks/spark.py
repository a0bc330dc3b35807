"""A release on Spark beside an identity `mapInArrow` over the same Parquet table, in one run.

python -m benchmarks.spark [--rows N] [--rounds N] [--master local[2]]

The identity sends every row to a Python worker and back and keeps nothing: what Python on Spark costs at least.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pramana import Key, Recipe, SparkEngine, release
from pramana.datasets import census
from pramana.engines.spark_session import quiet, session


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        people = census(options.rows, seed=7)
        people.write_parquet(folder / "people.parquet")
        people.write_recipe(folder / "recipe.toml", source=folder / "people.parquet", k=20)
        with session(options.master, {}) as spark:
            found = measured(spark, folder, options.rounds)
    identity = statistics.median(found["identity"])
    for name, times in found.items():
        middle = statistics.median(times)
        spread = f"{min(times):.1f}-{max(times):.1f}"
        print(f"{name:<28} {middle:6.1f} s ({spread}), {options.rows / middle / 1e6:5.2f} million rows/s, "
              f"{middle / identity:.2f} x identity")  # fmt: skip


def measured(spark: Any, folder: Path, rounds: int) -> dict[str, list[float]]:
    """The first round warms up the workers and is left out."""
    recipe, key = Recipe.read(folder / "recipe.toml"), Key.from_seed(1)
    frame = spark.read.parquet(str(folder / "people.parquet")).select(*(a.name for a in recipe.attributes))
    number = iter(range(1000))

    def identity() -> None:
        with quiet():
            frame.mapInArrow(lambda batches: batches, frame.schema).write.format("noop").mode("overwrite").save()

    works: dict[str, Callable[[], Any]] = {
        "identity": identity,
        "release from Parquet": lambda: release(
            recipe, folder / f"out{next(number)}", key=key, engine=SparkEngine()
        ),
        "release of a DataFrame": lambda: release(
            recipe, folder / f"out{next(number)}", key=key, engine=SparkEngine(), data=frame
        ),
        "release, local engine": lambda: release(recipe, folder / f"out{next(number)}", key=key),
    }
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn:
                found[name].append(time.perf_counter() - start)
    return found


if __name__ == "__main__":
    main()
