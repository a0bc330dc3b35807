"""A release on a Spark standalone cluster: from one worker to two, what only the driver does, and three sizes.

    python -m benchmarks.cluster [--sizes N,N,N] [--rounds N] [--ways WAY,WAY] [--no-slowed] [--into FOLDER]

A worker has one core. Both clusters run at once, encrypted, each machine in a network namespace of its own; they
take turns, and the one that waits does nothing. The smallest size warms up. Tables are the generated census, seven
columns of texts, Parquet in and out.

- Rows a second and core: rows, over seconds times workers.
- Cores busy: processor seconds of driver and workers, over those that the machine has. Near 100% two workers are
  as fast as the machine lets them be, and their seconds say nothing of what a third core would bring.
- Nobody works: seconds in which no task runs anywhere (from the event log): planning, the driver's own work,
  waiting. More workers do not shorten them.
- Not halved: what two workers leave of one worker's time if they halve the rest (Amdahl), 2 T2 - T1 over T1. It is
  the sum of two. Waiting: how much longer workers are without a task where there are two of them, because the
  driver works or one is done before the other, over T1. Slower tasks: how much longer the same tasks take beside
  each other and the driver on two cores, over T1; more cores would take that away.
- The serial part is what more workers on as many cores do not shorten: waiting, or the seconds in which nobody
  works while there are two of them, over T1, whichever is larger. With one worker nobody works in each pause
  between two of its tasks as well. More workers share those, so they are told apart, as a worker's pauses.
- Of one file the driver writes all rows: its processor seconds are a bound that no number of workers gets below.
- Slowed workers: driver and two workers do not fit on two cores. So each worker gets a share of a core, which
  leaves the driver one of its own, and one worker and two take turns again. The gain is the time of one over the
  time of two within a round, 2 at best.
- Driver: processor seconds of the driver, Python and Java.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.cluster.scenes import KEY
from tests.cluster.standalone import Cluster, Driver, cluster, driver, tree

from benchmarks import tables
from benchmarks.__main__ import RESULTS
from benchmarks.billion import generate
from benchmarks.lines import line_through
from benchmarks.quotas import NoQuotasError, share_of_core
from pramana import Recipe
from pramana.datasets.census import census
from pramana.errors import PramanaError

WAYS = ("one file", "many files", "a DataFrame")
BUCKET = 1 << 25  # as the product has it
ROW_GROUP = 1 << 18
PART_ROWS = 1 << 22  # as the product has them, unless a table is small
SLOW = 0.4  # of a core, for a worker that leaves the driver one
GOALS = {"serial part": 0.02, "DataFrame": 1.3, "the line": 0.15}
_TICKS = 100
_BUSY = ("Executor Deserialize Time", "Executor Run Time", "Result Serialization Time")


@dataclass(frozen=True)
class Run:
    """One release on a cluster."""

    workers: int
    way: str
    rows: int
    seconds: float
    idle: float  # seconds in which no task runs
    waits: float  # of all workers, seconds without a task
    driver: float  # processor seconds
    executors: float
    share: float = 1.0  # of a core, for each worker


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
        generate(self.folder / f"people-{rows}.parquet", rows, ROW_GROUP)
        part_rows = max(min(rows // 8, PART_ROWS), 1000)  # some parts for every core
        for way, output in (
            ("one file", 'files = "one"'),
            ("many files", f'files = "many"\npart_rows = {part_rows}'),
        ):
            recipe = self.folder / self.recipe(way, rows)
            census(1, seed=1).write_recipe(recipe, source=f"people-{rows}.parquet", k=20)
            recipe.write_text(recipe.read_text().replace("[output]\n", f"[output]\n{output}\n"))

    def recipe(self, way: str, rows: int) -> str:
        return f"{'many' if way == 'many files' else 'one'}-{rows}.toml"


@dataclass
class Bench:
    """A cluster with its driver."""

    machines: Cluster
    driver: Driver
    workers: int

    def run(self, desk: Desk, way: str, rows: int, share: float = 1.0) -> Run:
        out = desk.folder / f"out-{time.monotonic_ns()}"
        frame = {"frame": f"people-{rows}.parquet"} if way == "a DataFrame" else {}
        before, began = self._processors(), time.time()
        self.driver.order(
            do="release", recipe=desk.recipe(way, rows), out=out.name, pieces=None, bucket=BUCKET, **frame
        )
        seconds = self.driver.answer()["seconds"]
        assert isinstance(seconds, float)
        after = self._processors()
        idle, tasks = task_seconds(self.machines.folder / "events", began, seconds)
        used = [sum(more(then, now)) for then, now in zip(before, after, strict=True)]
        shutil.rmtree(out)
        waits = self.workers * seconds - tasks
        told = f"{seconds:.1f} s, nobody works {idle:.2f} s, all waiting {waits:.2f} s"
        _say(f"  {self.workers} workers, {way}, {rows:,} rows: {told}")
        return Run(self.workers, way, rows, seconds, idle, waits, used[0], used[1], share)

    def _workers(self) -> list[int]:
        return [p.pid for name, p in self.machines.processes.items() if name != "master"]

    def _processors(self) -> tuple[dict[int, float], dict[int, float]]:
        return own_seconds([self.driver.process.pid]), own_seconds(self._workers())

    @contextlib.contextmanager
    def slowed(self, share: float) -> Iterator[None]:
        """Each worker, with its executor and what that has started, gets a share of a core."""
        with contextlib.ExitStack() as stack:
            for worker in self._workers():
                stack.enter_context(share_of_core(tree(worker), share))
            yield


def processor(roots: list[int]) -> float:
    """Processor seconds of processes and all below them, those that have ended too."""
    ticks = 0
    for pid in (pid for root in roots for pid in tree(root)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def own_seconds(roots: list[int]) -> dict[int, float]:
    """Processor seconds of processes and all below them, each by itself."""
    seconds = {}
    for pid in (pid for root in roots for pid in tree(root)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            seconds[pid] = sum(map(int, fields[11:13])) / _TICKS
    return seconds


def more(before: dict[int, float], after: dict[int, float]) -> Iterator[float]:
    """What each took in between. Spark ends workers that were idle for a minute: those took nothing."""
    return (seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def task_seconds(events: Path, began: float, seconds: float) -> tuple[float, float]:
    """Of this time the seconds in which no task runs, and the seconds of all tasks.

    A task ends when its worker can take another one, not when the driver has fetched what it made.
    """
    spans = []
    for path in events.rglob("*app*"):
        for line in path.read_text("utf-8").splitlines():
            if '"SparkListenerTaskEnd"' in line:
                told = json.loads(line)
                start = told["Task Info"]["Launch Time"] / 1000
                stop = start + sum(told["Task Metrics"][name] for name in _BUSY) / 1000
                spans.append((max(start, began), min(stop, began + seconds)))
    worked, until = 0.0, began
    for start, stop in sorted(span for span in spans if span[0] < span[1]):
        worked += max(stop - max(start, until), 0.0)
        until = max(until, stop)
    return seconds - worked, sum(max(stop - start, 0.0) for start, stop in spans)


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


def measured(sizes: list[int], rounds: int, chosen: Sequence[str], slowed: bool) -> tuple[list[Run], str]:
    """All runs, and why none was slowed where none was."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        desk = Desk(folder / "desk")
        desk.folder.mkdir()
        ways = [way for way in desk.prepare(sizes) if way in chosen]
        runs: list[Run] = []
        with benches(folder) as pair:
            for way in ways:
                _say(f"warming up: {way}")
                for bench in pair:
                    bench.run(desk, way, sizes[0])
            for turn in range(rounds):
                for way in ways:
                    _say(f"round {turn + 1} of {rounds}: {way}")
                    for bench in pair:
                        own = sizes if bench.workers == 2 else sizes[-1:]
                        runs += [bench.run(desk, way, rows) for rows in own]
            if not slowed:
                return runs, "it was not asked for"
            why = ""
            try:
                with contextlib.ExitStack() as stack:
                    for bench in pair:
                        stack.enter_context(bench.slowed(SLOW))
                    for turn in range(rounds):
                        for way in ways:
                            _say(f"slowed, round {turn + 1} of {rounds}: {way}")
                            runs += [bench.run(desk, way, sizes[-2], SLOW) for bench in pair]
            except NoQuotasError as told:
                why = str(told)
        return runs, why


