"""What `make cluster` tries besides: a search that must find something, and a machine that does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.scenes import CANARIES, prepared
from tests.cluster.searching import found
from tests.cluster.standalone import cluster, driver
from tests.rows.people import same


def test_without_encryption_the_search_finds_what_spark_shuffles(tmp_path: Path) -> None:
    desk = prepared(tmp_path / "desk", "retention")
    open_files = {"spark.io.encryption.enabled": "false"}
    with cluster(tmp_path / "machines", open_files) as machines, driver(machines, desk.folder) as drives:
        drives.order(do="shuffle", frame="people.parquet")
        drives.answer()
        places = found(desk.secrets, machines.files())
        assert set(places) == {f"the canary {column}" for column in CANARIES}
        assert all("shuffle_" in place for some in places.values() for place in some)


def test_a_machine_that_does_not_answer(tmp_path: Path) -> None:
    """Its link is down while the driver writes; nobody hears of it but by silence."""
    desk = prepared(tmp_path / "desk", "retention")
    patience = {
        "spark.network.timeout": "45s",
        "spark.network.timeoutInterval": "5s",
        "spark.executor.heartbeatInterval": "5s",
    }
    with cluster(tmp_path / "machines", patience) as machines, driver(machines, desk.folder) as drives:
        if machines.network.shared_because:
            pytest.skip(f"no link to be cut: {machines.network.shared_because}")
        drives.order(do="release", recipe="recipe.toml", out="silent", pause="writing")
        drives.paused()
        machines.network.cut("worker1")
        drives.resume()
        drives.answer()
        same(desk.expected, desk.folder / "silent")
