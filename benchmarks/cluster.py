"""A release on a Spark standalone cluster: from one worker to two, what only the driver does, and three sizes.

    python -m benchmarks.cluster [--sizes N,N,N] [--rounds N] [--into FOLDER]

A worker has one core. Both clusters run at once, encrypted, each machine in a network namespace of its own; they
take turns, and the one that waits does nothing. The driver is a third process on the same machine: where it has no
more cores than workers, it takes from them. The first round warms up and is dropped. Tables are the generated
census, seven columns of texts, Parquet in and out.

- Rows a second and core: rows, over seconds times workers.
- Nobody works: the share of the time in which no task runs anywhere (from the event log): planning, the driver's
  own work, waiting. More workers do not shorten it.
- Serial: what is left of one worker's time if two workers halve the rest (Amdahl), 2 T2 - T1, or the time in which
  nobody works with two workers, whichever is more, over T1.
- Driver: processor seconds of the driver, Python and Java.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.cluster.scenes import KEY
from tests.cluster.standalone import Cluster, Driver, cluster, driver, tree

from benchmarks import tables
from benchmarks.__main__ import RESULTS
from benchmarks.lines import line_through
from pramana import Recipe
from pramana.datasets import census
from pramana.errors import PramanaError

WAYS = ("one file", "many files", "a DataFrame")
BUCKET = 1 << 25  # as the product has it
ROW_GROUP = 1 << 18
GOALS = {"serial part": 0.02, "DataFrame": 1.3, "the line": 0.15}
_TICKS = 100


@dataclass(frozen=True)
class Run:
    """One release on a cluster."""

    workers: int
    way: str
    rows: int
    seconds: float
    idle: float  # seconds in which no task runs
    driver: float  # processor seconds
    executors: float


@dataclass(frozen=True)
class Desk:
    """Tables and recipes of several sizes, and the ways in which this version can release them."""

    folder: Path

    def prepare(self, sizes: list[int]) -> list[str]:
        KEY.write(self.folder / "people.key")
        for rows in sizes:
            self._table(rows)
        try:
            Recipe.read(self.folder / self.recipe("many files", sizes[0]))
        except PramanaError:
            return [way for way in WAYS if way != "many files"]  # of a version that writes one
        return list(WAYS)

    def _table(self, rows: int) -> None:
        people, whole = census(rows, seed=7), self.folder / "whole.parquet"
        people.write_parquet(whole)
        pq.write_table(pq.read_table(whole), self.folder / f"people-{rows}.parquet", row_group_size=ROW_GROUP)
        whole.unlink()
        for way, files in (("one file", "one"), ("many files", "many")):
            recipe = self.folder / self.recipe(way, rows)
            people.write_recipe(recipe, source=f"people-{rows}.parquet", k=20)
            text = recipe.read_text().replace("[output]\n", f'[output]\nfiles = "{files}"\n')
            if files == "many":  # some parts for every core
                recipe.write_text(text.replace("[output]\n", f"[output]\npart_rows = {max(rows // 8, 1000)}\n"))

    def recipe(self, way: str, rows: int) -> str:
        return f"{'many' if way == 'many files' else 'one'}-{rows}.toml"


@dataclass
class Bench:
    """A cluster with its driver."""

    machines: Cluster
    driver: Driver
    workers: int

    def run(self, desk: Desk, way: str, rows: int) -> Run:
        out = desk.folder / f"out-{time.monotonic_ns()}"
        frame = {"frame": f"people-{rows}.parquet"} if way == "a DataFrame" else {}
        before, began = self._processors(), time.time()
        self.driver.order(
            do="release", recipe=desk.recipe(way, rows), out=out.name, pieces=None, bucket=BUCKET, **frame
        )
        seconds = self.driver.answer()["seconds"]
        assert isinstance(seconds, float)
        after = self._processors()
        idle = _idle(self.machines.folder / "events", began, seconds)
        used = [now - then for now, then in zip(after, before, strict=True)]
        return Run(self.workers, way, rows, seconds, idle, *used)

    def _processors(self) -> tuple[float, float]:
        workers = [p.pid for name, p in self.machines.processes.items() if name != "master"]
        return processor([self.driver.process.pid]), processor(workers)


def processor(roots: list[int]) -> float:
    """Processor seconds of processes and all below them, those that have ended too."""
    ticks = 0
    for pid in (pid for root in roots for pid in tree(root)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def _idle(events: Path, began: float, seconds: float) -> float:
    """Of this time the seconds in which no task runs."""
    busy = []
    for path in events.rglob("*app*"):
        for line in path.read_text("utf-8").splitlines():
            if '"SparkListenerTaskEnd"' in line:
                info = json.loads(line)["Task Info"]
                busy.append((info["Launch Time"] / 1000, info["Finish Time"] / 1000))
    worked, until = 0.0, began
    for start, stop in sorted(busy):
        start, stop = max(start, until), min(stop, began + seconds)
        worked += max(stop - start, 0.0)
        until = max(until, stop)
    return seconds - worked


@contextlib.contextmanager
def benches(folder: Path) -> Iterator[list[Bench]]:
    settings = {
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
    }
    with contextlib.ExitStack() as stack:
        made = []
        for workers in (1, 2):
            at = folder / f"with-{workers}"
            machines = stack.enter_context(cluster(at, settings, workers=workers, java="", memory="1g"))
            drives = stack.enter_context(driver(machines, folder / "desk"))
            made.append(Bench(machines, drives, workers))
        yield made


def measured(sizes: list[int], rounds: int) -> list[Run]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        desk = Desk(folder / "desk")
        desk.folder.mkdir()
        ways = desk.prepare(sizes)
        runs = []
        with benches(folder) as pair:
            for turn in range(rounds + 1):
                _say(f"round {turn} of {rounds}")
                for way in ways:
                    for bench in pair:
                        for rows in sizes if bench.workers == 2 else sizes[-1:]:
                            run = bench.run(desk, way, rows)
                            _say(f"  {run.workers} workers, {way}, {rows:,} rows: {run.seconds:.1f} s")
                            if turn:
                                runs.append(run)
        return runs


# ---------------------------------------------------------------- what the runs tell


def summary(runs: list[Run]) -> dict[str, Any]:
    """For each way: rates, the serial part, and the line through the sizes; and the frame beside the file."""
    most = max(run.rows for run in runs)
    ways = {way: _of_way([run for run in runs if run.way == way], most) for way in WAYS if _has(runs, way)}
    file, frame = (_seconds(runs, 2, way, most) for way in ("one file", "a DataFrame"))
    ratios = [f / o for f, o in zip(frame, file, strict=True)]
    return {"rows": most, "ways": ways, "frame_to_file": statistics.median(ratios)}


def _has(runs: list[Run], way: str) -> bool:
    return any(run.way == way for run in runs)


def _seconds(runs: list[Run], workers: int, way: str, rows: int) -> list[float]:
    return [run.seconds for run in runs if (run.workers, run.way, run.rows) == (workers, way, rows)]


def _of_way(runs: list[Run], most: int) -> dict[str, Any]:
    alike = {n: [run for run in runs if run.workers == n and run.rows == most] for n in (1, 2)}
    times = {n: statistics.median(run.seconds for run in alike[n]) for n in (1, 2)}
    sizes = sorted({run.rows for run in runs if run.workers == 2})
    points = [(n, statistics.median(_seconds(runs, 2, runs[0].way, n))) for n in sizes]
    fixed, slope = line_through(points)
    return {
        "workers": {
            str(n): {
                "seconds": times[n],
                "rows_per_second_and_core": most / times[n] / n,
                "idle_share": statistics.median(run.idle / run.seconds for run in alike[n]),
                "driver_processor_seconds": statistics.median(run.driver for run in alike[n]),
                "executors_processor_seconds": statistics.median(run.executors for run in alike[n]),
            }
            for n in (1, 2)
        },
        "serial_share": max(2 * times[2] - times[1], statistics.median(run.idle for run in alike[2])) / times[1],
        "line": {"fixed": fixed, "per_row": slope},
        "sizes": [[n, t, (fixed + slope * n) / t - 1] for n, t in points],
    }


def markdown(run: dict[str, Any]) -> str:
    found, host = run["summary"], run["machine"]
    lines = [
        "# A Spark standalone cluster",
        "",
        f"    {run['command']}",
        "",
        f"{run['when']}, {host['processor']}, {host['cores']} cores, load before {host['load_before'][0]}. "
        f"Medians of {run['rounds']} rounds; `benchmarks/cluster.py` says what each figure means.",
        "",
        f"## From one worker to two, {found['rows']:,} rows",
        "",
        "| way | workers | seconds | rows a second and core | nobody works | driver CPU s | executors CPU s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for way, own in found["ways"].items():
        for n, one in own["workers"].items():
            lines.append(
                f"| {way} | {n} | {one['seconds']:.2f} | {one['rows_per_second_and_core']:,.0f} | "
                f"{one['idle_share']:.1%} | {one['driver_processor_seconds']:.1f} | "
                f"{one['executors_processor_seconds']:.1f} |"
            )
    lines.append("")
    for way, own in found["ways"].items():
        met = "met" if own["serial_share"] < GOALS["serial part"] else "not met"
        lines.append(f"- {way}: serial part {own['serial_share']:.1%} (goal: below 2%, {met}).")
    ratio = found["frame_to_file"]
    met = "met" if ratio <= GOALS["DataFrame"] else "not met"
    lines.append(f"- A DataFrame takes {ratio:.2f} times as long as a file (goal: at most 1.3, {met}).")
    lines += ["", "## Three sizes, two workers", "", "| way | rows | seconds | the line |", "|---|---:|---:|---:|"]
    for way, own in found["ways"].items():
        fixed, slope = own["line"]["fixed"], own["line"]["per_row"]
        for n, t, off in own["sizes"]:
            lines.append(f"| {way} | {n:,} | {t:.2f} | {fixed + slope * n:.2f} ({off:+.0%}) |")
    lines.append("")
    for way, own in found["ways"].items():
        line = own["line"]
        lines.append(f"- {way}: {line['fixed']:.2f} s and {line['per_row'] * 1e6:.3f} s a million rows.")
    return "\n".join(lines) + "\n"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--sizes", default="1000000,3000000,10000000", help="rows, the smallest first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    sizes = sorted(map(int, options.sizes.split(",")))
    run: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.cluster", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
        "versions": tables.versions(),
        "rounds": options.rounds,
    }
    runs = measured(sizes, options.rounds)
    run |= {"summary": summary(runs), "runs": [asdict(one) for one in runs]}
    options.into.mkdir(parents=True, exist_ok=True)
    (options.into / "cluster.json").write_text(json.dumps(run, indent=1) + "\n")
    page = markdown(run)
    (options.into / "cluster.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
