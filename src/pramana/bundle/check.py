"""One thing that was checked of a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_NAMED = 20  # files that fail and are named: whoever made a bundle chose how many there are


@dataclass(frozen=True)
class Check:
    """`derived` is false where a statement was only read: nothing at hand could show that it is wrong."""

    name: str
    ok: bool
    detail: str
    derived: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "derived": self.derived}


def first_names(names: Sequence[str]) -> str:
    """The first of them, and whether there are others."""
    return ", ".join([*names[:MOST_NAMED], *(["and others"] if len(names) > MOST_NAMED else [])])
