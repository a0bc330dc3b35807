"""What the entries add up to: datasets, allowances, limits and releases. Computed, never stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from pramana.errors import LedgerError, RefusedError
from pramana.notions.guarantee import Guarantee
from pramana.notions.randomised import CentralPrivacy, LocalPrivacy
from pramana.theory import rounding
from pramana.theory.composition import PrivacyProfile
from pramana.theory.levels import Level

# Entries: what a ledger is made of. Each names the one before it, so that none can be changed unseen.


FIRST = "0" * 64  # what the first entry names as the one before it

DATASET = "dataset"  # a table was registered under its key
ALLOWED = "allowed"  # a recipient's allowance was set
LIMITED = "limited"  # the total epsilon of the datasets about some people was limited
RESERVED = "reserved"  # a release is about to be made
COMMITTED = "committed"  # it was made
REPEATED = "repeated"  # it was asked for again, and given out again
ABANDONED = "abandoned"  # it was never given to anyone, and will not be
KINDS = (DATASET, ALLOWED, LIMITED, RESERVED, COMMITTED, REPEATED, ABANDONED)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; `body` holds what only this kind of entry says."""

    number: int
    at: str
    kind: str
    who: str
    dataset: str = ""
    release: str = ""
    recipient: str = ""
    level: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    previous: str = FIRST
    digest: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind}")

    def statement(self) -> dict[str, Any]:
        """Everything but the digest, which covers it."""
        return {name: value for name, value in self.to_json().items() if name != "digest"}

    def computed_digest(self) -> str:
        text = json.dumps(self.statement(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "body": dict(self.body)}


# What one release adds to the total about its people.


@dataclass(frozen=True)
class Cost:
    """Local epsilon, the central guarantee at every epsilon, and all that is promised of the release alone.

    No epsilon stands for none that holds: nothing then bounds the total.
    """

    epsilon: float | None = None
    profile: PrivacyProfile | None = None
    promises: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, guarantees: Sequence[Guarantee], profile: PrivacyProfile | None, seeded: bool) -> Cost:
        """Where the key is no secret, nothing holds. A profile counts only where a central guarantee is stated."""
        promises = tuple({"notion": g.notion, "value": g.to_json()["value"]} for g in guarantees)
        if seeded:
            return cls(promises=promises)
        local = [g.epsilon for g in guarantees if isinstance(g, LocalPrivacy)]
        central = any(isinstance(g, CentralPrivacy) for g in guarantees)
        return cls(local[0] if local else None, profile if central else None, promises)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Cost:
        profile = body["profile"]
        return cls(
            None if body["epsilon"] is None else float(body["epsilon"]),
            None if profile is None else PrivacyProfile(tuple(profile["epsilons"]), tuple(profile["deltas"])),
            tuple(body["promises"]),
        )

    def to_json(self) -> dict[str, Any]:
        profile = self.profile
        return {
            "epsilon": self.epsilon,
            "profile": profile and {"epsilons": list(profile.epsilons), "deltas": list(profile.deltas)},
            "promises": [dict(promise) for promise in self.promises],
        }

    @property
    def central(self) -> PrivacyProfile | None:
        """What all of it, shuffled, tells of a record: never more than a record tells by itself."""
        if self.epsilon is None:
            return None
        return self.profile or PrivacyProfile.pure(self.epsilon)


KEYED, UNKEYED = "hmac-sha256", "sha256"  # how the digests of a dataset are made
OPEN, DONE, DROPPED = "reserved", "committed", "abandoned"


