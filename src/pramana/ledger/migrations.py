"""The ledger's tables, as numbered steps. A step is never changed once released: a new one follows it.

Entries are only ever added: the database itself refuses to change or delete one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana.errors import LedgerError

if TYPE_CHECKING:
    from sqlalchemy import Connection

Statements = Sequence[str]

_ENTRIES = """CREATE TABLE entries (
    number BIGINT PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    who TEXT NOT NULL,
    dataset TEXT NOT NULL,
    release TEXT NOT NULL,
    recipient TEXT NOT NULL,
    level TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE
)"""

_SQLITE_GUARDS = tuple(
    f"CREATE TRIGGER entries_no_{verb} BEFORE {verb.upper()} ON entries "
    "BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END"
    for verb in ("update", "delete")
)

_POSTGRESQL_GUARDS = (
    """CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$""",
    "CREATE TRIGGER entries_no_change BEFORE UPDATE OR DELETE ON entries "
    "FOR EACH ROW EXECUTE FUNCTION entries_stay()",
    "CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION entries_stay()",
)

_INDEXES = (
    "CREATE INDEX entries_by_kind ON entries (kind)",
    "CREATE INDEX entries_by_release ON entries (release)",
    "CREATE INDEX entries_by_recipient ON entries (recipient, level)",
)

# (what it brings, statements on SQLite, statements on PostgreSQL)
STEPS: Sequence[tuple[str, Statements, Statements]] = (
    ("entries", (_ENTRIES,), (_ENTRIES,)),
    ("entries that cannot be changed", _SQLITE_GUARDS, _POSTGRESQL_GUARDS),
    ("entries found by what they are about", _INDEXES, _INDEXES),
)
VERSION = len(STEPS)


def version_of(connection: Connection) -> int:
    """How many steps a database has taken; 0 for one that is no ledger yet."""
    from sqlalchemy import inspect

    if not inspect(connection).has_table("ledger_steps"):
        return 0
    found = connection.exec_driver_sql("SELECT MAX(step) FROM ledger_steps").scalar()
    return int(found or 0)


def migrate(connection: Connection, name: str, create: bool) -> None:
    """Take the steps that are missing, within the caller's transaction: all of them, or none."""
    version = version_of(connection)
    if version > VERSION:
        raise LedgerError(
            f"The ledger {name} must be of version {VERSION} or below", str(version), "Use a newer Pramana."
        )
    if version == 0 and not create:
        raise LedgerError(f"{name} must hold a ledger", "none", "Make one with `pramana levels create`.")
    if version == 0:
        connection.exec_driver_sql("CREATE TABLE ledger_steps (step INTEGER PRIMARY KEY, brings TEXT NOT NULL)")
    for number, (brings, sqlite, postgresql) in enumerate(STEPS, 1):
        if number <= version:
            continue
        for statement in sqlite if connection.dialect.name == "sqlite" else postgresql:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"INSERT INTO ledger_steps (step, brings) VALUES ({number}, '{brings}')")
