"""An S3 server for the tests that need one: moto's, started here on a free port, and stopped again."""

from __future__ import annotations

import contextlib
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

import pytest
from pyarrow.fs import S3FileSystem

SECRET = "a-secret-that-nothing-shows"
KEY_ID = "AKIAOFTHETESTS000000"
_KEY = re.compile(r"<Key>(.*?)</Key>")
_buckets = count()


@dataclass
class StoreServer:
    """A process, and what is asked of it without credentials."""

    port: int
    process: subprocess.Popen[bytes] = field(repr=False)
    host: str = "127.0.0.1"

    @classmethod
    def start(cls, host: str = "127.0.0.1") -> StoreServer:
        with socket.socket() as free:
            free.bind((host, 0))
            port = int(free.getsockname()[1])
        command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
                return cls(port, process, host)
            assert process.poll() is None, "moto's server ended as it began"
            time.sleep(0.05)
        process.kill()
        raise AssertionError("moto's server must listen within a minute")

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/octet-stream"}  # else the server takes it for a form
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
        return content

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def environment(self) -> dict[str, str]:
        """Where the store is and who asks, as commands and executors are told."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@dataclass(frozen=True)
class Bucket:
    """A new bucket, looked at from the side of the store."""

    server: StoreServer
    name: str

    @classmethod
    def new(cls, server: StoreServer) -> Bucket:
        bucket = cls(server, f"bucket-{next(_buckets)}")
        server.ask("PUT", bucket.name)
        return bucket

    def url(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    @property
    def system(self) -> S3FileSystem:
        """Arrow's own, without what the package makes of it: objects are for their owner."""
        return S3FileSystem(
            access_key=KEY_ID,
            secret_key=SECRET,
            region="us-east-1",
            scheme="http",
            endpoint_override=f"{self.server.host}:{self.server.port}",
        )

    def put(self, key: str, content: bytes) -> str:
        with self.system.open_output_stream(f"{self.name}/{key}", compression=None) as file:
            file.write(content)
        return self.url(key)

    def get(self, key: str) -> bytes:
        with self.system.open_input_file(f"{self.name}/{key}") as file:
            content: bytes = file.read()
        return content

    def remove(self, key: str) -> None:
        self.system.delete_file(f"{self.name}/{key}")

    def objects(self, under: str = "") -> list[str]:
        """Their keys, without those that only stand for a folder."""
        told = self.server.ask("GET", f"{self.name}?list-type=2&prefix={under}").decode()
        return [key for key in _KEY.findall(told) if not key.endswith("/")]

    def unfinished(self) -> list[str]:
        """Uploads in parts that nobody has ended."""
        return _KEY.findall(self.server.ask("GET", f"{self.name}?uploads").decode())


@pytest.fixture(scope="session")
def store_server() -> Iterator[StoreServer]:
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("moto's server is not installed (pip install 'moto[server]'): no S3 to try")
    server = StoreServer.start()
    yield server
    server.kill()


@pytest.fixture
def bucket(store_server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket that is empty, and an environment that leads to it."""
    for name, value in store_server.environment().items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    return Bucket.new(store_server)
