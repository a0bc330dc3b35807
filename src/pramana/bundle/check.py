"""One thing that was checked of a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """`derived` is false where a statement was only read: nothing at hand could show that it is wrong."""

    name: str
    ok: bool
    detail: str
    derived: bool = True

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "derived": self.derived}
