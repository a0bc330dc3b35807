"""Prepare the peers' environments, run every comparison in one go, and store the tables.

python -m benchmarks prepare
python -m benchmarks run [--rows N] [--rounds N] [--only PART,PART] [--into FOLDER]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import anonymity, peers, sampling, scale, spark, tables, whole
from benchmarks.harness import measure

RESULTS = Path(__file__).resolve().parent / "results"
PARTS = ("sampling", "release", "csv", "anonymity", "batch", "sizes", "spark", "start")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Pramana beside its peers.")
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated: " + ", ".join(PARTS))
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.what == "prepare":
        peers.prepare()
        return
    chosen = options.only.split(",")
    if unknown := sorted(set(chosen) - set(PARTS)):
        parser.error(f"--only must name some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    run = {
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "when": tables.now(),
        "machine": tables.machine(),
    }
    found, versions = _measured(chosen, options.rows, options.rounds)
    store(run | {"versions": tables.versions() | versions, "comparisons": found}, options.into)


def _measured(chosen: list[str], rows: int, rounds: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    found, versions = [], {"polars": _version("polars")}
    if "sampling" in chosen:
        with sampling.comparisons(rows) as (comparisons, theirs):
            found += [measure(comparison, rounds, _say) for comparison in comparisons]
            versions |= {name: number for name, number in theirs.items() if name != "numpy"}
    if "release" in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found += [measure(comparison, rounds, _say) for comparison in whole.release(rows, Path(folder))]
    if "csv" in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found += [measure(comparison, rounds, _say) for comparison in whole.release_csv(rows, Path(folder))]
    with tempfile.TemporaryDirectory() as folder:
        if "anonymity" in chosen:
            with anonymity.comparisons(Path(folder)) as (comparisons, theirs):
                found += [measure(comparison, min(rounds, 3), _say) for comparison in comparisons]
                versions |= theirs
        if "batch" in chosen:
            found += [measure(comparison, rounds, _say) for comparison in scale.batch(rows, Path(folder))]
        if "sizes" in chosen:
            found.append(measure(scale.sizes(10 * rows, Path(folder)), rounds, _say))
        if "spark" in chosen:
            with spark.comparison(rows, Path(folder)) as comparison:
                found.append(measure(comparison, min(rounds, 3), _say))
    if "start" in chosen:
        found.append(measure(whole.start_up(), max(rounds, 9), _say))
    return found, {name: number for name, number in versions.items() if number}


def _version(package: str) -> str:
    ask = f"import importlib.metadata as m; print(m.version({package!r}))"
    python = peers.python_of(package)
    if not python.exists():
        return ""
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()


def store(run: dict[str, Any], into: Path) -> None:
    """Write the tables over those of the last run, after comparing with them."""
    into.mkdir(parents=True, exist_ok=True)
    last = into / "latest.json"
    before = json.loads(last.read_text("utf-8")) if last.exists() else None
    run = tables.with_changes(run, before)
    page = tables.markdown(run)
    last.write_text(json.dumps(run, indent=1) + "\n", "utf-8")
    (into / "latest.md").write_text(page, "utf-8")
    python = peers.python_of("picture")
    if python.exists():
        script = Path(__file__).with_name("picture.py")
        subprocess.run([python, script, last, into / "latest.png"], check=False)
    print(page)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
