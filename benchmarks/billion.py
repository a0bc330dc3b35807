"""A table of a billion rows, once: generated, released within a bound on memory, and verified with source and key.

    python -m benchmarks.billion [--rows N] [--memory 4GiB] [--folder DIR] [--into FOLDER]

The census is generated in pieces as one Parquet file, released by `pramana release --memory`, and verified by
`pramana verify --source --key --memory`: the commands themselves, each in a process of its own. Everything lies in
a new folder inside DIR, which is removed at the end, however that comes. A disk without room for the source, the
release and the two temporary files of a run is noticed before anything is written.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import tables
from benchmarks.whole import LAUNCH
from pramana.datasets.census import census
from pramana.randomness.key import Key

RESULTS = Path(__file__).resolve().parent / "results"
PIECE = 10_000_000
SOURCE, CODES, ORDERED, RELEASE = 3.2, 7, 15, 3.6  # bytes a row: two files, and two that have no name
SPARE = 1.1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.billion")
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    check_room(options.folder, options.rows)
    run: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.billion", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
        "versions": tables.versions(),
        "rows": options.rows,
        "memory": options.memory,
    }
    with tempfile.TemporaryDirectory(prefix="billion-", dir=options.folder) as folder:
        run["steps"] = steps(Path(folder), options.rows, options.memory)
    (options.into / "billion.json").write_text(json.dumps(run, indent=1) + "\n", "utf-8")
    (options.into / "billion.md").write_text(page := markdown(run), "utf-8")
    print(page)


def check_room(folder: Path, rows: int) -> None:
    needed = int(rows * (SOURCE + CODES + ORDERED + RELEASE) * SPARE)
    free = shutil.disk_usage(folder).free
    if free < needed:
        most = int(free / (SOURCE + CODES + ORDERED + RELEASE) / SPARE) // PIECE * PIECE
        raise SystemExit(f"{folder} must have {needed >> 30} GiB free, got {free >> 30}: try --rows {most}")


def steps(folder: Path, rows: int, memory: str) -> list[dict[str, Any]]:
    table, recipe, out, key = (folder / name for name in ("census.parquet", "census.toml", "out", "release.key"))
    Key.create().write(key)
    census(1, seed=1).write_recipe(recipe, source=table, k=100)
    start = time.perf_counter()
    generate(table, rows)
    made = {"name": "generate", "seconds": time.perf_counter() - start, "file_bytes": table.stat().st_size}
    shared: list[str | Path] = ["--key", key, "--memory", memory]
    released = command(["release", recipe, "--out", out, "--even-if-useless", *shared], folder)
    released["file_bytes"] = sum(file.stat().st_size for file in out.rglob("*.parquet"))  # a set of parts
    verified = command(["verify", out, "--source", table, *shared], folder)
    return [made, {"name": "release", **released}, {"name": "verify", **verified}]


def generate(table: Path, rows: int, row_group: int = 1 << 20) -> None:
    """The same people whatever the pieces: a row hangs on the seed and its number alone."""
    with pq.ParquetWriter(table, census(1, seed=1).to_arrow().schema) as writer:
        for first in range(0, rows, PIECE):
            piece = min(PIECE, rows - first)
            writer.write_table(census(piece, seed=1, first=first).to_arrow(), row_group_size=row_group)
            _say(f"generated {first + piece:,} of {rows:,} rows")


def command(arguments: list[str | Path], folder: Path) -> dict[str, Any]:
    """One command of the program: seconds, its own peak memory, and the most of the disk that went meanwhile."""
    _say(f"pramana {arguments[0]} ...")
    lowest = before = shutil.disk_usage(folder).free
    ended = threading.Event()

    def watch() -> None:
        nonlocal lowest
        while not ended.wait(0.5):
            lowest = min(lowest, shutil.disk_usage(folder).free)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        launcher = [sys.executable, "-S", "-c", LAUNCH, sys.executable, "-m", "pramana", *arguments]
        done = subprocess.run(launcher, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        ended.set()
        watcher.join()
    told = json.loads(done.stdout)
    if told["exit"] != 0:
        raise SystemExit(f"pramana {arguments[0]} ended with {told['exit']}:\n{told['said']}")
    _say(f"pramana {arguments[0]}: {told['seconds']:.0f} s, {told['peak_kib'] >> 10} MiB")
    return {"seconds": told["seconds"], "peak_mib": told["peak_kib"] / 1024, "disk_bytes": before - lowest}


def markdown(run: dict[str, Any]) -> str:
    rows = run["rows"]
    lines = [
        f"# {rows:,} rows within {run['memory']}",
        "",
        *tables.circumstances(run),
        "",
        "Generated census, 7 columns of codes, Parquet in and out; source, bundle and temporary files on a disk. "
        "*Disk* is the most of it that went while the command ran, its file included. Verified is everything: "
        "files, guarantees, and that source and key give this release, row by row.",
        "",
        "| step | seconds | rows per second | peak memory | disk | file |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for step in run["steps"]:
        peak = f"{step['peak_mib']:,.0f} MiB" if "peak_mib" in step else ""
        disk = f"{step['disk_bytes'] / 1e9:.1f} GB" if "disk_bytes" in step else ""
        file = f"{step['file_bytes'] / 1e9:.2f} GB" if "file_bytes" in step else ""
        rate = f"{rows / step['seconds'] / 1e6:.2f}M"
        lines.append(f"| {step['name']} | {step['seconds']:,.1f} | {rate} | {peak} | {disk} | {file} |")
    return "\n".join([*lines, ""])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
