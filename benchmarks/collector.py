"""The collector under load: so many submissions a second over loopback, none lost and none doubled.

    python -m benchmarks.collector [--rate 200] [--seconds 60] [--into FOLDER]

The sender is a process of its own beside the server, on the same cores. It sends at fixed moments whether or not
earlier submissions were answered. What was acknowledged is then looked for in the store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks import tables
from pramana.app.collector.application import SurveyPage
from pramana.app.collector.store import CollectionStore, Outcome
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import DEMONSTRATION, Survey

RESULTS = Path(__file__).parent / "results"
CONNECTIONS = 100


def bodies(count: int) -> list[bytes]:
    answers = {"ill_at_work": "yes", "reason": "money", "age": None}
    return [json.dumps({"id": secrets.token_hex(16), "answers": answers}).encode() for _ in range(count)]


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Send a request on a connection that stays open, and read the status of its answer to the end."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return int(head.split(b" ", 2)[1])


async def load(base: str, sent: list[bytes], rate: float) -> tuple[list[int], list[float]]:
    """Status and seconds of each submission, each at its moment, on whichever connection is free."""
    statuses, seconds = [0] * len(sent), [0.0] * len(sent)
    host = base.removeprefix("http://")
    head = f"POST /records HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: "
    waiting = iter(range(len(sent)))
    begun = time.perf_counter()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(*host.rsplit(":", 1))
        for i in waiting:
            due = begun + i / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            request = f"{head}{len(sent[i])}\r\n\r\n".encode() + sent[i]
            statuses[i] = await exchange(reader, writer, request)
            seconds[i] = time.perf_counter() - due
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return statuses, seconds


def missing_or_doubled(folder: Path, sent: list[bytes], statuses: list[int]) -> tuple[int, int]:
    """Acknowledged records that are not in the store, and records in it beyond those that were sent."""
    survey = Survey.read(DEMONSTRATION)
    database = folder / "collected.collection" / "records.db"
    store = CollectionStore.open(database, SurveyPage(survey).digest, len(survey.columns))
    stored = store.count()
    acknowledged = [b for b, status in zip(sent, statuses, strict=True) if status == 201]
    outcomes: Counter[Outcome] = Counter()
    for first in range(0, len(acknowledged), 500):
        outcomes.update(store.add([Submission.read(survey, b) for b in acknowledged[first : first + 500]]))
    store.close()
    return outcomes[Outcome.STORED], max(0, stored - len(sent))


def measured(rate: float, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pramana", "collect", "--demo", "--no-browser"]
        with subprocess.Popen(command, cwd=name, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            base = json.loads(server.stdout.readline())["survey"].rstrip("/")
            sent = bodies(int(rate * seconds))
            begun = time.perf_counter()
            statuses, took = asyncio.run(load(base, sent, rate))
            elapsed = time.perf_counter() - begun
            server.terminate()
        lost, doubled = missing_or_doubled(Path(name), sent, statuses)
    ordered = sorted(took)
    return {
        "sent": len(sent),
        "acknowledged": statuses.count(201),
        "lost": lost,
        "doubled": doubled,
        "per second": round(len(sent) / elapsed, 1),
        "median ms": round(1000 * ordered[len(ordered) // 2]),
        "99th percentile ms": round(1000 * ordered[len(ordered) * 99 // 100]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collector")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    host, row = tables.machine(), measured(given.rate, given.seconds)
    lines = [
        "# The collector under load",
        "",
        f"`python -m benchmarks.collector --rate {given.rate:g} --seconds {given.seconds:g}`, {tables.now()}. "
        f"{host['processor']}, {host['cores']} cores; load before the run "
        f"{', '.join(map(str, host['load_before']))}. Server and sender share the cores. Those who "
        "arrive within a tenth of a second are written together.",
        "",
        f"| {' | '.join(row)} |",
        f"|{'---:|' * len(row)}",
        f"| {' | '.join(map(str, row.values()))} |",
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "collector.md").write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
