"""Whole programs, each in a fresh process: a release beside polars reading and writing the same file; start-up.

Peak memory is the kernel's count for the process that ran, and for nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Case, Comparison, Goal, Limit, Sample
from benchmarks.peers import python_of
from pramana.datasets import census

POLARS = """
import sys, time
import polars
start = time.perf_counter()
polars.read_parquet(sys.argv[1]).write_parquet(sys.argv[2], compression=sys.argv[3])
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
            (Goal(ours, default, 1 / 2), Goal(ours, default, 1 / 1.5)),
        ),
        Comparison(
            f"Release {size}, the whole process",
            "rows",
            "python -c, polars read and write",
            (
                case("python -c, polars read and write", [*copying, "zstd"], False, absent),
                case("pramana release", shell, False),
            ),
            (Goal("pramana release", "python -c, polars read and write", 1 / 2),),
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
    """Run a process to its end; its seconds from outside, or those it printed last, and its peak memory."""
    launcher = [sys.executable, "-S", "-c", LAUNCH, *command]
    done = subprocess.run(launcher, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    found = json.loads(done.stdout)
    if found["exit"] != 0:
        raise RuntimeError(f"exit {found['exit']}")
    seconds = float(found["said"].split()[-1]) if printed else found["seconds"]
    return Sample(seconds, found["peak_kib"] / 1024)
