"""Filters such as `age >= 65 and sex = F`: trees of comparisons, built as objects or read from text.

As objects: `Filter.compare("age", ">=", 65) & Filter.compare("sex", "=", "F")`, joined by `&`, `|` and `~`. As
text, read once by a small parser and never evaluated as code:

    filter      = term {"or" term}
    term        = factor {"and" factor}
    factor      = "not" factor | "(" filter ")" | comparison
    comparison  = name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | name ["not"] "in" "(" value {"," value} ")"
                | name "is" ["not"] "missing"

Names and values with spaces or signs stand in quotes. A missing value fulfils no comparison. `<` and its like
compare numbers, dates, or ordered names by their place, and must be true or false for the whole of every bin.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind, label_of

Truth = NDArray[np.bool_]
_ORDER_SIGNS = ("<", "<=", ">", ">=")
_SIGNS = ("=", "!=", *_ORDER_SIGNS)


class Filter(ABC):
    """A condition on records, true or false for each combination of published values."""

    @classmethod
    def parse(cls, text: str) -> Filter:
        return _FilterReader(text).whole()

    @classmethod
    def compare(cls, name: str, sign: str, value: Any) -> Filter:
        """An attribute against a label, number or date; the sign is one of = != < <= > >=."""
        if sign not in _SIGNS:
            raise InputError(f"The sign of a comparison must be one of {' '.join(_SIGNS)}", repr(sign))
        if sign == "!=":
            return ~AttributeFilter(name, "=", (label_of(value),)) & ~cls.missing(name)
        return AttributeFilter(name, sign, (label_of(value),))

    @classmethod
    def among(cls, name: str, values: Iterable[Any]) -> Filter:
        """An attribute with one of several values."""
        return AttributeFilter(name, "=", tuple(label_of(value) for value in values))

    @classmethod
    def missing(cls, name: str) -> Filter:
        return AttributeFilter(name, "missing")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it speaks of, in order of appearance."""
        return tuple(dict.fromkeys(self._every_name()))

    def select(self, axes: Sequence[Axis]) -> NDArray[np.float64]:
        """1 where the filter holds, over the joint domain of `axes`, which must have every name it uses."""
        positions = {axis.name: i for i, axis in enumerate(axes)}
        if absent := [name for name in self.names if name not in positions]:
            raise InputError("A filter must speak of the attributes of its table", ", ".join(absent))
        truth = self._truth(dict(zip(positions, axes, strict=True)), positions)
        return np.broadcast_to(truth, [axis.size for axis in axes]).astype(np.float64)

    def __and__(self, other: Filter) -> Filter:
        return AllOf((*_parts_of(self, AllOf), *_parts_of(other, AllOf)))

    def __or__(self, other: Filter) -> Filter:
        return AnyOf((*_parts_of(self, AnyOf), *_parts_of(other, AnyOf)))

    def __invert__(self) -> Filter:
        return self.inner if isinstance(self, Negation) else Negation(self)

    @abstractmethod
    def _every_name(self) -> Iterable[str]: ...

    @abstractmethod
    def _truth(self, axes: Mapping[str, Axis], positions: Mapping[str, int]) -> Truth:
        """The truth over the joint domain; of length 1 along attributes it does not speak of."""


@dataclass(frozen=True)
class AttributeFilter(Filter):
    """One attribute's condition: a sign and a value, one of several values ("="), or that it is missing."""

    name: str
    sign: str  # one of = < <= > >= or "missing"
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sign not in ("=", "missing", *_ORDER_SIGNS):
            raise InputError("A condition must have a sign that is known", repr(self.sign))
        wanted = {"missing": not self.values, "=": bool(self.values)}.get(self.sign, len(self.values) == 1)
        if not wanted or "" in self.values:
            raise InputError(
                f"A condition on {self.name} must compare it with a value",
                "none, or a missing one",
                "Ask for missing values with: is missing.",
            )

    def _every_name(self) -> Iterable[str]:
        return (self.name,)

    def _truth(self, axes: Mapping[str, Axis], positions: Mapping[str, int]) -> Truth:
        shape = [1] * len(positions)
        shape[positions[self.name]] = -1
        return self.holds(axes[self.name]).reshape(shape)

    def holds(self, axis: Axis) -> Truth:
        """For each code of the attribute, whether it fulfils the condition."""
        if self.sign == "missing":
            return np.array([axis.label(code) is None for code in range(axis.size)])
        if self.sign == "=":
            return np.asarray(np.any([_equal_codes(axis, value) for value in self.values], axis=0))
        return _ordered_codes(axis, self.sign, self.values[0])


