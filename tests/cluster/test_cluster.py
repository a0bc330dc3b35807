"""A release on a Spark standalone cluster with authentication and encryption: whatever is lost, the same bytes.

One cluster and one driver for all, because starting them is what takes time: a worker that is lost stays away, and
the last test ends the driver.
`make cluster` goes through more of it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from tests.cluster.conftest import Story
from tests.cluster.scenes import CANARIES, KEY, table
from tests.cluster.searching import found
from tests.cluster.standalone import Cluster
from tests.rows.people import same

from pramana import release

pytestmark = pytest.mark.xdist_group("cluster")


def events(machines: Cluster) -> str:
    return "\n".join(path.read_text("utf-8", "replace") for path in (machines.folder / "events").rglob("*app*"))


def test_the_same_bytes_as_the_local_engine(story: Story) -> None:
    same(story.desk.expected, story.plain)
    release(story.desk.folder / "recipe.toml", story.out("table"), key=KEY, data=table())
    # from a sealed copy of the rows that Spark makes
    filtered, joined = {"where": "town is not null"}, {"looked_up": "job"}
    for name, more in (("frame", {}), ("filtered", filtered), ("joined", joined)):
        story.order(name, frame="people.parquet", **more)
        story.driver.answer()
        same(story.out("table"), story.out(name))


def test_an_executor_is_killed(story: Story) -> None:
    """In the midst of a task, after it has handed out the rows of another, which are lost with it."""
    story.order("executor", pause="drawing")
    executor = story.driver.paused()
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
    os.kill(executor, signal.SIGKILL)
    story.driver.resume()
    story.driver.answer()
    same(story.desk.expected, story.out("executor"))
    assert "SparkListenerExecutorRemoved" in events(story.cluster)


def test_a_worker_is_lost(story: Story) -> None:
    """While the driver writes: rows that wait on the lost machine are drawn again on the other."""
    story.order("worker", pause="writing")
    story.driver.paused()
    story.cluster.lose("worker1")
    shutil.rmtree(story.cluster.folder / "worker1")
    story.driver.resume()
    story.driver.answer()
    same(story.desk.expected, story.out("worker"))


def test_nothing_is_in_the_clear(story: Story) -> None:
    """Neither in temporary files while the session lasts, nor in logs and events."""
    assert story.plain.exists()
    machines, secrets = (
        story.cluster,
        {**story.desk.secrets, "the cluster's secret": story.cluster.secret.encode()},
    )
    assert len(secrets) > 20
    names = [path.name for path in machines.files()]
    assert sum(name.startswith("shuffle_") for name in names) >= 4
    assert {"master.log", "worker1.log", "worker2.log", "driver.log", "stderr"} <= set(names)
    told = events(machines)
    assert "SparkListenerTaskEnd" in told
    assert any(int(spilled) for spilled in re.findall(r'"Disk Bytes Spilled":(\d+)', told)), "nothing was spilled"
    for setting in ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled"):
        assert f'"{setting}":"true"' in told
    assert found(secrets, machines.files()) == {}
    for process in machines.processes.values():
        assert machines.secret.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    planted = machines.folder / "worker2" / "shuffle_9_9_9.data"
    planted.write_bytes(b"\x00" + CANARIES["town"].encode())
    assert found(secrets, machines.files()) == {"the canary town": [str(planted)]}
    planted.unlink()


def test_a_driver_is_killed_and_started_again(story: Story) -> None:
    """Nothing half-written is at its place or readable; the next run sweeps what is left: the same bytes."""
    story.order("driver", pause="writing")
    story.driver.paused()
    story.driver.kill()
    (story.desk.folder / "paused").unlink()
    assert not story.out("driver").exists()
    left = story.desk.leftovers
    assert left and all(name.startswith(".driver.partial-") for name in left)
    hidden = [path for name in left for path in (story.desk.folder / name).rglob("*") if path.is_file()]
    assert set(found(story.desk.secrets, hidden)) <= story.desk.shown
    story.cluster.release(story.desk.folder, "driver")
    same(story.desk.expected, story.out("driver"))
    assert story.desk.leftovers == []
    assert found(story.secrets, story.cluster.files()) == {}
