"""Attributes as the recipient sees them: labels in code order, and what they stand for by the attribute's kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.schema.domain import Domain
from pramana.schema.kind import Kind

Array = NDArray[np.float64]
MISSING = "(missing)"


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
            raise InputError(f"The labels of {name} must read as its kind, {chosen.value}", "others")
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