# ---------------------------------------------------------------- what the runs tell


def summary(runs: list[Run]) -> dict[str, Any]:
    """For each way: rates, the serial part, and the line through the sizes; and the frame beside the file."""
    fast = [run for run in runs if run.share == 1]
    most = max(run.rows for run in fast)
    ways = {way: _of_way([run for run in fast if run.way == way], most) for way in WAYS if _has(fast, way)}
    for way, own in ways.items():
        slow = [run for run in runs if run.share < 1 and run.way == way]
        own["slowed"] = _slowed(slow) if slow else None
    file, frame = (_seconds(fast, 2, way, most) for way in ("one file", "a DataFrame"))
    ratios = [f / o for f, o in zip(frame, file, strict=False)]  # none where one of them was not asked for
    return {"rows": most, "ways": ways, "frame_to_file": statistics.median(ratios) if ratios else None}


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
    nobody = {n: statistics.median(run.idle for run in runs if run.workers == 2 and run.rows == n) for n in sizes}
    idle = {n: statistics.median(run.idle for run in alike[n]) for n in (1, 2)}
    halved = _not_halved(alike[1], alike[2])
    return {
        "workers": {
            str(n): {
                "seconds": times[n],
                "rows_per_second_and_core": most / times[n] / n,
                "cores_busy": statistics.median((run.driver + run.executors) / run.seconds for run in alike[n]),
                "idle_seconds": idle[n],
                "driver_processor_seconds": statistics.median(run.driver for run in alike[n]),
                "executors_processor_seconds": statistics.median(run.executors for run in alike[n]),
            }
            for n in (1, 2)
        },
        "serial_share": max(idle[2] / times[1], halved["waiting"]),
        "pauses_share": max(idle[1] - idle[2], 0.0) / times[1],
        **halved,
        "line": {"fixed": fixed, "per_row": slope},
        "sizes": [[n, t, (fixed + slope * n) / t - 1, nobody[n]] for n, t in points],
    }


