"""How long `pramana inspect` and `pramana init` take for a large table, in processes of their own.

    python -m benchmarks.inspection [--rows 1000000] [--rounds 3] [--into FOLDER]

The table has 20 columns as a survey has them: numbers of persons and households, ages, dates, postcodes, weights,
incomes, categories. Three of its columns are nearly unique, and eight quasi-identifiers are guessed, which make
every record unique: the dearest case for the search for minimal sample uniques. The goal for inspection is five
seconds on two cores.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks import tables

RESULTS = Path(__file__).resolve().parent / "results"
GOAL = 5.0


def survey(rows: int, seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        "pid": np.arange(rows) + 100_000,
        "hid": np.arange(rows) // 3 + 5_000,
        "sex": rng.choice(["F", "M"], rows),
        "age": rng.integers(0, 95, rows),
        "plz": np.char.zfill(rng.integers(1_000, 99_999, rows).astype(str), 5),
        "region": rng.choice([f"R{i}" for i in range(16)], rows),
        "education": rng.choice(["low", "middle", "high"], rows),
        "marital": rng.choice(["single", "married", "divorced", "widowed"], rows),
        "income": np.round(rng.lognormal(8, 1, rows), 2),
        "weight": np.round(rng.uniform(50, 300, rows), 4),
        "birth": (np.datetime64("1930-01-01") + rng.integers(0, 30_000, rows)).astype(str),
        "occupation": rng.choice([f"O{i}" for i in range(300)], rows),
    }
    columns |= {f"answer{i}": rng.integers(1, 6, rows) for i in range(8)}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def timed(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds of a fresh process, and those its cores worked."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pramana", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inspection")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    host = tables.machine()
    lines = [
        "# A first look at a large table",
        "",
        f"`python -m benchmarks.inspection --rows {given.rows} --rounds {given.rounds}`, {tables.now()}. "
        f"{host['processor']}, {host['cores']} cores; load before the run "
        f"{', '.join(map(str, host['load_before']))}. {given.rows:,} rows x 20 columns, CSV; whole processes, "
        "median of the rounds with the fastest in brackets. Cores: the seconds that all cores worked.",
        "",
        "| command | seconds | seconds of cores |",
        "|---|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pacsv.write_csv(survey(given.rows), folder / "people.csv")
        cases = {
            "inspect people.csv": ["inspect", "people.csv", "--json"],
            "inspect people.csv --quasi (5 columns) --weight weight": [
                "inspect", "people.csv", "--json", "--weight", "weight",
                "--quasi", "sex,age,region,education,marital",
            ],
            "init people.csv --job publish": ["init", "people.csv", "--out", "recipe.toml"],
        }  # fmt: skip
        for title, arguments in cases.items():
            samples = []
            for _ in range(given.rounds):
                for made in folder.glob("recipe*"):
                    made.unlink()
                samples.append(timed(arguments, folder))
            middle = statistics.median(seconds for seconds, _ in samples)
            least = min(seconds for seconds, _ in samples)
            cores = statistics.median(worked for _, worked in samples)
            lines.append(f"| `pramana {title}` | {middle:.1f} ({least:.1f}) | {cores:.1f} |")
    lines += [
        "",
        f"Goal: inspection of a million rows within {GOAL:.0f} s on two cores that have nothing else to do.",
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "inspection.md").write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines), file=sys.stdout)


if __name__ == "__main__":
    main()
