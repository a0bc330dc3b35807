"""The cost model of docs/guide/scale.md from the stored run: a line through three sizes, and where it leads.

    python -m benchmarks.cost [--picture STEM]

Seconds = fixed + per_row x rows, fitted by least squares of the relative error, which is shown for each size.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from pramana.release.streamed import Streamed

from benchmarks.__main__ import RESULTS
from pramana.schema import Attribute, Domain, Role

CORES = 2  # of the stored run
CODES, ENTRY = 7, 8  # bytes of a row's codes, and of its place in the shuffle


def row_of(run: dict[str, Any], title: str, name: str) -> dict[str, Any]:
    part = next(c for c in run["comparisons"] if c["title"].startswith(title))
    return next(row for row in part["rows"] if row["name"].startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    parser.add_argument("--picture", help="write the fit as STEM.svg and STEM.png")
    options = parser.parse_args()
    run = json.loads((RESULTS / "latest.json").read_text("utf-8"))
    part = next(c for c in run["comparisons"] if c["title"].startswith("Batch engine"))
    points = [(row["work"], statistics.median(row["seconds"]), row["peak_mib"]) for row in part["rows"]]
    # least squares of ((a + b n) / t - 1): every size counts alike
    scaled = np.array([[1 / t, n / t] for n, t, _ in points])
    fixed, slope = np.linalg.lstsq(scaled, np.ones(len(points)), rcond=None)[0].tolist()
    print("| rows | measured | the line | peak memory |\n|---:|---:|---:|---:|")
    for n, t, peak in points:
        line = fixed + slope * n
        print(f"| {n:,} | {t:.2f} s | {line:.2f} s ({line / t - 1:+.0%}) | {peak} MiB |")
    print(f"\nfixed {fixed:.3f} s, {slope * 1e6:.3f} s a million rows")
    spark = statistics.median(row_of(run, "Spark", "release from Parquet")["seconds"])
    rows = row_of(run, "Spark", "release from Parquet")["work"]
    core, on_spark, driver = CORES * slope, CORES * spark / rows, written_a_row()
    print(f"\none core, batch engine: {1 / core / 1e6:.2f} million rows/s; on Spark: {1 / on_spark / 1e6:.2f}")
    print(f"the driver digests and writes {1 / driver / 1e6:.1f} million rows/s, now")
    print("\n| rows | batch engine, 2 cores | disk | Spark, 100 cores |\n|---:|---:|---:|---:|")
    for n in (10**9, 10**11):
        disk = (2 * CODES + ENTRY) * n / 1e9
        print(f"| {n:.0e} | {_long(slope * n)} | {disk:,.0f} GB | {_long(max(on_spark * n / 100, driver * n))} |")
    if options.picture:
        _draw(points, fixed, slope, options.picture)


def written_a_row() -> float:
    """Seconds that one process takes to digest and write a row: with many executors, the driver's share."""
    domains = [Domain(tuple(f"value {i}" for i in range(size))) for size in (2, 18, 16, 100, 5, 9, 4)]
    attributes = tuple(Attribute(f"a{i}", Role.QUASI_IDENTIFYING, d) for i, d in enumerate(domains))
    rng, rows = np.random.default_rng(1), 1 << 20
    piece = {a.name: rng.integers(0, a.coded.size, rows).astype(np.uint8) for a in attributes}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        Streamed(attributes, iter([dict(piece) for _ in range(10)]), "").written(Path(folder) / "x", "parquet")
        return (time.perf_counter() - start) / (10 * rows)


def _long(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _draw(points: list[tuple[int, float, int]], fixed: float, slope: float, stem: str) -> None:
    from pramana.pages import Panel, Picture, Series, write_figure

    rows = [n / 1e6 for n, _, _ in points]
    line = Series("the line", rows, [fixed + slope * n * 1e6 for n in rows])
    measured = Series("measured", rows, [t for _, t, _ in points], kind="points")
    panel = Panel([measured, line], "Batch engine", "million rows", "seconds", log_x=True, log_y=True)
    write_figure(Picture([panel], columns=1, width=4.6, height=3.0), stem)


if __name__ == "__main__":
    main()
