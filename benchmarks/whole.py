"""Whole programs, each in a fresh process: a release beside polars reading and writing the same file; start-up.

Peak memory is the kernel's count for the process that ran, and for nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Case, Comparison, Goal, Limit, Sample
from benchmarks.peers import python_of
from pramana.datasets.census import census

POLARS = """
import sys, time
import polars
start = time.perf_counter()
polars.read_parquet(sys.argv[1]).write_parquet(sys.argv[2], compression=sys.argv[3])
print(time.perf_counter() - start)
"""
POLARS_CSV = """
import sys, time
import polars
start = time.perf_counter()
polars.scan_csv(sys.argv[1]).sink_csv(sys.argv[2])
print(time.perf_counter() - start)
"""
# Between us and the process: on Linux a process begins with the peak of the one it was started from.
LAUNCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
said = process.stdout.read().decode()
_, status, used = os.wait4(process.pid, 0)
took = time.perf_counter() - start
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps(dict(seconds=took, exit=process.returncode, said=said, peak_kib=used.ru_maxrss)))
"""
PRAMANA = """
import sys, time
from pramana import release
start = time.perf_counter()
release(sys.argv[1], sys.argv[2], seed=1, even_if_useless=True)
print(time.perf_counter() - start)
"""


def release(rows: int, folder: Path) -> list[Comparison]:
    """`rows` x 7 columns Parquet: the call alone, and the whole process from the shell."""
    table, recipe, out = folder / "census.parquet", folder / "census.toml", folder / "bundle"
    people = census(rows, seed=1)
    people.write_parquet(table)
    people.write_recipe(recipe, source=table, k=100)
    copy = folder / "copy.parquet"
    polars = python_of("polars")
    absent = "" if polars.exists() else "not installed (run `python -m benchmarks prepare`)"

    def case(name: str, command: Sequence[str | Path], printed: bool, why: str = "") -> Case:
        def run() -> Sample:
            shutil.rmtree(out, ignore_errors=True)
            copy.unlink(missing_ok=True)
            return child(command, printed)

        return Case(name, rows, run, why)

    copying: list[str | Path] = [polars, "-c", POLARS, table, copy]
    releasing: list[str | Path] = [sys.executable, "-c", PRAMANA, recipe, out]
    shell: list[str | Path] = [
        Path(sys.executable).with_name("pramana"),
        "release",
        recipe,
        "--out",
        out,
        "--seed",
        "1",
    ]
    default, ours = "polars read and write (its default, zstd)", "pramana.release"
    size = f"{rows:,} rows x 7 columns Parquet"
    return [
        Comparison(
            f"Release {size}, the call",
            "rows",
            default,
            (
                case(default, [*copying, "zstd"], True, absent),
                case("polars read and write, uncompressed", [*copying, "uncompressed"], True, absent),
                case(ours, releasing, True),
            ),
            (Goal(ours, default, 1 / 1.25),),
        ),
        Comparison(
            f"Release {size}, the whole process",
            "rows",
            "python -c, polars read and write",
            (
                case("python -c, polars read and write", [*copying, "zstd"], False, absent),
                case("pramana release", shell, False),
            ),
            (Goal("pramana release", "python -c, polars read and write", 1 / 1.25),),
        ),
    ]


def release_csv(rows: int, folder: Path) -> list[Comparison]:
    """`rows` x 7 columns of CSV in and out, beside polars streaming the same file: the call, the whole process."""
    table, recipe, out = folder / "census.csv", folder / "census-csv.toml", folder / "bundle"
    people = census(rows, seed=1)
    people.write_csv(table)
    people.write_recipe(recipe, source=table, k=100)
    recipe.write_text(recipe.read_text("utf-8").replace('format = "parquet"', 'format = "csv"'), "utf-8")
    copy, polars = folder / "copy.csv", python_of("polars")
    absent = "" if polars.exists() else "not installed (run `python -m benchmarks prepare`)"

    def case(name: str, command: Sequence[str | Path], printed: bool, why: str = "") -> Case:
        def run() -> Sample:
            shutil.rmtree(out, ignore_errors=True)
            copy.unlink(missing_ok=True)
            return child(command, printed)

        return Case(name, rows, run, why)

    streaming: list[str | Path] = [polars, "-c", POLARS_CSV, table, copy]
    shell: list[str | Path] = [
        Path(sys.executable).with_name("pramana"), "release", recipe, "--out", out, "--seed", "1"
    ]  # fmt: skip
    streamed, ours = "polars scan_csv to sink_csv", "pramana.release"
    size = f"{rows:,} rows x 7 columns CSV"
    return [
        Comparison(
            f"Release {size}, the call",
            "rows",
            streamed,
            (
                case(streamed, streaming, True, absent),
                case(ours, [sys.executable, "-c", PRAMANA, recipe, out], True),
            ),
            (Goal(ours, streamed, 1 / 1.25),),
        ),
        Comparison(
            f"Release {size}, the whole process",
            "rows",
            f"python -c, {streamed}",
            (
                case(f"python -c, {streamed}", streaming, False, absent),
                case("pramana release", shell, False),
            ),
            (Goal("pramana release", f"python -c, {streamed}", 1 / 1.25),),
        ),
    ]


def start_up() -> Comparison:
    shell = Path(sys.executable).with_name("pramana")
    return Comparison(
        "Start-up",
        "starts",
        "python -c pass",
        (
            Case("python -c pass", 1, lambda: child([sys.executable, "-c", "pass"], False)),
            Case("pramana --help", 1, lambda: child([shell, "--help"], False)),
        ),
        (Limit("pramana --help", 0.5),),
    )


def child(command: Sequence[str | Path], printed: bool) -> Sample:
    """Run a process to its end; its seconds from outside, or those it printed last, and its peak memory.

    It may keep its modules compiled, as every installed program does: the peers' are.
    """
    launcher = [sys.executable, "-S", "-c", LAUNCH, *command]
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        launcher, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, env=around
    )
    found = json.loads(done.stdout)
    if found["exit"] != 0:
        raise RuntimeError(f"exit {found['exit']}")
    seconds = float(found["said"].split()[-1]) if printed else found["seconds"]
    return Sample(seconds, found["peak_kib"] / 1024)
