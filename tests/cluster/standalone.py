"""A Spark standalone cluster: a master and workers as processes of their own, with everything encrypted.

The secret that its processes share is in a file that only their user can read, never on a command line.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.networks import Network, network

ENCRYPTED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
}
SMALL = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.sql.shuffle.partitions": "2",
}
# processes that live for seconds: compiling for speed, and collecting in parallel, cost more than they bring
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"


class ClusterError(Exception):
    """A process of the cluster did not do what it should in time."""


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise ClusterError(f"no {what} within {seconds:.0f} s")
        time.sleep(0.02)


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


@dataclass
class Cluster:
    """A folder with all that its processes write, and the processes."""

    folder: Path
    network: Network
    settings: Mapping[str, str]
    java: str = SHORT_LIVED
    memory: str = "512m"  # of a worker, for its executor
    secret: str = field(default_factory=lambda: secrets.token_hex(24), repr=False)
    url: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("conf", "events", "driver", "logs"):
            (self.folder / name).mkdir(parents=True)
        self.write_settings(self.folder / "conf", {})

    def write_settings(self, conf: Path, more: Mapping[str, str]) -> None:
        """spark-defaults.conf, where Spark looks for it: the secret is in there."""
        conf.mkdir(exist_ok=True)
        settings = {
            **SMALL,
            **ENCRYPTED,
            "spark.authenticate.secret": self.secret,
            "spark.driver.host": self.network.driver,
            "spark.driver.bindAddress": self.network.driver,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (self.folder / "events").as_uri(),
            **self.settings,
            **more,
        }
        file = conf / "spark-defaults.conf"
        file.touch(0o600)
        file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))

    def environment(self, machine: str | None = None, conf: str = "conf") -> dict[str, str]:
        """Of a process on a machine, or of a driver."""
        local = self.folder / (machine or "driver")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK", "_SPARK"))}
        address = self.network.driver if machine is None else self.network.addresses[machine]
        return kept | {
            "SPARK_CONF_DIR": str(self.folder / conf),
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_LOCAL_IP": address,
            "SPARK_DAEMON_MEMORY": "192m",
            "JDK_JAVA_OPTIONS": self.java,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }

    def start_master(self) -> None:
        host = self.network.addresses["master"]
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", host, "--port", "0")
        wait_for("Spark master", lambda: _STARTED.search(self.log_of("master")) is not None)
        match = _STARTED.search(self.log_of("master"))
        assert match is not None
        self.url = match.group(1)

    def start_worker(self, machine: str) -> None:
        host = self.network.addresses[machine]
        size = "--host", host, "--cores", "1", "--memory", self.memory
        work = "--work-dir", str(self.folder / machine / "work")
        self._start(machine, "org.apache.spark.deploy.worker.Worker", *size, *work, self.url)

    def wait_for_worker(self, machine: str) -> None:
        wait_for(f"worker at {machine}", lambda: _REGISTERED in self.log_of(machine))

    def _start(self, machine: str, program: str, *arguments: str) -> None:
        (self.folder / machine).mkdir(exist_ok=True)
        with (self.folder / "logs" / f"{machine}.log").open("wb") as log:
            self.processes[machine] = subprocess.Popen(
                self.network.command(
                    machine, str(spark_home() / "bin" / "spark-class"), program, "--webui-port", "0", *arguments
                ),
                env=self.environment(machine) | {"SPARK_HOME": str(spark_home())},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def release(self, desk: Path, out: str) -> None:
        """A release by the command line, in a process of its own."""
        command = ["release", "recipe.toml", "--out", out, "--key", "people.key", "--engine", "spark"]
        with (self.folder / "logs" / "again.log").open("wb") as log:
            done = subprocess.run(
                [sys.executable, "-m", "pramana", *command, "--master", self.url],
                cwd=desk,
                env=self.environment(),
                stdout=log,
                stderr=log,
                check=False,
            )
        if done.returncode:
            raise ClusterError(f"exit {done.returncode}: {self.log_of('again')[-2000:]}")

    def log_of(self, machine: str) -> str:
        return (self.folder / "logs" / f"{machine}.log").read_text("utf-8", "replace")

    def lose(self, machine: str) -> None:
        """A machine is gone: its worker, and the executors and Python processes below it, at once."""
        worker = self.processes.pop(machine)
        kill_tree(worker.pid)
        worker.wait()

    def stop(self) -> None:
        for machine in list(self.processes):
            self.lose(machine)

    def files(self) -> Iterator[Path]:
        """All that its processes have written, but for the file with the secret."""
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and path.name != "spark-defaults.conf":
                yield path


def tree(pid: int, each: Callable[[int], None] = lambda _: None) -> list[int]:
    """A process and all below it; `each` is done to one before its children are looked for."""
    pids = [pid]
    for one in pids:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            each(one)
            tasks = Path(f"/proc/{one}/task").glob("*/children")
            pids += [int(child) for task in tasks for child in task.read_text().split()]
    return pids


def kill_tree(pid: int) -> None:
    """kill -9 of a process and all below it, stopped first so that none starts another."""
    for one in tree(pid, lambda found: os.kill(found, signal.SIGSTOP)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


@contextlib.contextmanager
def cluster(
    folder: Path, settings: Mapping[str, str], workers: int = 2, java: str = SHORT_LIVED, memory: str = "512m"
) -> Iterator[Cluster]:
    """A master and workers, stopped at the end."""
    names = [f"worker{number}" for number in range(1, workers + 1)]
    with network("master", *names) as machines:
        made = Cluster(folder, machines, settings, java, memory)
        try:
            made.start_master()
            for name in names:
                made.start_worker(name)
            for name in names:
                made.wait_for_worker(name)
            yield made
        finally:
            made.stop()


@dataclass
class Driver:
    """A driver that does one order after the other (tests.cluster.driver)."""

    process: subprocess.Popen[str]
    desk: Path
    log: Path

    def order(self, **order: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._ended()
        answered: dict[str, object] = json.loads(line)
        return answered

    def paused(self) -> int:
        """Wait until it is at the place that was ordered; the process to be killed there."""
        file = self.desk / "paused"
        wait_for("pause", lambda: file.exists() or self.process.poll() is not None)
        if not file.exists():
            raise self._ended()
        return int(file.read_text())

    def _ended(self) -> ClusterError:
        told = self.log.read_text("utf-8", "replace")[-2000:]
        return ClusterError(f"the driver ended, exit {self.process.wait()}: {told}")

    def resume(self) -> None:
        (self.desk / "paused").unlink()

    def kill(self) -> None:
        """kill -9 of the driver: Python and its Java at once."""
        kill_tree(self.process.pid)
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()


@contextlib.contextmanager
def driver(cluster: Cluster, desk: Path, conf: str = "conf") -> Iterator[Driver]:
    """A process that drives the cluster from a desk: a folder with recipe, source and key."""
    file = cluster.folder / "logs" / "driver.log"
    with file.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.driver", cluster.url],
            cwd=desk,
            env=cluster.environment(conf=conf),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    made = Driver(process, desk, file)
    try:
        yield made
    finally:
        made.stop()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
