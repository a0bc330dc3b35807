"""Where entries are kept: a SQLite file, or a PostgreSQL database named by a URL.

All writing happens in one exclusive transaction at a time, over processes and machines, so that what is
checked before an entry is written still holds when it is. A transaction is on disk before it returns.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.errors import LedgerError, MissingExtraError
from pramana.ledger.entry import Entry
from pramana.ledger.migrations import VERSION, migrate, version_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_LOCK = 0x7072616D616E61  # "pramana": what writers on one PostgreSQL database wait for
_PATIENCE = 60  # seconds to wait for another writer
_COLUMNS = "number, at, kind, who, dataset, release, recipient, level, body, previous, digest"


@dataclass(frozen=True)
class Store:
    """An opened ledger. `name` is what messages call it; it never holds a password."""

    engine: Engine
    name: str
    file: Path | None

    @classmethod
    def open(cls, place: str | Path, create: bool = False) -> Store:
        """Open a ledger; with `create`, make it if there is none."""
        text = str(place)
        if "://" in text:
            store = cls(*_postgresql(text), None)
        else:
            path = Path(text)
            _make_file(path, create)
            store = cls(_sqlite(path), text, path)
        with store.reading() as connection:
            current = version_of(connection) == VERSION
        if not current:
            with store.writing() as connection:
                migrate(connection, store.name, create)
        return store

    def close(self) -> None:
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer runs beside; all of it is kept, or nothing."""
        with self._said_plainly(), self.engine.connect() as connection:
            connection.execution_options(writing=True)
            with connection.begin():
                if self.file is None:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._said_plainly(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def _said_plainly(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            raise _plain(error, self.name) from None


def entries(
    connection: Connection,
    kinds: Collection[str] = (),
    release: str | None = None,
    held: tuple[str, str] | None = None,
) -> list[Entry]:
    """Entries in order: all, or those of any of these kinds, this release, or this (recipient, level)."""
    from sqlalchemy import bindparam, text

    known: dict[str, Any] = {}
    parts = []
    if kinds:
        parts.append("kind IN :kinds")
        known["kinds"] = list(kinds)
    if release is not None:
        parts.append("release = :release")
        known["release"] = release
    if held is not None:
        parts.append("(recipient = :recipient AND level = :level)")
        known |= {"recipient": held[0], "level": held[1]}
    where = f" WHERE {' OR '.join(parts)}" if parts else ""
    query = text(f"SELECT {_COLUMNS} FROM entries{where} ORDER BY number")
    if kinds:
        query = query.bindparams(bindparam("kinds", expanding=True))
    return [_entry(tuple(row)) for row in connection.execute(query, known)]


def append(connection: Connection, entry: Entry) -> Entry:
    """Write an entry after the last one; its number, predecessor and digest are filled in here."""
    from sqlalchemy import text

    last = connection.exec_driver_sql("SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1").first()
    if last is not None:
        entry = replace(entry, number=int(last[0]) + 1, previous=str(last[1]))
    entry = replace(entry, digest=entry.computed_digest())
    values = {**entry.to_json(), "body": json.dumps(dict(entry.body), sort_keys=True, allow_nan=False)}
    names = _COLUMNS.split(", ")
    connection.execute(
        text(f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in names)})"), values
    )
    return entry


def _entry(row: tuple[Any, ...]) -> Entry:
    number, at, kind, who, dataset, release, recipient, level, body, previous, digest = row
    try:
        return Entry(
            int(number), at, kind, who, dataset, release, recipient, level, json.loads(body), previous, digest
        )
    except (ValueError, TypeError):
        raise LedgerError("Every entry of a ledger must be readable", f"entry {number} that is not") from None


def name_of(place: str | Path) -> str:
    """What a ledger may be called in messages: a URL without its password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    if "://" not in str(place):
        return str(place)
    try:
        return make_url(str(place)).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "the ledger"


# ---------------------------------------------------------------- the two databases


def _make_file(path: Path, create: bool) -> None:
    """SQLite would make the file readable by others, and would make one where a name was misspelt."""
    if path.exists():
        if not path.is_file():
            raise LedgerError(f"The ledger {path} must be a file or a postgresql:// URL", "something else")
        return
    if not create:
        raise LedgerError(f"The ledger {path} must exist", "none", "Make one with `pramana levels create`.")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerError(f"The ledger {path} must be writable", error.strerror) from None


def _sqlite(path: Path) -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import URL
    from sqlalchemy.pool import NullPool

    engine = create_engine(
        URL.create("sqlite", database=str(path)), poolclass=NullPool, connect_args={"timeout": _PATIENCE}
    )

    @event.listens_for(engine, "connect")
    def plain(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions of its own
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _postgresql(text: str) -> tuple[Engine, str]:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError
    from sqlalchemy.pool import NullPool

    try:
        url = make_url(text.replace("postgres://", "postgresql://", 1) if text.startswith("postgres://") else text)
    except (ArgumentError, ValueError):
        raise LedgerError("The URL of a ledger must be one, such as postgresql://host/database") from None
    if url.get_backend_name() != "postgresql":
        raise LedgerError("A ledger must be a SQLite file or a postgresql:// URL", f"{url.get_backend_name()}://")
    try:
        engine = create_engine(url.set(drivername="postgresql+psycopg"), poolclass=NullPool)
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A ledger in PostgreSQL needs the package psycopg", "none", "pip install 'pramana[postgresql]'"
        ) from None
    return engine, url.render_as_string(hide_password=True)


def _plain(error: Exception, name: str) -> LedgerError:
    """A database's own messages can quote what was being written: only the kind of fault is passed on."""
    words = str(getattr(error, "orig", None) or error).lower()
    full = (
        "disk is full",
        "no space left",
        "could not extend",
        "file too large",
        os.strerror(errno.ENOSPC).lower(),
    )
    if any(word in words for word in full):
        return LedgerError(f"The ledger {name} must have room to grow", "a full disk", "Nothing was written.")
    if "disk i/o error" in words:
        return LedgerError(f"The ledger {name} must have room to grow", "a full or failing disk")
    if "locked" in words:
        return LedgerError(f"The ledger {name} must be free to write within {_PATIENCE} s", "another writer")
    if "readonly" in words or "read-only" in words or "permission denied" in words:
        return LedgerError(f"The ledger {name} must be writable", "one that is not")
    if "append-only" in words:
        return LedgerError(f"The entries of the ledger {name} must stay as they are", "an attempt to change one")
    if "not a database" in words or "malformed" in words:
        return LedgerError(f"The ledger {name} must be a SQLite file", "something else or a damaged one")
    if "connect" in words or "password" in words or "does not exist" in words:
        return LedgerError(f"The ledger {name} must be reachable", "no connection")
    return LedgerError(f"The ledger {name} must be usable", f"a fault of the database ({type(error).__name__})")