@dataclass(frozen=True)
class Dataset:
    """A table under its key: what a second release of it is recognised by.

    `source` and `design`, and the content of every release, are digests under the key: whoever reads the ledger
    can test no guess about the table with them. `digests` is UNKEYED in entries of earlier programs, which are
    refused. `key` is a commitment to the key. `keyed` is False where the versions come from a history. `people`
    names whom the table is about, `limit` the total epsilon of all datasets about them. `allowances` are the
    highest level of each recipient, "" standing for everybody else. `details` are the caller's own.
    """

    name: str
    source: str
    key: str
    design: str
    records: int
    people: str = ""
    keyed: bool = True
    allowances: Mapping[str, Level] = field(default_factory=dict)
    limit: Fraction | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    digests: str = KEYED

    def __post_init__(self) -> None:
        if self.limit is not None and (self.limit <= 0 or not self.people):
            raise LedgerError("A limit of epsilon must be positive and say about whom it is", str(self.limit))

    @classmethod
    def from_entry(cls, entry: Entry) -> Dataset:
        body = entry.body
        return cls(
            entry.dataset,
            **{name: body[name] for name in ("source", "key", "design", "people", "keyed", "details")},
            records=int(body["records"]),
            allowances={recipient: Level.of(level) for recipient, level in body["allowances"].items()},
            limit=None if body["limit"] is None else Fraction(body["limit"]),
            digests=body.get("digests", UNKEYED),
        )

    def to_json(self) -> dict[str, Any]:
        """The body of its entry, which names it elsewhere."""
        return {name: value for name, value in vars(self).items() if name != "name"} | {
            "allowances": {recipient: str(level) for recipient, level in self.allowances.items()},
            "limit": None if self.limit is None else str(self.limit),
            "details": dict(self.details),
        }

    @property
    def key_file(self) -> str:
        """Where its key was made."""
        return str(self.details.get("key_file", ""))

    def check_digests(self) -> None:
        """An entry cannot be changed: digests that anyone can compute cannot be put under the key afterwards."""
        if self.digests != KEYED:
            raise RefusedError(
                f"The ledger's digests of {self.name!r} must be under its key",
                "digests that let anyone test guesses about the table",
                "Register it in a new ledger with the same --dataset and --key, which makes the same versions, "
                "and destroy this one and its exports.",
            )


@dataclass(frozen=True)
class ReleasedTable:
    """The table of a release that stands by itself: what a second release of it is recognised by.

    `source` and `design` are digests under the release's key, to which `key` is a commitment. `key_file` is where
    it was kept.
    """

    source: str
    design: str
    key: str
    records: int
    key_file: str = ""


@dataclass(frozen=True)
class Release:
    """One version of a dataset at a level, or a release that stands by itself, for one recipient.

    `ratio` is a version's e^epsilon; None stands for infinity. A release by itself has no level; `people` are
    those whom it is about, `cost` is what it adds to their total.
    """

    id: str
    dataset: str
    recipient: str
    level: Level | None
    ratio: Fraction | None
    who: str
    reserved_at: str
    status: str = OPEN
    committed_at: str | None = None
    content: str | None = None
    repeats: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
    people: str = ""
    method: str = "levels"
    cost: Cost | None = None
    table: ReleasedTable | None = None

    @property
    def epsilon(self) -> float | None:
        if self.cost is not None:
            return self.cost.epsilon
        return None if self.ratio is None else rounding.log_up(self.ratio)

    @property
    def own_level(self) -> Level:
        """Of a version, which has one."""
        if self.level is None:
            raise LedgerError("A version must have a level", "a release that stands by itself")
        return self.level

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "dataset": self.dataset,
            "recipient": self.recipient,
            "method": self.method,
            "people": self.people,
            "retention": None if self.level is None else str(self.level),
            "epsilon": self.epsilon,
            "promises": [] if self.cost is None else [dict(promise) for promise in self.cost.promises],
            "status": self.status,
            "asked_by": self.who,
            "reserved_at": self.reserved_at,
            "committed_at": self.committed_at,
            "content": self.content,
            "repeats": self.repeats,
            **dict(self.details),
        }


