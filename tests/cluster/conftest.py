"""One cluster and one driver for a story; which methods it is told of is said by the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from tests import needs
from tests.cluster.scenes import CHOSEN, Desk, prepared
from tests.cluster.standalone import Cluster, Driver, cluster, driver

# every shuffle is sorted and spilled to disk after some contents; events are readable as soon as they are written
SETTINGS = {
    "spark.shuffle.sort.bypassMergeThreshold": "1",
    "spark.shuffle.spill.numElementsForceSpillThreshold": "3",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@dataclass
class Story:
    """A cluster, its driver, and a desk to release from."""

    cluster: Cluster
    driver: Driver
    desk: Desk

    def out(self, name: str) -> Path:
        return self.desk.folder / name

    @property
    def secrets(self) -> dict[str, bytes]:
        return {**self.desk.secrets, "the cluster's secret": self.cluster.secret.encode()}

    def order(self, out: str, **order: str) -> None:
        self.driver.order(do="release", recipe="recipe.toml", out=out, **order)

    @cached_property
    def plain(self) -> Path:
        self.order("plain")
        self.driver.answer()
        return self.out("plain")


@pytest.fixture(scope="module", params=os.environ.get(CHOSEN, "retention").split(","))
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    needs.package("pyspark")
    needs.require("java")
    folder = tmp_path_factory.mktemp("cluster")
    desk = prepared(folder / "desk", request.param)
    with cluster(folder / "machines", SETTINGS) as machines, driver(machines, desk.folder) as drives:
        yield Story(machines, drives, desk)
