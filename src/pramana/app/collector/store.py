"""Where randomised records are kept: a SQLite file, or a PostgreSQL database named by a URL.

A record lies under a keyed digest of an identifier that its device drew: what is sent twice is stored once, and
the order of the rows tells nothing. An invitation is spent by deleting its digest in the transaction that stores
the record; nothing else has to do with both. What a transaction returned for is on disk. Pages of a database still
show in which order they were filled, so the store is written anew in the order of the keys now and then (`tidy`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import sqlalchemy as sql

from pramana.app.collector.submission import Submission, invitation_digest
from pramana.errors import CollectionError
from pramana.ledger.turns import WritersInTurn, postgresql_in_turn, sqlite_in_turn
from pramana.randomness.samplers import Codes
from pramana.schema.connection import connection_string, lost_its_end, shown_url

_PATIENCE = 30  # seconds to wait for another writer
_AT_A_TIME = 500  # values in one statement
_CODE = np.dtype(">u2")
_PRAGMAS = ("secure_delete = ON", "temp_store = MEMORY")


# Nothing in the tables is a time, an address or a running number. Rows lie in the order of their primary keys,
# which are keyed digests.
METADATA = sql.MetaData()


def _table(name: str, *columns: sql.Column[Any]) -> sql.Table:
    return sql.Table(name, METADATA, *columns, sqlite_with_rowid=False)


STATE = _table(
    "survey_state",
    sql.Column("name", sql.Text, primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)
RECORDS = _table(
    "survey_records",
    sql.Column("place", sql.LargeBinary, primary_key=True),
    sql.Column("codes", sql.LargeBinary, nullable=False),
)
INVITATIONS = _table("survey_invitations", sql.Column("digest", sql.LargeBinary, primary_key=True))


class Outcome(Enum):
    """What became of a submission."""

    STORED = "stored"
    ALREADY = "already"  # the same device sent it before
    UNINVITED = "uninvited"  # unknown, or spent
    CLOSED = "closed"


@dataclass
class CollectionStore(WritersInTurn):
    """The records of one survey. `name` is what messages call it; it never holds a password."""

    lock: ClassVar[int] = 0x7072616D73757276  # "pramsurv"
    faults: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    engine: sql.Engine = field(repr=False)
    name: str
    file: Path | None
    columns: int
    _key: bytes = field(default=b"", repr=False)
    untidied: int = 0  # records since the store was last written anew

    @classmethod
    def open(cls, url: str | Path, page: str, columns: int) -> CollectionStore:
        """Open a store, or make it; one that was begun with another page is refused."""
        name = shown_url(url)
        text = connection_string(str(url), "the store", CollectionError, "Such as postgresql://host/database.")
        if "://" in text:
            engine = postgresql_in_turn(text, "store", CollectionError, pool_pre_ping=True, pool_size=4)
            store = cls(engine, name, None, columns)
        else:
            path = Path(text)
            _make_file(path, name)
            store = cls(sqlite_in_turn(path, _PATIENCE, _PRAGMAS), name, path, columns)
        try:
            store._begin(page)
            if store.file is not None and lost_its_end(store.file):
                raise CollectionError(
                    f"The store {name} must be a whole SQLite file", "one that ends within a page"
                )
        except BaseException:
            store.close()
            raise
        return store

    # ------------------------------------------------------------ writing

    def add(self, batch: Sequence[Submission]) -> list[Outcome]:
        """Store a batch in one transaction, in an order that only the key tells; on disk when it returns."""
        keyed = [(self._row_key(submission.identifier), submission) for submission in batch]
        with self.writing() as connection:
            if self._state(connection, "closed") is not None:
                return [Outcome.CLOSED for _ in batch]
            known = _present(connection, RECORDS.c.place, [place for place, _ in keyed])
            unspent = _present(connection, INVITATIONS.c.digest, [_digest(s) for s in batch if s.invitation])
            outcomes = [_outcome(place, submission, known, unspent) for place, submission in keyed]
            pairs = zip(keyed, outcomes, strict=True)
            stored = [pair for pair, outcome in pairs if outcome is Outcome.STORED]
            _write(connection, stored)
        self.untidied += len(stored)
        return outcomes

    def invite(self, tokens: Sequence[str]) -> None:
        """Let these tokens in, once each; a store takes invitations once."""
        with self.writing() as connection:
            if self._state(connection, "invited") is not None:
                raise CollectionError(f"The store {self.name} has invitations already")
            digests = sorted(invitation_digest(token) for token in tokens)
            for first in range(0, len(digests), _AT_A_TIME):
                part = digests[first : first + _AT_A_TIME]
                connection.execute(sql.insert(INVITATIONS), [{"digest": digest} for digest in part])
            self._set(connection, "invited", str(len(digests)))

    def set_closed(self, closed: bool) -> None:
        """Take no more records; or take them again."""
        with self.writing() as connection:
            connection.execute(sql.delete(STATE).where(STATE.c.name == "closed"))
            if closed:
                self._set(connection, "closed", "yes")

    def tidy(self) -> None:
        """Write everything anew in the order of the keys: in a file's pages, and by a database's own counters."""
        if self.file is not None:
            with self.plain_errors(), self.engine.connect() as connection:
                connection.connection.driver_connection.execute("VACUUM")  # type: ignore[union-attr]
        else:
            with self.writing() as connection:
                for table, column in (("survey_records", "place"), ("survey_invitations", "digest")):
                    for statement in (
                        f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
                        f"CREATE TEMPORARY TABLE anew ON COMMIT DROP AS SELECT * FROM {table}",
                        f"TRUNCATE {table}",
                        f"INSERT INTO {table} SELECT * FROM anew ORDER BY {column}",
                        "DROP TABLE anew",
                    ):
                        connection.execute(sql.text(statement))
        self.untidied = 0

    # ------------------------------------------------------------ reading

    @property
    def is_closed(self) -> bool:
        with self.reading() as connection:
            return self._state(connection, "closed") is not None

    @property
    def has_invitations(self) -> bool:
        with self.reading() as connection:
            return self._state(connection, "invited") is not None

    def count(self) -> int:
        with self.reading() as connection:
            return int(connection.execute(sql.select(sql.func.count()).select_from(RECORDS)).scalar_one())

    def records(self) -> Codes:
        """All records, one a row, in the order of their keys."""
        with self.reading() as connection:
            rows = connection.execute(sql.select(RECORDS.c.codes).order_by(RECORDS.c.place)).scalars()
            together = b"".join(bytes(row) for row in rows)
        try:
            return np.frombuffer(together, _CODE).reshape(-1, self.columns).astype(np.uint16)
        except ValueError:
            size = f"{len(together):,} bytes in all"
            must = f"The store {self.name} must hold records of {self.columns} answers"
            raise CollectionError(must, size) from None

    # ------------------------------------------------------------ its own

    def _row_key(self, identifier: bytes) -> bytes:
        return hmac.digest(self._key, identifier, "sha256")[:16]

    def _begin(self, page: str) -> None:
        with self.writing() as connection:
            METADATA.create_all(connection)
            begun, key = self._state(connection, "page"), self._state(connection, "key")
            if begun is None or key is None:
                begun, key = page, secrets.token_hex(32)
                self._set(connection, "page", page)
                self._set(connection, "key", key)
        if begun != page:
            raise CollectionError(
                f"The store {self.name} must go on with the page that it was begun with",
                "another recipe, or another version of Pramana",
                "Its records may follow another law. Go on as it was begun, or take another folder.",
            )
        self._key = bytes.fromhex(key)

    def _state(self, connection: sql.Connection, name: str) -> str | None:
        value = connection.execute(sql.select(STATE.c.value).where(STATE.c.name == name)).scalar_one_or_none()
        return None if value is None else str(value)

    def _set(self, connection: sql.Connection, name: str, value: str) -> None:
        connection.execute(sql.insert(STATE).values(name=name, value=value))

    def plain_error(self, error: Exception) -> CollectionError:
        got = f"a fault of the database ({type(error).__name__})"
        return CollectionError(f"The store {self.name} must be usable", got)


def _outcome(place: bytes, submission: Submission, known: set[bytes], unspent: set[bytes]) -> Outcome:
    """What becomes of one; places and invitations that it takes are taken for those after it."""
    if place in known:
        return Outcome.ALREADY
    if submission.invitation is not None:
        if _digest(submission) not in unspent:
            return Outcome.UNINVITED
        unspent.discard(_digest(submission))
    known.add(place)
    return Outcome.STORED


def _write(connection: sql.Connection, stored: Sequence[tuple[bytes, Submission]]) -> None:
    """Records in the order of their places, invitations in that of their digests: neither tells of the other."""
    if spent := sorted(_digest(submission) for _, submission in stored if submission.invitation is not None):
        spending = sql.delete(INVITATIONS).where(INVITATIONS.c.digest == sql.bindparam("spent"))
        connection.execute(spending, [{"spent": digest} for digest in spent])
    if rows := sorted((place, np.array(submission.codes, _CODE).tobytes()) for place, submission in stored):
        connection.execute(sql.insert(RECORDS), [{"place": place, "codes": codes} for place, codes in rows])


def _digest(submission: Submission) -> bytes:
    return invitation_digest(submission.invitation or "")


def _present(connection: sql.Connection, column: Any, values: Sequence[bytes]) -> set[bytes]:
    """Which of some values a column has."""
    present: set[bytes] = set()
    for first in range(0, len(values), _AT_A_TIME):
        part = sql.select(column).where(column.in_(values[first : first + _AT_A_TIME]))
        present |= {bytes(value) for value in connection.execute(part).scalars()}
    return present


def _make_file(path: Path, name: str) -> None:
    """SQLite would make the file readable by others."""
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise CollectionError(f"The store {name} must be writable", error.strerror) from None


# Records on their way to the store: gathered for a moment, written together, and only then acknowledged.


GATHERED_FOR = 0.1  # seconds; who arrives within it is written in one transaction, in the order of the keys
MOST_TOGETHER = 1000
MOST_WAITING = 20_000
_IDLE = 2.0  # seconds without an arrival after which the store is written anew
_OFTEN = 4  # else it is when a quarter of the records are new
_LEAST = 256

_Waiting = tuple[Submission, "asyncio.Future[Outcome]"]


class Arrivals:
    """The one writer of a store."""

    def __init__(self, store: CollectionStore, gathered_for: float = GATHERED_FOR) -> None:
        self._store, self._gathered_for = store, gathered_for
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue(MOST_WAITING)
        self._stored = 0

    async def submit(self, submission: Submission) -> Outcome:
        """What became of it, once that is on disk; CollectionError where it was not stored."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        try:
            self._waiting.put_nowait((submission, done))
        except asyncio.QueueFull:
            raise CollectionError(
                "A survey must have time to store what arrives", f"{MOST_WAITING:,} records waiting"
            ) from None
        return await done

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this is open records are written; what waits at the end is written before it ends."""
        self._stored = await asyncio.to_thread(self._store.count)
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            await self._waiting.join()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            batch = await self._next()
            if batch:
                await self._write(batch)
            untidied = self._store.untidied
            if untidied and (not batch or untidied > max(_LEAST, self._stored // _OFTEN)):
                with contextlib.suppress(CollectionError):  # no room for it now: it is tried again later
                    await asyncio.to_thread(self._store.tidy)

    async def _next(self) -> list[_Waiting]:
        """Those who arrive within a moment; nobody, if nobody comes while there is something to tidy."""
        try:
            first = await asyncio.wait_for(self._waiting.get(), _IDLE if self._store.untidied else None)
        except TimeoutError:
            return []
        batch = [first]
        await asyncio.sleep(self._gathered_for)
        while len(batch) < MOST_TOGETHER and not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        return batch

    async def _write(self, batch: list[_Waiting]) -> None:
        try:
            outcomes = await asyncio.to_thread(self._store.add, [submission for submission, _ in batch])
            self._stored += outcomes.count(Outcome.STORED)
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if not done.done():
                    done.set_result(outcome)
        except CollectionError as error:
            for _, done in batch:
                if not done.done():
                    done.set_exception(CollectionError(error.what, error.got, error.hint))
        finally:
            for _ in batch:
                self._waiting.task_done()
