"""Entries: what a ledger is made of. Each names the one before it, so that none can be changed unseen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
        return {
            "number": self.number,
            "at": self.at,
            "kind": self.kind,
            "who": self.who,
            "dataset": self.dataset,
            "release": self.release,
            "recipient": self.recipient,
            "level": self.level,
            "body": dict(self.body),
            "previous": self.previous,
        }

    def computed_digest(self) -> str:
        text = json.dumps(self.statement(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {**self.statement(), "digest": self.digest}
