"""An S3 server for the tests that need one: moto's, started here on a free port, and stopped again.

Those of other kinds are in tests/emulators.py; tests see all of them through `StoreServer` and `Bucket`.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from typing import ClassVar, Self

import pytest
from pyarrow.fs import FileSystem, S3FileSystem
from tests.needs import skip_or_fail

SECRET = "a-secret-that-nothing-shows"
KEY_ID = "AKIAOFTHETESTS000000"
_KEY = re.compile(r"<Key>(.*?)</Key>")
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_", "GCE_", "GS_", "STORAGE_EMULATOR_HOST")
_buckets = count()


@dataclass
class StoreServer:
    """A process, and what is asked of it without credentials."""

    port: int
    process: subprocess.Popen[bytes] = field(repr=False)
    host: str = "127.0.0.1"
    scheme: ClassVar[str] = "s3"

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be started here."""
        if find_spec("moto") is None or find_spec("flask") is None:
            return "moto's server is not installed (pip install 'moto[server]'): no S3 to try"
        return None

    @staticmethod
    def command(host: str, port: int) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]

    @classmethod
    def start(cls, host: str = "127.0.0.1") -> Self:
        with socket.socket() as free:
            free.bind((host, 0))
            port = int(free.getsockname()[1])
        process = subprocess.Popen(
            cls.command(host, port),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=cls.own_environment(),
        )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
                return cls(port, process, host)
            assert process.poll() is None, f"the server of {cls.scheme}:// ended as it began"
            time.sleep(0.05)
        process.kill()
        raise AssertionError(f"the server of {cls.scheme}:// must listen within a minute")

    @staticmethod
    def own_environment() -> dict[str, str]:
        """What the server itself is told."""
        return dict(os.environ)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/octet-stream"
    ) -> bytes:
        headers = {"Content-Type": kind}  # without one moto takes it for a form
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
        return content

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    # ------------------------------------------------------------ what differs between stores

    def environment(self) -> dict[str, str]:
        """Where the store is and who asks, as commands and executors are told."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def silent(self) -> dict[str, str]:
        """Variables that lead where nobody listens."""
        return {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}

    def secrets(self) -> list[str]:
        """What nothing may show."""
        return [SECRET, KEY_ID]

    def url(self, bucket: str, key: str) -> str:
        return f"s3://{bucket}/{key}"

    def create(self, bucket: str) -> None:
        self.ask("PUT", bucket)

    def system(self) -> FileSystem:
        """Arrow's own, without what the package makes of it: objects are for their owner."""
        return S3FileSystem(
            access_key=KEY_ID,
            secret_key=SECRET,
            region="us-east-1",
            scheme="http",
            endpoint_override=self.address,
        )

    def keys(self, bucket: str, under: str) -> list[str]:
        """Of all objects, in the order of their names, without those that only stand for a folder."""
        told = self.ask("GET", f"{bucket}?list-type=2&prefix={under}").decode()
        return [key for key in _KEY.findall(told) if not key.endswith("/")]

    def unfinished(self, bucket: str) -> list[str]:
        """Uploads in parts that nobody has ended."""
        return _KEY.findall(self.ask("GET", f"{bucket}?uploads").decode())

    @contextlib.contextmanager
    def locked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """As long as this lasts the store knows none of our credentials."""
        del monkeypatch
        self.ask("POST", "moto-api/reset-auth", b"0")
        yield
        self.ask("POST", "moto-api/reset-auth", b"Infinity")


@dataclass(frozen=True)
class Bucket:
    """A new bucket, looked at from the side of the store."""

    server: StoreServer
    name: str

    @classmethod
    def new(cls, server: StoreServer) -> Bucket:
        bucket = cls(server, f"bucket-{next(_buckets)}")
        server.create(bucket.name)
        return bucket

    def url(self, key: str) -> str:
        return self.server.url(self.name, key)

    def put(self, key: str, content: bytes) -> str:
        with self.server.system().open_output_stream(f"{self.name}/{key}", compression=None) as file:
            file.write(content)
        return self.url(key)

    def get(self, key: str) -> bytes:
        with self.server.system().open_input_file(f"{self.name}/{key}") as file:
            content: bytes = file.read()
        return content

    def remove(self, key: str) -> None:
        self.server.system().delete_file(f"{self.name}/{key}")

    def objects(self, under: str = "") -> list[str]:
        return self.server.keys(self.name, under)

    def unfinished(self) -> list[str]:
        return self.server.unfinished(self.name)


def led_to(server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that leads to a server, and to no other."""
    for name in [name for name in os.environ if name.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def store_server() -> Iterator[StoreServer]:
    if why := StoreServer.missing():
        skip_or_fail(why)
    server = StoreServer.start()
    yield server
    server.kill()


@pytest.fixture
def bucket(store_server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket that is empty, and an environment that leads to it."""
    led_to(store_server, monkeypatch)
    return Bucket.new(store_server)
