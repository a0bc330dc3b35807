"""How long a movement of the studio's dial takes, for every job of the studio, over loopback.

    python -m benchmarks.dial [--rows 1000000] [--rows-of-means 20000] [--into FOLDER]

A studio in a process of its own opens a table, drafts the job's recipe and opens the dial. Every place of the
slider is then asked for twice: at once, while places are still worked out in the background, and when all of them
are. The goal is an answer within 100 ms; the first time it may say that the figures are being worked out.
Microaggregation takes time that grows with the square of the rows, and has fewer of them.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import tables
from pramana.datasets.census import census

RESULTS = Path(__file__).resolve().parent / "results"
JOBS = {
    "publish": "retention",
    "levels": "levels",
    "frequencies": "invariant",
    "k-anonymity": "generalize",
    "presence": "presence",
    "microaggregate": "microaggregate",
}
GOAL = 100.0  # milliseconds
_TOKEN = re.compile(r'name="token" value="([^"]+)"')
_LAST = re.compile(r'id="at"[^>]* max="(\d+)"')


@dataclass
class Measured:
    """Milliseconds of the answers at once and when all is known, and seconds until then."""

    opened: float
    first: list[float]
    later: int
    ready: float
    known: list[float]


def write_table(path: Path, rows: int) -> None:
    draw = np.random.default_rng(2)
    table = census(rows, seed=1).to_arrow().select(["sex", "age", "education", "income"])
    table = table.append_column("amount", pa.array(np.round(draw.lognormal(8, 0.6, rows))))
    pq.write_table(table, path)


def measured(client: httpx.Client, file: str, job: str) -> Measured:
    def post(address: str, page: str, **fields: str) -> httpx.Response:
        token = _TOKEN.search(client.get(page).text)
        assert token is not None, page
        return client.post(address, data={"token": token[1], **fields})

    post("/publish/open", "/publish/open", kind="file", file=file)
    post("/publish/columns", "/publish/columns", unit="row")
    public = {"public": "everyone.parquet"} if job == "presence" else {}
    begun = time.perf_counter()
    page = post("/publish/job", "/publish/job", job=job, **public)
    opened = time.perf_counter() - begun
    last = _LAST.search(page.text)
    assert last is not None, page.text[-2000:]
    places = range(int(last[1]) + 1)
    begun, first, later = time.perf_counter(), [], 0
    for place in places:
        milliseconds, status = moved(client, place)
        first.append(milliseconds)
        later += status == 202
    while any(moved(client, place)[1] == 202 for place in places):
        time.sleep(0.2)
    ready = time.perf_counter() - begun
    return Measured(opened, first, later, ready, [moved(client, place)[0] for place in places])


def moved(client: httpx.Client, place: int) -> tuple[float, int]:
    begun = time.perf_counter()
    answer = client.get(f"/publish/dial/figures?at={place}")
    return 1000 * (time.perf_counter() - begun), answer.status_code


def lines_of(job: str, rows: int, one: Measured) -> str:
    def shown(times: list[float]) -> str:
        return f"{statistics.median(times):.0f} ({max(times):.0f})"

    return (
        f"| {JOBS[job]} | {rows:,} | {one.opened:.1f} | {shown(one.first)} | {one.later} of {len(one.first)} "
        f"| {one.ready:.1f} | {shown(one.known)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dial")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rows-of-means", type=int, default=20_000)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    host = tables.machine()
    lines = [
        "# The studio's dial",
        "",
        f"`python -m benchmarks.dial --rows {given.rows} --rows-of-means {given.rows_of_means}`, {tables.now()}. "
        f"{host['processor']}, {host['cores']} cores; load before the run "
        f"{', '.join(map(str, host['load_before']))}. Milliseconds from a question to its answer, median and, in "
        f"brackets, the longest; the goal is {GOAL:.0f}. At once: while places are still worked out, when an "
        "answer may say so.",
        "",
        "| method | rows | job and dial opened, s | at once, ms | said later | all known after, s | known, ms |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "large.parquet", given.rows)
        write_table(folder / "means.parquet", given.rows_of_means)
        whole = pq.read_table(folder / "large.parquet")
        pq.write_table(whole, folder / "everyone.parquet")
        pq.write_table(whole.take(pa.array(np.arange(0, given.rows, 3))), folder / "present.parquet")
        for job in given.jobs.split(","):
            file = {"microaggregate": "means.parquet", "presence": "present.parquet"}.get(job, "large.parquet")
            command = [sys.executable, "-m", "pramana", "studio", "--no-browser", "--data", name]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                try:
                    assert process.stdout is not None
                    url = re.search(r'"url": ?"([^"]+)"', process.stdout.readline())
                    assert url is not None
                    base = url[1].partition("/?")[0]
                    with httpx.Client(
                        base_url=base, follow_redirects=True, timeout=600, headers={"origin": base}
                    ) as c:
                        c.get(url[1])
                        rows = pq.read_metadata(folder / file).num_rows
                        lines.append(lines_of(job, rows, measured(c, file, job)))
                        print(lines[-1], flush=True)
                finally:
                    process.kill()
    (given.into / "dial.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
