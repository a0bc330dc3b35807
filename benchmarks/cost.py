"""The cost model of docs/guide/scale.md from the stored runs: lines through three sizes, and where they lead.

    python -m benchmarks.cost [--picture STEM]

Seconds = fixed + per_row x rows, fitted by least squares of the relative error, which is shown for each size. One
machine's are those of `python -m benchmarks run`, a cluster's those of `python -m benchmarks.cluster`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass

from benchmarks.__main__ import RESULTS
from benchmarks.lines import line_through

CORES = 2  # of the stored run
CODES, ENTRY = 7, 8  # bytes of a row's codes, and of its place in the shuffle


@dataclass(frozen=True)
class ClusterCost:
    """A way of releasing on a cluster: a fixed part, a core's seconds a row, and the driver's where it writes."""

    fixed: float
    core: float
    driver: float

    def seconds(self, rows: int, cores: int) -> float:
        """Executors and driver work at the same time; who is slower decides."""
        return self.fixed + rows * max(self.core / cores, self.driver)


def _cluster_ways() -> dict[str, ClusterCost]:
    """From the stored run. Of one file every row goes through the driver, of a set none does."""
    run = json.loads((RESULTS / "cluster.json").read_text("utf-8"))["summary"]
    print("\n| way | rows | measured | the line |\n|---|---:|---:|---:|")
    costs = {}
    for way, own in run["ways"].items():
        line, spent = own["line"], own["workers"]["2"]
        for n, t, off, _ in own["sizes"]:
            print(f"| {way} | {n:,} | {t:.2f} s | {line['fixed'] + line['per_row'] * n:.2f} s ({off:+.0%}) |")
        core, driver = (spent[f"{who}_processor_seconds"] / run["rows"] for who in ("executors", "driver"))
        told = f"a core of an executor {1 / core / 1e6:.2f}, the driver {1 / driver / 1e6:.0f} million rows/s"
        print(f"| {way}: {told} | | | |")
        costs[way] = ClusterCost(line["fixed"], core, 0.0 if way == "many files" else driver)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("--picture", help="write the fit as STEM.svg and STEM.png")
    options = parser.parse_args()
    run = json.loads((RESULTS / "latest.json").read_text("utf-8"))
    part = next(c for c in run["comparisons"] if c["title"].startswith("Batch engine"))
    points = [(row["work"], statistics.median(row["seconds"]), row["peak_mib"]) for row in part["rows"]]
    fixed, slope = line_through([(n, t) for n, t, _ in points])
    print("| rows | measured | the line | peak memory |\n|---:|---:|---:|---:|")
    for n, t, peak in points:
        line = fixed + slope * n
        print(f"| {n:,} | {t:.2f} s | {line:.2f} s ({line / t - 1:+.0%}) | {peak} MiB |")
    print(f"\nfixed {fixed:.3f} s, {slope * 1e6:.3f} s a million rows")
    print(f"\none core, batch engine: {1 / (CORES * slope) / 1e6:.2f} million rows/s")
    ways = _cluster_ways()
    print("\n| rows | batch engine, 2 cores | disk |" + "".join(f" Spark, 100 cores, {way} |" for way in ways))
    print("|---:|---:|---:|" + "---:|" * len(ways))
    for n in (10**9, 10**11):
        cells = [f"{n:.0e}", _long(slope * n), f"{(2 * CODES + ENTRY) * n / 1e9:,.0f} GB"]
        print(f"| {' | '.join([*cells, *(_long(way.seconds(n, 100)) for way in ways.values())])} |")
    if options.picture:
        _draw(points, fixed, slope, options.picture)


def _long(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _draw(points: list[tuple[int, float, int]], fixed: float, slope: float, stem: str) -> None:
    from pramana.pages.figures import Panel, Picture, Series, write_figure

    rows = [n / 1e6 for n, _, _ in points]
    line = Series("the line", rows, [fixed + slope * n * 1e6 for n in rows])
    measured = Series("measured", rows, [t for _, t, _ in points], kind="points")
    panel = Panel([measured, line], "Batch engine", "million rows", "seconds", log_x=True, log_y=True)
    write_figure(Picture([panel], columns=1, width=4.6, height=3.0), stem)


if __name__ == "__main__":
    main()
