"""A release on Spark beside an identity `mapInArrow` over the same Parquet table, in one session.

The identity sends every row to a Python worker and back and keeps nothing: what Python on Spark costs at least.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, Comparison, Goal, Sample
from pramana import Key, Recipe, SparkEngine, release
from pramana.datasets.census import census
from pramana.rows.spark.session import quiet, session

MASTER = "local[2]"


@contextmanager
def comparison(rows: int, folder: Path) -> Iterator[Comparison]:
    """One session, which ends with the block."""
    people = census(rows, seed=7)
    people.write_parquet(folder / "people.parquet")
    people.write_recipe(folder / "recipe.toml", source=folder / "people.parquet", k=20)
    recipe, key = Recipe.read(folder / "recipe.toml"), Key.from_seed(1)
    number = itertools.count()

    def released(**options: Any) -> None:
        out = folder / f"out{next(number)}"
        release(recipe, out, key=key, even_if_useless=True, **options)
        shutil.rmtree(out)

    with session(MASTER, {}) as spark:
        frame = spark.read.parquet(str(folder / "people.parquet")).select(*recipe.attributes)

        def identity() -> None:
            with quiet():
                same = frame.mapInArrow(lambda batches: batches, frame.schema)
                same.write.format("noop").mode("overwrite").save()

        works: dict[str, Callable[[], Any]] = {
            "identity mapInArrow": identity,
            "release from Parquet": lambda: released(engine=SparkEngine()),
            "release of a DataFrame": lambda: released(engine=SparkEngine(), data=frame),
            "release, local engine": lambda: released(),
        }
        names = list(works)
        cases = tuple(Case(name, rows, _timed(work)) for name, work in works.items())
        goals = tuple(Goal(name, names[0], 1 / 3) for name in names[1:3])
        yield Comparison(f"Spark {MASTER}, {rows:,} rows x 7 columns Parquet", "rows", names[0], cases, goals)


def _timed(work: Callable[[], Any]) -> Callable[[], Sample]:
    def run() -> Sample:
        start = time.perf_counter()
        work()
        return Sample(time.perf_counter() - start)

    return run
