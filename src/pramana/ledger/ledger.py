"""The ledger: who received what, at which level. It is asked before a release is made, and told after.

A release is reserved, made, then committed. A run that is killed between the two leaves a reservation that
counts like a release (the bundle may have left the house) and that the same request takes up again.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.errors import LedgerError, RefusedError
from pramana.files.atomic import already_exists, write_whole
from pramana.files.locations import located
from pramana.files.store_path import StorePath, put_new
from pramana.ledger.rules import (
    DEFAULT_DELTA,
    Booked,
    Booking,
    KeyedDigest,
    Request,
    Total,
    booked_before,
    check_content,
    check_first,
    check_level,
    check_total,
    check_turn,
    checked_dataset,
    same_table,
    total_about,
    version_of,
    warnings_about,
)
from pramana.ledger.state import (
    ABANDONED,
    ALLOWED,
    COMMITTED,
    DATASET,
    DONE,
    KEYED,
    LIMITED,
    OPEN,
    REPEATED,
    RESERVED,
    Dataset,
    Entry,
    Release,
    State,
    unbroken,
)
from pramana.ledger.store import Store, append, entries
from pramana.theory.levels import Level

if TYPE_CHECKING:
    from sqlalchemy import Connection


_SETTINGS = (DATASET, ALLOWED, LIMITED)  # few, and what most rules are about


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Ledger:
    """An opened ledger; every method is one transaction. `Ledger.open` opens one.

    Args:
        store: Where its entries are.
        now: Tells the time of an entry.

    Raises:
        LedgerError: It cannot be opened, read or written.
        RefusedError: A release would break what was promised.

    >>> import pramana
    >>> sorted(release.recipient for release in pramana.Ledger.open("releases.ledger").releases())
    ['newspaper', 'university']
    """

    store: Store
    now: Callable[[], str] = _now

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        return cls(Store.open(place))

    @classmethod
    def create(cls, place: str | Path) -> Ledger:
        """Open a ledger, making it if there is none."""
        return cls(Store.open(place, create=True))

    def close(self) -> None:
        self.store.close()

    # ------------------------------------------------------------ reading

    def entries(self) -> list[Entry]:
        with self.store.reading() as connection:
            return entries(connection)

    def state(self) -> State:
        return State.of(self.entries())

    def dataset(self, name: str | None = None) -> Dataset:
        """The dataset of that name, or the only one."""
        with self.store.reading() as connection:
            known = State.of(entries(connection, _SETTINGS)).datasets
        return known[_one_of(list(known), name, "dataset")]

    def releases(self, dataset: str | None = None) -> list[Release]:
        return [r for r in self.state().releases.values() if dataset in (None, r.dataset)]

    def total(self, people: str | None = None, delta: float = DEFAULT_DELTA) -> Total:
        """What all releases about some people add up to, at a delta; without a name, about the only ones."""
        state = self.state()
        people = _one_of(state.everyone(), people, "people")
        if not 0 < delta < 1:
            raise LedgerError("delta must lie between 0 and 1", str(delta))
        return total_about(state, people, delta)

    def version_of(self, dataset: str, recipient: str, level: Level) -> Release | None:
        """What a recipient has, or is about to get, at a level."""
        with self.store.reading() as connection:
            known = State.of(entries(connection, version=(recipient, str(level))))
        return version_of(known, dataset, recipient, level)

    def is_unbroken(self) -> bool:
        return unbroken(self.entries())

    def lines(self) -> Iterator[str]:
        """Every entry as one line of JSON. Digests that are not under a key stay in the ledger."""
        written = self.entries()
        datasets = State.of(written).datasets
        for entry in written:
            line = entry.to_json()
            if entry.dataset in datasets and datasets[entry.dataset].digests != KEYED:
                line["body"] |= {name: None for name in ("source", "design", "content") if name in line["body"]}
                line["withheld"] = True
            yield json.dumps(line, sort_keys=True, ensure_ascii=False, allow_nan=False)

    def export(self, out: str | Path) -> int:
        """Write every entry to a new file, for its owner alone, or to a new object of a store; return how many."""
        lines = [f"{line}\n".encode() for line in self.lines()]
        target = located(out, "An export", LedgerError)
        if isinstance(target, StorePath):
            put_new(target, lines, LedgerError)
            return len(lines)
        try:
            write_whole(target, b"".join(lines), 0o600)
        except FileExistsError:
            raise already_exists(target, LedgerError) from None
        except OSError as error:
            raise LedgerError(f"{target} must be writable", error.strerror) from None
        return len(lines)

    # ------------------------------------------------------------ writing

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[State]:
        """What is registered, while no one else can register anything."""
        with self.store.writing() as connection:
            yield State.of(entries(connection, _SETTINGS))

    def add_dataset(
        self,
        dataset: Dataset,
        who: str,
        digest_under: KeyedDigest,
        independent: bool = False,
        keep_key: Callable[[], None] = lambda: None,
    ) -> tuple[str, ...]:
        """Register a table under its key, with warnings.

        The same table, or another about the same people's same values, released again under another key would
        be an independent second release, whose recipients can collude to their profit: refused, unless the
        holder says that it is meant. `digest_under` gives the digest of the new table under the key of an earlier
        dataset, or None where that key is not at hand. `keep_key` is called when nothing is left to refuse, while
        no one else can register anything: a key file that it makes is either registered or known to be this run's.
        """
        with self.store.writing() as connection:
            state = State.of(entries(connection))
            for earlier in state.datasets.values():
                earlier.check_digests()
            if dataset.name in state.datasets:
                raise RefusedError(
                    "A dataset must be registered once",
                    f"{dataset.name!r} again",
                    "Use `pramana levels issue` for a version of it, or name another dataset in [source].",
                )
            reused = [d.name for d in state.datasets.values() if d.key == dataset.key]
            if reused:
                raise RefusedError("A key must serve one dataset", f"the key of {reused[0]!r}")
            again = same_table(state, dataset, digest_under, independent)
            keep_key()
            self._write(connection, DATASET, who, dataset=dataset.name, body=dataset.to_json())
        return tuple(warnings_about(state, dataset, again))

    def allow(self, dataset: str, recipient: str, level: Level, who: str) -> None:
        """The highest level a recipient may get; recipient "" is everybody without one of their own."""
        self.dataset(dataset)
        with self.store.writing() as connection:
            self._write(connection, ALLOWED, who, dataset=dataset, recipient=recipient, level=str(level))

    def limit(self, people: str, epsilon: Fraction, who: str, delta: float | None = None) -> None:
        """The total epsilon of all releases about some people: local, or central at a delta."""
        if epsilon <= 0:
            raise LedgerError("A limit of epsilon must be positive", str(epsilon))
        if delta is not None and not 0 < delta < 1:
            raise LedgerError("The delta of a limit must lie between 0 and 1", str(delta))
        if not people:
            raise LedgerError("A limit of epsilon must say about whom it is", "no name", "Write people = ...")
        with self.store.writing() as connection:
            body = {"people": people, "epsilon": str(epsilon)} | ({} if delta is None else {"delta": delta})
            self._write(connection, LIMITED, who, body=body)

    def reserve(self, request: Request) -> Release:
        """Check every rule and write the intention down; or take up a request that was begun or done before."""
        with self.store.writing() as connection:
            about = (request.recipient, str(request.level))
            state = State.of(entries(connection, _SETTINGS, version=about))
            dataset = checked_dataset(state, request)
            known = version_of(state, request.dataset, request.recipient, request.level)
            if known is not None:
                return known
            limited = {*state.limits, *state.central_limits}
            if not dataset.keyed or dataset.people in limited:
                state = State.of(entries(connection))  # these rules look at every release
            wanted = Release(
                secrets.token_hex(16), request.dataset, request.recipient, request.level, request.ratio,
                request.who, self.now(),
            )  # fmt: skip
            check_level(state, request)
            check_total(state, dataset.people, wanted)
            check_turn(state, dataset)
            ratio = None if request.ratio is None else str(request.ratio)
            self._write(
                connection, RESERVED, request.who, wanted.reserved_at, dataset=request.dataset, release=wanted.id,
                recipient=request.recipient, level=str(request.level), body={"ratio": ratio},
            )  # fmt: skip
        return wanted

    def book(self, booking: Booking, digest_under: KeyedDigest) -> Booked:
        """Check every rule and write the intention down, or take up a release that was begun or made before."""
        with self.store.writing() as connection:
            state = State.of(entries(connection))
            known = booked_before(state, booking)
            if known is not None:
                return Booked(known, new=False)
            wanted = Release(
                secrets.token_hex(16), booking.dataset, booking.recipient, None, None, booking.who, self.now(),
                people=booking.people, method=booking.method, cost=booking.cost, table=booking.table,
            )  # fmt: skip
            unsure = check_first(state, booking, wanted, digest_under)
            check_total(state, booking.people, wanted)
            body = {
                "people": booking.people,
                "method": booking.method,
                "cost": booking.cost.to_json(),
                "table": asdict(booking.table),
            }
            self._write(
                connection, RESERVED, booking.who, wanted.reserved_at, dataset=booking.dataset,
                release=wanted.id, recipient=booking.recipient, body=body,
            )  # fmt: skip
        return Booked(wanted, new=True, unsure=tuple(unsure))

    def commit(self, release: str, content: str, who: str, details: Mapping[str, Any] | None = None) -> Release:
        """The release was made, with this content. Saying so twice changes nothing; other content is refused."""
        with self.store.writing() as connection:
            known = _release_in(connection, release)
            if known.status not in (OPEN, DONE):
                raise RefusedError("A release must be reserved to be committed", known.status)
            if known.status == DONE:
                check_content(known, content)
            else:
                self._write_of(known, connection, COMMITTED, who, content=content, details=dict(details or {}))
            return _release_in(connection, release)

    def repeat(self, release: str, content: str, who: str) -> Release:
        """A committed release is given out again: the same content, or it is refused."""
        with self.store.writing() as connection:
            known = _release_in(connection, release)
            check_content(known, content)
            self._write_of(known, connection, REPEATED, who)
        return known

    def abandon(self, release: str, who: str, reason: str) -> None:
        """A reservation whose bundle has reached no one, and will not."""
        with self.store.writing() as connection:
            known = _release_in(connection, release)
            if known.status != OPEN:
                raise RefusedError("Only a release that is reserved can be abandoned", known.status)
            self._write_of(known, connection, ABANDONED, who, reason=reason)

    def _write(self, connection: Connection, kind: str, who: str, at: str | None = None, **what: Any) -> None:
        append(connection, Entry(1, at or self.now(), kind, who, **what))

    def _write_of(self, release: Release, connection: Connection, kind: str, who: str, **body: Any) -> None:
        """An entry about a release that the ledger has."""
        about = {"dataset": release.dataset, "release": release.id, "recipient": release.recipient}
        level = "" if release.level is None else str(release.level)
        self._write(connection, kind, who, **about, level=level, body=body)


def _one_of(known: list[str], name: str | None, what: str) -> str:
    """The name, which must be known; without one, that of the only one there is."""
    listed = ", ".join(map(repr, known))
    if name is None and len(known) != 1:
        raise LedgerError(f"The {what} must be named where a ledger has several", listed or "none")
    if name is not None and name not in known:
        raise LedgerError(f"The {what} must be in the ledger", repr(name)[:80], f"It has: {listed or 'none'}.")
    return known[0] if name is None else name


def _release_in(connection: Connection, release: str) -> Release:
    """A release by its own entries alone; refused where the ledger has none of it."""
    known = State.of(entries(connection, release=release)).releases
    if release not in known:
        raise LedgerError("The release must be in the ledger", repr(release))
    return known[release]
