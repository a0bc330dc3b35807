"""The values an attribute can take, in the order of their codes.

A domain is public: it is part of the law. Where it was read from the data it says so, because then the set of
values, and so the release, tells something of who is in the table before any coin is thrown.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Literal, get_args

from pramana.errors import SchemaError
from pramana.schema.kind import Kind, bin_label, check_lengths, label_of
from pramana.schema.number import decimal_number, short_number
from pramana.schema.statement import flag_in, mapping_in, pairs_in, text_in, texts_in

Origin = Literal["declared", "bins", "hierarchy", "from-data"]
MOST_VALUES = 1 << 31
_KEYS = {"labels", "origin", "kind", "missing"}
_OPTIONAL_KEYS = {"missing_from_data", "edges", "members"}


@dataclass(frozen=True)
class Domain:
    """Labels in code order; the missing category, if there is one, has the last code and no label.

    `edges` are the bounds of bins; `members` maps finer values to labels (a hierarchy cut at some level), in the
    order of the hierarchy. `kind` follows from the others where it is not stated: see `_kind_of`.
    """

    labels: tuple[str, ...]
    origin: Origin = "declared"
    missing: bool = False
    missing_from_data: bool = False
    edges: tuple[float, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = None  # type: ignore[assignment] # never None once made

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise SchemaError(f"The origin of a domain must be one of {', '.join(get_args(Origin))}")
        if "" in self.labels:
            raise SchemaError("A missing value must be the domain's missing category", "an empty label")
        check_lengths(self.labels, "a domain")
        if len(set(self.labels)) != len(self.labels):
            raise SchemaError("The values of a domain must be distinct", "a value that occurs twice")
        if self.size < 1:
            raise SchemaError("A domain must have at least one value", "none")
        if self.size > MOST_VALUES:
            raise SchemaError(f"A domain must have at most {MOST_VALUES} values", str(self.size))
        if self.missing_from_data and not self.missing:
            raise SchemaError("A missing category read from the data must be one", "a domain without it")
        if self.edges:
            _check_edges(self.edges, len(self.labels))
        if unknown := set(self.members.values()) - set(self.labels):
            raise SchemaError("A domain's members must map to its labels", f"{len(unknown)} others")
        self._settle_kind()

    def _settle_kind(self) -> None:
        if self.kind is None:
            object.__setattr__(self, "kind", _kind_of(self))
        elif self.edges and self.kind is not Kind.NUMBER:
            raise SchemaError("Bins must be of the kind number", self.kind.value)
        elif not self.edges and self.kind in (Kind.NUMBER, Kind.DATE) and not self.kind.reads(self.labels):
            raise SchemaError(f"The labels of a domain of the kind {self.kind.value} must read as such", "others")

    @classmethod
    def declared(cls, values: Iterable[Any], missing: bool = False) -> Domain:
        """A list of values; an empty string in it stands for the missing category."""
        labels = [label_of(v) for v in values]
        return cls(tuple(v for v in labels if v != ""), missing=missing or "" in labels)

    @classmethod
    def from_bins(cls, edges: Sequence[float], missing: bool = False) -> Domain:
        """Half-open intervals [edge, next edge); use inf and -inf for open ends."""
        bounds = tuple(float(e) for e in edges)
        if len(bounds) < 2:
            raise SchemaError("bins must have at least two edges", str(len(bounds)))
        _check_edges(bounds, len(bounds) - 1)
        labels = tuple(bin_label(a, b) for a, b in pairwise(bounds))
        return cls(labels, "bins", missing=missing, edges=bounds)

    @property
    def size(self) -> int:
        return len(self.labels) + self.missing

    @property
    def missing_code(self) -> int | None:
        return len(self.labels) if self.missing else None

    def with_missing(self, from_data: bool = True) -> Domain:
        """This domain with a missing category, added because the data needs one or the recipe states one."""
        return replace(self, missing=True, missing_from_data=from_data)

    def as_published(self) -> Domain:
        """The domain of the published labels themselves: bins and members have become plain values."""
        return replace(self, edges=(), members={})

    def code_of(self, value: str) -> int | None:
        """The code of one value, or None where the domain does not have it. Bins take numbers."""
        if self.edges:
            return self.bin_of(value)
        return self._code_by_value.get(value)

    def bin_of(self, value: str | float) -> int | None:
        """The bin of a number; of texts, those that `decimal_number` reads."""
        number = decimal_number(value) if isinstance(value, str) else value
        if number is None:
            return None
        code = bisect.bisect_right(self.edges, float(number)) - 1
        return code if 0 <= code < len(self.labels) else None

    @cached_property
    def _code_by_value(self) -> dict[str, int]:
        codes = {label: code for code, label in enumerate(self.labels)}
        return codes | {value: codes[label] for value, label in self.members.items()}

    def to_json(self) -> dict[str, Any]:
        statement: dict[str, Any] = {
            "labels": list(self.labels),
            "origin": self.origin,
            "kind": self.kind.value,
            "missing": self.missing,
        }
        if self.missing_from_data:
            statement["missing_from_data"] = True
        if self.edges:
            statement["edges"] = [short_number(e) for e in self.edges]
        if self.members:
            statement["members"] = dict(self.members)
        return statement

    @classmethod
    def from_json(cls, content: object) -> Domain:
        """Read what `to_json` wrote; anything else is refused, nothing is turned into what it should have been."""
        statement = mapping_in(content, "A domain", _KEYS, _OPTIONAL_KEYS)
        domain = cls(
            texts_in(statement, "labels", "A domain"),
            text_in(statement, "origin", "A domain"),  # type: ignore[arg-type] # checked by the domain itself
            flag_in(statement, "missing", "A domain"),
            flag_in(statement, "missing_from_data", "A domain", default=False),
            tuple(_edge_of(text) for text in texts_in(statement, "edges", "A domain", default=())),
            pairs_in(statement, "members", "A domain"),
            Kind.read(statement["kind"], "a domain"),
        )
        if (domain.origin == "bins") != bool(domain.edges):
            raise SchemaError("A domain of bins must be stated with their edges, and no other", "otherwise")
        if domain.edges and domain.labels != tuple(bin_label(a, b) for a, b in pairwise(domain.edges)):
            raise SchemaError("The labels of bins must be those of their edges", "others")
        return domain


def _kind_of(domain: Domain) -> Kind:
    """Bins are numbers. Lists and values from the data are what their labels read as.

    A level of a hierarchy has an order only if its leaves stand in the file as ascending numbers or dates. Its
    labels are then numbers or dates where they read as such, ascending, and ordered names where each stands for
    neighbours.
    """
    if domain.edges:
        return Kind.NUMBER
    own = Kind.of_labels(domain.labels)
    if domain.origin != "hierarchy":
        return own
    leaves = tuple(domain.members) or domain.labels
    if not Kind.of_labels(leaves).is_ascending(leaves):
        return Kind.NOMINAL
    if own.is_ascending(domain.labels):
        return own
    stretches = sum(1 for _ in groupby(domain.members.values()))
    return Kind.ORDERED if stretches == len(domain.labels) else Kind.NOMINAL


def _check_edges(edges: Sequence[float], labels: int) -> None:
    if len(edges) != labels + 1:
        raise SchemaError("Bins must have one edge more than labels", f"{len(edges)} edges")
    if any(math.isnan(e) for e in edges) or any(a >= b for a, b in pairwise(edges)):
        raise SchemaError("The edges of bins must be numbers in ascending order", str(list(edges)))


def _edge_of(text: str) -> float:
    number = float(text) if text in ("inf", "-inf") else decimal_number(text)
    if number is None:
        raise SchemaError("The edges of bins must be numbers in ascending order", repr(text)[:80])
    return float(number)