@dataclass(frozen=True)
class Negation(Filter):
    inner: Filter

    def _every_name(self) -> Iterable[str]:
        return self.inner._every_name()

    def _truth(self, axes: Mapping[str, Axis], positions: Mapping[str, int]) -> Truth:
        return ~self.inner._truth(axes, positions)


@dataclass(frozen=True)
class JointFilter(Filter):
    """Several conditions, joined by `operator`."""

    parts: tuple[Filter, ...]
    operator: ClassVar[Callable[[Truth, Truth], Truth]]

    def _every_name(self) -> Iterable[str]:
        return [name for part in self.parts for name in part._every_name()]

    def _truth(self, axes: Mapping[str, Axis], positions: Mapping[str, int]) -> Truth:
        return reduce(type(self).operator, [part._truth(axes, positions) for part in self.parts])


class AllOf(JointFilter):
    operator = and_


class AnyOf(JointFilter):
    operator = or_


def _parts_of(condition: Filter, joint: type[JointFilter]) -> tuple[Filter, ...]:
    """The parts of a filter that is joined the same way, so that long chains stay flat; else itself."""
    return condition.parts if isinstance(condition, joint) else (condition,)


# ---------------------------------------------------------------- what a comparison means


def _equal_codes(axis: Axis, value: str) -> Truth:
    same: Truth = np.array([axis.label(code) == value for code in range(axis.size)])
    if same.any():
        return same
    point = axis.kind.point_of(value)
    if point is not None and axis.intervals is not None:
        low, high = axis.intervals
        same = (low == float(point)) & (high == float(point))
        if same.any():
            return same
    raise InputError(
        f"A value of {axis.name} in a filter must be one of its published values",
        repr(value),
        f"It has {_some_labels(axis)}.",
    )


def _ordered_codes(axis: Axis, sign: str, value: str) -> Truth:
    """`<` and its like for each code; a bin that would be true in part is refused, however narrow it is."""
    if axis.kind is Kind.ORDERED:
        codes = np.arange(axis.size, dtype=np.float64)
        low = high = np.where(codes == axis.size - 1, np.nan, codes) if axis.missing else codes
        point = float(np.flatnonzero(_equal_codes(axis, value))[0])
    elif axis.kind is Kind.DATE:
        return _ordered_days(axis, sign, value)
    else:
        stated = axis.kind.point_of(value)
        if axis.intervals is None or stated is None:
            raise _incomparable(axis, sign, value)
        (low, high), point = axis.intervals, float(stated)
    one = low == high
    if sign in ("<", ">="):  # every value of [low, high) is below `point`, or none is
        below, above = np.where(one, low < point, high <= point), low >= point
    else:  # ... is at or below it, or none is
        below, above = np.where(one, low <= point, high <= point), low > point
    return _uncut(axis, sign, value, below, above)


def _ordered_days(axis: Axis, sign: str, value: str) -> Truth:
    """The same of dates, whose days are whole: `<= 2024-12-31` and `<= 2024` are `< 2025-01-01`."""
    stated = axis.kind.ends_of(value)
    if axis.lower is None or axis.upper is None or stated is None:
        raise _incomparable(axis, sign, value)
    low, high = np.array(axis.lower), np.array(axis.upper)
    high = np.where(low == high, low + 1, high)
    first, after = float(stated[0]), float(max(stated[1], stated[0] + 1))
    point = first if sign in ("<", ">=") else after
    return _uncut(axis, sign, value, high <= point, low >= point)


def _uncut(axis: Axis, sign: str, value: str, below: Truth, above: Truth) -> Truth:
    """Which codes the comparison holds for, where each lies on one side of it."""
    missing = np.array([axis.label(code) is None for code in range(axis.size)])
    for code in np.flatnonzero(~(below | above | missing)):
        raise InputError(
            f"A filter must not cut a published bin of {axis.name}",
            f"{sign} {value}, which lies inside {axis.labels[code]}",
            "Compare with an edge of the bins.",
        )
    return np.asarray(below if sign in ("<", "<=") else above)


