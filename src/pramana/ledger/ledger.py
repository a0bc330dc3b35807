"""The ledger: who received what, at which level. It is asked before a release is made, and told after.

A release is reserved, made, then committed. A run that is killed between the two leaves a reservation that
counts like a release (the bundle may have left the house) and that the same request takes up again.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.errors import LedgerError, RefusedError
from pramana.ledger.entry import (
    ABANDONED,
    ALLOWED,
    COMMITTED,
    DATASET,
    LIMITED,
    REPEATED,
    RESERVED,
    Entry,
)
from pramana.ledger.state import DONE, KEYED, OPEN, Dataset, Release, State, unbroken
from pramana.ledger.store import Store, append, entries
from pramana.theory import Level, rounding

if TYPE_CHECKING:
    from sqlalchemy import Connection


_SETTINGS = (DATASET, ALLOWED, LIMITED)  # few, and what most rules are about


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def whoami() -> str:
    """Who is asking, where nobody says so."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@dataclass(frozen=True)
class Request:
    """Someone wants a version: of what, for whom, at which level, and from which table under which key."""

    dataset: str
    recipient: str
    level: Level
    source: str
    key: str
    design: str
    ratio: Fraction | None
    who: str = field(default_factory=whoami)

    def __post_init__(self) -> None:
        for what, text in (("recipient", self.recipient), ("dataset", self.dataset)):
            if not text.strip() or len(text) > 200 or not text.isprintable():
                raise LedgerError(f"The name of a {what} must be 1 to 200 printable characters", repr(text)[:80])


