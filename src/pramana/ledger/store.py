"""Where entries are kept: a SQLite file, or a PostgreSQL database named by a URL.

All writing happens in one exclusive transaction at a time, over processes and machines, so that what is
checked before an entry is written still holds when it is. A transaction is on disk before it returns.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Executable,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    and_,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from pramana.errors import LedgerError
from pramana.files.locations import path_text
from pramana.ledger.state import Entry
from pramana.ledger.turns import WritersInTurn, postgresql_in_turn, sqlite_in_turn
from pramana.schema.connection import ENVIRONMENT, connection_string, lost_its_end, shown_url

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Engine


_PATIENCE = 60  # seconds to wait for another writer
_FULL = ("disk is full", "no space left", "could not extend", "file too large", os.strerror(errno.ENOSPC).lower())
_FAULTS: tuple[tuple[tuple[str, ...], str, str, str | None], ...] = (  # signs, what must hold, what was got, hint
    (_FULL, "The ledger {} must have room to grow", "a full disk", "It is as it was."),
    (("disk i/o error",), "The ledger {} must have room to grow", "a full or failing disk", None),
    (("locked",), f"The ledger {{}} must be free to write within {_PATIENCE} s", "another writer", None),
    (("readonly", "read-only", "permission denied"), "The ledger {} must be writable", "one that is not", None),
    (("append-only",), "The entries of the ledger {} must stay as they are", "an attempt to change one", None),
    (
        ("not a database", "malformed"),
        "The ledger {} must be a SQLite file",
        "a file that is damaged or no database",
        None,
    ),
    (("connect", "password", "does not exist"), "The ledger {} must be reachable", "no connection", None),
)


@dataclass(frozen=True)
class Store(WritersInTurn):
    """An opened ledger. `name` is what messages call it; it never holds a password."""

    lock: ClassVar[int] = 0x7072616D616E61  # "pramana"
    engine: Engine = field(repr=False)  # its own words hold the options of the URL
    name: str
    file: Path | None

    @classmethod
    def open(cls, location: str | Path, create: bool = False) -> Store:
        """Open a ledger; with `create`, make it if there is none."""
        from sqlalchemy.pool import NullPool

        location = path_text(location, "The ledger", LedgerError)
        name = shown_url(location)
        text = connection_string(str(location), "the ledger", LedgerError, "Such as postgresql://host/database.")
        if "://" in text:
            engine = postgresql_in_turn(text, "ledger", LedgerError, poolclass=NullPool)
            store = cls(engine, name, None)
        else:
            path = Path(text)
            _make_file(path, name, create)
            store = cls(sqlite_in_turn(path, _PATIENCE, poolclass=NullPool), name, path)
        with store.reading() as connection:
            current = version_of(connection) == VERSION
        if store.file is not None and lost_its_end(store.file):
            raise LedgerError(f"The ledger {name} must be a whole SQLite file", "one that ends within a page")
        if not current:
            with store.writing() as connection:
                migrate(connection, store.name, create)
        return store

    def plain_error(self, error: Exception) -> LedgerError:
        """What must hold of the ledger, by the kind of fault that the database's message tells of."""
        words = str(getattr(error, "orig", None) or error).lower()
        for signs, must, got, hint in _FAULTS:
            if any(sign in words for sign in signs):
                return LedgerError(must.format(self.name), got, hint)
        return LedgerError(
            f"The ledger {self.name} must be usable", f"a fault of the database ({type(error).__name__})"
        )


def entries(
    connection: Connection,
    kinds: Collection[str] = (),
    release: str | None = None,
    version: tuple[str, str] | None = None,
) -> list[Entry]:
    """Entries in order: all, or those of any of these kinds, this release, or this (recipient, level)."""
    wanted: list[ColumnElement[bool]] = []
    if kinds:
        wanted.append(ENTRIES.c.kind.in_(kinds))
    if release is not None:
        wanted.append(ENTRIES.c.release == release)
    if version is not None:
        wanted.append(and_(ENTRIES.c.recipient == version[0], ENTRIES.c.level == version[1]))
    query = select(ENTRIES).order_by(ENTRIES.c.number)
    rows = connection.execute(query.where(or_(*wanted)) if wanted else query).mappings()
    return [_entry({str(name): value for name, value in row.items()}) for row in rows]


def append(connection: Connection, entry: Entry) -> Entry:
    """Write an entry after the last one; its number, predecessor and digest are filled in here."""
    newest = select(ENTRIES.c.number, ENTRIES.c.digest).order_by(ENTRIES.c.number.desc()).limit(1)
    last = connection.execute(newest).first()
    if last is not None:
        entry = replace(entry, number=int(last.number) + 1, previous=str(last.digest))
    entry = replace(entry, digest=entry.computed_digest())
    body = json.dumps(dict(entry.body), sort_keys=True, allow_nan=False)
    connection.execute(insert(ENTRIES).values({**entry.to_json(), "body": body}))
    return entry


def _entry(row: Mapping[str, Any]) -> Entry:
    try:
        return Entry(**{**row, "number": int(row["number"]), "body": json.loads(row["body"])})
    except (ValueError, TypeError):
        raise LedgerError(
            "Every entry of a ledger must be readable", f"entry {row['number']} that is not"
        ) from None


def is_ledger_file(location: str | Path) -> bool:
    """Whether a ledger is named by its file, beside which keys and versions can be kept."""
    return "://" not in str(location) and not str(location).startswith(ENVIRONMENT)


def _make_file(path: Path, name: str, create: bool) -> None:
    """SQLite would make the file readable by others, and would make one where a name was misspelt."""
    try:
        if path.exists():
            if not path.is_file():
                kind = "a folder" if path.is_dir() else "a device or a pipe"
                raise LedgerError(f"The ledger {name} must be a file or a postgresql:// URL", kind)
            if create and path.stat().st_size == 0:  # someone made it, with other modes perhaps
                path.chmod(0o600)
            return
        if not create:
            raise LedgerError(f"The ledger {name} must exist", "none", "Make one with `pramana ledger create`.")
        with contextlib.suppress(FileExistsError):  # another run was first
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise LedgerError(f"The ledger {name} must be writable", error.strerror) from None
    except ValueError:
        raise LedgerError("A ledger must be a SQLite file or a postgresql:// URL", "a name that is none") from None


# The ledger's two tables as SQLAlchemy knows them. They load when a ledger is opened, and not before.


METADATA = MetaData()

TAKEN_STEPS = Table(
    "ledger_steps",
    METADATA,
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("brings", Text, nullable=False),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *(
        Column(name, Text, nullable=False)
        for name in ("at", "kind", "who", "dataset", "release", "recipient", "level", "body")
    ),
    Column("previous", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True),
)

INDEXES = (
    Index("entries_by_kind", ENTRIES.c.kind),
    Index("entries_by_release", ENTRIES.c.release),
    Index("entries_by_recipient", ENTRIES.c.recipient, ENTRIES.c.level),
)


# The ledger's tables, as numbered steps. A step is never changed once released: a new one follows it.
#
# Entries are only ever added: the database itself refuses to change or delete one.


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
