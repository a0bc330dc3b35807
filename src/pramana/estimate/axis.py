"""Attributes as the recipient sees them: labels in code order, and the numbers they stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import InputError
from pramana.estimate.law import Array
from pramana.schema import Domain

MISSING = "(missing)"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|-?inf"
_FORMS = (  # how labels write numbers: 7, [0,5), 20-24, 85+
    re.compile(rf"(?P<one>{_NUMBER})", re.IGNORECASE),
    re.compile(rf"\[(?P<low>{_NUMBER}),\s*(?P<high>{_NUMBER})\)", re.IGNORECASE),
    re.compile(r"(?P<first>\d+)\s*-\s*(?P<last>\d+)"),
    re.compile(r"(?P<least>\d+)\s*\+"),
)
_CODE = re.compile(r"0\d+")


@dataclass(frozen=True)
class Axis:
    """One attribute. `lower` and `upper` hold each label's interval [lower, upper).

    They are equal for a label that is one number, and not a number (nan) where a label stands for none, such as
    the missing category, which has the last code.
    """

    name: str
    labels: tuple[str, ...]
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.labels:
            raise InputError(f"The attribute {self.name} must have at least one value", "none")
        if (self.lower is None) != (self.upper is None):
            raise InputError(f"The attribute {self.name} must have both ends of its intervals or neither")
        for ends in (self.lower, self.upper):
            if ends is not None and len(ends) != len(self.labels):
                raise InputError(f"The attribute {self.name} must have as many intervals as labels")

    @classmethod
    def of_labels(cls, name: str, labels: Sequence[str], missing: bool = False) -> Axis:
        """Labels that all read as numbers or intervals stand for them; the missing category is added last."""
        # 01067 is a code, such as a postcode: its mean or order would be nonsense.
        codes = any(_CODE.fullmatch(label.strip()) for label in labels)
        ends = [None if codes else _interval(label) for label in labels]
        last = (MISSING,) if missing else ()
        if not labels or any(e is None for e in ends):
            return cls(name, (*labels, *last), missing=missing)
        blank = (math.nan,) * len(last)
        lower, upper = zip(*(e for e in ends if e is not None), strict=True)
        return cls(name, (*labels, *last), (*lower, *blank), (*upper, *blank), missing)

    @classmethod
    def of_domain(cls, name: str, domain: Domain) -> Axis:
        if not domain.edges:
            return cls.of_labels(name, domain.labels, domain.missing)
        last, blank = ((MISSING,), (math.nan,)) if domain.missing else ((), ())
        lower, upper = (*domain.edges[:-1], *blank), (*domain.edges[1:], *blank)
        return cls(name, (*domain.labels, *last), lower, upper, domain.missing)

    @property
    def size(self) -> int:
        return len(self.labels)

    def label(self, code: int) -> str | None:
        """The label as JSON has it: null for the missing category."""
        return None if self.missing and code == self.size - 1 else self.labels[code]

    @property
    def middles(self) -> Array:
        """The number each label stands for, the middle of its interval; infinite for a bin without an end."""
        if self.lower is None or self.upper is None:
            raise InputError(f"The attribute {self.name} must be numeric for a mean", "named categories")
        low, high = np.array(self.lower), np.array(self.upper)
        return np.asarray((low + high) / 2, np.float64)


def _interval(label: str) -> tuple[float, float] | None:
    text = label.strip()
    for form in _FORMS:
        found = form.fullmatch(text)
        if found is None:
            continue
        parts = {name: float(number) for name, number in found.groupdict().items()}
        if "one" in parts:
            return parts["one"], parts["one"]
        if "low" in parts:
            return parts["low"], parts["high"]
        if "first" in parts:
            return parts["first"], parts["last"] + 1
        return parts["least"], math.inf
    return None
