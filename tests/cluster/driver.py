"""A driver of a cluster, which does what it is ordered: one line of JSON for each order, and one for its answer.

    python -m tests.cluster.driver spark://...

An order is a release, with the moment at which it waits until the file `paused` is gone. That file holds the number
of the process that works there: an executor, or this one. Keys as they are derived, and the keys of seals, are noted
in `secrets`, so that others can look for them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import pramana
from pramana.rows.spark import table as spark_table
from pramana.rows.spark.session import quiet

DESK = os.getcwd()
BUCKET = 1 << 17  # bytes: several buckets for a small table
PIECES = 6


def note_secrets() -> None:
    """Every derived key and every key of a seal, one a line."""
    notes = open(os.open("secrets", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "w", buffering=1)  # noqa: SIM115
    derive, urandom = pramana.Key.derive, os.urandom

    def derived(self: pramana.Key, *name: str | int) -> bytes:
        key = derive(self, *name)
        notes.write(key.hex() + "\n")
        return key

    def drawn(size: int) -> bytes:
        found = urandom(size)
        if size == 32:
            notes.write(found.hex() + "\n")
        return found

    pramana.Key.derive = derived  # type: ignore[method-assign]
    os.urandom = drawn


def pause(pid: int) -> None:
    """Say who waits, once, and wait."""
    file = os.path.join(DESK, "paused")
    new = f"{file}-{pid}"
    with open(new, "w") as said:
        said.write(str(pid))
    os.rename(new, file)
    while os.path.exists(file):
        time.sleep(0.01)


def while_drawing(_: int) -> None:
    """In a task: the third piece is not drawn before an executor has done another. Its executor waits."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    if not os.path.exists(os.path.join(DESK, "drawing")):
        return
    if context.partitionId() == 2 and context.stageAttemptNumber() == 0 and context.attemptNumber() == 0:
        with open(f"/proc/{os.getppid()}/stat") as file:  # the daemon that forked this process
            pause(int(file.read().rpartition(")")[2].split()[1]))


def release(spark: Any, order: dict[str, Any]) -> None:
    moment = order.get("pause")
    drawing = Path("drawing")
    drawing.unlink(missing_ok=True)
    waited = False

    def progress(stage: str, done: int, of: int) -> None:
        nonlocal waited
        if stage == "randomising" and moment == "drawing":
            drawing.touch()
        if stage == "writing in keyed order" and moment == "writing" and 0 < done < of and not waited:
            waited = True
            pause(os.getpid())

    watch: Callable[[int], None] | None = while_drawing if moment == "drawing" else None
    options: dict[str, Any] = {"engine": pramana.SparkEngine(pieces=PIECES, watch=watch)}
    if order.get("frame"):
        options["data"] = spark.read.parquet("people.parquet")
    key = pramana.Key.read("people.key")
    pramana.release("recipe.toml", order["out"], key=key, progress=progress, **options)


def shuffle(spark: Any) -> None:
    """The source through a shuffle as Spark does it, kept until the session ends."""
    table = spark.read.parquet("people.parquet").repartition(2)
    table.write.format("noop").mode("overwrite").save()


def main() -> None:
    note_secrets()
    spark_table._BUCKET = BUCKET
    with quiet():
        spark = SparkSession.builder.master(sys.argv[1]).appName("pramana").getOrCreate()
        for line in sys.stdin:
            order = json.loads(line)
            start = time.monotonic()
            if order["do"] == "release":
                release(spark, order)
            else:
                shuffle(spark)
            print(json.dumps({"seconds": round(time.monotonic() - start, 2)}), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
