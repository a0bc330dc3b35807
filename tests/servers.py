"""A real PostgreSQL for the tests that need one: started here, on a socket of its own, stopped at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


def binaries() -> Path | None:
    """Where initdb and pg_ctl are: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


@dataclass
class Server:
    """A cluster in a folder. PostgreSQL refuses to run as root, so root hands it to the user postgres."""

    bin: Path
    folder: Path
    user: str | None

    def run(self, *command: str) -> None:
        done = subprocess.run(
            command, user=self.user, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c max_connections=40"
        log = str(self.folder / "log")
        self.run(
            str(self.bin / "pg_ctl"), "-D", str(self.folder / "data"), "-w", "-l", log, "-o", options, "start"
        )

    def stop(self, mode: str = "fast") -> None:
        self.run(str(self.bin / "pg_ctl"), "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def execute(self, *statements: str) -> None:
        for statement in statements:
            self.run(str(self.bin / "psql"), "-q", "-h", str(self.folder), "-U", "postgres", "-c", statement)

    def database(self, name: str) -> str:
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    place = binaries()
    if place is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    user = None
    folder = Path(tempfile.mkdtemp(prefix="pramana-pg-", dir="/tmp"))  # a socket's path must be short
    if os.getuid() == 0:
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        user = "postgres"
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = Server(place, folder, user)
    server.run(
        str(place / "initdb"),
        "-D",
        str(folder / "data"),
        "-U",
        "postgres",
        "--auth=trust",
        "--no-sync",
        "-E",
        "UTF8",
    )
    server.start()
    yield server
    server.stop("immediate")
    shutil.rmtree(folder, ignore_errors=True)
