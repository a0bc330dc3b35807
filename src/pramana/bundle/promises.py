"""The guarantees of a certificate as a table to look at and to take elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pramana.pages import Panel, Picture, Scalar, Series, TabularResult


@dataclass(frozen=True, repr=False)
class PromiseTable(TabularResult):
    """One row for each guarantee: its notion, number, unit, scope, statement and words."""

    guarantees: Sequence[Mapping[str, Any]]

    def to_rows(self) -> list[dict[str, Scalar]]:
        keys = ("notion", "unit", "scope", "statement", "words")
        return [
            {"notion": str(g["notion"]), "value": _number(g["value"]), **{k: str(g[k]) for k in keys[1:]}}
            for g in self.guarantees
        ]

    def picture(self) -> Picture:
        """The numbers side by side; each notion has a scale of its own, so each has a panel."""
        rows = [row for row in self.to_rows() if isinstance(row["value"], float)]
        panels = [
            Panel([Series(str(row["notion"]), [str(row["notion"])], [float(row["value"] or 0)], kind="bars")])
            for row in rows[:8]
        ]
        return Picture(panels or [Panel([])], columns=4, height=2.2)


def _number(value: object) -> float | None:
    """The guarantee's number, where it is one and not a table of several."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
