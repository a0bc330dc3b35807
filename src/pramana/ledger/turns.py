"""Databases whose writers take turns, over processes and machines: a SQLite file, or PostgreSQL named by a URL.

All writing happens in one exclusive transaction at a time, so that what is checked before something is written
still holds when it is. A transaction is on disk before it returns.
"""

from __future__ import annotations

import contextlib
import getpass
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pramana.errors import MissingExtraError, PramanaError, install_command

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


class WritersInTurn(ABC):
    """A database and its transactions. `lock` is what writers on one PostgreSQL database wait for."""

    engine: Engine
    lock: ClassVar[int]
    faults: ClassVar[tuple[type[Exception], ...]] = ()  # that count besides those of databases

    @abstractmethod
    def plain_error(self, error: Exception) -> PramanaError:
        """A fault without the database's own words, which can quote what was being written."""

    def close(self) -> None:
        self.engine.dispose()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer runs beside; all of it is kept, or nothing."""
        from sqlalchemy import func, select

        with self.plain_errors(), self.engine.connect() as connection:
            connection.execution_options(writing=True)
            with connection.begin():
                if self.engine.dialect.name == "postgresql":
                    connection.execute(select(func.pg_advisory_xact_lock(self.lock)))
                yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.plain_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def plain_errors(self) -> Iterator[None]:
        """Raise faults of the database as `plain_error` says them."""
        import sqlite3

        from sqlalchemy.exc import SQLAlchemyError

        known: tuple[type[Exception], ...] = (SQLAlchemyError, sqlite3.Error, *self.faults)
        try:
            yield
        except known as error:
            raise self.plain_error(error) from None


def sqlite_in_turn(path: Path, patience: int, pragmas: Sequence[str] = (), **options: Any) -> Engine:
    """A file whose writers wait for each other for so many seconds."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.engine import URL

    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": patience}, **options)

    @event.listens_for(engine, "connect")
    def plain(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions of its own
        for pragma in ("synchronous = FULL", *pragmas):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def postgresql_in_turn(text: str, what: str, error: type[PramanaError], **options: Any) -> Engine:
    """`what` is what is kept there, such as a ledger, for the messages."""
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError

    stated = text.replace("postgres://", "postgresql://", 1) if text.startswith("postgres://") else text
    try:
        url = make_url(stated)
        if url.get_backend_name() != "postgresql":
            raise error(f"A {what} must be a SQLite file or a postgresql:// URL", f"{url.get_backend_name()}://")
        return create_engine(url.set(drivername="postgresql+psycopg"), **options)
    except (ArgumentError, ValueError, TypeError):  # their words quote the URL
        raise error(f"The URL of a {what} must be one, such as postgresql://host/database") from None
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"A {what} in PostgreSQL needs the package psycopg", "none", install_command("postgresql")
        ) from None


# Who is asking, where nobody says so.


def whoami() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