@dataclass(frozen=True)
class Ledger:
    """An opened ledger; every method is one transaction.

    >>> [release.recipient for release in pramana.Ledger.open("releases.ledger").releases()]  # doctest: +SKIP
    ['university']
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
        if name is None:
            if len(known) != 1:
                raise LedgerError(
                    "The dataset must be named where a ledger has several", ", ".join(known) or "none"
                )
            return next(iter(known.values()))
        if name not in known:
            raise LedgerError("The dataset must be in the ledger", repr(name), f"It has: {', '.join(known)}.")
        return known[name]

    def releases(self, dataset: str | None = None) -> list[Release]:
        return [r for r in self.state().releases.values() if dataset in (None, r.dataset)]

    def version_of(self, dataset: str, recipient: str, level: Level) -> Release | None:
        """What a recipient has, or is about to get, at a level."""
        with self.store.reading() as connection:
            known = State.of(entries(connection, version=(recipient, str(level))))
        return _version_of(known, dataset, recipient, level)

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
        digest_under: Callable[[Dataset], str | None],
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
            state = State.of(entries(connection, _SETTINGS))
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
            again = _same_table(state, dataset, digest_under, independent)
            keep_key()
            self._write(connection, DATASET, who, dataset=dataset.name, body=dataset.to_json())
        return tuple(_warnings(state, dataset, again))

    def allow(self, dataset: str, recipient: str, level: Level, who: str) -> None:
        """The highest level a recipient may get; recipient "" is everybody without one of their own."""
        self.dataset(dataset)
        with self.store.writing() as connection:
            self._write(connection, ALLOWED, who, dataset=dataset, recipient=recipient, level=str(level))

    def limit(self, people: str, epsilon: Fraction, who: str) -> None:
        """The total epsilon of all datasets about some people."""
        if epsilon <= 0:
            raise LedgerError("A limit of epsilon must be positive", str(epsilon))
        if not people:
            raise LedgerError("A limit of epsilon must say about whom it is", "no name", "Write people = ...")
        with self.store.writing() as connection:
            self._write(connection, LIMITED, who, body={"people": people, "epsilon": str(epsilon)})

    def reserve(self, request: Request) -> Release:
        """Check every rule and write the intention down; or take up a request that was begun or done before."""
        with self.store.writing() as connection:
            about = (request.recipient, str(request.level))
            state = State.of(entries(connection, _SETTINGS, version=about))
            dataset = _checked_dataset(state, request)
            known = _version_of(state, request.dataset, request.recipient, request.level)
            if known is not None:
                return known
            if not dataset.keyed or dataset.people in state.limits:
                state = State.of(entries(connection))  # these rules look at every release
            wanted = Release(
                secrets.token_hex(16), request.dataset, request.recipient, request.level, request.ratio,
                request.who, self.now(),
            )  # fmt: skip
            _check_level(state, request)
            _check_total(state, dataset, wanted)
            _check_turn(state, dataset)
            ratio = None if request.ratio is None else str(request.ratio)
            self._write(
                connection, RESERVED, request.who, wanted.reserved_at, dataset=request.dataset, release=wanted.id,
                recipient=request.recipient, level=str(request.level), body={"ratio": ratio},
            )  # fmt: skip
        return wanted

    def commit(self, release: str, content: str, who: str, details: Mapping[str, Any] | None = None) -> Release:
        """The release was made, with this content. Saying so twice changes nothing; other content is refused."""
        with self.store.writing() as connection:
            known = _known(State.of(entries(connection, release=release)), release)
            if known.status not in (OPEN, DONE):
                raise RefusedError("A release must be reserved to be committed", known.status)
            if known.status == DONE:
                _check_content(known, content)
            else:
                body = {"content": content, "details": dict(details or {})}
                self._write(
                    connection, COMMITTED, who, dataset=known.dataset, release=release,
                    recipient=known.recipient, level=str(known.level), body=body,
                )  # fmt: skip
            return _known(State.of(entries(connection, release=release)), release)

    def repeat(self, release: str, content: str, who: str) -> Release:
        """A committed release is given out again: the same content, or it is refused."""
        with self.store.writing() as connection:
            known = _known(State.of(entries(connection, release=release)), release)
            _check_content(known, content)
            self._write(
                connection, REPEATED, who, dataset=known.dataset, release=release, recipient=known.recipient,
                level=str(known.level),
            )  # fmt: skip
        return known

    def abandon(self, release: str, who: str, reason: str) -> None:
        """A reservation whose bundle has reached no one, and will not."""
        with self.store.writing() as connection:
            known = _known(State.of(entries(connection, release=release)), release)
            if known.status != OPEN:
                raise RefusedError("Only a release that is reserved can be abandoned", known.status)
            self._write(
                connection, ABANDONED, who, dataset=known.dataset, release=release, recipient=known.recipient,
                level=str(known.level), body={"reason": reason},
            )  # fmt: skip

    def _write(self, connection: Connection, kind: str, who: str, at: str | None = None, **what: Any) -> Entry:
        return append(connection, Entry(1, at or self.now(), kind, who, **what))


# ---------------------------------------------------------------- the rules


def _same_table(
    state: State, dataset: Dataset, digest_under: Callable[[Dataset], str | None], independent: bool
) -> list[str]:
    """The earlier datasets that are the same table, or may be for all that can be told without their keys."""
    alike = {d.name: (digest_under(d), d) for d in state.datasets.values() if d.records == dataset.records}
    again = [name for name, (digest, d) in alike.items() if digest is None or digest == d.source]
    if again and not independent:
        name = again[0]
        if alike[name][0] is None:
            raise RefusedError(
                f"The key of {name!r}, which has as many records, must be at hand to tell the two tables apart",
                "none",
                "Put it back where it was made, or say --independent if they are about other people.",
            )
        raise RefusedError(
            "A table must be released under one key",
            f"the table of {name!r} under another",
            "Recipients of independent releases learn more together than the best of them alone. "
            f"Issue from {name!r}, or say --independent.",
        )
    return again


def _warnings(state: State, dataset: Dataset, again: list[str]) -> Iterator[str]:
    """What is allowed, and yet weakens what each certificate says by itself."""
    if again:
        yield f"If this is the table released as {again[0]!r}, the two are independent, and collusion pays."
    alike = [d.name for d in state.datasets.values() if dataset.people and d.people == dataset.people]
    if alike and dataset.limit is None and dataset.people not in state.limits:
        yield f"{alike[0]!r} is about {dataset.people!r} too: their epsilons add up, and nothing limits the total."


def _known(state: State, release: str) -> Release:
    try:
        return state.releases[release]
    except KeyError:
        raise LedgerError("The release must be in the ledger", repr(release)) from None


def _version_of(state: State, dataset: str, recipient: str, level: Level) -> Release | None:
    versions = [r for r in state.live(dataset) if (r.recipient, r.level) == (recipient, level)]
    return versions[-1] if versions else None


def _check_content(known: Release, content: str) -> None:
    if known.status != DONE or known.content != content:
        raise RefusedError(
            "A release made again must have the same content",
            "other content",
            "The source, the key or the program has changed since; nothing may be given out.",
        )


def _checked_dataset(state: State, request: Request) -> Dataset:
    dataset = state.datasets.get(request.dataset)
    if dataset is None:
        raise LedgerError("The dataset must be in the ledger", repr(request.dataset))
    if request.key != dataset.key:
        raise RefusedError(
            f"All versions of {dataset.name!r} must come from its one key",
            "another key",
            "A version under another key is an independent release: with it, collusion pays.",
        )
    dataset.check_digests()
    if request.source != dataset.source:
        raise RefusedError(
            f"The source of {dataset.name!r} must be the table it was registered with",
            "a changed one",
            "Under the same key, two tables tell where they differ. Register the new table as a new dataset.",
        )
    if request.design != dataset.design:
        raise RefusedError(
            f"The attributes, domains and replacement laws of {dataset.name!r} must stay as registered",
            "changed ones",
        )
    return dataset


def _check_level(state: State, request: Request) -> None:
    allowed = state.allowance(request.dataset, request.recipient)
    if allowed is not None and request.level > allowed:
        raise RefusedError(
            f"The level for {request.recipient!r} must be at most {allowed}, their allowance", str(request.level)
        )


def _check_total(state: State, dataset: Dataset, wanted: Release) -> None:
    limit = state.limits.get(dataset.people)
    if limit is None or not dataset.people:
        return
    total = state.total_ratio(dataset.people, wanted)
    if total is None or total > rounding.exp_down(limit):
        reached = "infinity" if total is None else rounding.shown_up(rounding.log_up(total))
        raise RefusedError(
            f"The total epsilon of all datasets about {dataset.people!r} must stay within {float(limit):g}",
            reached,
            "Ask for a lower level, or set another limit with `pramana levels limit`.",
        )


def _check_turn(state: State, dataset: Dataset) -> None:
    """With a history every version is drawn from those before it: one release at a time."""
    if dataset.keyed:
        return
    begun = [r for r in state.live(dataset.name) if r.status == OPEN]
    if begun:
        raise RefusedError(
            f"The releases of {dataset.name!r} must be made one after another",
            f"one for {begun[0].recipient!r} at {begun[0].level} that is not finished",
            "Ask for that one again to finish it, or abandon it if its bundle reached no one.",
        )
