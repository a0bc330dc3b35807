"""The keyed shuffle of a table larger than memory: our buckets beside sorts made for it.

    python benchmarks/shuffle.py [--rows N] [--memory BYTES] [--python PYTHON]

Every way gets seven columns of codes and must write them to Parquet in the order of their 128-bit tags. Ours makes
the tags as it goes; the others are given them as two columns. `--python` is one with duckdb and polars. Each runs
in a process of its own; peak memory is the kernel's count for it. DuckDB and polars spill as they are, ours
encrypted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.whole import child
from pramana.randomness.key import Key
from pramana.randomness.shuffle import tag_stream

SIZES = (2, 18, 16, 100, 5, 9, 4)
STEP = 1 << 20
OURS = """
import sys, time
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from pramana.rows.engines import BatchEngine
from pramana.rows.protocol import Draw, no_progress
from pramana.rows.spooled import SpooledRows
from pramana.files.scratch import Scratch
from pramana.rows.spool import Spool
from pramana.mechanisms.table import Product
from pramana.randomness.key import Key
from pramana.io.columns import numbers, values_of
from pramana.io.writing import write_tables
source, out, memory, folder = sys.argv[1:]
start = time.perf_counter()
engine = BatchEngine(int(memory), folder=Path(folder))
with Scratch(Path(folder)) as scratch:
    spool = Spool(scratch)
    names = [n for n in pq.read_schema(source).names if n.startswith("c")]
    for batch in pq.ParquetFile(source).iter_batches(1 << 18, columns=names):
        spool.append({n: values_of(batch.column(n)) for n in names})
    rows = SpooledRows(spool, {}, Key.from_seed(1), engine, no_progress)
    pieces = rows.publish(Draw(Product({}), "shuffle", True, tuple(names)))
    tables = (pa.table({n: numbers(c) for n, c in piece.items()}) for piece in pieces)
    write_tables(tables, Path(out), "parquet", False, 0)
print(time.perf_counter() - start)
"""
DUCKDB = """
import sys, time, duckdb
source, out, memory, folder = sys.argv[1:]
start = time.perf_counter()
db = duckdb.connect(config={"memory_limit": f"{int(memory) // 2**20}MiB", "threads": 2, "temp_directory": folder})
columns = ", ".join(f"c{i}" for i in range(7))
db.execute(f"copy (select {columns} from '{source}' order by high, low) to '{out}' (compression uncompressed)")
print(time.perf_counter() - start)
"""
POLARS = """
import os, sys, time
source, out, memory, folder = sys.argv[1:]
os.environ["POLARS_TEMP_DIR"] = folder
import polars as pl
start = time.perf_counter()
frame = pl.scan_parquet(source).sort("high", "low").drop("high", "low")
frame.sink_parquet(out, compression="uncompressed", engine="streaming")
print(time.perf_counter() - start)
"""


def table(rows: int, place: Path) -> None:
    rng, tags = np.random.default_rng(1), tag_stream(Key.from_seed(1), "shuffle")
    schema = pa.schema([("high", pa.uint64()), ("low", pa.uint64()), *((f"c{i}", pa.uint8()) for i in range(7))])
    with pq.ParquetWriter(place, schema, compression="none") as writer:
        for start in range(0, rows, STEP):
            count = min(STEP, rows - start)
            both = tags.blocks(start, count)
            codes = [rng.integers(0, size, count).astype(np.uint8) for size in SIZES]
            writer.write_table(pa.table([both[:, 0].copy(), both[:, 1].copy(), *codes], schema=schema))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--memory", type=int, default=1 << 30)
    options.add_argument("--python", default=sys.executable)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "table.parquet"
        table(given.rows, source)
        sums = {}
        for what, python, script in (
            ("Pramana's buckets", sys.executable, OURS),
            ("DuckDB order by", given.python, DUCKDB),
            ("polars streaming sort", given.python, POLARS),
        ):
            out = folder / "out.parquet"
            try:
                found = child([python, "-c", script, source, out, str(given.memory), name], True)
            except RuntimeError as error:
                print(f"{what:<24} failed: {error}")
                continue
            print(f"{what:<24} {found.seconds:8.2f} s  peak {found.peak_mib:8.0f} MiB", flush=True)
            head = pq.ParquetFile(out).read_row_group(0, columns=["c0", "c3"]).slice(0, 10_000)
            sums[what] = [hash(tuple(c.to_pylist())) for c in head.columns]
            out.unlink()
        print("same order:", len({tuple(s) for s in sums.values()}) == 1)


if __name__ == "__main__":
    main()
