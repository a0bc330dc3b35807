"""What a second thread gives, stage by stage of a release: time on the clock and of the processor, on one and two.

    python -m benchmarks.threads [--rows N] [--rounds N] [--into FOLDER]

Three lines say what the machine itself allows, with nothing of ours between: copying far more memory than any
cache holds, and enciphering a buffer that stays in the near cache, on threads and in processes of their own. Two
cores of a virtual machine may be two threads of one: then computing that is bound by the core gets little from the
second, and processes, which share no interpreter and no lock, get no more than threads do.

Sampling is shown in pieces of several lengths. A thread that comes back from a kernel waits for the interpreter's
lock while the other is between two kernels; the shorter the pieces, the oftener. The longest that still fit into a
core's own cache are what the product takes.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import tables
from benchmarks.sampling import a_matrix
from pramana.datasets.census import census
from pramana.io.codes import decode, encode
from pramana.io.writing import TableWriter
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.table import Product
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.digest import commitment_to
from pramana.rows.engines import CHUNK, LocalEngine
from pramana.schema.domain import Domain

RESULTS = Path(__file__).resolve().parent / "results"
KEY = Key.from_seed(1)
ENCIPHER = """
import sys, time
import numpy as np
from pramana.randomness.key import Key
stream, words = Key.from_seed(1).stream("a", "b", "c"), np.empty(1 << 15, np.uint64)
sys.stdin.readline()
start = time.perf_counter()
for place in range(int(sys.argv[1])):
    stream.fill(place, words)
