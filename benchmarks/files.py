"""Reading a table in each format: processor time and peak memory, in fresh processes, whole and in batches.

python -m benchmarks.files [--rows N] [--columns N] [--into FILE] [--files FOLDER]

The table is the same in every file: half of its columns are codes with labels, a quarter numbers, a quarter texts.
Writing the files is not measured. A workbook holds at most 1,048,575 rows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
LABELS = {1: "never", 2: "seldom", 3: "sometimes", 4: "often", 5: "always"}
FILES = {
    "csv": "t.csv", "office csv": "office.csv", "csv.gz": "t.csv.gz", "csv.zst": "t.csv.zst",
    "parquet": "t.parquet", "arrow": "t.arrow", "sav": "t.sav", "dta": "t.dta", "xlsx": "t.xlsx",
}  # fmt: skip
SLOW = {"xlsx"}  # written cell by cell: a tenth of the rows, and said so


def make(folder: Path, rows: int, columns: int) -> None:
    import pandas
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.feather
    import pyarrow.parquet as pq
    import pyreadstat

    draw = np.random.default_rng(1)
    data: dict[str, Any] = {}
    for place in range(columns):
        if place % 4 < 2:
            data[f"c{place}"] = draw.integers(1, 6, rows)
        elif place % 4 == 2:
            data[f"n{place}"] = np.round(draw.gamma(2.0, 900.0, rows), 2)
        else:
            data[f"t{place}"] = draw.choice([f"town {number}" for number in range(400)], rows)
    frame = pandas.DataFrame(data)
    labels: Any = {name: LABELS for name in data if name.startswith("c")}
    paths = {name: folder / file for name, file in FILES.items()}
    table = pa.table(data)
    pacsv.write_csv(table, paths["csv"])
    pq.write_table(table, paths["parquet"])
    pa.feather.write_feather(table, paths["arrow"], compression="uncompressed")
    pyreadstat.write_sav(frame, paths["sav"], variable_value_labels=labels, row_compress=True)
    frame.to_stata(paths["dta"], value_labels=labels, write_index=False, version=118)
    frame[: rows // 10].to_excel(paths["xlsx"], index=False, engine="xlsxwriter")
    frame.to_csv(paths["office csv"], sep=";", decimal=",", encoding="cp1252", index=False)
    with paths["csv"].open("rb") as plain, gzip.open(paths["csv.gz"], "wb", 1) as packed:
        shutil.copyfileobj(plain, packed)
    with pa.output_stream(str(paths["csv.zst"]), compression="zstd") as stream:
        stream.write(paths["csv"].read_bytes())
    (folder / "names.json").write_text(json.dumps(list(data)))


def read(path: Path, how: str) -> None:
    """In a process of its own: prints seconds of processor, peak memory (of a helping process, too), rows."""
    from pramana.io.source import Source

    options: dict[str, Any] = {"decimal": ","} if path.name.startswith("office") else {}
    start = _processor()
    source = Source(path=path, **options)
    if how == "whole":
        rows = source.read().records
    else:
        rows = sum(batch.num_rows for batch in source.batches(_names(path), 1 << 16))
    seconds = _processor() - start
    helper = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps([seconds, _peak(), helper, rows]))


def _peak() -> float:
    """MiB of this program; getrusage would also count the one that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _processor() -> float:
    """Of this process and of those it has waited for; another's work on the same machine does not count."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _names(path: Path) -> list[str]:
    return list(json.loads(path.with_name("names.json").read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.files", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--into", type=Path, default=HERE / "results" / "files.md")
    parser.add_argument("--files", type=Path, help="a folder of files that an earlier run has made and kept")
    parser.add_argument("--read", nargs=2, metavar=("FILE", "HOW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(Path(options.read[0]), options.read[1])
        return
    lines = [
        "# Reading files",
        "",
        f"    python -m benchmarks.files --rows {options.rows} --columns {options.columns}",
        "",
        f"{options.rows:,} rows x {options.columns} columns (a workbook: a tenth of them), {platform.machine()}, "
        f"Python {platform.python_version()}. Every reading is in a fresh process. Seconds are of processors, all "
        "threads and the helping process together; the peak is the kernel's count for the process and, after the "
        "plus, for the one that reads survey files.",
        "",
        "| format | MiB | whole: CPU s | peak MiB | in batches: CPU s | peak MiB |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        kept = options.files or Path(folder)
        if not (kept / "names.json").exists():
            kept.mkdir(exist_ok=True)
            make(kept, options.rows, options.columns)
        for name, file in FILES.items():
            path = kept / file
            cells = [name, f"{path.stat().st_size / 2**20:.0f}"]
            for how in ("whole", "batches"):
                command = [sys.executable, "-m", "benchmarks.files", "--read", str(path), how]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds, own, child, rows = json.loads(done.stdout)
                assert rows == (options.rows // 10 if name in SLOW else options.rows), (name, rows)
                helper = f" + {child:.0f}" if child > 1 else ""
                cells += [f"{seconds:.1f}", f"{own:.0f}{helper}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    options.into.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
