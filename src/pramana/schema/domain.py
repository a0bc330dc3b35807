"""The values an attribute can take, in the order of their codes.

A domain is public: it is part of the law. Where it was read from the data it says so, because then the set of
values, and so the release, tells something of who is in the table before any coin is thrown.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

from pramana.errors import SchemaError

Origin = Literal["declared", "bins", "hierarchy", "from-data"]
MOST_VALUES = 1 << 31


@dataclass(frozen=True)
class Domain:
    """Labels in code order; the missing category, if there is one, has the last code and no label.

    `edges` are the bounds of bins; `members` maps finer values to labels (a hierarchy cut at some level).
    """

    labels: tuple[str, ...]
    origin: Origin = "declared"
    missing: bool = False
    missing_from_data: bool = False
    edges: tuple[float, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise SchemaError(f"The origin of a domain must be one of {', '.join(get_args(Origin))}")
        if "" in self.labels:
            raise SchemaError("A missing value must be the domain's missing category", "an empty label")
        if len(set(self.labels)) != len(self.labels):
            raise SchemaError("The values of a domain must be distinct", "a value that occurs twice")
        if self.size < 1:
            raise SchemaError("A domain must have at least one value", "none")
        if self.size > MOST_VALUES:
            raise SchemaError(f"A domain must have at most {MOST_VALUES} values", str(self.size))
        if self.edges and len(self.edges) != len(self.labels) + 1:
            raise SchemaError("Bins must have one edge more than labels", f"{len(self.edges)} edges")
        if unknown := set(self.members.values()) - set(self.labels):
            raise SchemaError("A domain's members must map to its labels", f"{len(unknown)} others")

    @classmethod
    def declared(cls, values: Iterable[Any], missing: bool = False) -> Domain:
        """A list of values; an empty string in it stands for the missing category."""
        labels = [label_of(v) for v in values]
        return cls(tuple(v for v in labels if v != ""), missing=missing or "" in labels)

    @classmethod
    def from_bins(cls, edges: Sequence[float], missing: bool = False) -> Domain:
        """Half-open intervals [edge, next edge); use inf and -inf for open ends."""
        bounds = [float(e) for e in edges]
        if len(bounds) < 2:
            raise SchemaError("bins must have at least two edges", str(len(bounds)))
        if any(math.isnan(e) for e in bounds) or any(a >= b for a, b in pairwise(bounds)):
            raise SchemaError("The edges of bins must be numbers in ascending order", str(list(edges)))
        labels = tuple(f"[{_short(a)},{_short(b)})" for a, b in pairwise(bounds))
        return cls(labels, "bins", missing=missing, edges=tuple(bounds))

    @property
    def size(self) -> int:
        return len(self.labels) + self.missing

    @property
    def missing_code(self) -> int | None:
        return len(self.labels) if self.missing else None

    def with_missing(self, from_data: bool = True) -> Domain:
        """This domain with a missing category, added because the data needs one or because the recipe says so."""
        return Domain(self.labels, self.origin, True, from_data, self.edges, self.members)

    def as_published(self) -> Domain:
        """The domain of the published labels themselves: bins and members have become plain values."""
        return Domain(self.labels, self.origin, self.missing, self.missing_from_data)

    def code_of(self, value: str) -> int | None:
        """The code of one value, or None where the domain does not have it. Bins take numbers."""
        if self.edges:
            return self.bin_of(value)
        return self._codes().get(value)

    def bin_of(self, value: str | float) -> int | None:
        try:
            number = float(value)
        except ValueError:
            return None
        place = bisect.bisect_right(self.edges, number) - 1
        return place if 0 <= place < len(self.labels) else None

    def _codes(self) -> dict[str, int]:
        cached: dict[str, int] | None = self.__dict__.get("_by_value")
        if cached is None:
            cached = {label: code for code, label in enumerate(self.labels)}
            cached |= {value: cached[label] for value, label in self.members.items()}
            self.__dict__["_by_value"] = cached  # frozen for its users; a look-up table is no state
        return cached

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": list(self.labels), "origin": self.origin, "missing": self.missing}
        if self.missing_from_data:
            found["missing_from_data"] = True
        if self.edges:
            found["edges"] = [_short(e) for e in self.edges]
        if self.members:
            found["members"] = dict(self.members)
        return found

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Domain:
        try:
            return cls(
                tuple(str(v) for v in statement["labels"]),
                statement["origin"],
                bool(statement["missing"]),
                bool(statement.get("missing_from_data", False)),
                tuple(float(e) for e in statement.get("edges", ())),
                {str(k): str(v) for k, v in statement.get("members", {}).items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise SchemaError("A domain must be stated with labels, origin and missing") from None


def label_of(value: Any) -> str:
    """The one way a value is written: 1.0 as 1, true as true, missing as the empty string."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else _short(value)
    return str(value)


def _short(number: float) -> str:
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)