print(time.perf_counter() - start)
"""
Work = Callable[[int], object]  # on so many threads


@dataclass(frozen=True)
class Cost:
    wall: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    run = {
        "command": " ".join(["python -m benchmarks.threads", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
        "versions": tables.versions(),
        "rows": options.rows,
        "stages": [measured(name, work, options.rounds) for name, work in stages(options.rows).items()],
    }
    (options.into / "threads.json").write_text(json.dumps(run, indent=1) + "\n", "utf-8")
    (options.into / "threads.md").write_text(page := markdown(run), "utf-8")
    print(page)


def measured(name: str, work: Work, rounds: int) -> dict[str, Any]:
    """One and two threads take turns; the ratio is taken within a round. The first round warms up."""
    print(name, file=sys.stderr, flush=True)
    costs: dict[int, list[Cost]] = {1: [], 2: []}
    for turn in range(rounds + 1):
        for threads in (1, 2):
            cost = _cost(work, threads)
            if turn:
                costs[threads].append(cost)
    gains = [one.wall / two.wall for one, two in zip(costs[1], costs[2], strict=True)]
    return {
        "name": name,
        "wall": {str(t): statistics.median(c.wall for c in costs[t]) for t in costs},
        "processor": {str(t): statistics.median(c.processor for c in costs[t]) for t in costs},
        "gain": statistics.median(gains),
        "gain_range": [min(gains), max(gains)],
    }


def _cost(work: Work, threads: int) -> Cost:
    def used() -> float:
        kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))

    start, before = time.perf_counter(), used()
    told = work(threads)
    wall = told if isinstance(told, float) else time.perf_counter() - start
    return Cost(wall, used() - before)


# ---------------------------------------------------------------- what is measured


def stages(rows: int) -> dict[str, Work]:
    people = census(rows, seed=1)
    domains = {name: Domain(tuple(people.domain(name)), "declared") for name in people.sizes}
    codes = {name: people.column(name) for name in people.sizes}
    table = people.to_arrow()
    law = Product({name: Retention.at(0.3, size) for name, size in people.sizes.items()})
    order = LocalEngine().order(KEY, "threads", rows)
    return {
        "the machine: copying memory": _copying(),
        "the machine: enciphering in the near cache, threads": _enciphering,
        "the machine: enciphering in the near cache, processes": _enciphering_apart,
        "encode: dictionaries to codes": _encoding(table, domains),
        "digest of the source": lambda threads: _digest(codes, threads),
        **{
            f"sample 7 columns, {chunk:,} rows at a time": _publishing(law, codes, chunk)
            for chunk in (1 << 14, 1 << 15, 1 << 16, CHUNK, 1 << 18)
        },
        **{f"sample, domain {size}": _sampling(Retention.at(0.3, size), rows) for size in (2, 18, 100, 1000)},
        "sample, dense matrix of 18": _sampling(a_matrix(18), rows),
        "order": lambda threads: LocalEngine(threads).order(KEY, "threads", rows),
        "rows into that order": lambda threads: LocalEngine(threads).reorder(codes, order),
        "write Parquet": _writing(codes, domains, "parquet"),
        "write CSV": _writing(codes, domains, "csv"),
    }


def _publishing(law: Product, codes: dict[str, Codes], chunk: int) -> Work:
    return lambda threads: LocalEngine(threads, chunk).publish(law, KEY, "threads", codes)


def _on(threads: int, work: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))


def _copying() -> Work:
    given, out = np.ones(1 << 28, np.uint8), np.empty(1 << 28, np.uint8)

    def work(threads: int) -> None:
        part = len(given) // threads
        _on(threads, lambda t: np.copyto(out[t * part : (t + 1) * part], given[t * part : (t + 1) * part]))

    return work


def _enciphering(threads: int) -> None:
    stream = KEY.stream("a", "b", "c")

    def work(_: int) -> None:
        words = np.empty(1 << 15, np.uint64)
        for place in range(2048 // threads):
            stream.fill(place, words)

    _on(threads, work)


def _enciphering_apart(processes: int) -> float:
    """The slowest of them, from when all are ready."""
    command = [sys.executable, "-c", ENCIPHER, str(2048 // processes)]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(processes)]
    time.sleep(1)  # until all wait for the line
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return max(float(process.communicate()[0]) for process in started)


def _encoding(table: pa.Table, domains: dict[str, Domain]) -> Work:
    def work(threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda name: encode(table.column(name), domains[name], name), domains))

    return work


def _digest(codes: dict[str, Codes], threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        commitment_to(codes, KEY, pool.map)


def _sampling(channel: Channel, rows: int) -> Work:
    codes = np.random.default_rng(2).integers(0, channel.size, rows).astype(code_dtype(channel.size))
    law = Product({"column": channel})
    return lambda threads: LocalEngine(threads).publish(law, KEY, "threads", {"column": codes})


def _writing(codes: dict[str, Codes], domains: dict[str, Domain], form: str) -> Work:
    columns = [decode(column, domains[name]) for name, column in codes.items()]
    fields = [pa.field(name, c.type, nullable=False) for name, c in zip(codes, columns, strict=True)]
    table = pa.table(columns, schema=pa.schema(fields))

    def work(threads: int) -> None:
        with tempfile.TemporaryFile() as file, TableWriter(file, form, table.schema, workers=threads) as writer:
            writer.write(table)

    return work


def markdown(run: dict[str, Any]) -> str:
    lines = [
        "# Threads",
        "",
        *tables.circumstances(run),
        "",
        f"{run['rows']:,} rows. Medians over rounds in which one and two threads take turns; *gain*: the time on "
        "one over the time on two, within a round (median, smallest to largest). Processor seconds that grow with "
        "the second thread are its price: cores that share a cache, a memory bus, or each other.",
        "",
        "| stage | seconds, 1 thread | 2 threads | gain | processor, 1 thread | 2 threads |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for stage in run["stages"]:
        wall, processor, (low, high) = stage["wall"], stage["processor"], stage["gain_range"]
        gain = f"{stage['gain']:.2f}x ({low:.2f} to {high:.2f})"
        cells = [stage["name"], f"{wall['1']:.3f}", f"{wall['2']:.3f}", gain]
        lines.append(f"| {' | '.join(cells)} | {processor['1']:.3f} | {processor['2']:.3f} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
