"""What `make cluster` tries besides: a search that must find something, a machine that is silent, and a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cluster.scenes import CANARIES, prepared
from tests.cluster.searching import found
from tests.cluster.standalone import cluster, driver
from tests.object_store import Bucket, StoreServer
from tests.rows.people import same

import pramana


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


def test_a_version_whose_driver_was_killed_before_its_ledger_knew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made again into the store, where executors share no folder with the driver, compared and committed."""
    desk = prepared(tmp_path / "desk", "levels")
    recipe = (desk.folder / "recipe.toml").read_text()
    (desk.folder / "levels.toml").write_text(f'{recipe}[output]\nfiles = "many"\npart_rows = 9000\n')
    pramana.create_levels(desk.folder / "all.ledger", desk.folder / "levels.toml")
    (desk.folder / "not-shared").touch()
    with cluster(tmp_path / "machines", {}) as machines:
        server = StoreServer.start(machines.network.driver)
        told = server.environment()
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        machines.write_settings(
            machines.folder / "conf", {f"spark.executorEnv.{name}": value for name, value in told.items()}
        )
        bucket = Bucket.new(server)
        try:
            with driver(machines, desk.folder) as drives:
                drives.order(do="issue", out=bucket.url("out/university"), pause="commit")
                drives.paused()
                drives.kill()
                drives.resume()
            there = {name: bucket.get(name) for name in bucket.objects()}
            assert len(there) == 7 and "out/university/certificate.json" in there
            with driver(machines, desk.folder) as drives:
                drives.order(do="issue", out=bucket.url("out/university"))
                drives.answer()
            assert {name: bucket.get(name) for name in bucket.objects()} == there
            again = pramana.issue(desk.folder / "all.ledger", "university", 0.3, desk.folder / "again")
            assert again.again  # it was committed
            assert desk.leftovers == []
        finally:
            server.kill()


def test_parts_that_executors_write_into_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker is lost while they do, then a driver killed: nothing of its own stays but the same bytes."""
    desk = prepared(tmp_path / "desk", "set")
    files = sorted(path.relative_to(desk.expected) for path in desk.expected.rglob("*") if path.is_file())
    with cluster(tmp_path / "machines", {}) as machines:
        server = StoreServer.start(machines.network.driver)
        told = server.environment()
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        there = {f"spark.executorEnv.{name}": value for name, value in told.items()}
        machines.write_settings(machines.folder / "conf", there)
        bucket = Bucket.new(server)
        try:
            with driver(machines, desk.folder) as drives:
                drives.order(do="release", recipe="recipe.toml", out=bucket.url("worker"), pause="writing")
                drives.paused()
                machines.lose("worker1")
                shutil.rmtree(machines.folder / "worker1")
                drives.resume()
                drives.answer()
                assert bucket.objects() == [f"worker/{file}" for file in files]
                drives.order(do="release", recipe="recipe.toml", out=bucket.url("driver"), pause="writing")
                drives.paused()
                drives.kill()
                drives.resume()
            assert bucket.objects(".driver.upload/") and bucket.objects(".driver.parts/")
            assert not bucket.objects("driver/")
            machines.release(desk.folder, bucket.url("driver"))
            assert bucket.objects() == [f"{out}/{file}" for out in ("driver", "worker") for file in files]
            for file in files:
                content = (desk.expected / file).read_bytes()
                assert bucket.get(f"worker/{file}") == bucket.get(f"driver/{file}") == content
            assert desk.leftovers == []
        finally:
            server.kill()
