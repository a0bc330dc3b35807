"""A Spark session that can be looked into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pramana import SparkEngine
from pramana.rows.spark import rows as spark_rows
from pramana.rows.spark import session


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("spark")
    found = {name: folder / name for name in ("events", "local")}
    for place in found.values():
        place.mkdir()
    return found


@pytest.fixture(scope="module")
def spark(places: dict[str, Path]) -> Iterator[Any]:
    """One session whose temporary files are NOT encrypted, so that it can be seen what would be in them."""
    options = {
        "spark.io.encryption.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.shuffle.compress": "false",
        "spark.broadcast.compress": "false",
        "spark.eventLog.dir": places["events"].as_uri(),
        "spark.local.dir": str(places["local"]),
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    with session.session("local[2,4]", options) as made:
        yield made


@pytest.fixture
def engine(spark: Any, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    assert spark.sparkContext.master == "local[2,4]"
    monkeypatch.setattr(session, "_check", lambda *_: None)
    monkeypatch.setattr(spark_rows, "_BUCKET", 1 << 18)  # several buckets
    monkeypatch.setattr(spark_rows, "_COUNTED", 1 << 12)  # by tasks
    return SparkEngine()
