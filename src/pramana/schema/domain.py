"""The values an attribute can take, in the order of their codes.

A domain is public: it is part of the law. Where it was read from the data it says so, because then the set of
values, and so the release, tells something of who is in the table before any coin is thrown.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, SchemaError
from pramana.schema.kind import (
    UNITS,
    BinNumbers,
    Kind,
    Publish,
    Unit,
    check_lengths,
    day_of_time,
    decimal_number,
    edge_label,
    edge_of,
    label_of,
    labels_of_bins,
    short_number,
)
from pramana.schema.typed import read_section

Origin = Literal["declared", "bins", "hierarchy", "from-data"]
MOST_VALUES = 1 << 31
MISSING = "(missing)"
Array = NDArray[np.float64]


class DomainForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A domain as certificates state it."""

    labels: list[str]
    origin: Origin
    kind: Kind
    missing: bool
    missing_from_data: bool = False
    edges: list[str] = []
    members: dict[str, str] = {}
    calendar: Unit | msgspec.UnsetType = msgspec.UNSET
    rounded: str | msgspec.UnsetType = msgspec.UNSET
    publish: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class Domain:
    """Labels in code order; the missing category, if there is one, has the last code and no label.

    `edges` are the bounds of bins, of dates the days they count to; bins may be the periods of a `calendar`, or
    what is nearest to a multiple of `rounded`, and are published as `publish` says. `members` maps finer values to
    labels (a hierarchy cut at some level), in the order of the hierarchy. `kind` follows from the others where it
    is not stated: see `_kind_of`.
    """

    labels: tuple[str, ...]
    origin: Origin = "declared"
    missing: bool = False
    missing_from_data: bool = False
    edges: tuple[float, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = None  # type: ignore[assignment] # never None once made
    calendar: str | None = None
    rounded: float | None = None
    publish: Publish = "interval"

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise SchemaError(f"The origin of a domain must be one of {', '.join(get_args(Origin))}")
        if "" in self.labels:
            raise SchemaError("A missing value must be the domain's missing category", "an empty label")
        check_lengths(self.labels, "a domain")
        if len(set(self.labels)) != len(self.labels):
            raise SchemaError("The values of a domain must be distinct", "a value that occurs twice")
        if self.size < 1:
            raise SchemaError("A domain must have at least one value", "no values")
        if self.size > MOST_VALUES:
            raise SchemaError(f"A domain must have at most {MOST_VALUES} values", str(self.size))
        if self.missing_from_data and not self.missing:
            raise SchemaError("A missing category read from the data must be one", "a domain without it")
        if self.edges:
            _check_edges(self.edges, len(self.labels))
        if unknown := set(self.members.values()) - set(self.labels):
            raise SchemaError("A domain's members must map to its labels", f"{len(unknown)} others")
        self._set_kind()
        self._check_bins()

    def _check_bins(self) -> None:
        """What only bins have."""
        if not self.edges and (self.calendar, self.rounded, self.publish) != (None, None, "interval"):
            raise SchemaError(
                "Only bins can be periods, be rounded, or be published as numbers", "a list of values"
            )
        if self.calendar is not None and (self.calendar not in UNITS or self.kind is not Kind.DATE):
            raise SchemaError(
                f"Bins by the calendar must be of dates, each a {' or '.join(UNITS)}",
                f"{self.kind.value} by {self.calendar[:80]!r}",
            )
        if self.rounded is not None and (self.calendar or self.kind is not Kind.NUMBER or not self.rounded > 0):
            raise SchemaError(
                "Only numbers can be rounded, to multiples of a positive one",
                f"{self.kind.value} by {self.rounded}",
            )
        if self.publish not in get_args(Publish):
            raise SchemaError(
                f"Bins must be published as one of {', '.join(get_args(Publish))}", repr(self.publish)[:80]
            )
        if self.numbers is not None and len(self.numbers.counts) != len(self.labels):
            raise SchemaError("Every bin must have numbers to publish", "a bin without any")

    @cached_property
    def numbers(self) -> BinNumbers | None:
        """The numbers or days that are published instead of labels, if any are."""
        if self.publish == "interval":
            return None
        return BinNumbers.of_bins(self.publish, self.edges, self.kind, self.rounded)

    def _set_kind(self) -> None:
        if self.kind is None:
            object.__setattr__(self, "kind", _kind_of(self))
        elif self.edges and self.kind not in (Kind.NUMBER, Kind.DATE):
            raise SchemaError("Bins must be of the kind number or date", self.kind.value)
        elif not self.edges and self.kind in (Kind.NUMBER, Kind.DATE) and not self.kind.reads(self.labels):
            raise SchemaError(
                f"The labels of a domain of the kind {self.kind.value} must read as such", "labels that do not"
            )

    @classmethod
    def declared(cls, values: Iterable[Any], missing: bool = False) -> Domain:
        """A list of values; an empty string in it stands for the missing category."""
        labels = [label_of(v) for v in values]
        return cls(tuple(v for v in labels if v != ""), missing=missing or "" in labels)

    @classmethod
    def from_bins(
        cls,
        edges: Sequence[float],
        missing: bool = False,
        kind: Kind = Kind.NUMBER,
        calendar: str | None = None,
        rounded: float | None = None,
    ) -> Domain:
        """Half-open intervals [edge, next edge); use inf and -inf for open ends. Edges of dates are days."""
        bounds = tuple(float(e) for e in edges)
        if len(bounds) < 2:
            raise SchemaError("bins must have at least two edges", str(len(bounds)))
        _check_edges(bounds, len(bounds) - 1)
        labels = labels_of_bins(bounds, kind, calendar, rounded)
        return cls(labels, "bins", missing, edges=bounds, kind=kind, calendar=calendar, rounded=rounded)

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
        """The domain of what is published: bins and members have become plain values, where labels are."""
        if self.publish != "interval":
            return self
        return replace(self, edges=(), members={}, calendar=None, rounded=None)

    def code_of(self, value: str) -> int | None:
        """The code of one value, or None where the domain does not have it. Bins take numbers."""
        if self.edges:
            return self.bin_of(value)
        return self._code_by_value.get(value)

    def bin_of(self, value: str | float) -> int | None:
        """The bin of a number; of texts, those that `decimal_number` reads. Of dates, see `_bin_of_days`."""
        if self.kind is Kind.DATE:
            return self._bin_of_days(str(value))
        number = decimal_number(value) if isinstance(value, str) else value
        return None if number is None else self._bin_at(float(number))

    def _bin_at(self, point: float) -> int | None:
        code = bisect.bisect_right(self.edges, point) - 1
        return code if 0 <= code < len(self.labels) else None

    def _bin_of_days(self, text: str) -> int | None:
        """The bin of a day, also where a time follows it; or of a period, such as a year, that lies in one bin."""
        if (day := day_of_time(text)) is not None:
            return self._bin_at(day.toordinal())
        if (ends := Kind.DATE.ends_of(text)) is None:
            return None
        code = self._bin_at(float(ends[0]))
        return code if code is not None and float(ends[1]) <= self.edges[code + 1] else None

    @cached_property
    def _code_by_value(self) -> dict[str, int]:
        codes = {label: code for code, label in enumerate(self.labels)}
        return codes | {value: codes[label] for value, label in self.members.items()}

    def codes_in(self, coarser: Domain) -> tuple[int, ...]:
        """For each of this domain's codes that of a domain whose values stand for several of them.

        A missing category that the coarser one lacks, as no row has it, is anywhere.
        """
        if self.edges:
            codes = [coarser._bin_at(edge) if edge > -math.inf else 0 for edge in self.edges[:-1]]
        else:
            leaf_of = {label: leaf for leaf, label in self.members.items()}
            codes = [coarser.code_of(leaf_of.get(label, label)) for label in self.labels]
        if self.missing:
            codes.append(coarser.missing_code or 0)
        if any(code is None for code in codes):
            raise SchemaError(
                "A coarser domain must have a value for every finer one", f"{codes.count(None)} without one"
            )
        return tuple(code or 0 for code in codes)

    def joined(self, neighbours: int) -> Domain:
        """Plain bins with so many neighbours as one; what is left at the upper end is one, too."""
        if not self.edges or self.calendar is not None or self.rounded is not None:
            raise SchemaError(
                "Only plain bins can be joined", "periods or rounded numbers" if self.edges else "no bins"
            )
        edges = (*self.edges[:-1:neighbours], self.edges[-1])
        wider = Domain.from_bins(edges, self.missing, self.kind)
        return replace(wider, missing_from_data=self.missing_from_data, publish=self.publish)

    def to_json(self) -> dict[str, Any]:
        where_stated = {
            "missing_from_data": self.missing_from_data,
            "edges": [edge_label(e, self.kind) for e in self.edges],
            "calendar": self.calendar,
            "rounded": None if self.rounded is None else short_number(self.rounded),
            "publish": None if self.numbers is None else self.numbers.to_json(),
            "members": dict(self.members),
        }
        return {
            "labels": list(self.labels),
            "origin": self.origin,
            "kind": self.kind.value,
            "missing": self.missing,
            **{key: value for key, value in where_stated.items() if value},
        }

    @classmethod
    def from_json(cls, content: object) -> Domain:
        """Read what `to_json` wrote; anything else is refused, nothing is turned into what it should have been."""
        form = read_section(DomainForm, content, "A domain", SchemaError)
        domain = cls(
            tuple(form.labels),
            form.origin,
            form.missing,
            form.missing_from_data,
            tuple(_edge_of(text, form.kind) for text in form.edges),
            form.members,
            form.kind,
            form.calendar or None,
            None if form.rounded is msgspec.UNSET else _edge_of(form.rounded, Kind.NUMBER),
            (form.publish or {}).get("as", "interval"),  # type: ignore[arg-type] # checked by the domain itself
        )
        if (domain.origin == "bins") != bool(domain.edges):
            raise SchemaError(
                "A domain of bins must be stated with their edges, and no other", f"origin {domain.origin!r}"
            )
        if domain.edges and domain.labels != labels_of_bins(
            domain.edges, form.kind, domain.calendar, domain.rounded
        ):
            raise SchemaError("The labels of bins must be those of their edges", "labels of other edges")
        if (form.publish or None) != (None if domain.numbers is None else domain.numbers.to_json()):
            raise SchemaError(
                "The law of what is published for a bin must be that of its edges", "a law of other edges"
            )
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


def _edge_of(text: str, kind: Kind) -> float:
    edge = edge_of(text, kind)
    if edge is None:
        raise SchemaError("The edges of bins must be numbers in ascending order", repr(text)[:80])
    return float(edge)


# Attributes: a column's role, its domain, and what is to be done with it.


class Role(StrEnum):
    """What a column tells of a person, in the field's words."""

    IDENTIFYING = "identifying"  # names a person: dropped
    QUASI_IDENTIFYING = "quasi-identifying"  # an intruder may know it: randomised or generalised
    SENSITIVE = "sensitive"  # what an intruder wants to learn
    INSENSITIVE = "insensitive"  # neither


class AttributeForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An attribute as certificates state it; its domain is read by itself."""

    name: str
    role: Role
    kind: Kind
    raw: bool
    domain: dict[str, Any] | None


@dataclass(frozen=True)
class Attribute:
    """A column that is published. `domain` is None for a column that passes unchanged.

    `kind` is that of the domain; of a column without one it is stated, for recipients to know how to read it.
    """

    name: str
    role: Role
    domain: Domain | None
    kind: Kind = None  # type: ignore[assignment] # never None once made

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("An attribute must have a name", "an empty one")
        if self.role is Role.IDENTIFYING:
            raise SchemaError("An identifying attribute is dropped and must not be published", self.name)
        own = None if self.domain is None else self.domain.kind
        if self.kind is None:
            object.__setattr__(self, "kind", own or Kind.NOMINAL)
        elif own is not None and own is not self.kind:
            raise SchemaError(f"The kind of {self.name} must be that of its domain, {own.value}", self.kind.value)

    @property
    def raw(self) -> bool:
        """Released unchanged, outside every guarantee."""
        return self.domain is None

    @property
    def coded(self) -> Domain:
        if self.domain is None:
            raise SchemaError(f"The attribute {self.name} must have a domain", "none")
        return self.domain

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "role": self.role.value,
            "kind": self.kind.value,
            "raw": self.raw,
            "domain": None if self.domain is None else self.domain.to_json(),
        }

    @classmethod
    def from_json(cls, content: object) -> Attribute:
        """Read what `to_json` wrote; anything else is refused."""
        form = read_section(AttributeForm, content, "An attribute", SchemaError)
        if form.raw != (form.domain is None):
            raise SchemaError(
                f"The attribute {form.name} must be raw exactly where it has no domain", f"raw = {form.raw}"
            )
        domain = None if form.domain is None else Domain.from_json(form.domain)
        return cls(form.name, form.role, domain, form.kind)


# Attributes as the recipient sees them: labels in code order, and what they stand for by the attribute's kind.


@dataclass(frozen=True)
class Axis:
    """One attribute. `lower` and `upper` hold each label's interval [lower, upper), of numbers or of days.

    They are equal for a label that is one number or day, and not a number (nan) for the missing category, which
    has the last code. Attributes of other kinds have none.
    """

    name: str
    labels: tuple[str, ...]
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None
    missing: bool = False
    kind: Kind = Kind.NOMINAL

    def __post_init__(self) -> None:
        if not self.labels:
            raise InputError(f"The attribute {self.name} must have at least one value", "none")
        if (self.lower is None) != (self.upper is None):
            raise InputError(f"The attribute {self.name} must have both ends of its intervals or neither")
        if (self.lower is None) != (self.kind not in (Kind.NUMBER, Kind.DATE)):
            raise InputError(f"The attribute {self.name} must have intervals if its values are numbers or dates")
        for ends in (self.lower, self.upper):
            if ends is not None and len(ends) != len(self.labels):
                raise InputError(f"The attribute {self.name} must have as many intervals as labels")

    @classmethod
    def of_labels(cls, name: str, labels: Sequence[str], missing: bool = False, kind: Kind | None = None) -> Axis:
        """An axis of this kind, by default the one its labels read as; the missing category is added last."""
        chosen = Kind.of_labels(labels) if kind is None else kind
        ends = [chosen.ends_of(label) for label in labels]
        last = (MISSING,) if missing else ()
        if chosen not in (Kind.NUMBER, Kind.DATE):
            return cls(name, (*labels, *last), missing=missing, kind=chosen)
        if None in ends:
            raise InputError(
                f"The labels of {name} must read as its kind, {chosen.value}", f"{ends.count(None)} that do not"
            )
        blank = (math.nan,) * len(last)
        lower, upper = ([float(pair[i]) for pair in ends if pair is not None] for i in (0, 1))
        return cls(name, (*labels, *last), (*lower, *blank), (*upper, *blank), missing, chosen)

    @classmethod
    def of_domain(cls, name: str, domain: Domain) -> Axis:
        if not domain.edges:
            return cls.of_labels(name, domain.labels, domain.missing, domain.kind)
        last, blank = ((MISSING,), (math.nan,)) if domain.missing else ((), ())
        lower, upper = (*domain.edges[:-1], *blank), (*domain.edges[1:], *blank)
        return cls(name, (*domain.labels, *last), lower, upper, domain.missing, domain.kind)

    @property
    def size(self) -> int:
        return len(self.labels)

    def label(self, code: int) -> str | None:
        """The label as JSON has it: null for the missing category."""
        return None if self.missing and code == self.size - 1 else self.labels[code]

    @cached_property
    def intervals(self) -> tuple[Array, Array] | None:
        """The ends of the values that each label can stand for, equal for a single one.

        Where all edges of an attribute are whole numbers, so are its values: [3,4) holds just 3.
        """
        if self.lower is None or self.upper is None:
            return None
        low, high = np.array(self.lower), np.array(self.upper)
        edges = np.concatenate([low, high])
        whole = bool(np.all(np.mod(edges[np.isfinite(edges)], 1) == 0))
        return low, np.where((high - low == 1) & whole, low, high)

    @property
    def middles(self) -> Array:
        """The number each label stands for, the middle of its interval; infinite for a bin without an end."""
        if self.lower is None or self.upper is None or self.kind is not Kind.NUMBER:
            got = "dates" if self.kind is Kind.DATE else "named categories"
            raise InputError(f"The attribute {self.name} must be numeric for a mean", got)
        low, high = np.array(self.lower), np.array(self.upper)
        endless = np.isinf(low) | np.isinf(high)
        return np.where(endless, np.inf, (np.where(endless, 0.0, low) + np.where(endless, 0.0, high)) / 2)
