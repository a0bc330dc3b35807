"""A driver of a cluster, which does what it is ordered: one line of JSON for each order, and one for its answer.

    python -m tests.cluster.driver spark://...

An order is a release, with the moment at which it waits until the file `paused` is gone. That file holds the
number of the process that works there: an executor, or this one. Keys as they are derived, and the keys of seals,
are noted in `secrets`, so that others can look for them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pyspark.sql import SparkSession

import pramana
from pramana.files import parts, upload
from pramana.files.parts import PartFolder, PartPrefix, WrittenFile
from pramana.ledger.ledger import Ledger
from pramana.rows.spark import rows as spark_rows
from pramana.rows.spark.session import quiet

T = TypeVar("T")
DESK = Path.cwd()
BUCKET = 1 << 19  # bytes: several buckets for a small table
PIECES = 6


def note_secrets() -> None:
    """Every derived key and every key of a seal, one a line."""
    notes = os.open("secrets", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    derive, urandom = pramana.Key.derive, os.urandom

    def derived(self: pramana.Key, *name: str | int) -> bytes:
        key = derive(self, *name)
        os.write(notes, key.hex().encode() + b"\n")
        return key

    def drawn(size: int) -> bytes:
        drawn_bytes = urandom(size)
        if size == 32:
            os.write(notes, drawn_bytes.hex().encode() + b"\n")
        return drawn_bytes

    pramana.Key.derive = derived  # type: ignore[method-assign]
    os.urandom = drawn


def pause(pid: int) -> None:
    """Say who waits, and wait."""
    new = DESK / f"paused-{pid}"
    new.write_text(str(pid))
    file = new.rename(DESK / "paused")
    while file.exists():
        time.sleep(0.01)


def while_drawing(_: int) -> None:
    """In a task: the third piece is not drawn before its executor has done another. It waits in its midst."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    if context.partitionId() == 2:
        pause_once("drawing")


def pause_once(mark: str) -> None:
    """In a task: who takes a mark away is the one that waits."""
    try:
        (DESK / mark).unlink()
    except FileNotFoundError:
        return
    forked_by = Path(f"/proc/{os.getppid()}/stat").read_text()  # a daemon, which the executor has started
    pause(int(forked_by.rpartition(")")[2].split()[1]))


def waiting(name: str, fill: Callable[[BinaryIO], T]) -> Callable[[BinaryIO], T]:
    """Of parts that executors write: the third one is filled, and waits before it is whole."""

    def filled(sink: BinaryIO) -> T:
        result = fill(sink)
        if name.startswith("part-00002"):
            pause_once("writing")
        return result

    return filled


class WatchedParts(PartFolder):
    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        assert not (DESK / "not-shared").exists(), "executors share no folder with the driver"
        return PartFolder.write(self, name, waiting(name, fill))


class WatchedPrefix(PartPrefix):
    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        return PartPrefix.write(self, name, waiting(name, fill))


def release(spark: SparkSession, order: dict[str, Any]) -> None:
    moment, waited = order.get("pause"), False
    for mark in ("drawing", "writing"):
        (DESK / mark).unlink(missing_ok=True)

    def progress(stage: str, done: int, of: int) -> None:
        nonlocal waited
        if stage in ("randomising", "generalising") and moment is not None:
            (DESK / moment).touch()
        if stage == "writing in keyed order" and moment == "writing" and 0 < done < of and not waited:
            waited = True
            pause(os.getpid())

    watch: Callable[[int], None] | None = while_drawing if moment == "drawing" else None
    options: dict[str, Any] = {}
    if "frame" in order:
        frame = spark.read.parquet(order["frame"])
        if "where" in order:
            frame = frame.filter(order["where"])
        if "looked_up" in order:  # in a table of its own values, which all executors get
            values = frame.select(order["looked_up"]).distinct().hint("broadcast")
            frame = frame.join(values, order["looked_up"], "left")
        options["data"] = frame
    engine = pramana.SparkEngine(pieces=order.get("pieces", PIECES), watch=watch)
    options |= {"engine": engine, "progress": progress, "even_if_useless": True}
    pramana.release(order["recipe"], order["out"], key=pramana.Key.read("people.key"), **options)


def issue(_: SparkSession, order: dict[str, Any]) -> None:
    """A version of a ledger; with `pause`, when its bundle is there and before the ledger knows."""
    commit = Ledger.commit

    def waits(*arguments: Any) -> Any:
        pause(os.getpid())
        return commit(*arguments)

    if "pause" in order:
        Ledger.commit = waits  # type: ignore[assignment, method-assign]
    engine = pramana.SparkEngine(pieces=PIECES)
    pramana.issue("all.ledger", "university", 0.3, order["out"], engine=engine, even_if_useless=True)


def shuffle(spark: SparkSession, order: dict[str, Any]) -> None:
    """The source through a shuffle as Spark does it; its files stay until the session ends."""
    spark.read.parquet(order["frame"]).repartition(2).write.format("noop").mode("overwrite").save()


def main() -> None:
    note_secrets()
    vars(parts)["PartFolder"], vars(upload)["PartPrefix"] = WatchedParts, WatchedPrefix
    with quiet():
        spark = SparkSession.builder.master(sys.argv[1]).appName("pramana").getOrCreate()
        for line in sys.stdin:
            order = json.loads(line)
            spark_rows._BUCKET = order.get("bucket", BUCKET)
            start = time.perf_counter()
            {"release": release, "issue": issue, "shuffle": shuffle}[order["do"]](spark, order)
            sys.stdout.write(json.dumps({"seconds": time.perf_counter() - start}) + "\n")
            sys.stdout.flush()
        spark.stop()


if __name__ == "__main__":
    main()
