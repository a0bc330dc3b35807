"""The ledger's tables, as numbered steps. A step is never changed once released: a new one follows it.

Entries are only ever added: the database itself refuses to change or delete one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Executable, func, insert, inspect, select, text
from sqlalchemy.schema import CreateIndex, CreateTable

from pramana.errors import LedgerError
from pramana.ledger.tables import ENTRIES, INDEXES, TAKEN_STEPS

Statements = Sequence[Executable]

_SQLITE_GUARDS = tuple(
    text(
        f"CREATE TRIGGER entries_no_{verb} BEFORE {verb.upper()} ON entries "
        "BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END"
    )
    for verb in ("update", "delete")
)

_POSTGRESQL_GUARDS = (
    text(
        "CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$"
    ),
    text(
        "CREATE TRIGGER entries_no_change BEFORE UPDATE OR DELETE ON entries "
        "FOR EACH ROW EXECUTE FUNCTION entries_stay()"
    ),
    text(
        "CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION entries_stay()"
    ),
)

_TABLES = (CreateTable(ENTRIES),)
_INDEXES = tuple(CreateIndex(index) for index in INDEXES)

# (what it brings, statements on SQLite, statements on PostgreSQL)
STEPS: Sequence[tuple[str, Statements, Statements]] = (
    ("entries", _TABLES, _TABLES),
    ("entries that cannot be changed", _SQLITE_GUARDS, _POSTGRESQL_GUARDS),
    ("entries found by what they are about", _INDEXES, _INDEXES),
    ("digests of tables under their keys", (), ()),  # for programs of before to refuse: nothing here changes
    ("releases that stand by themselves", (), ()),  # programs of before would not count them
)
VERSION = len(STEPS)


def version_of(connection: Connection) -> int:
    """How many steps a database has taken; 0 for one that is no ledger yet."""
    if not inspect(connection).has_table(TAKEN_STEPS.name):
        return 0
    return int(connection.execute(select(func.max(TAKEN_STEPS.c.step))).scalar() or 0)


def migrate(connection: Connection, name: str, create: bool) -> None:
    """Take the steps that are missing, within the caller's transaction: all of them, or none."""
    version = version_of(connection)
    if version > VERSION:
        raise LedgerError(
            f"The ledger {name} must be of version {VERSION} or below", str(version), "Use a newer Pramana."
        )
    if version == 0 and not create:
        raise LedgerError(f"{name} must hold a ledger", "none", "Make one with `pramana ledger create`.")
    if version == 0:
        connection.execute(CreateTable(TAKEN_STEPS))
    for number, (brings, sqlite, postgresql) in enumerate(STEPS, 1):
        if number <= version:
            continue
        for statement in sqlite if connection.dialect.name == "sqlite" else postgresql:
            connection.execute(statement)
        connection.execute(insert(TAKEN_STEPS).values(step=number, brings=brings))
