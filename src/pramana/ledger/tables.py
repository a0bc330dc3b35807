"""The ledger's two tables as SQLAlchemy knows them. They load when a ledger is opened, and not before."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

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
