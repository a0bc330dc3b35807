"""The story of tests/cluster for four methods and a set of files, and what takes longer.

The result is docs/experiments/cluster.md.

python -m tests.cluster [--methods M,M] [--into FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cluster.networks import network
from tests.cluster.scenes import CHOSEN, METHODS

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "experiments" / "cluster.md"
TOLD = {
    "test_the_same_bytes_as_the_local_engine": "from files and from a DataFrame: the bytes of the local engine",
    "test_an_executor_is_killed": "an executor killed in the midst of a task: the same bytes",
    "test_a_worker_is_lost": "a worker, its executor and its disk lost while rows are written: the same bytes",
    "test_nothing_is_in_the_clear": "no value, key or secret in work folders, shuffle, spill, log and event files",
    "test_a_driver_is_killed_and_started_again": "the driver killed while rows are written: nothing half-written "
    "or readable, left-overs swept by the next run, the same bytes",
    "test_without_encryption_the_search_finds_what_spark_shuffles": "with Spark's encryption off, the search "
    "finds every value in Spark's own shuffle files",
    "test_parts_that_executors_write_into_a_store": "parts that executors write into an S3 store: the same bytes "
    "where a worker is lost, or the driver killed and started again, and nothing else is left there",
    "test_a_machine_that_does_not_answer": "the link to a worker cut while the driver writes: the same bytes",
}


class Results:
    """What pytest says of each test, under the words of the page."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name, _, parameter = report.nodeid.rpartition("::")[2].partition("[")
        if name in TOLD and (report.when == "call" or report.outcome != "passed"):
            place = (TOLD[name], parameter.rstrip("]"))
            self.lines[place] = "holds" if report.passed else "not tried" if report.skipped else "FAILS"


def _where() -> str:
    with network("one", "two") as machines:
        return (
            "that share the loopback interface"
            if machines.shared_because
            else "in network namespaces of their own"
        )


def page(results: Results, seconds: float) -> str:
    lines = [
        "# A Spark cluster",
        "",
        "    make cluster",
        "",
        f"A standalone master and two workers, processes {_where()}, with authentication and",
        "encryption on; a table of 40,000 people, of whom one has values that no one else has.",
        "The moments are exact, not random: a task or the driver waits at them until something was killed.",
        'A "set" is the recipe of retention with `files = "many"`, in five parts that the executors write; what a',
        "killed driver leaves of it in its hidden folder is published rows.",
        "",
        f"Last run: {datetime.now(UTC):%Y-%m-%d}, Spark {version('pyspark')}, Python {platform.python_version()} "
        f"on {platform.system()} {platform.machine()}, {seconds:.0f} s in all.",
        "",
        "| what | method | |",
        "|---|---|---|",
    ]
    lines += [
        f"| {told} | {method or 'retention'} | {verdict} |" for (told, method), verdict in results.lines.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--into", type=Path, default=PAGE)
    parser.add_argument("--methods", default=",".join(METHODS), help="some of them, with commas")
    options = parser.parse_args()
    # read when pytest loads the fixtures, which must not be before
    os.environ[CHOSEN] = options.methods
    results, start = Results(), time.monotonic()
    files = [str(HERE / name) for name in ("test_cluster.py", "more.py")]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-n", "0", *files], [results])
    options.into.write_text(page(results, time.monotonic() - start), "utf-8")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
