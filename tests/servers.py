"""Databases for the tests that need one: PostgreSQL is started here, on a socket of its own, and stopped again."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.needs import skip_or_fail


class NoServerError(Exception):
    """Why no server can be started here."""


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

    def kill(self) -> None:
        """kill -9 of the server and of all its processes at once: what a power cut leaves, with nothing said."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        own = [main, *_children_of(main)]
        for process in own:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        end = time.monotonic() + 30
        while any(_is_alive(process) for process in own) and time.monotonic() < end:
            time.sleep(0.01)
        # Where nobody buries the dead, their numbers stay taken, and a new server would take them for alive.
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        for lock in self.folder.glob(".s.PGSQL.*"):
            lock.unlink()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def execute(self, *statements: str) -> None:
        for statement in statements:
            self.run(str(self.bin / "psql"), "-q", "-h", str(self.folder), "-U", "postgres", "-c", statement)

    def guard(self, role: str, password: str) -> None:
        """Make a role that must give its password."""
        self.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'", f"GRANT pg_read_all_data TO {role}")
        rules = self.folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all {role} scram-sha-256\n{rules.read_text()}")
        self.run(str(self.bin / "pg_ctl"), "-D", str(self.folder / "data"), "reload")

    def database(self, name: str) -> str:
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


def _children_of(process: int) -> list[int]:
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if _state_of(path)[1:2] == [str(process)]
    ]


def _is_alive(process: int) -> bool:
    return _state_of(Path(f"/proc/{process}/stat"))[:1] not in ([], ["Z"])


def _state_of(path: Path) -> list[str]:
    """State and parent of a process; nothing where it has ended."""
    try:
        return path.read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return []


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A new cluster, started, and gone afterwards."""
    place = binaries()
    if place is None:
        raise NoServerError("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    user = None
    folder = Path(tempfile.mkdtemp(prefix="pramana-pg-", dir="/tmp"))  # a socket's path must be short
    if os.getuid() == 0:
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            raise NoServerError("PostgreSQL does not run as root, and there is no user postgres") from None
        user = "postgres"
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = Server(place, folder, user)
    options = ["-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8"]
    server.run(str(place / "initdb"), "-D", str(folder / "data"), *options)
    server.start()
    try:
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except NoServerError as error:
            skip_or_fail(str(error))
        yield server


@dataclass
class Place:
    """A database of any kind, and a way to it that is not Pramana's."""

    kind: str
    url: str
    connect: Callable[[], Any]

    def run(self, *statements: str) -> None:
        connection = self.connect()
        try:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        finally:
            connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = self.connect()
        try:
            return [tuple(row) for row in connection.execute(query).fetchall()]
        finally:
            connection.close()

    def tables(self) -> list[str]:
        query = {
            "sqlite": "SELECT name FROM sqlite_master",
            "duckdb": "SELECT table_name FROM information_schema.tables",
            "postgresql": "SELECT relname FROM pg_stat_user_tables",
        }[self.kind]
        return sorted(name for (name,) in self.rows(query))


def new_place(request: pytest.FixtureRequest, folder: Path) -> Place:
    """An empty database of the kind the test was asked for."""
    kind = request.param
    if kind == "sqlite":
        file = folder / "people.sqlite"
        file.touch()
        return Place(kind, f"sqlite:///{file}", lambda: sqlite3.connect(file))
    if kind == "duckdb":
        file = folder / "people.duckdb"
        _duckdb(file).close()
        return Place(kind, f"duckdb:///{file}", lambda: _duckdb(file))
    server: Server = request.getfixturevalue("postgresql")
    url = server.database(f"d{secrets.token_hex(6)}")
    return Place(kind, url, lambda: _psycopg(url))


def _psycopg(url: str) -> Any:
    import psycopg

    return psycopg.connect(url)


def _duckdb(file: Path) -> Any:
    import duckdb

    connection = duckdb.connect(file)
    connection.begin()
    return connection