@dataclass
class State:
    """The ledger as of its last entry."""

    datasets: dict[str, Dataset] = field(default_factory=dict)
    releases: dict[str, Release] = field(default_factory=dict)
    allowances: dict[tuple[str, str], Level] = field(default_factory=dict)
    limits: dict[str, Fraction] = field(default_factory=dict)
    central_limits: dict[str, tuple[float, float]] = field(default_factory=dict)  # epsilon and delta

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> State:
        """What entries add up to; one that is not as it was written is refused."""
        state = cls()
        for entry in entries:
            if entry.digest != entry.computed_digest():
                raise LedgerError(
                    "Every entry of a ledger must be as it was written",
                    f"entry {entry.number} that is not",
                    "Go back to a copy of the ledger that `pramana ledger check` finds unbroken.",
                )
            try:
                state._take(entry)
            except (KeyError, TypeError, ValueError):
                raise LedgerError(
                    "Every entry of a ledger must follow from those before it",
                    f"entry {entry.number} that does not",
                ) from None
        return state

    def _take(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind == DATASET:
            dataset = self.datasets[entry.dataset] = Dataset.from_entry(entry)
            self.allowances |= {
                (dataset.name, recipient): level for recipient, level in dataset.allowances.items()
            }
            if dataset.limit is not None:
                self.limits[dataset.people] = dataset.limit
        elif entry.kind == ALLOWED:
            self.allowances[entry.dataset, entry.recipient] = Level.of(entry.level)
        elif entry.kind == LIMITED and body.get("delta") is None:
            self.limits[body["people"]] = Fraction(body["epsilon"])
        elif entry.kind == LIMITED:
            self.central_limits[body["people"]] = float(Fraction(body["epsilon"])), float(body["delta"])
        elif entry.kind == RESERVED:
            self.releases[entry.release] = self._reserved(entry)
        else:
            self._change(entry)

    def _reserved(self, entry: Entry) -> Release:
        body = entry.body
        if "cost" in body:
            return Release(
                entry.release, entry.dataset, entry.recipient, None, None, entry.who, entry.at,
                people=body["people"], method=body["method"], cost=Cost.from_json(body["cost"]),
                table=ReleasedTable(**body["table"]),
            )  # fmt: skip
        ratio = None if body["ratio"] is None else Fraction(body["ratio"])
        return Release(
            entry.release, entry.dataset, entry.recipient, Level.of(entry.level), ratio, entry.who, entry.at,
            people=self.datasets[entry.dataset].people if entry.dataset in self.datasets else "",
        )  # fmt: skip

    def _change(self, entry: Entry) -> None:
        release = self.releases[entry.release]
        if entry.kind == COMMITTED:
            release = replace(
                release, status=DONE, committed_at=entry.at, content=entry.body["content"],
                details=entry.body["details"],
            )  # fmt: skip
        elif entry.kind == REPEATED:
            release = replace(release, repeats=release.repeats + 1)
        elif entry.kind == ABANDONED:
            release = replace(release, status=DROPPED)
        self.releases[entry.release] = release

    # ------------------------------------------------------------ questions

    def live(self, dataset: str | None = None) -> list[Release]:
        """Releases that someone may hold: committed, or reserved and perhaps given out before a crash."""
        return [r for r in self.releases.values() if r.status != DROPPED and dataset in (None, r.dataset)]

    def allowance(self, dataset: str, recipient: str) -> Level | None:
        """The recipient's own allowance, else the one for everybody."""
        return self.allowances.get((dataset, recipient), self.allowances.get((dataset, "")))

    def single(self, people: str) -> list[Release]:
        """Live releases about some people that stand by themselves."""
        return [r for r in self.live() if r.cost is not None and r.people == people]

    def tables(self) -> list[tuple[str, Dataset | ReleasedTable]]:
        """Every table that was released, or is about to be, with its name."""
        alone = [(r.dataset, r.table) for r in self.live() if r.table is not None]
        return [*self.datasets.items(), *alone]

    def everyone(self) -> list[str]:
        """All people that something is known about."""
        named = [d.people for d in self.datasets.values()] + [r.people for r in self.releases.values()]
        return sorted({people for people in [*named, *self.limits, *self.central_limits] if people})

    def ratios(self, people: str, extra: Release | None = None) -> list[Fraction | None]:
        """e^epsilon of each dataset at levels about some people: within a dataset the best version counts."""
        largest = []
        for name, dataset in self.datasets.items():
            if dataset.people != people:
                continue
            releases = self.live(name) + ([extra] if extra is not None and extra.dataset == name else [])
            finite = [r.ratio for r in releases if r.ratio is not None]
            largest.append(max(finite, default=Fraction(1)) if len(finite) == len(releases) else None)
        return largest


def unbroken(entries: Iterable[Entry]) -> bool:
    """Whether every entry names the one before it and is as it was written."""
    previous = FIRST
    for number, entry in enumerate(entries, 1):
        if entry.number != number or entry.previous != previous or entry.digest != entry.computed_digest():
            return False
        previous = entry.digest
    return True
