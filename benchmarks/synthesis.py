"""Estimates and synthetic records at size: time and memory, each part in a process of its own.

    python -m benchmarks.synthesis [--records 10000000] [--only em,records,cells]

A table of ten million cells over seven attributes, by inversion and by maximum likelihood to its stopping rule;
ten million records drawn from a randomised bundle and from a generalised one. Results go to
benchmarks/results/synthesis.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine
from pramana.datasets.census import census
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Product
from pramana.randomness.key import Key
from pramana.recipient.inversion import invert
from pramana.recipient.law import PublishedTable, tabulate
from pramana.recipient.likelihood import fit
from pramana.rows.engines import LocalEngine
from pramana.schema.domain import Axis

RESULTS = Path(__file__).parent / "results" / "synthesis.md"
_VALUES, _ATTRIBUTES, _PUBLISHED = 10, 7, 2_000_000


def published_table() -> PublishedTable:
    """Seven attributes of ten values that hang together in a chain, each kept with probability 0.6."""
    draw = np.random.default_rng(1)
    weights = np.geomspace(1, 0.05, _VALUES)
    weights /= weights.sum()
    columns = [draw.choice(_VALUES, _PUBLISHED, p=weights)]
    while len(columns) < _ATTRIBUTES:
        fresh = draw.choice(_VALUES, _PUBLISHED, p=weights)
        columns.append(np.where(draw.random(_PUBLISHED) < 0.6, columns[-1], fresh))
    axes = [Axis(f"a{i}", tuple(map(str, range(_VALUES)))) for i in range(_ATTRIBUTES)]
    law = Product({axis.name: Retention.at(0.6, _VALUES) for axis in axes})
    true = {axis.name: column.astype(np.uint8) for axis, column in zip(axes, columns, strict=True)}
    return tabulate(LocalEngine().publish(law, Key.from_seed(1), "benchmark", true), axes, law)


def inversion(records: int) -> dict[str, Any]:
    del records
    table = published_table()
    seconds = timed(lambda: invert(table))
    return {"work": f"{table.counts.size:,} cells, estimates with intervals", "seconds": seconds}


def likelihood(records: int) -> dict[str, Any]:
    del records
    table = published_table()
    found = []
    seconds = timed(lambda: found.append(fit(table)))
    done = found[0]
    words = (
        f"{table.counts.size:,} cells, {done.rounds} rounds, within {done.gap:,.0f} of the greatest log-likelihood"
    )
    return {"work": words + ("" if done.converged else "; NOT converged"), "seconds": seconds}


def modelled(records: int) -> dict[str, Any]:
    recipe = {"release": {"k": 2}, "attributes": {}}
    return _drawn(recipe, {"role": "quasi-identifying"}, records, "a randomised census")


def from_cells(records: int) -> dict[str, Any]:
    recipe = {"release": {"method": "generalize", "algorithm": "mondrian", "k": 10}, "attributes": {}}
    return _drawn(recipe, {"role": "quasi-identifying"}, records, "a generalised census")


def _drawn(recipe: dict[str, Any], role: dict[str, str], records: int, what: str) -> dict[str, Any]:
    from pramana import Recipe, release, synthesise

    people = census(1_000_000, seed=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people.write_parquet(folder / "people.parquet")
        recipe["source"] = {"path": str(folder / "people.parquet")}
        recipe["attributes"] = {n: {**role, "domain": list(people.domain(n))} for n in people.names}
        release(Recipe.parse(recipe, folder), folder / "bundle", seed=1)
        before = peak()
        done = []
        seconds = timed(
            lambda: done.append(synthesise(folder / "bundle", folder / "drawn.parquet", records, unverified=True))
        )
        size = (folder / "drawn.parquet").stat().st_size
    work = f"{records:,} records of {len(people.names)} columns from {what} of {len(people):,} ({done[0].model})"
    return {"work": f"{work}, {size / 2**20:,.0f} MiB of Parquet", "seconds": seconds, "before": before}


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak() -> float:
    """MiB, the most that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "inverse": inversion,
    "em": likelihood,
    "records": modelled,
    "cells": from_cells,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--part", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.part is not None:
        print(json.dumps({**PARTS[options.part](options.records), "peak": peak()}))
        return
    lines = ["# Estimates and synthetic records at size", "", "    python -m benchmarks.synthesis", ""]
    lines += [", ".join(f"{name}: {value}" for name, value in machine().items()), ""]
    lines += ["| part | work | seconds | peak MiB |", "|---|---|---|---|"]
    for part in options.only.split(","):
        print(f"{part} ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "benchmarks.synthesis", "--part", part, "--records", str(options.records)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        memory = f"{found['peak']:,.0f}"
        if "before" in found:
            memory += f" ({found['before']:,.0f} after making the bundle)"
        lines.append(f"| {part} | {found['work']} | {found['seconds']:,.1f} | {memory} |")
        options.out.write_text("\n".join(lines) + "\n")
    print(options.out.read_text())


if __name__ == "__main__":
    main()
