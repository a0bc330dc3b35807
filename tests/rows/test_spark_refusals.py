"""What the Spark engine refuses before Spark is started: one line, and nothing touched."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests import needs
from tests.conftest import Refused

from pramana.errors import EngineError
from pramana.rows.spark import session

RELEASE = ("release", "recipe.toml", "--out", "out", "--engine", "spark", "--master", "local[2]")


ON = {
    "spark.io.encryption.enabled": "true",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}
CLUSTERS = ["spark://host:7077", "yarn", "k8s://https://host:443", "local-cluster[2,1,512]", "localhost"]


def test_a_master_without_spark(refused: Refused) -> None:
    told = refused("release", "recipe.toml", "--out", "out", "--master", "local[2]")
    assert "--master must come with --engine spark" in told


def test_a_bound_on_memory(refused: Refused) -> None:
    assert "must be one for the local engine" in refused(*RELEASE, "--memory", "2GiB")


def test_a_source_that_is_not_there(refused: Refused) -> None:
    assert "must exist" in refused(*RELEASE, "--source", "nobody.csv")


def test_a_column_that_is_not_there(refused: Refused, desk: Path) -> None:
    (desk / "people.csv").write_text("name,sexe,age\nA,F,3\n")
    assert "must have the column 'sex'" in refused(*RELEASE)


def test_no_java(refused: Refused, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("pyspark")
    monkeypatch.setenv("PATH", str(desk))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "must have Java 17" in refused(*RELEASE)


def test_java_elsewhere(refused: Refused, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.package("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(desk))
    told = refused(*RELEASE)
    assert "must have Java 17" in told and "in JAVA_HOME" in told


@pytest.mark.parametrize("master", ["nonsense", "local[0]", "local[", "spark://host", "local[2]; rm", ""])
def test_a_master_that_spark_does_not_know(master: str, refused: Refused) -> None:
    needs.package("pyspark")
    assert "must be a URL that Spark knows" in refused(*RELEASE[:-1], master)


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2]", "local[2,4]", *(c for c in CLUSTERS if c != "localhost")]
)
def test_masters_that_spark_knows(master: str) -> None:
    assert session._MASTER.fullmatch(master)


def test_no_pyspark(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert "pip install 'pramana-privacy[spark]'" in refused(*RELEASE)


TRUSTED = {session.TRUST_EVERYONE: "true"}


@pytest.mark.parametrize("master", CLUSTERS)
def test_a_cluster_that_is_open_to_its_network(master: str) -> None:
    session.check_network(master, ON)
    session.check_network(master, {**ON, "spark.network.crypto.enabled": "false", "spark.ssl.rpc.enabled": "TRUE"})
    session.check_network(master, TRUSTED)
    for name in ("spark.authenticate", "spark.network.crypto.enabled"):
        for settings in ({**ON, name: "false"}, {key: value for key, value in ON.items() if key != name}):
            with pytest.raises(EngineError, match=rf"got one with {name} off\. Set {name} = true"):
                session.check_network(master, settings)
    for other in ({}, {"spark.ssl.enabled": "true"}, {session.TRUST_EVERYONE: "false"}):
        with pytest.raises(EngineError, match=r"spark\.authenticate and spark\.network\.crypto\.enabled off"):
            session.check_network(master, other)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,4]"])
def test_threads_of_the_driver_have_no_network(master: str) -> None:
    session.check_network(master, {})


class FakeSpark:
    """A session that knows its settings, and whether it was stopped."""

    def __init__(self, master: str, settings: dict[str, str]) -> None:
        conf = SimpleNamespace(getAll=lambda: list(settings.items()))
        self.sparkContext = SimpleNamespace(master=master, getConf=lambda: conf)
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


@pytest.mark.parametrize("active", [True, False])
def test_open_clusters_are_refused_before_any_work(
    active: bool, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the session is there already or is started for this release, which then stops it."""
    sql = needs.package("pyspark.sql")
    spark = FakeSpark("spark://host:7077", {**ON, "spark.authenticate": "false"})
    here: Any = spark if active else None
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", classmethod(lambda _: here))
    monkeypatch.setattr(session, "_started", lambda *_: spark)
    told = refused("release", "recipe.toml", "--out", "out", "--engine", "spark", "--master", "spark://host:7077")
    assert "must authenticate its processes" in told and session.TRUST_EVERYONE in told
    assert spark.stopped is not active
