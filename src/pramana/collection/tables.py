"""The store's tables as SQLAlchemy knows them: nothing in them is a time, an address or a running number.

Rows lie in the order of their primary keys, which are keyed digests.
"""

from __future__ import annotations

from sqlalchemy import Column, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

STATE = Table(
    "survey_state",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)
RECORDS = Table(
    "survey_records",
    METADATA,
    Column("place", LargeBinary, primary_key=True),
    Column("codes", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
INVITATIONS = Table(
    "survey_invitations",
    METADATA,
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
