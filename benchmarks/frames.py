"""A release on Spark from a DataFrame beside the same release from files, in processor seconds.

    python -m benchmarks.frames [--rows N] [--rounds N] [--into FOLDER]

Processor seconds are those of Python and Java and all their processes, so that others on the machine matter less.
The table is the generated census, seven columns of texts in Parquet. One DataFrame is what `spark.read.parquet`
gives, the other joins it with a table of two rows that Spark broadcasts. Spark evaluates either once, and its rows
cross to Python by Arrow. What the rows of the joined one cost alone is told three ways: Spark makes and drops them
(its noop format), a function in Python gets and drops them, and Spark writes them to Parquet. Where speed matters
one has Spark write them and releases the files: what the release of the DataFrame takes beside these two is told
as well. All ways take turns in one session; the first round warms up and is dropped; ratios are taken round by
round.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks import tables
from benchmarks.__main__ import RESULTS
from benchmarks.cluster import processor
from pramana import Key, Recipe, SparkEngine, release
from pramana.datasets.census import census
from pramana.methods.recipe import AnyRecipe
from pramana.rows.spark.session import quiet, session

MASTER = "local[2]"
DOMAINS = ("stated", "from the data")
FRAMES = ("a DataFrame of files", "a joined DataFrame")
ALONE = ("the joined rows, dropped by Spark", "dropped by Python", "written to Parquet by Spark")
Seconds = dict[str, dict[str, list[float]]]  # by domains and source


def measured(rows: int, rounds: int) -> Seconds:
    with tempfile.TemporaryDirectory() as place, session(MASTER, {"spark.driver.memory": "4g"}) as spark:
        folder = Path(place)
        recipes = _recipes(rows, folder)
        frame = spark.read.parquet(str(folder / "people.parquet"))
        both = spark.createDataFrame([("female",), ("male",)], "sex string")
        joined = frame.join(both.hint("broadcast"), "sex")
        frames = dict(zip(FRAMES, (frame, joined), strict=True))
        ways: dict[tuple[str, str], Callable[[], None]] = {}
        for domains, recipe in recipes.items():
            ways[domains, "files"] = partial(_release, recipe, folder / "out")
            for name, data in frames.items():
                ways[domains, name] = partial(_release, recipe, folder / "out", data=data)
        noop = joined.write.format("noop").mode("overwrite")
        written = joined.write.mode("overwrite")
        alone = (noop.save, partial(_drop, joined), partial(written.parquet, str(folder / "written")))
        ways |= {(DOMAINS[0], name): work for name, work in zip(ALONE, alone, strict=True)}
        seconds: Seconds = {domains: {name: [] for name in ("files", *FRAMES)} for domains in DOMAINS}
        seconds[DOMAINS[0]] |= {name: [] for name in ALONE}
        for turn in range(rounds + 1):
            for (domains, source), work in ways.items():
                before = processor([os.getpid()])
                work()
                used = processor([os.getpid()]) - before
                print(f"round {turn}: {domains}, {source}: {used:.2f} s", file=sys.stderr, flush=True)
                if turn:
                    seconds[domains][source].append(used)
        return seconds


def _recipes(rows: int, folder: Path) -> dict[str, AnyRecipe]:
    people = census(rows, seed=7)
    people.write_parquet(folder / "people.parquet")
    people.write_recipe(folder / "stated.toml", source=folder / "people.parquet", k=20)
    text = (folder / "stated.toml").read_text("utf-8")
    unstated = re.sub(r"^domain = .*$", 'domain = "from-data"', text, flags=re.MULTILINE)
    (folder / "from-data.toml").write_text(unstated, "utf-8")
    names = ("stated.toml", "from-data.toml")
    return {domains: Recipe.read(folder / name) for domains, name in zip(DOMAINS, names, strict=True)}


def _release(recipe: AnyRecipe, out: Path, **options: Any) -> None:
    release(recipe, out, key=Key.from_seed(1), even_if_useless=True, engine=SparkEngine(), **options)
    shutil.rmtree(out)


def _drop(frame: Any) -> None:
    def dropped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pydict({"rows": [rows]})

    with quiet():
        frame.mapInArrow(dropped, "rows long").collect()


def ratios(of: dict[str, list[float]], frame: str) -> list[float]:
    """How many times the seconds of files a frame takes, round by round."""
    return [ours / file for ours, file in zip(of[frame], of["files"], strict=True)]


def way_around(seconds: Seconds, domains: str) -> float:
    """How many times what it takes to write the joined rows and to release these files their release takes."""
    written, of = seconds[DOMAINS[0]][ALONE[-1]], seconds[domains]
    turns = zip(of[FRAMES[-1]], of["files"], written, strict=True)
    return statistics.median(joined / (files + writing) for joined, files, writing in turns)


def markdown(run: dict[str, Any]) -> str:
    host = run["machine"]
    lines = [
        "# A DataFrame beside files",
        "",
        f"    {run['command']}",
        "",
        f"{run['when']}, {host['processor']}, {host['cores']} cores, load before {host['load_before'][0]}. "
        f"{run['rows']:,} rows x 7 columns, Spark {MASTER}, medians of {run['rounds']} rounds; "
        "`benchmarks/frames.py` says what the figures mean.",
        "",
        "| domains | source | files, processor s | it, processor s | ratio | lowest | highest |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for domains, of in run["seconds"].items():
        for frame in FRAMES:
            file, own, found = statistics.median(of["files"]), statistics.median(of[frame]), ratios(of, frame)
            ratio = statistics.median(found)
            span = f"{min(found):.2f} | {max(found):.2f}"
            lines.append(f"| {domains} | {frame} | {file:.2f} | {own:.2f} | {ratio:.2f} | {span} |")
    alone = [f"{name} {statistics.median(run['seconds'][DOMAINS[0]][name]):.2f} s" for name in ALONE]
    words = ", ".join(alone)
    around = [f"{way_around(run['seconds'], domains):.2f} times, domains {domains}" for domains in DOMAINS]
    lines += ["", f"- {words[0].upper()}{words[1:]}."]
    lines.append(
        f"- Beside writing these rows to Parquet and releasing the files, their release takes {', '.join(around)}."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.frames", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    run: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.frames", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
        "versions": tables.versions(),
        "rows": options.rows,
        "rounds": options.rounds,
    }
    run["seconds"] = measured(options.rows, options.rounds)
    options.into.mkdir(parents=True, exist_ok=True)
    (options.into / "frames.json").write_text(json.dumps(run, indent=1) + "\n")
    page = markdown(run)
    (options.into / "frames.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
