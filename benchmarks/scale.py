"""Tables larger than memory: the batch engine beside the one in memory, and the time a row takes at three sizes.

The engine alone is what grows with the rows: reading, randomising, ordering, writing. The whole call takes about a
second more for loading libraries, calibration and the report, whatever the size; a thousand rows go first here.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.harness import Case, Comparison, Goal, Sample
from benchmarks.whole import child
from pramana.datasets.census import census

MEMORY = 2 << 30
CALL = """
import sys, time
from pramana import release
start = time.perf_counter()
release(sys.argv[1], sys.argv[2], seed=1, memory=int(sys.argv[3]) or None, even_if_useless=True)
print(time.perf_counter() - start)
"""
ENGINE = """
import contextlib, sys, time
from pathlib import Path
from pramana import Recipe
from pramana.methods.registry import method_named
from pramana.run.config import source_of
from pramana.run.write import write_pieces
from pramana.randomness.key import Key
from pramana.rows.engines import BatchEngine
from pramana.rows.protocol import no_progress
from pramana.rows.spooled import SpooledRows
recipe_file, place, memory, warm = sys.argv[1:]

def seconds(recipe_file, out):
    recipe = Recipe.read(recipe_file)
    method, source = method_named(recipe.method), source_of(recipe)
    out.mkdir()
    engine = BatchEngine(int(memory), folder=out)
    readings, key = method.readings(recipe), Key.from_seed(1)
    start = time.perf_counter()
    with contextlib.closing(SpooledRows.read(source, readings, key, engine, no_progress)) as rows:
        read = time.perf_counter()
        plan = method.plan(recipe, rows)
        rows.encode(plan.attributes)
        planned = time.perf_counter()
        write_pieces(plan.publish(rows), out / "data.parquet", "parquet")
    return read - start + time.perf_counter() - planned

seconds(warm, Path(place + ".warm"))
print(seconds(recipe_file, Path(place)))
"""


def batch(rows: int, folder: Path) -> list[Comparison]:
    """The same table in memory and within 2 GiB."""
    whole, streamed = "pramana.release, in memory", "pramana.release, within 2 GiB"
    recipe = _prepared(rows, folder)
    cases = tuple(
        _case(name, CALL, rows, recipe, folder, bound) for name, bound in ((whole, 0), (streamed, MEMORY))
    )
    title = f"Release {rows:,} rows x 7 columns Parquet, in memory and in batches"
    return [Comparison(title, "rows", whole, cases, (Goal(streamed, whole, 1 / 1.3),))]


def sizes(most: int, folder: Path) -> Comparison:
    """The batch engine at a hundredth, a tenth and the whole of `most` rows.

    A machine that others share is now quicker, now slower: a short run meets one of its moments, a long one all.
    So the short ones are the median of several.
    """
    cases, warm = [], _prepared(1_000, folder)
    for rows, times in ((most // 100, 9), (most // 10, 3), (most, 1)):
        recipe = _prepared(rows, folder)
        cases.append(_case(f"{rows:,} rows", ENGINE, rows, recipe, folder, MEMORY, warm, times=times))
    first, last = cases[0].name, cases[-1].name
    goals = tuple(Goal(a, b, 1 / 1.15) for a, b in ((last, first), (first, last)))
    return Comparison("Batch engine, time per row at three sizes", "rows", first, tuple(cases), goals)


def _prepared(rows: int, folder: Path) -> Path:
    table, recipe = folder / f"census-{rows}.parquet", folder / f"census-{rows}.toml"
    if not recipe.exists():
        people = census(min(rows, 10_000_000), seed=1)
        people.write_parquet(table)
        if rows > 10_000_000:
            _repeated(table, rows)
        people.write_recipe(recipe, source=table, k=100)
    return recipe


def _repeated(table: Path, rows: int) -> None:
    """The same people again and again until there are enough: only the number matters here."""
    import pyarrow.parquet as pq

    few = table.rename(table.with_suffix(".few"))
    source = pq.ParquetFile(few)
    with pq.ParquetWriter(table, source.schema_arrow) as writer:
        written = 0
        while written < rows:
            for batch in source.iter_batches(1 << 20):
                piece = batch.slice(0, min(batch.num_rows, rows - written))
                writer.write_batch(piece)
                written += piece.num_rows
                if written == rows:
                    break
    few.unlink()


def _case(
    name: str, script: str, rows: int, recipe: Path, folder: Path, memory: int, *more: Path, times: int = 1
) -> Case:
    out = folder / "bundle"

    def once() -> Sample:
        shutil.rmtree(out, ignore_errors=True)
        warm = out.with_name("bundle.warm")
        shutil.rmtree(warm, ignore_errors=True)
        found = child([sys.executable, "-c", script, recipe, out, str(memory), *more], True)
        shutil.rmtree(out, ignore_errors=True)
        return found

    def run() -> Sample:
        found = sorted((once() for _ in range(times)), key=lambda sample: sample.seconds)
        return found[times // 2]

    return Case(name, rows, run)