def _not_halved(ones: list[Run], twos: list[Run]) -> dict[str, float]:
    """By medians, so that its parts are its sum but for rounds that differ."""
    (one, idle), (two, waits) = (
        (statistics.median(run.seconds for run in runs), statistics.median(run.waits for run in runs))
        for runs in (ones, twos)
    )
    whole, waiting = 2 * two / one - 1, (waits - idle) / one
    return {"not_halved": whole, "waiting": waiting, "slower_tasks": whole - waiting}


def _slowed(runs: list[Run]) -> dict[str, Any]:
    ones, twos = ([run for run in runs if run.workers == n] for n in (1, 2))
    return {
        "rows": runs[0].rows,
        "share": runs[0].share,
        "seconds": [statistics.median(run.seconds for run in own) for own in (ones, twos)],
        "gains": [one.seconds / two.seconds for one, two in zip(ones, twos, strict=True)],
        **_not_halved(ones, twos),
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
        "| way | workers | seconds | rows/s and core | cores busy | nobody works | driver CPU | executors CPU |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for way, own in found["ways"].items():
        for n, one in own["workers"].items():
            lines.append(
                f"| {way} | {n} | {one['seconds']:.2f} | {one['rows_per_second_and_core']:,.0f} | "
                f"{one['cores_busy'] / host['cores']:.0%} | {one['idle_seconds']:.2f} s | "
                f"{one['driver_processor_seconds']:.1f} s | {one['executors_processor_seconds']:.1f} s |"
            )
    lines.append("")
    for way, own in found["ways"].items():
        lines.append(
            f"- {way}: serial part {own['serial_share']:.1%} ({_judged(own['serial_share'])}); "
            f"a worker's pauses {own['pauses_share']:.1%}; not halved {_in_parts(own)}."
        )
    if (ratio := found["frame_to_file"]) is not None:
        met = "met" if ratio <= GOALS["DataFrame"] else "not met"
        lines.append(f"- A DataFrame takes {ratio:.2f} times as long as a file (goal: at most 1.3, {met}).")
    lines += ["", "## Slowed workers", "", *_slow_lines(found["ways"], run["why_none_slowed"])]
    lines += ["", "## Three sizes, two workers", ""]
    lines += ["| way | rows | seconds | the line | nobody works |", "|---|---:|---:|---:|---:|"]
    for way, own in found["ways"].items():
        fixed, slope = own["line"]["fixed"], own["line"]["per_row"]
        for n, t, off, nobody in own["sizes"]:
            lines.append(f"| {way} | {n:,} | {t:.2f} | {fixed + slope * n:.2f} ({off:+.0%}) | {nobody:.2f} s |")
    lines.append("")
    for way, own in found["ways"].items():
        line = own["line"]
        lines.append(f"- {way}: {line['fixed']:.2f} s and {line['per_row'] * 1e6:.3f} s a million rows.")
    return "\n".join(lines) + "\n"


def _slow_lines(ways: dict[str, Any], why_none: str) -> list[str]:
    slowed = {way: own["slowed"] for way, own in ways.items() if own["slowed"] is not None}
    if not slowed:
        return [f"None was slowed: {why_none}."]
    one = next(iter(slowed.values()))
    lines = [
        f"{one['rows']:,} rows, {one['share']:.0%} of a core for each worker.",
        "",
        "| way | one worker | two | gain, round by round | not halved |",
        "|---|---:|---:|---|---:|",
    ]
    for way, own in slowed.items():
        t1, t2 = own["seconds"]
        gains = ", ".join(f"{gain:.2f}x" for gain in own["gains"])
        lines.append(f"| {way} | {t1:.2f} s | {t2:.2f} s | {gains} | {_in_parts(own)} |")
    return lines


def _in_parts(own: dict[str, float]) -> str:
    waiting, slower = own["waiting"], own["slower_tasks"]
    return f"{own['not_halved']:.1%} (waiting {waiting:.1%}, slower tasks {slower:.1%})"


def _judged(share: float) -> str:
    return f"goal: below 2%, {'met' if share < GOALS['serial part'] else 'not met'}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--sizes", default="10000000,30000000,100000000", help="rows, the smallest first")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--slowed", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of: " + ", ".join(WAYS))
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    ways = options.ways.split(",")
    if unknown := sorted(set(ways) - set(WAYS)):
        parser.error(f"--ways must name some of {', '.join(WAYS)}, got {', '.join(unknown)}")
    sizes = sorted(map(int, options.sizes.split(",")))
    run: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.cluster", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
        "versions": tables.versions(),
        "rounds": options.rounds,
    }
    runs, why_none = measured(sizes, options.rounds, ways, options.slowed)
    run |= {"summary": summary(runs), "why_none_slowed": why_none, "runs": [asdict(one) for one in runs]}
    options.into.mkdir(parents=True, exist_ok=True)
    (options.into / "cluster.json").write_text(json.dumps(run, indent=1) + "\n")
    page = markdown(run)
    (options.into / "cluster.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