def _incomparable(axis: Axis, sign: str, value: str) -> InputError:
    must = (
        f"A filter with {sign} must compare a date with one like 2024-03-31, or a period like 2024-03 or 2024"
        if axis.kind is Kind.DATE
        else f"A filter with {sign} must compare a numeric attribute with a number"
    )
    return InputError(must, f"{axis.name} {sign} {value}", f"{axis.name} has {_some_labels(axis)}.")


def _some_labels(axis: Axis) -> str:
    shown = ", ".join(label[:80] for label in axis.labels[:8])
    return shown if axis.size <= 8 else f"{shown} and {axis.size - 8} more"


# ---------------------------------------------------------------- the parser

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,)|(?P<word>[^\s"'()<>=!,]+))"""
)
_MOST_TOKENS = 1000
_DEEPEST = 50


class _FilterReader:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.position = 0
        self.depth = 0
        start, end = 0, len(text.rstrip())
        while start < end:
            token = _TOKEN.match(text, start)
            if token is None or len(self.tokens) > _MOST_TOKENS:
                raise self.fault(f"{text[start : start + 10]!r}")
            kind = str(token.lastgroup)
            part = token.group(kind)
            self.tokens.append((kind, part[1:-1] if kind == "quoted" else part))
            start = token.end()

    def fault(self, got: str) -> InputError:
        return InputError("A filter must read like: age >= 65 and (sex = F or region in (north, 'far east'))", got)

    def next_is(self, kind: str, *parts: str) -> bool:
        if self.position >= len(self.tokens):
            return False
        token, part = self.tokens[self.position]
        return token == kind and (part.lower() if kind == "word" else part) in parts

    def take(self) -> tuple[str, str]:
        if self.position >= len(self.tokens):
            raise self.fault("an end too early" if self.tokens else "nothing")
        self.position += 1
        return self.tokens[self.position - 1]

    def take_word(self, word: str) -> bool:
        """Go past this word if it comes next, and say whether it did."""
        if not self.next_is("word", word):
            return False
        self.take()
        return True

    def expect(self, sign: str) -> None:
        kind, part = self.take()
        if kind != "sign" or part != sign:
            raise self.fault(f"{part!r} instead of {sign!r}")

    def value(self) -> str:
        kind, part = self.take()
        if kind == "sign":
            raise self.fault(f"{part!r} instead of a name or value")
        return part

    def whole(self) -> Filter:
        tree = self.disjunction()
        if self.position < len(self.tokens):
            raise self.fault(f"{self.tokens[self.position][1]!r} after the end of it")
        return tree

    def disjunction(self) -> Filter:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault("parentheses that are nested too deep")
        tree = self.joined("or", AnyOf, self.conjunction)
        self.depth -= 1
        return tree

    def conjunction(self) -> Filter:
        return self.joined("and", AllOf, self.factor)

    def joined(self, word: str, joint: type[JointFilter], read: Callable[[], Filter]) -> Filter:
        parts = [read()]
        while self.take_word(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else joint(tuple(parts))

    def factor(self) -> Filter:
        negations = 0
        while self.take_word("not"):
            negations += 1
        if self.next_is("sign", "("):
            self.take()
            tree = self.disjunction()
            self.expect(")")
        else:
            tree = self.comparison()
        return ~tree if negations % 2 else tree

    def comparison(self) -> Filter:
        name = self.value()
        negated = self.take_word("not")
        if self.take_word("in"):
            tree = Filter.among(name, self.members())
            return ~tree & ~Filter.missing(name) if negated else tree
        if negated:
            raise self.fault("'not' without 'in'")
        if self.take_word("is"):
            negated = self.take_word("not")
            if self.value().lower() != "missing":
                raise self.fault("'is' without 'missing'")
            return ~Filter.missing(name) if negated else Filter.missing(name)
        kind, sign = self.take()
        if kind != "sign" or sign not in ("==", *_SIGNS):
            raise self.fault(f"{sign!r} instead of a comparison")
        return Filter.compare(name, "=" if sign == "==" else sign, self.value())

    def members(self) -> tuple[str, ...]:
        self.expect("(")
        values = [self.value()]
        while self.next_is("sign", ","):
            self.take()
            values.append(self.value())
        self.expect(")")
        return tuple(values)
